//! A scenario file as it is written. Unknown keys are refused.

use std::path::Path;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value as Json};

/// One file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// What the story shows.
    pub(crate) name: String,
    /// Where it comes from.
    #[serde(default, rename = "seed")]
    pub(crate) _seed: Option<String>,
    /// What is not built yet; until then the file is only checked, and counted as ignored.
    #[serde(default)]
    pub(crate) awaits: Option<String>,
    /// The policy document that the server is started with.
    #[serde(default)]
    pub(crate) policy: Option<serde_yaml_ng::Value>,
    /// Server settings beside addresses and directories.
    #[serde(default)]
    pub(crate) server: Option<serde_yaml_ng::Value>,
    /// In order.
    pub(crate) steps: Vec<Step>,
    /// Series to their values after the last step.
    #[serde(default)]
    pub(crate) metrics: Map<String, Json>,
}

/// One step: a call (many times, where it says so), a pause, or a pause and then a call.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// Method.
    pub(crate) call: Option<String>,
    /// Name under which later steps refer to the answer.
    #[serde(rename = "as")]
    pub(crate) name: Option<String>,
    /// The message, in proto field names.
    #[serde(default)]
    pub(crate) request: Map<String, Json>,
    /// How often; `{i}` in strings is 1 to N.
    pub(crate) repeat: Option<u32>,
    /// All at once.
    #[serde(default)]
    pub(crate) concurrent: bool,
    /// A pause before the call.
    pub(crate) sleep: Option<String>,
    /// Holds for the answer; with `repeat` for every one.
    #[serde(default)]
    pub(crate) expect: Map<String, Json>,
    /// Holds for every answer of a `repeat`.
    #[serde(default)]
    pub(crate) expect_each: Map<String, Json>,
    /// Answers of a `repeat` counted by one path.
    pub(crate) expect_counts: Option<Counts>,
    /// Holds for the last answer of a `repeat`.
    #[serde(default)]
    pub(crate) expect_last: Map<String, Json>,
    /// The gRPC code with which the call must fail.
    pub(crate) expect_error: Option<String>,
}

/// How many answers have which value.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Counts {
    /// The field that is looked at.
    pub(crate) path: String,
    /// Value (null: absent) to number of answers.
    pub(crate) counts: serde_yaml_ng::Mapping,
}

impl Scenario {
    /// Reads a file's text.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        Ok(serde_yaml_ng::from_str(text)?)
    }

    /// Reads a file.
    pub(crate) fn read(file: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(file)
            .with_context(|| format!("cannot read {}", file.display()))?;
        Self::parse(&text)
    }
}
