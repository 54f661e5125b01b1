//! The operator's own rules, and the texts by which this system knows its own words.
//!
//! Their phrases are looked for in the same pass as all others and set marks; what is asked here is only which of the
//! rules has all that it wants.

use std::sync::Arc;

use super::anchors::{Statuses, codes};
use super::scan::Scratch;
use super::text::cut;
use super::weigh::last_segment;
use super::{Context, EVIDENCE_LIMIT, Finding, Strength};
use crate::domain::{EvidenceSource, Failure, Kind};
use crate::policy::OperatorRule;

/// Every explanation of a verdict starts with this.
pub(super) const OWN_TEXT: &str = "backstop verdict";
const OWN_RULE: &str = "backstop/own-verdict";

/// What goes before the rules of the files. Marks are those of the book that these are part of.
#[derive(Debug, Default)]
pub(super) struct OperatorRules {
    pub(super) rules: Vec<Compiled>,
    /// Places in `rules` of those that look for no text: they are asked each time.
    pub(super) textless: Vec<usize>,
    /// The rule that each of the operator's marks belongs to, in order of mark; nothing for this system's own texts.
    pub(super) of_mark: Vec<Option<usize>>,
    /// Marks of this system's own texts.
    pub(super) own: Vec<u32>,
}

/// A rule of the operator's with its phrases' marks.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: OperatorRule,
    /// Marks of which one must be set, if there are any.
    pub(super) text: Vec<u32>,
    /// Marks of which none may be set.
    pub(super) unless: Vec<u32>,
}

impl OperatorRules {
    /// This system's own text, or the first rule that has all that it wants.
    pub(super) fn find(
        &self,
        failure: &Failure,
        context: &Context<'_>,
        read: &Scratch,
    ) -> Option<Finding> {
        if read.has_any(&self.own) {
            return Some(Finding {
                kind: Kind::ApprovalRequired,
                execution: Kind::ApprovalRequired.usual_execution(),
                rule: Arc::from(OWN_RULE),
                evidence: cut(read.message(), EVIDENCE_LIMIT).to_owned(),
                source: EvidenceSource::Text,
                strength: Strength::Decisive,
            });
        }
        let found = self.first_that_fits(failure, context.tool, read)?;
        Some(Finding {
            kind: found.rule.kind,
            execution: found
                .rule
                .execution
                .unwrap_or(found.rule.kind.usual_execution()),
            rule: found.rule.id.clone(),
            evidence: found.evidence(failure, read),
            source: EvidenceSource::Policy,
            strength: Strength::Decisive,
        })
    }

    /// In the order of the policy; of those with a text only the ones whose text stands there are looked at.
    fn first_that_fits(&self, failure: &Failure, tool: &str, read: &Scratch) -> Option<&Compiled> {
        let with_text = read
            .operators_marks()
            .filter_map(|mark| self.of_mark.get(mark).copied().flatten());
        with_text
            .chain(self.textless.iter().copied())
            .filter(|at| {
                self.rules
                    .get(*at)
                    .is_some_and(|rule| rule.fits(failure, tool, read))
            })
            .min()
            .and_then(|at| self.rules.get(at))
    }
}

impl Compiled {
    fn fits(&self, failure: &Failure, tool: &str, read: &Scratch) -> bool {
        let rule = &self.rule;
        let same = |want: &str, got: &str| want.trim().eq_ignore_ascii_case(got.trim());
        let is_code = |want: &str| {
            same(want, &failure.code)
                || codes(read).any(|(start, end)| {
                    read.message()
                        .get(start..end)
                        .is_some_and(|code| same(want, code))
                })
        };
        let is_type = |want: &str| {
            let name = failure.exception_type.as_str();
            same(want, name) || same(want, last_segment(name.trim()))
        };
        (self.text.is_empty() || read.has_any(&self.text))
            && !read.has_any(&self.unless)
            && rule
                .tool
                .as_deref()
                .is_none_or(|glob| glob_matches(glob, tool))
            && rule.exception.as_deref().is_none_or(is_type)
            && rule.code.as_deref().is_none_or(is_code)
            && rule
                .http_status
                .is_none_or(|want| Statuses::new(failure.http_status).any_of(read, &[want]))
    }

    fn evidence(&self, failure: &Failure, read: &Scratch) -> String {
        let span = self.text.iter().find_map(|mark| read.span_of(*mark));
        let rule = &self.rule;
        let text = match (span, &rule.code, &rule.exception) {
            (Some(span), _, _) => span.to_owned(),
            (None, Some(code), _) => format!("code = {code}"),
            (None, None, Some(_)) => format!("exception_type = {}", failure.exception_type),
            (None, None, None) => {
                format!("http_status = {}", rule.http_status.unwrap_or_default())
            }
        };
        cut(&text, EVIDENCE_LIMIT).to_owned()
    }
}

/// `*` any characters, `?` one. Linear but for the number of stars.
fn glob_matches(glob: &str, name: &str) -> bool {
    let (glob, name) = (glob.as_bytes(), name.as_bytes());
    let (mut g, mut n) = (0, 0);
    let mut star = None;
    while n < name.len() {
        match glob.get(g) {
            Some(b'*') => {
                star = Some((g, n));
                g += 1;
            }
            Some(b'?') => {
                g += 1;
                n += 1;
            }
            Some(byte) if name.get(n) == Some(byte) => {
                g += 1;
                n += 1;
            }
            _ => match star {
                Some((at, seen)) => {
                    star = Some((at, seen + 1));
                    g = at + 1;
                    n = seen + 1;
                }
                None => return false,
            },
        }
    }
    glob.get(g..)
        .is_some_and(|rest| rest.iter().all(|b| *b == b'*'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs_match_whole_names() {
        let cases = [
            ("github_*", "github_search", true),
            ("github_*", "gitlab_search", false),
            ("*", "", true),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            ("*a*b*", "xxaxxbxx", true),
            ("abc", "abcd", false),
        ];
        for (glob, name, want) in cases {
            assert_eq!(glob_matches(glob, name), want, "{glob} {name}");
        }
    }
}
