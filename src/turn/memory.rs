//! What a turn remembers of its calls: which failed unchanged, which may have done their work, which did it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::Fingerprint;

use super::CallDigest;
use super::pairs;

/// A call that failed for a reason that repeating it unchanged does not remove.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct FailedCall {
    pub(super) event: u64,
    pub(super) lesson: Option<String>,
    /// How often Admit has denied it since.
    pub(super) denials: u32,
    /// It failed for want of an approval: with one it is not the same call again.
    pub(super) needs_approval: bool,
}

/// What is remembered of one call (tool and input).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct CallMemory {
    pub(super) failed: Option<FailedCall>,
    /// Operations and attempts that were judged as maybe executed.
    pub(super) unknown: Vec<(Arc<str>, u32)>,
    /// The operation that succeeded with it last.
    pub(super) succeeded: Option<Arc<str>>,
}

/// A reference that failures of a tool named as missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
struct Missing {
    times: u32,
    event: u64,
}

/// All that is remembered of calls. Every part is cleared in effect, not in fact, when something succeeds: entries
/// older than the latest success no longer count.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Memory {
    #[serde(with = "pairs")]
    calls: HashMap<CallDigest, CallMemory>,
    #[serde(with = "pairs")]
    findings: HashMap<(Arc<str>, Fingerprint), u64>,
    #[serde(with = "pairs")]
    missing: HashMap<(Arc<str>, Arc<str>), Missing>,
    /// Keys of `missing` that were named often enough once.
    often_missing: Vec<(Arc<str>, Arc<str>)>,
    /// The newest runs: event and tool.
    runs: VecDeque<(u64, Arc<str>)>,
    /// Operations whose last word was a failure, with the event of that word; may hold stale entries.
    failed_operations: VecDeque<(u64, Arc<str>)>,
}

/// How many failures must have named a reference before naming it again is refused.
const NAMED_AS_MISSING: u32 = 3;
/// Runs kept to tell what may have undone a precondition.
const RUNS_KEPT: usize = 16;
/// Failed operations kept beyond the 32 that a verdict names, since some are resolved meanwhile.
const FAILED_KEPT: usize = 256;

impl Memory {
    /// Entries that the turn's bound counts.
    pub(super) fn len(&self) -> usize {
        self.calls.len() + self.findings.len() + self.missing.len()
    }

    pub(super) fn call(&self, digest: CallDigest) -> Option<&CallMemory> {
        self.calls.get(&digest)
    }

    pub(super) fn call_mut(&mut self, digest: CallDigest) -> &mut CallMemory {
        self.calls.entry(digest).or_default()
    }

    /// The failed call that stands: nothing has succeeded since.
    pub(super) fn standing_failure(
        &self,
        digest: CallDigest,
        last_success: u64,
    ) -> Option<&FailedCall> {
        self.calls
            .get(&digest)?
            .failed
            .as_ref()
            .filter(|failed| failed.event > last_success)
    }

    /// Remembers a failed call; the count of its denials goes on while nothing succeeds.
    pub(super) fn remember_failed(
        &mut self,
        digest: CallDigest,
        event: u64,
        lesson: Option<String>,
        needs_approval: bool,
        last_success: u64,
    ) {
        let denials = self
            .standing_failure(digest, last_success)
            .map_or(0, |failed| failed.denials);
        self.call_mut(digest).failed = Some(FailedCall {
            event,
            lesson,
            denials,
            needs_approval,
        });
    }

    /// Remembers that an attempt of an operation may have executed with this call.
    pub(super) fn remember_unknown(
        &mut self,
        digest: CallDigest,
        operation: &Arc<str>,
        attempt: u32,
    ) {
        let unknown = &mut self.call_mut(digest).unknown;
        match unknown.iter_mut().find(|(known, _)| known == operation) {
            Some((_, known)) => *known = attempt.max(*known),
            None => unknown.push((operation.clone(), attempt)),
        }
    }

