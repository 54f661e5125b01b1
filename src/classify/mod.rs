//! Reads a failure: what kind it is, whether the work happened, what it depends on, how long to wait.
//!
//! A pure function of the failure, its context and the rules; no I/O, no clock, no randomness. The rules are data
//! (`rules/`, compiled once into a [`book::RuleBook`]); this module only weighs what they find.
//!
//! **Weighing.** Every piece of evidence has a tier and a source. The highest tier wins, within it the source that comes
//! first, within that the piece that is more specific (more literal bytes for text, the innermost for nested types and
//! codes):
//!
//! 1. the operator's own rules, and this system's own texts;
//! 2. *decisive* rules: text that overrules codes which vendors are known to send for several causes;
//! 3. *specific* rules: code, then exception type, then text;
//! 4. *generic* rules (`INVALID_ARGUMENT`, `RuntimeError`, "failed to"): code, exception, text;
//! 5. a bare gRPC code, HTTP status or exit code;
//! 6. *faint* rules: types that say next to nothing (`ValueError`);
//! 7. nothing: unknown.

mod anchors;
mod book;
mod dependency;
mod fingerprint;
mod leads;
mod lexicon;
mod operator;
mod pattern;
mod reference;
mod rules;
mod scan;
mod text;
mod waits;
mod weigh;
mod words;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod traps;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

pub use book::Rule;
pub use dependency::reads_as_same_host;
pub use fingerprint::fingerprint;
pub use pattern::PhraseError;
pub use rules::{ExampleReport, RuleError, Strength};

use crate::domain::{EvidenceSource, Execution, Failure, Kind, Origin, Reading, Timestamp};
use crate::policy::OperatorRule;
use book::RuleBook;

/// Longest evidence, in bytes.
const EVIDENCE_LIMIT: usize = 160;

/// What the classifier has to know besides the failure.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The tool's or model's name.
    pub tool: &'a str,
    /// Which step failed.
    pub origin: Origin,
    /// How often the layers below tried within this attempt; 0 counts as 1.
    pub tries: u32,
    /// When the failure was received: dates in it are read against this.
    pub received_at: Timestamp,
}

/// The compiled rules. Immutable; share it between threads.
#[derive(Debug, Clone)]
pub struct Classifier {
    book: Arc<RuleBook>,
}

/// The last book made of the built-in rules, with what was added to them: a policy that is reloaded for something else
/// than its rules compiles nothing.
static LAST: Mutex<Option<LastBook>> = Mutex::new(None);

#[derive(Debug)]
struct LastBook {
    operator_rules: Vec<OperatorRule>,
    own_texts: Vec<String>,
    book: Arc<RuleBook>,
}

impl Classifier {
    /// The built-in rules and, before them, the operator's.
    ///
    /// # Errors
    /// A rule that cannot be compiled, with file, rule and field.
    pub fn new(operator_rules: &[OperatorRule]) -> Result<Self, RuleError> {
        Self::with_own_texts(operator_rules, &[])
    }

    /// Like [`Classifier::new`]; a failure that contains one of `own_texts` is this system's own word come back
    /// (`approval_required`, rule `backstop/own-verdict`). `backstop verdict` is always one of them.
    ///
    /// # Errors
    /// A rule that cannot be compiled, with file, rule and field.
    pub fn with_own_texts(
        operator_rules: &[OperatorRule],
        own_texts: &[&str],
    ) -> Result<Self, RuleError> {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = &*last
            && last.operator_rules == operator_rules
            && last.own_texts == own_texts
        {
            let book = last.book.clone();
            return Ok(Classifier { book });
        }
        let book = RuleBook::compile(rules::FILES, operator_rules, own_texts)?;
        let book = Arc::new(book);
        *last = Some(LastBook {
            operator_rules: operator_rules.to_vec(),
            own_texts: own_texts.iter().map(|text| (*text).to_owned()).collect(),
            book: book.clone(),
        });
        Ok(Classifier { book })
    }

