//! All built-in rules, compiled once: a lexicon of every literal, and maps for codes, type names and statuses.
//!
//! Invariant: indices stored in the maps are positions in `rules`, `phrases` and `uses` of the same book.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::FixedState;

use super::lexicon::{Edge, Lexicon, Literal};
use super::operator::{self, OperatorRules};
use super::pattern::Phrase;
use super::rules::{self, RuleError, RuleFile, RuleSource, Strength};
use crate::domain::{Execution, Kind, Origin};
use crate::policy::OperatorRule;

/// One compiled rule.
#[derive(Debug, Clone)]
pub struct Rule {
    /// `file/rule`, e.g. `openai/insufficient-quota`.
    pub id: Arc<str>,
    /// What it reads.
    pub kind: Kind,
    /// What it says of the work.
    pub execution: Execution,
    /// How it stands against other evidence.
    pub strength: Strength,
    /// Why it is so, for people.
    pub why: Box<str>,
    pub(super) conditions: Conditions,
}

/// What else must hold for a rule to count.
#[derive(Debug, Clone, Default)]
pub(super) struct Conditions {
    /// Marks of which none may be set.
    pub(super) unless: Vec<u32>,
    /// Marks of which one must be set.
    pub(super) with: Vec<u32>,
    pub(super) with_status: Vec<u16>,
    pub(super) origin: Option<Origin>,
    /// Marks of the vendor, of which one must be set.
    pub(super) signs: Vec<u32>,
    /// The same, but only for codes that are mere numbers.
    pub(super) number_signs: Vec<u32>,
}

impl Conditions {
    /// Whether the rule is about a vendor or a case and not about all: then it knows better.
    pub(super) fn is_scoped(&self) -> bool {
        !self.with.is_empty()
            || !self.signs.is_empty()
            || !self.with_status.is_empty()
            || self.origin.is_some()
    }
}

/// What a literal in the text is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Anchor of a phrase of a rule.
    Phrase { rule: u32, phrase: u32 },
    /// Anchor of a phrase that sets a mark.
    Mark { mark: u32, phrase: u32 },
    /// A vendor code so distinctive that it counts wherever it stands, in its exact case.
    Code { rule: u32, word: u32 },
    /// The name of an exception's type, in its exact case; `suffix`: the end of one.
    Exception { rule: u32, suffix: bool },
    /// A word such as `code` or `errno`, after which a code may stand.
    Key,
    /// A wording after which a wait may stand.
    Wait { lead: u32 },
    /// A wording by which the name of a dependency may stand.
    Dependency { lead: u32 },
}

/// Rules by a name in lower case. The names are the rules' own, so that nobody can choose them to collide.
pub(super) type ByName = HashMap<Box<str>, Vec<u32>, FixedState>;
/// Rules by a status.
pub(super) type ByNumber<T> = HashMap<T, Vec<u32>, FixedState>;

/// The compiled rules.
#[derive(Debug)]
pub(super) struct RuleBook {
    pub(super) rules: Vec<Rule>,
    pub(super) phrases: Vec<Phrase>,
    pub(super) lexicon: Lexicon,
    /// For each literal the range of `uses`.
    pub(super) spans: Vec<(u32, u32)>,
    pub(super) uses: Vec<Use>,
    /// Distinctive codes in their exact case.
    pub(super) words: Vec<Box<str>>,
    pub(super) codes: ByName,
    pub(super) exceptions: ByName,
    pub(super) exception_ends: ByName,
    pub(super) http: ByNumber<u16>,
    pub(super) grpc: ByName,
    pub(super) exit: ByNumber<i32>,
    pub(super) marks: usize,
    /// From here on marks are the operator's.
    pub(super) operators_marks: u32,
    pub(super) operator: OperatorRules,
}

/// Words after which a code may stand.
const KEYS: &[&str] = &[
    "code",
    "errno",
    "sqlstate",
    "errorcode",
    "error_code",
    "error-code",
    "errcode",
    "status",
    "reason",
    "type",
    "error",
    "tag",
    "name",
    "__type",
    "exceptionname",
    "status_code",
    "err_code",
    "extendedcode",
    "error_type",
    "errortype",
    "err",
];

