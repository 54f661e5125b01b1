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

#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

pub use book::Rule;
pub use dependency::reads_as_same_host;
pub use fingerprint::fingerprint;
pub use pattern::PhraseError;
pub use rules::{RuleError, Strength};

use crate::domain::{EvidenceSource, Execution, Failure, Kind, Origin, Reading, Timestamp};
use crate::policy::OperatorRule;
use book::RuleBook;
use operator::OperatorRules;

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
    operator: OperatorRules,
}

/// The built-in rules are compiled once a process: a policy reload only adds the operator's.
static BUILTIN: OnceLock<Result<Arc<RuleBook>, RuleError>> = OnceLock::new();

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
        let book = BUILTIN
            .get_or_init(|| RuleBook::builtin().map(Arc::new))
            .clone()?;
        Ok(Classifier {
            book,
            operator: OperatorRules::compile(operator_rules, own_texts)?,
        })
    }

    /// The built-in rules, in the order of their files.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.book.rules.iter()
    }

    /// Reads one failure.
    pub fn read(&self, failure: &Failure, context: &Context<'_>) -> Reading {
        scan::with_scratch(|scratch| {
            text::fold(&failure.message, &mut scratch.text);
            scan::scan(&self.book, failure, context, scratch);
            let finding = self
                .operator
                .find(failure, context.tool, &scratch.text)
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
    let folded = scratch.text.as_str();
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

/// Share of corpus cases that were read right at each level, rounded down to whole twentieths; a test keeps it true.
fn confidence(source: EvidenceSource, strength: Strength) -> f32 {
    match (source, strength) {
        (EvidenceSource::Policy, _) => 1.0,
        (EvidenceSource::Code | EvidenceSource::Exception, Strength::Generic) => 0.8,
        (EvidenceSource::Code | EvidenceSource::Exception, _) => 0.9,
        (EvidenceSource::Text, Strength::Generic) => 0.8,
        (EvidenceSource::Text, _) => 0.9,
        (EvidenceSource::Status, _) => 0.7,
        (EvidenceSource::None, _) => 0.5,
    }
}
