//! A dead letter: one stop with everything that a person or a batch job needs to resolve it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::named_enum;
use super::{
    Action, Budgets, Cause, Context, Effect, EscalateTo, Execution, Failure, Fingerprint, Kind,
    Origin, Outcome, Reason, StopScope, Timestamp,
};

named_enum! {
    /// Where a letter stands.
    LetterStatus, "dead-letter status" {
        /// Waits for somebody.
        Open = "open",
        /// Somebody settled it, or a later verdict did.
        Resolved = "resolved",
        /// Given back to the workers.
        Requeued = "requeued",
        /// A worker took it up.
        Claimed = "claimed",
        /// Somebody decided that it does not matter.
        Discarded = "discarded",
    }
}

/// One attempt as the ledger and the letters keep it. Texts are masked before a letter stores them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AttemptRecord {
    /// From 1.
    pub attempt: u32,
    /// Who made it, if they said.
    pub worker_id: Option<String>,
    /// When Admit let it through.
    pub admitted_at: Option<Timestamp>,
    /// When it was judged.
    pub judged_at: Option<Timestamp>,
    /// When its success was reported.
    pub succeeded_at: Option<Timestamp>,
    /// What failed.
    pub kind: Option<Kind>,
    /// Whether the work happened.
    pub execution: Option<Execution>,
    /// Rule that decided.
    pub rule: Option<String>,
    /// The failure as the worker held it, its text possibly cut.
    pub failure: Option<Failure>,
    /// Digest of the masked text.
    pub fingerprint: Option<Fingerprint>,
    /// The corrective sentence, from the worker or rule-made.
    pub lesson: Option<String>,
    /// Whether the worker's lesson was cut to 25 words.
    pub lesson_cut: bool,
    /// What the oracle said.
    pub action: Option<Action>,
    /// And why.
    pub reason: Option<Reason>,
    /// The wait that was given out.
    pub retry_after: Option<Duration>,
    /// How long the attempt took.
    pub elapsed: Option<Duration>,
    /// How often the layers below tried.
    pub tries: u32,
    /// What it cost.
    pub tokens_spent: u64,
}

/// What a silent failure claimed, and what was unresolved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SilentRecord {
    /// What the worker said; absent where the turn idled out.
    pub outcome: Option<Outcome>,
    /// What nobody resolved.
    pub unresolved_operations: Vec<String>,
}

/// One parked stop.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// A time-ordered UUID (version 7).
    pub id: String,
    /// Where it stands.
    pub status: LetterStatus,
    /// How many stops it stands for.
    pub count: u64,
    /// First stop.
    pub created_at: Timestamp,
    /// Latest change.
    pub updated_at: Timestamp,
    /// Isolation namespace.
    pub tenant: String,
    /// The turn.
    pub turn_id: String,
    /// The operation; empty for a silent failure.
    pub operation_id: String,
    /// The attempt that was stopped; 0 for a silent failure.
    pub attempt: u32,
    /// The tool's or model's name.
    pub tool: String,
    /// Which step it was.
    pub origin: Origin,
    /// What repeating does.
    pub effect: Effect,
    /// The arguments, up to 64 KiB.
    pub input: Option<String>,
    /// Whether `input` was cut.
    pub input_cut: bool,
    /// What failed; absent for Admit's denials and silent failures.
    pub kind: Option<Kind>,
    /// The operation's worst execution.
    pub execution: Option<Execution>,
    /// What it was charged to.
    pub cause: Option<Cause>,
    /// Rule that decided.
    pub rule: Option<String>,
    /// Evidence that decided.
    pub evidence: Option<String>,
    /// The verdict's action.
    pub action: Action,
    /// The verdict's reason.
    pub reason: Reason,
    /// The verdict's explanation.
    pub explanation: String,
    /// The verdict's guidance.
    pub guidance: Option<String>,
    /// The verdict's words for a person.
    pub user_message: Option<String>,
    /// The verdict's context, where it had one.
    pub context: Option<Context>,
    /// Who can help.
    pub escalate_to: Option<EscalateTo>,
    /// What not to try again.
    pub stop_scope: Option<StopScope>,
    /// Tool that tells whether the work happened.
    pub check_status_with: Option<String>,
    /// The operation's key: a claim goes on under it.
    pub idempotency_key: String,
    /// Budgets at that moment.
    pub budgets: Budgets,
    /// The history of the operation, oldest first.
    pub attempts: Vec<AttemptRecord>,
    /// Set for silent failures.
    pub silent: Option<SilentRecord>,
    /// How it was resolved.
    pub resolution: Option<String>,
    /// Who resolved it.
    pub resolved_by: Option<String>,
}