impl RuleBook {
    /// Compiles rule files, and the operator's rules that go before them; `own_texts` are this system's own words.
    pub(super) fn compile(
        files: &[(&str, &str)],
        operator: &[OperatorRule],
        own_texts: &[&str],
    ) -> Result<Self, RuleError> {
        let mut builder = Builder::default();
        for key in KEYS {
            builder.add_use(literal(key, Edge::Part), Use::Key);
        }
        for (lead, wording) in (0..).zip(super::waits::leads()) {
            builder.add_use(literal(wording, Edge::Word), Use::Wait { lead });
        }
        for (lead, wording) in (0..).zip(super::dependency::leads()) {
            builder.add_use(literal(wording, Edge::Word), Use::Dependency { lead });
        }
        for (name, source) in files {
            let file = rules::parse(name, source)?;
            builder.add_file(name, &file)?;
        }
        let operators_marks = builder.marks_given;
        let operator = builder.add_operator(operator, own_texts)?;
        builder.finish(operators_marks, operator)
    }

    /// What a literal is used for.
    pub(super) fn uses_of(&self, literal: usize) -> &[Use] {
        let span = self.spans.get(literal);
        span.and_then(|(from, to)| self.uses.get(*from as usize..*to as usize))
            .unwrap_or_default()
    }
}

#[derive(Default)]
struct Builder {
    rules: Vec<Rule>,
    phrases: Vec<Phrase>,
    words: Vec<Box<str>>,
    uses: BTreeMap<Literal, Vec<Use>>,
    marks: HashMap<String, u32>,
    marks_given: u32,
    codes: ByName,
    exceptions: ByName,
    exception_ends: ByName,
    http: ByNumber<u16>,
    grpc: ByName,
    exit: ByNumber<i32>,
}

/// A literal that ends a word.
fn literal(text: &str, start: Edge) -> Literal {
    Literal {
        text: text.to_ascii_lowercase().into_bytes().into(),
        start,
        end: Edge::Word,
    }
}

