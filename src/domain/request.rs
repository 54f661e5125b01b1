//! What workers ask, after the edge has validated it.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::named_enum;
use super::{Effect, Failure, Origin, Timestamp};

/// What every request about one attempt names. Ids are 1 to 256 bytes, checked at the edge.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The operation.
    pub operation_id: Arc<str>,
    /// From 1; 0 means the next one.
    pub attempt: u32,
    /// The tool's or model's name.
    pub tool: Arc<str>,
    /// Which step it is.
    pub origin: Origin,
    /// What the worker claims of the effect.
    pub effect: Option<Effect>,
    /// The arguments. Absent where the worker did not send any (never the same as another).
    pub input: Option<Arc<str>>,
    /// A person's approval, by its id elsewhere.
    pub approval_id: Option<Arc<str>>,
    /// A key that the worker used of its own.
    pub idempotency_key: Option<Arc<str>>,
    /// Who asks.
    pub worker_id: Option<Arc<str>>,
    /// The earlier of `deadline` and `time_left`, as a point in time.
    pub deadline: Option<Timestamp>,
    /// The same one again gets the same answer.
    pub request_id: Option<Arc<str>>,
}

/// May this call go out?
#[derive(Debug, Clone, PartialEq)]
pub struct AdmitRequest {
    /// Which call.
    pub call: Call,
    /// How many sub-agents deep the caller is; 0 is the turn's own agent.
    pub depth: u32,
}

/// This call failed; what now?
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeRequest {
    /// Which call.
    pub call: Call,
    /// How it failed.
    pub failure: Failure,
    /// The worker's own lesson.
    pub lesson: Option<String>,
    /// Whether a small model may write the lesson.
    pub distill: bool,
    /// How long the attempt took.
    pub elapsed: Option<Duration>,
    /// How often the layers below tried within this attempt; 1 to 1,000.
    pub tries: u32,
    /// Tokens that the attempt cost.
    pub tokens_spent: u64,
}

/// This call succeeded.
#[derive(Debug, Clone, PartialEq)]
pub struct SuccessReport {
    /// Which call.
    pub call: Call,
    /// How long the attempt took.
    pub elapsed: Option<Duration>,
    /// Tokens that the attempt cost.
    pub tokens_spent: u64,
    /// What came back, to be handed out where the same effect is asked for again; at most 64 KiB.
    pub result: Option<Arc<str>>,
}

named_enum! {
    /// How the worker says that a turn ended.
    Outcome, "outcome" {
        /// As asked.
        Succeeded = "succeeded",
        /// With less than was asked.
        Degraded = "degraded",
        /// Not at all.
        Failed = "failed",
        /// Handed over.
        Escalated = "escalated",
    }
}

/// The turn is over.
#[derive(Debug, Clone, PartialEq)]
pub struct EndTurnRequest {
    /// How.
    pub outcome: Outcome,
    /// Whether the user was told of what did not work.
    pub disclosed: bool,
    /// Tokens not reported with a call.
    pub tokens_spent: u64,
    /// The same one again gets the same answer.
    pub request_id: Option<Arc<str>>,
}

/// What a turn came to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnSummary {
    /// Calls counted.
    pub calls: u64,
    /// Failures judged, replays aside.
    pub failures: u64,
    /// RETRY verdicts.
    pub retries: u64,
    /// REPROMPT verdicts.
    pub reprompts: u64,
    /// Operations that succeeded after failing.
    pub recoveries: u64,
    /// Operations whose failure nobody resolved.
    pub unresolved_operations: Vec<Arc<str>>,
    /// Tokens of failed attempts.
    pub tokens_wasted: u64,
    /// Ended well with unresolved operations that nobody was told of.
    pub silent: bool,
}