    /// Only the rules of these files, each with its stem and content, instead of the built-in ones: for those who write
    /// rules.
    ///
    /// # Errors
    /// A rule that cannot be read or compiled, with file, rule and field.
    pub fn from_files(files: &[(&str, &str)]) -> Result<Self, RuleError> {
        Ok(Classifier {
            book: Arc::new(RuleBook::compile(files, &[], &[])?),
        })
    }

    /// Reads the examples of the built-in rules' files.
    ///
    /// # Errors
    /// As [`Classifier::new`].
    pub fn check_examples(&self) -> Result<ExampleReport, RuleError> {
        self.check_examples_of(rules::FILES)
    }

    /// Reads the examples of these files, from which this classifier was made.
    ///
    /// # Errors
    /// As [`Classifier::from_files`].
    pub fn check_examples_of(&self, files: &[(&str, &str)]) -> Result<ExampleReport, RuleError> {
        rules::run_examples(self, files)
    }

    /// Reads the examples of the operator's rules, which this classifier holds.
    pub fn check_operators_examples(&self, rules: &[OperatorRule]) -> ExampleReport {
        rules::run_operators_examples(self, rules)
    }

    /// The rules, in the order of their files; the operator's are not among them.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.book.rules.iter()
    }

    /// Reads one failure.
    pub fn read(&self, failure: &Failure, context: &Context<'_>) -> Reading {
        scan::with_scratch(|scratch| {
            scan::scan(&self.book, failure, context, scratch);
            let finding = self
                .book
                .operator
                .find(failure, context, scratch)
                .or_else(|| weigh::weigh(&self.book, failure, context, scratch))
                .unwrap_or_else(Finding::nothing);
            finish(finding, failure, context, scratch)
        })
    }
}

/// The evidence that decided.
#[derive(Debug, Clone)]
struct Finding {
    kind: Kind,
    execution: Execution,
    rule: Arc<str>,
    evidence: String,
    source: EvidenceSource,
    strength: Strength,
}

impl Finding {
    fn nothing() -> Self {
        static RULE: OnceLock<Arc<str>> = OnceLock::new();
        Finding {
            kind: Kind::Unknown,
            execution: Kind::Unknown.usual_execution(),
            rule: RULE.get_or_init(|| "unknown".into()).clone(),
            evidence: String::new(),
            source: EvidenceSource::None,
            strength: Strength::Generic,
        }
    }
}

fn finish(
    finding: Finding,
    failure: &Failure,
    context: &Context<'_>,
    scratch: &scan::Scratch,
) -> Reading {
    let folded = scratch.message();
    let read = match finding.execution {
        // The text speaks for the last try only.
        Execution::NotExecuted if context.tries > 1 => Execution::MaybeExecuted,
        execution => execution,
    };
    let wait = waits::read(
        failure,
        folded,
        &scratch.waits,
        finding.kind,
        context.received_at,
    );
    Reading {
        kind: finding.kind,
        execution: failure.execution.unwrap_or(read),
        vouched: failure.execution.is_some(),
        rule: finding.rule,
        evidence: finding.evidence,
        source: finding.source,
        confidence: confidence(finding.source, finding.strength),
        retry_after: wait.retry_after,
        server_says_no: wait.server_says_no,
        dependency: dependency::read(folded, &scratch.dependencies, finding.kind),
        reference: reference::read(&failure.message, finding.kind),
        fingerprint: fingerprint::of_failure(failure),
    }
}

/// Share of cases that are read right by evidence of this sort, in whole twentieths.
///
/// The measure is that of real failures that no rule had been written for when they were read (see
/// `docs/classification.md`); a test keeps the share from falling below it on all cases at hand.
fn confidence(source: EvidenceSource, strength: Strength) -> f32 {
    match (source, strength) {
        (EvidenceSource::Policy, _) => 1.0,
        (EvidenceSource::None, _) => 0.5,
        (EvidenceSource::Status, _) => 0.8,
        (_, Strength::Faint) => 0.3,
        (_, Strength::Generic) => 0.85,
        (EvidenceSource::Text, Strength::Specific) => 0.9,
        (_, Strength::Specific | Strength::Decisive) => 0.95,
    }
}