fn index(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

impl Builder {
    fn add_use(&mut self, literal: Literal, used: Use) {
        let uses = self.uses.entry(literal).or_default();
        if !uses.contains(&used) {
            uses.push(used);
        }
    }

    fn add_file(&mut self, name: &str, file: &RuleFile) -> Result<(), RuleError> {
        let mut signs = Vec::new();
        for sign in file.signs.iter() {
            signs.push(self.mark(name, "signs", "signs", sign)?);
        }
        let number_signs = match file.numbers_need_sign {
            Some(false) => Vec::new(),
            _ => signs.clone(),
        };
        for source in &file.rules {
            self.add_rule(name, source, &signs, &number_signs)?;
        }
        Ok(())
    }

    fn add_rule(
        &mut self,
        file: &str,
        source: &RuleSource,
        signs: &[u32],
        number_signs: &[u32],
    ) -> Result<(), RuleError> {
        let rule = index(self.rules.len());
        let field = |field, detail: &str| RuleError::Field {
            file: file.to_owned(),
            rule: source.id.clone(),
            field,
            detail: detail.to_owned(),
        };
        let id: Arc<str> = format!("{file}/{}", source.id).into();
        if self.rules.iter().any(|known| known.id == id) {
            return Err(field("id", "is used twice; every rule needs its own"));
        }
        if source.why.trim().is_empty() {
            return Err(field("why", "is empty; say why the rule is true"));
        }
        if source.signed && signs.is_empty() {
            return Err(field("signed", "the file has no `signs` to look for"));
        }
        let before = self.evidence_count();
        for phrase in source.text.iter() {
            self.add_phrase(file, source, phrase, rule)?;
        }
        self.add_fields(source, rule);
        if self.evidence_count() == before {
            return Err(field(
                "text",
                "the rule matches nothing; give text, codes, exceptions or a status",
            ));
        }
        let conditions = Conditions {
            unless: self.marks_of(file, &source.id, "unless", &source.unless)?,
            with: self.marks_of(file, &source.id, "with", &source.with)?,
            with_status: source.with_status.clone(),
            origin: source.origin,
            signs: if source.signed {
                signs.to_vec()
            } else {
                Vec::new()
            },
            number_signs: number_signs.to_vec(),
        };
        self.rules.push(Rule {
            id,
            kind: source.kind,
            execution: source.execution.unwrap_or(source.kind.usual_execution()),
            strength: source.strength.unwrap_or(Strength::Specific),
            why: source.why.as_str().into(),
            conditions,
        });
        Ok(())
    }

    fn evidence_count(&self) -> usize {
        let lists = |map: &ByName| map.values().map(Vec::len).sum::<usize>();
        self.phrases.len()
            + lists(&self.codes)
            + lists(&self.exceptions)
            + lists(&self.exception_ends)
            + lists(&self.grpc)
            + self.http.values().map(Vec::len).sum::<usize>()
            + self.exit.values().map(Vec::len).sum::<usize>()
    }

    fn add_fields(&mut self, source: &RuleSource, rule: u32) {
        for code in source.codes.to_vec() {
            if is_distinctive(&code) || is_sqlstate(&code) {
                let word = index(self.words.len());
                self.words.push(code.as_str().into());
                self.add_use(literal(&code, Edge::Word), Use::Code { rule, word });
            }
            let key = code.to_ascii_lowercase().into_boxed_str();
            self.codes.entry(key).or_default().push(rule);
        }
        for name in source.exceptions.to_vec() {
            let (suffix, name) = match name.strip_prefix('*') {
                Some(end) => (true, end.to_owned()),
                None => (false, name),
            };
            let start = if suffix { Edge::Part } else { Edge::Word };
            self.add_use(literal(&name, start), Use::Exception { rule, suffix });
            let map = if suffix {
                &mut self.exception_ends
            } else {
                &mut self.exceptions
            };
            map.entry(name.to_ascii_lowercase().into_boxed_str())
                .or_default()
                .push(rule);
        }
        for status in &source.http {
            self.http.entry(*status).or_default().push(rule);
        }
        for name in source.grpc.to_vec() {
            let key = name.to_ascii_lowercase().replace('_', "").into_boxed_str();
            self.grpc.entry(key).or_default().push(rule);
        }
        for exit in &source.exit {
            self.exit.entry(*exit).or_default().push(rule);
        }
    }

    fn add_phrase(
        &mut self,
        file: &str,
        source: &RuleSource,
        text: &str,
        rule: u32,
    ) -> Result<(), RuleError> {
        let phrase = self.phrase(file, &source.id, "text", text)?;
        self.add_anchor(phrase, Use::Phrase { rule, phrase });
        Ok(())
    }

    fn phrase(
        &mut self,
        file: &str,
        rule: &str,
        field: &'static str,
        text: &str,
    ) -> Result<u32, RuleError> {
        let phrase =
            Phrase::parse(text).map_err(|error| RuleError::phrase(file, rule, field, &error))?;
        let at = index(self.phrases.len());
        self.phrases.push(phrase);
        Ok(at)
    }

    fn add_anchor(&mut self, phrase: u32, used: Use) {
        let phrase = self.phrases.get(phrase as usize);
        if let Some(anchor) = phrase.and_then(Phrase::anchor) {
            self.add_use(anchor, used);
        }
    }

    fn mark(
        &mut self,
        file: &str,
        rule: &str,
        field: &'static str,
        text: &str,
    ) -> Result<u32, RuleError> {
        if let Some(mark) = self.marks.get(text) {
            return Ok(*mark);
        }
        let phrase = self.phrase(file, rule, field, text)?;
        let mark = self.new_mark(phrase);
        self.marks.insert(text.to_owned(), mark);
        Ok(mark)
    }

    fn new_mark(&mut self, phrase: u32) -> u32 {
        let mark = self.marks_given;
        self.marks_given += 1;
        self.add_anchor(phrase, Use::Mark { mark, phrase });
        mark
    }

    fn add_operator(
        &mut self,
        rules: &[OperatorRule],
        own_texts: &[&str],
    ) -> Result<OperatorRules, RuleError> {
        let mut compiled = OperatorRules::default();
        for text in own_texts.iter().chain(&[operator::OWN_TEXT]) {
            let mut folded = String::new();
            super::text::fold(text, &mut folded);
            if let Some(phrase) = Phrase::exactly(&folded) {
                let at = index(self.phrases.len());
                self.phrases.push(phrase);
                compiled.own.push(self.new_mark(at));
                compiled.of_mark.push(None);
            }
        }
        for rule in rules {
            // Never shared with another rule's: where they stand is asked for.
            let mut marks = |field, lines: &str| -> Result<Vec<u32>, RuleError> {
                let lines = lines.lines().filter(|line| !line.trim().is_empty());
                lines
                    .map(|line| {
                        let phrase = self.phrase("policy", &rule.id, field, line)?;
                        Ok(self.new_mark(phrase))
                    })
                    .collect()
            };
            let text = marks("text", rule.text.as_deref().unwrap_or_default())?;
            let unless = marks("unless", rule.unless.as_deref().unwrap_or_default())?;
            let says_nothing = text.is_empty()
                && rule.code.is_none()
                && rule.exception.is_none()
                && rule.http_status.is_none();
            if says_nothing {
                return Err(RuleError::Field {
                    file: "policy".to_owned(),
                    rule: rule.id.to_string(),
                    field: "text",
                    detail: "matches nothing; set text, code, exception or http_status".to_owned(),
                });
            }
            let at = compiled.rules.len();
            if text.is_empty() {
                compiled.textless.push(at);
            }
            // Marks were given in this order.
            let marks = text.len() + unless.len();
            compiled
                .of_mark
                .extend(std::iter::repeat_n(Some(at), marks));
            compiled.rules.push(operator::Compiled {
                rule: rule.clone(),
                text,
                unless,
            });
        }
        Ok(compiled)
    }

    fn marks_of(
        &mut self,
        file: &str,
        rule: &str,
        field: &'static str,
        lines: &rules::Lines,
    ) -> Result<Vec<u32>, RuleError> {
        lines
            .iter()
            .map(|line| self.mark(file, rule, field, line))
            .collect()
    }

    fn finish(self, operators_marks: u32, operator: OperatorRules) -> Result<RuleBook, RuleError> {
        let mut literals = Vec::with_capacity(self.uses.len());
        let mut spans = Vec::with_capacity(self.uses.len());
        let mut uses = Vec::new();
        for (literal, used) in self.uses {
            let start = index(uses.len());
            uses.extend(used);
            spans.push((start, index(uses.len())));
            literals.push(literal);
        }
        let lexicon =
            Lexicon::new(&literals).map_err(|error| RuleError::Automaton(error.to_string()))?;
        Ok(RuleBook {
            rules: self.rules,
            phrases: self.phrases,
            lexicon,
            spans,
            uses,
            words: self.words,
            codes: self.codes,
            exceptions: self.exceptions,
            exception_ends: self.exception_ends,
            http: self.http,
            grpc: self.grpc,
            exit: self.exit,
            marks: self.marks_given as usize,
            operators_marks,
            operator,
        })
    }
}

/// Whether a code has the form of an SQLSTATE with a letter: no prose has it, but ids and serial numbers may.
pub(super) fn is_sqlstate(code: &str) -> bool {
    let digits = code.bytes().filter(u8::is_ascii_digit).count();
    let letters = code.bytes().filter(u8::is_ascii_uppercase).count();
    code.len() == 5 && digits + letters == 5 && digits >= 2 && letters >= 1
}

/// Whether a code cannot be mistaken for prose or for somebody's number, wherever it stands.
fn is_distinctive(code: &str) -> bool {
    let letters = code.chars().filter(char::is_ascii_alphabetic).count();
    let joined = code.contains('_')
        || code.contains('-') && code.contains(|c: char| c.is_ascii_alphabetic());
    let mut previous_lower = false;
    let mut humps = false;
    for c in code.chars() {
        humps |= previous_lower && c.is_ascii_uppercase();
        previous_lower = c.is_ascii_lowercase();
    }
    let shouted = letters >= 5 && !code.contains(|c: char| c.is_ascii_lowercase());
    letters >= 3 && (joined || humps || shouted)
}
