//! Rules as data: what a rule file may say, and how it is read.
//!
//! A file under `rules/` describes one vendor, protocol or field. Its stem is the first half of its rules' ids, so
//! `insufficient-quota` in `openai.yaml` is the rule `openai/insufficient-quota`. The format is described in
//! `rules/README.md`.

mod examples;
#[cfg(test)]
mod tests;
mod yaml;

use serde::Deserialize;

use super::pattern::PhraseError;
use crate::domain::{Execution, Kind, Origin};

pub use examples::ExampleReport;
pub(super) use examples::{run as run_examples, run_operators as run_operators_examples};

/// Stem and content of each file under `rules/`, in order of name, as the build found them.
pub(super) const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/rule_files.rs"));

/// Why the rules cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// The file is not what a rule file should be.
    #[error("rule file `{file}`: {detail}")]
    File {
        /// Name of the file.
        file: String,
        /// What the reader says.
        detail: String,
    },
    /// One field of one rule is wrong.
    #[error("rule file `{file}`, rule `{rule}`, field `{field}`: {detail}")]
    Field {
        /// Name of the file; `policy` for the operator's own rules.
        file: String,
        /// The rule's id.
        rule: String,
        /// The field.
        field: &'static str,
        /// What is wrong, and what would be right.
        detail: String,
    },
    /// All literals together do not make an automaton.
    #[error("the rules' literals cannot be compiled: {0}; shorten or remove some")]
    Automaton(String),
}

impl RuleError {
    pub(super) fn phrase(file: &str, rule: &str, field: &'static str, error: &PhraseError) -> Self {
        RuleError::Field {
            file: file.to_owned(),
            rule: rule.to_owned(),
            field,
            detail: error.to_string(),
        }
    }
}

/// How much a rule's evidence counts against other evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// A type that says next to nothing (`ValueError`): even a bare status beats it.
    Faint,
    /// A word that many failures share (`INVALID_ARGUMENT`, `RuntimeError`): anything specific beats it.
    Generic,
    /// Says what failed. Code before exception before text.
    Specific,
    /// Outranks a specific code or exception that is known to be sent for several causes.
    Decisive,
}

/// One rule file, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleFile {
    /// What the file is about, for its readers.
    #[allow(dead_code)]
    pub(super) about: String,
    /// Literals that show that this vendor speaks.
    #[serde(default)]
    pub(super) signs: Lines,
    /// Whether codes that are mere numbers count without such a sign.
    #[serde(default)]
    pub(super) numbers_need_sign: Option<bool>,
    pub(super) rules: Vec<RuleSource>,
}

/// One rule, as written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RuleSource {
    pub(super) id: String,
    pub(super) kind: Kind,
    #[serde(default)]
    pub(super) execution: Option<Execution>,
    #[serde(default)]
    pub(super) strength: Option<Strength>,
    /// Phrases, one a line.
    #[serde(default)]
    pub(super) text: Lines,
    #[serde(default)]
    pub(super) codes: Words,
    /// Last segments of type names; a leading `*` matches the end of a name.
    #[serde(default)]
    pub(super) exceptions: Words,
    #[serde(default)]
    pub(super) http: Vec<u16>,
    #[serde(default)]
    pub(super) grpc: Words,
    #[serde(default)]
    pub(super) exit: Vec<i32>,
    /// Phrases of which none may occur.
    #[serde(default)]
    pub(super) unless: Lines,
    /// Phrases of which one must occur.
    #[serde(default)]
    pub(super) with: Lines,
    /// HTTP statuses of which one must be stated.
    #[serde(default)]
    pub(super) with_status: Vec<u16>,
    /// Only where this step failed.
    #[serde(default)]
    pub(super) origin: Option<Origin>,
    /// Only where the file's signs show that this vendor speaks.
    #[serde(default)]
    pub(super) signed: bool,
    pub(super) why: String,
    #[serde(default)]
    pub(super) examples: Vec<Example>,
    #[serde(default)]
    pub(super) not: Vec<Example>,
}

/// Phrases: one a line, or a list.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Lines {
    #[default]
    None,
    One(String),
    Many(Vec<String>),
}

impl Lines {
    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        let (one, many) = match self {
            Lines::None => ("", [].as_slice()),
            Lines::One(text) => (text.as_str(), [].as_slice()),
            Lines::Many(list) => ("", list.as_slice()),
        };
        one.lines()
            .chain(many.iter().map(String::as_str))
            .map(str::trim)
            .filter(|line| !line.is_empty())
    }
}

/// Words: separated by blanks, or a list.
#[derive(Debug, Default, Deserialize)]
#[serde(untagged)]
pub(super) enum Words {
    #[default]
    None,
    One(String),
    Number(i64),
    Many(Vec<Word>),
}

/// A word; numbers need no quotes in a list.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Word {
    Text(String),
    Number(i64),
}

impl Words {
    pub(super) fn to_vec(&self) -> Vec<String> {
        match self {
            Words::None => Vec::new(),
            Words::One(text) => text.split_whitespace().map(str::to_owned).collect(),
            Words::Number(number) => vec![number.to_string()],
            Words::Many(list) => list
                .iter()
                .map(|word| match word {
                    Word::Text(text) => text.clone(),
                    Word::Number(number) => number.to_string(),
                })
                .collect(),
        }
    }
}

/// A failure that a rule's own test reads.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(super) enum Example {
    /// A message.
    Message(String),
    /// A message with fields.
    Fields(ExampleFields),
}

/// See [`Example`].
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ExampleFields {
    pub(super) message: String,
    pub(super) exception: String,
    pub(super) code: String,
    pub(super) http: Option<u16>,
    pub(super) grpc: String,
    pub(super) exit: Option<i32>,
    pub(super) tool: String,
    pub(super) origin: Option<Origin>,
}

/// Reads one rule file.
pub(super) fn parse(file: &str, source: &str) -> Result<RuleFile, RuleError> {
    let value = yaml::to_json(source).map_err(|detail| RuleError::File {
        file: file.to_owned(),
        detail,
    })?;
    RuleFile::deserialize(&value).map_err(|error| locate(file, &value, &error))
}

/// Names the rule that is wrong: the error of the whole file does not.
fn locate(file: &str, value: &serde_json::Value, error: &serde_json::Error) -> RuleError {
    let rules = value.get("rules").and_then(serde_json::Value::as_array);
    for (at, rule) in rules.into_iter().flatten().enumerate() {
        let id = rule
            .get("id")
            .and_then(serde_json::Value::as_str)
            .map_or_else(|| format!("number {}", at + 1), str::to_owned);
        if let Err(error) = RuleSource::deserialize(rule) {
            return RuleError::File {
                file: file.to_owned(),
                detail: format!("rule `{id}`: {error}"),
            };
        }
    }
    RuleError::File {
        file: file.to_owned(),
        detail: error.to_string(),
    }
}
