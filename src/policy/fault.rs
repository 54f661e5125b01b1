//! What is wrong with a policy document: every fault with its place, all at once, so that one edit mends them all.
//!
//! Lines and columns count from 1. The texts name no file: whoever read it prefixes its path.

use std::fmt;

/// One thing that is wrong with a policy document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicyFault {
    /// From 1; 0 where no line is to blame.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// Where in the document, e.g. `tools.create_charge.effect`; empty for the document itself.
    pub field: String,
    /// What is wrong and what to write instead.
    pub problem: String,
    /// The nearest known name, where one is near.
    pub suggestion: Option<String>,
}

impl fmt::Display for PolicyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}", self.line)?;
            if !self.field.is_empty() {
                f.write_str(", ")?;
            }
        }
        write!(f, "{}: {}", self.field, self.problem)?;
        if let Some(suggestion) = &self.suggestion {
            write!(f, "; did you mean `{suggestion}`?")?;
        }
        Ok(())
    }
}

/// All faults of a document in the order of their lines; never empty. Prints one a line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct PolicyFaults {
    /// In the order of the document.
    pub faults: Vec<PolicyFault>,
}

impl fmt::Display for PolicyFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.faults.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            fault.fmt(f)?;
        }
        Ok(())
    }
}

/// The known name that `word` was most likely meant to be. Case and `-` for `_` count as no difference, swapped
/// neighbours as one; a third of the word may differ, but never more than three characters.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    let word = plain(word);
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&word, &plain(name)), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_typos_and_nothing_far() {
        let known = ["effect", "max_failures", "max_attempts", "group"];
        for (word, expected) in [
            ("efect", Some("effect")),
            ("EFFECT", Some("effect")),
            ("max-failures", Some("max_failures")),
            ("max_atempst", Some("max_attempts")),
            ("grp", None),
            ("gruop", Some("group")),
            ("timeout", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }

    #[test]
    fn prints_place_problem_and_suggestion() {
        let fault = PolicyFault {
            line: 7,
            column: 3,
            field: "tools.create_charge.efect".into(),
            problem: "unknown field".into(),
            suggestion: Some("effect".into()),
        };
        assert_eq!(
            fault.to_string(),
            "line 7, tools.create_charge.efect: unknown field; did you mean `effect`?"
        );
    }
}
