//! The operator's own rules, and the texts by which this system knows its own words.

use std::sync::Arc;

use aho_corasick::AhoCorasick;

use super::rules::{RuleError, Strength};
use super::text::{cut, find_ignoring_case};
use super::weigh::last_segment;
use super::{EVIDENCE_LIMIT, Finding};
use crate::domain::{EvidenceSource, Failure, Kind};
use crate::policy::OperatorRule;

/// Every explanation of a verdict starts with this.
const OWN_TEXT: &str = "backstop verdict";
const OWN_RULE: &str = "backstop/own-verdict";

#[derive(Debug, Clone)]
pub(super) struct OperatorRules {
    rules: Vec<Compiled>,
    /// This system's own texts.
    own: AhoCorasick,
    own_rule: Arc<str>,
}

#[derive(Debug, Clone)]
struct Compiled {
    rule: OperatorRule,
    /// The text, folded like the messages that it is looked for in.
    text: Option<String>,
}

impl OperatorRules {
    pub(super) fn compile(rules: &[OperatorRule], own_texts: &[&str]) -> Result<Self, RuleError> {
        let own_texts = own_texts
            .iter()
            .chain(&[OWN_TEXT])
            .filter(|text| !text.trim().is_empty());
        let own = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(own_texts.map(|text| folded(text)))
            .map_err(|error| RuleError::Automaton(error.to_string()))?;
        Ok(OperatorRules {
            rules: rules.iter().map(compile).collect::<Result<_, _>>()?,
            own,
            own_rule: OWN_RULE.into(),
        })
    }

    /// The first rule that fits, or this system's own text.
    pub(super) fn find(&self, failure: &Failure, tool: &str, text: &str) -> Option<Finding> {
        let bytes = text.as_bytes();
        if self.own.is_match(bytes) {
            return Some(Finding {
                kind: Kind::ApprovalRequired,
                execution: Kind::ApprovalRequired.usual_execution(),
                rule: self.own_rule.clone(),
                evidence: cut(text, EVIDENCE_LIMIT).to_owned(),
                source: EvidenceSource::Text,
                strength: Strength::Decisive,
            });
        }
        let found = self
            .rules
            .iter()
            .find(|rule| rule.fits(failure, tool, bytes))?;
        Some(Finding {
            kind: found.rule.kind,
            execution: found
                .rule
                .execution
                .unwrap_or(found.rule.kind.usual_execution()),
            rule: found.rule.id.clone(),
            evidence: found.evidence(failure),
            source: EvidenceSource::Policy,
            strength: Strength::Decisive,
        })
    }
}

fn folded(text: &str) -> String {
    let mut out = String::new();
    super::text::fold(text, &mut out);
    out
}

fn compile(rule: &OperatorRule) -> Result<Compiled, RuleError> {
    let text = rule.text.as_deref().map(folded);
    let says_nothing = text.is_none()
        && rule.code.is_none()
        && rule.exception.is_none()
        && rule.http_status.is_none();
    if says_nothing || text.as_deref() == Some("") {
        return Err(RuleError::Field {
            file: "policy".to_owned(),
            rule: rule.id.to_string(),
            field: "text",
            detail: "matches nothing; set text, code, exception or http_status".to_owned(),
        });
    }
    Ok(Compiled {
        rule: rule.clone(),
        text,
    })
}

impl Compiled {
    fn fits(&self, failure: &Failure, tool: &str, text: &[u8]) -> bool {
        let rule = &self.rule;
        let same = |want: &str, got: &str| want.trim().eq_ignore_ascii_case(got.trim());
        self.text
            .as_deref()
            .is_none_or(|want| find_ignoring_case(text, want.as_bytes()).is_some())
            && rule
                .code
                .as_deref()
                .is_none_or(|want| same(want, &failure.code))
            && rule.exception.as_deref().is_none_or(|want| {
                same(want, &failure.exception_type)
                    || same(want, last_segment(failure.exception_type.trim()))
            })
            && rule
                .http_status
                .is_none_or(|want| failure.http_status == Some(want))
            && rule
                .tool
                .as_deref()
                .is_none_or(|glob| glob_matches(glob, tool))
    }

    fn evidence(&self, failure: &Failure) -> String {
        let rule = &self.rule;
        let text = match (&rule.text, &rule.code, &rule.exception) {
            (Some(text), _, _) => text.clone(),
            (None, Some(_), _) => format!("code = {}", failure.code),
            (None, None, Some(_)) => format!("exception_type = {}", failure.exception_type),
            (None, None, None) => {
                format!("http_status = {}", failure.http_status.unwrap_or_default())
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