    /// Whether this finding was made before with nothing succeeded since; remembers it.
    pub(super) fn is_old_finding(
        &mut self,
        tool: &Arc<str>,
        fingerprint: Fingerprint,
        event: u64,
        last_success: u64,
    ) -> bool {
        self.findings
            .insert((tool.clone(), fingerprint), event)
            .is_some_and(|before| before > last_success)
    }

    /// Remembers the reference that a failure of the tool named as missing.
    pub(super) fn remember_missing(
        &mut self,
        tool: &Arc<str>,
        reference: &str,
        event: u64,
        last_success: u64,
    ) {
        let key = (tool.clone(), Arc::from(reference));
        let missing = self.missing.entry(key.clone()).or_default();
        if missing.event <= last_success {
            missing.times = 0;
        }
        missing.times = missing.times.saturating_add(1);
        missing.event = event;
        if missing.times == NAMED_AS_MISSING && !self.often_missing.contains(&key) {
            self.often_missing.push(key);
        }
    }

    /// A reference that the input names again although enough failures said that it does not exist.
    pub(super) fn names_missing_again(
        &self,
        tool: &Arc<str>,
        input: &str,
        last_success: u64,
    ) -> Option<&Arc<str>> {
        self.often_missing
            .iter()
            .filter(|key| {
                self.missing.get(*key).is_some_and(|missing| {
                    missing.times >= NAMED_AS_MISSING && missing.event > last_success
                })
            })
            .find(|(of, reference)| of == tool && names_as_token(input, reference))
            .map(|(_, reference)| reference)
    }

    /// Remembers that a tool ran.
    pub(super) fn remember_run(&mut self, event: u64, tool: &Arc<str>) {
        if self.runs.len() >= RUNS_KEPT {
            self.runs.pop_front();
        }
        self.runs.push_back((event, tool.clone()));
    }

    /// The newest tool that ran since, other than the two named.
    pub(super) fn ran_since(&self, event: u64, not: [&str; 2]) -> Option<Arc<str>> {
        self.runs
            .iter()
            .rev()
            .take_while(|(at, _)| *at > event)
            .find(|(_, tool)| !not.contains(&&**tool))
            .map(|(_, tool)| tool.clone())
    }

    /// Remembers that an operation's last word was a failure.
    pub(super) fn remember_failed_operation(&mut self, event: u64, operation: &Arc<str>) {
        if self.failed_operations.len() >= FAILED_KEPT {
            self.failed_operations.pop_front();
        }
        self.failed_operations.push_back((event, operation.clone()));
    }

    /// Operations whose last word was a failure, newest first, stale entries included.
    pub(super) fn failed_operations(&self) -> impl Iterator<Item = &(u64, Arc<str>)> {
        self.failed_operations.iter().rev()
    }
}

/// Whether `input` names `reference` as a whole: not as a part of a longer name.
fn names_as_token(input: &str, reference: &str) -> bool {
    !reference.is_empty()
        && input.match_indices(reference).any(|(at, found)| {
            let before = input.get(..at).unwrap_or_default().chars().rev();
            let after = input.get(at + found.len()..).unwrap_or_default().chars();
            !goes_on(before) && !goes_on(after)
        })
}

/// Whether a name goes on with these characters: by a letter, or by a dot or slash with a letter behind it, as in
/// `data.csv.gz` and `/tmp/data.csv`.
fn goes_on(mut characters: impl Iterator<Item = char>) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    match characters.next() {
        Some('.' | '/') => characters.next().is_some_and(is_part),
        Some(c) => is_part(c),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::names_as_token;

    #[test]
    fn a_reference_is_named_only_as_a_whole() {
        for (input, reference, named) in [
            (r#"{"path":"data.csv"}"#, "data.csv", true),
            ("cat data.csv.gz", "data.csv", false),
            ("cat /tmp/data.csv", "data.csv", false),
            ("cat data.csv.", "data.csv", true),
            ("cat mydata.csv", "data.csv", false),
            ("SELECT * FROM customers", "customer", false),
            ("SELECT * FROM customer", "customer", true),
            ("kunde_ü", "kunde", false),
            ("anything", "", false),
        ] {
            assert_eq!(
                names_as_token(input, reference),
                named,
                "{input} / {reference}"
            );
        }
    }
}
