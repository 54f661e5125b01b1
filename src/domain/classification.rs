//! What was read out of a failure, and what it is charged to.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::named_enum;
use super::{Execution, Family, Kind};

named_enum! {
    /// Which sort of evidence decided; in the order in which they are looked at.
    EvidenceSource, "evidence source" {
        /// A rule of the operator's policy.
        Policy = "policy",
        /// A vendor or protocol code.
        Code = "code",
        /// The exception's type.
        Exception = "exception",
        /// The text, or JSON inside it.
        Text = "text",
        /// A bare HTTP or gRPC status, or an exit code.
        Status = "status",
        /// Nothing.
        None = "none",
    }
}

/// A digest of the failure's text with numbers, ids, quoted values, paths and addresses masked.
/// Equal for the same failure seen through different tools. Printed as 16 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Fingerprint(pub u64);

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What the classifier reads out of one failure: a pure function of failure, rules and time of receipt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// What failed.
    pub kind: Kind,
    /// Whether the work happened, as far as the evidence says. The worker's own word is already honoured in it.
    pub execution: Execution,
    /// Whether `execution` is the worker's own word (`failure.execution`) and not read from evidence.
    pub vouched: bool,
    /// Id of the rule that decided, e.g. `openai/insufficient-quota`; `unknown` where none did.
    pub rule: Arc<str>,
    /// The span or field that decided, e.g. `code = insufficient_quota`; at most 160 bytes.
    pub evidence: String,
    /// Which sort of evidence decided.
    pub source: EvidenceSource,
    /// Share of corpus cases that were read right at this level, 0 to 1.
    pub confidence: f32,
    /// A wait that the failure states, if it is a sane one.
    pub retry_after: Option<Duration>,
    /// The server asked not to be asked again (`x-should-retry: false`, negative pushback).
    pub server_says_no: bool,
    /// The dependency that the text itself names as failed: host, host:port or service. The worker's word stays in
    /// `Failure::dependency`.
    pub dependency: Option<String>,
    /// The name of the thing that a `wrong_reference` says is missing.
    pub reference: Option<String>,
    /// Digest of the masked text.
    pub fingerprint: Fingerprint,
}

/// The second half of a cause: whom a failure is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A dependency from the policy, the worker or the text.
    Dependency(Arc<str>),
    /// A group of the policy.
    Group(Arc<str>),
    /// A tool, by the name that the worker used.
    Tool(Arc<str>),
    /// A model, by name.
    Model(Arc<str>),
    /// The masked text itself, where nothing better is known.
    Fingerprint(Fingerprint),
    /// All tools together: invented names dodge nothing.
    Tools,
}

impl std::fmt::Display for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Subject::Dependency(name)
            | Subject::Group(name)
            | Subject::Tool(name)
            | Subject::Model(name) => f.write_str(name),
            Subject::Fingerprint(fingerprint) => fingerprint.fmt(f),
            Subject::Tools => f.write_str("tools"),
        }
    }
}

/// What a failure is charged to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Cause {
    /// By kind.
    pub family: Family,
    /// Whom.
    pub subject: Subject,
}

/// A reading with the cause that was found for it: what the worker gets to see.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Classification {
    /// What was read.
    pub reading: Reading,
    /// What it is charged to.
    pub cause: Cause,
    /// The dependency that counts: the policy's, the worker's or the one in the text.
    pub dependency: Option<Arc<str>>,
}
