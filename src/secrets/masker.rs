//! The masker: a quick look whether anything could be secret, then only the patterns that it calls for.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
use regex::{Captures, Regex};

use crate::domain::Failure;

use super::{MASK, pairs, tokens};

/// Finds one sort of secret. Its regex names the group `secret`.
pub(super) struct Pattern {
    /// Literals of which at least one stands in every text that the regex matches.
    pub(super) hints: Vec<&'static str>,
    /// Whether the hints are looked up without regard to ASCII case.
    pub(super) any_case: bool,
    /// Matches the secret with as much around it as needed.
    pub(super) regex: Regex,
    /// Which part of the match is secret after all; `None` for none.
    pub(super) judge: fn(&Captures<'_>, &str) -> Option<Range<usize>>,
    /// What stands in its place.
    pub(super) mark: &'static str,
}

/// A set of patterns. Cheap to use from many threads.
pub struct Masker {
    exact: Hints,
    any_case: Hints,
    patterns: Vec<Pattern>,
}

/// Literals, and the pattern that each belongs to.
struct Hints {
    /// Where it cannot be built, every pattern is tried.
    automaton: Option<AhoCorasick>,
    owners: Vec<usize>,
}

impl Masker {
    /// The patterns that every Backstop knows: common vendors' keys, credentials in headers, URLs, pairs and PEM.
    pub fn builtin() -> &'static Masker {
        static BUILTIN: LazyLock<Masker> = LazyLock::new(|| {
            let mut patterns = tokens::patterns();
            patterns.extend(pairs::patterns());
            Masker::new(patterns)
        });
        &BUILTIN
    }

    fn new(patterns: Vec<Pattern>) -> Masker {
        Masker {
            exact: Hints::of(&patterns, false),
            any_case: Hints::of(&patterns, true),
            patterns,
        }
    }

    /// The text with every secret replaced; borrowed where nothing was.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut wanted = vec![false; self.patterns.len()];
        self.exact.mark(text, &mut wanted);
        self.any_case.mark(text, &mut wanted);
        let mut masked = Cow::Borrowed(text);
        for (pattern, wanted) in self.patterns.iter().zip(wanted) {
            if wanted && let Some(text) = pattern.apply(&masked) {
                masked = Cow::Owned(text);
            }
        }
        masked
    }

    /// A copy of the failure with its texts masked, and headers that carry credentials masked whole.
    pub fn mask_failure(&self, failure: &Failure) -> Failure {
        Failure {
            message: self.mask(&failure.message).into_owned(),
            exception_type: self.mask(&failure.exception_type).into_owned(),
            code: self.mask(&failure.code).into_owned(),
            dependency: self.mask(&failure.dependency).into_owned(),
            headers: failure
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), self.mask_header(name, value)))
                .collect(),
            ..failure.clone()
        }
    }

    fn mask_header(&self, name: &str, value: &str) -> String {
        if carries_credentials(name) {
            MASK.to_owned()
        } else {
            self.mask(value).into_owned()
        }
    }

    #[cfg(test)]
    pub(super) fn patterns(&self) -> &[Pattern] {
        &self.patterns
    }
}

impl Hints {
    fn of(patterns: &[Pattern], any_case: bool) -> Hints {
        let (literals, owners): (Vec<_>, Vec<_>) = patterns
            .iter()
            .enumerate()
            .filter(|(_, pattern)| pattern.any_case == any_case)
            .flat_map(|(owner, pattern)| pattern.hints.iter().map(move |hint| (*hint, owner)))
            .unzip();
        let automaton = AhoCorasick::builder()
            .ascii_case_insensitive(any_case)
            .build(literals)
            .ok();
        Hints { automaton, owners }
    }

    /// Marks the patterns of which a hint stands in the text.
    fn mark(&self, text: &str, wanted: &mut [bool]) {
        let Some(automaton) = &self.automaton else {
            wanted.fill(true);
            return;
        };
        for found in automaton.find_overlapping_iter(text) {
            let owner = self.owners.get(found.pattern().as_usize());
            if let Some(wanted) = owner.and_then(|owner| wanted.get_mut(*owner)) {
                *wanted = true;
            }
        }
    }
}

impl Pattern {
    /// The text with this sort of secret replaced; `None` if there is none.
    fn apply(&self, text: &str) -> Option<String> {
        let mut masked = String::new();
        let mut done = 0;
        let mut from = 0;
        while let Some(captures) = self.regex.captures_at(text, from) {
            let Some(range) = (self.judge)(&captures, text).filter(|range| !range.is_empty())
            else {
                from = resume(&captures)?;
                continue;
            };
            masked.push_str(text.get(done..range.start)?);
            masked.push_str(self.mark);
            done = range.end;
            from = range.end;
        }
        (done > 0).then(|| {
            masked.push_str(text.get(done..).unwrap_or(""));
            masked
        })
    }
}

/// Where to look on after a match that was no secret: what stood in a secret's place may begin another match. A long
/// one is skipped as a whole, or a text made of nothing else would take quadratic time.
fn resume(captures: &Captures<'_>) -> Option<usize> {
    const RESCANNED: usize = 256;
    let whole = captures.get(0)?;
    let inside = captures
        .name("separator")
        .map(|separator| separator.end())
        .or_else(|| captures.name("secret").map(|secret| secret.start()))?;
    let short = whole.end() - inside <= RESCANNED;
    Some(if short && inside > whole.start() {
        inside
    } else {
        whole.end()
    })
}

/// Header names whose value is a credential as a whole.
const CREDENTIAL_HEADERS: &[&str] = &[
    "authentication",
    "authorization",
    "cookie",
    "ocp-apim-subscription-key",
    "proxy-authorization",
    "set-cookie",
    "x-api-key",
    "x-functions-key",
    "x-goog-api-key",
];

/// How the names of further such headers end. `…-tokens` and `idempotency-key` are none: the classifier reads the
/// former, and a person needs the latter.
const CREDENTIAL_ENDINGS: &[&str] = &[
    "-authorization",
    "-cookie",
    "-password",
    "-secret",
    "-signature",
    "-token",
    "api-key",
    "apikey",
    "access-key",
    "auth-key",
];

fn carries_credentials(header: &str) -> bool {
    let header = header.to_ascii_lowercase();
    CREDENTIAL_HEADERS.contains(&header.as_str())
        || CREDENTIAL_ENDINGS
            .iter()
            .any(|ending| header.ends_with(ending))
}
