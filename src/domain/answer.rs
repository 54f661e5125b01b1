//! What the oracle answers, before the edge turns it into messages.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{
    AttemptRecord, Budget, Budgets, Cause, Classification, Effect, Execution, Origin, Outcome,
    Timestamp, TurnSummary, Verdict,
};

/// Answer to Admit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Admission {
    /// Whether the call may go out.
    pub admitted: bool,
    /// Whether this very attempt had been admitted before.
    pub replayed: bool,
    /// Why not; in shadow mode what would have been said.
    pub verdict: Option<Verdict>,
    /// The key that the attempt carries.
    pub idempotency_key: String,
    /// What the same effect gave before, where it succeeded and was kept.
    pub result: Option<Arc<str>>,
    /// As they stand now.
    pub budgets: Budgets,
    /// The attempt's number, resolved where the request said 0.
    pub attempt: u32,
    /// Where the denial was parked.
    pub dead_letter_id: Option<String>,
}

/// Answer to Judge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What to do.
    pub verdict: Verdict,
    /// What was read.
    pub classification: Classification,
    /// As they stand now.
    pub budgets: Budgets,
    /// The attempt's number, resolved where the request said 0.
    pub attempt: u32,
    /// Whether this is the answer to an earlier request.
    pub replayed: bool,
    /// Where the stop was parked.
    pub dead_letter_id: Option<String>,
    /// What the operation gave, where it succeeded and was kept.
    pub result: Option<Arc<str>>,
}

/// Answer to ReportSuccess.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuccessReceipt {
    /// The attempt's number, resolved where the request said 0.
    pub attempt: u32,
    /// Whether its success had been reported before.
    pub replayed: bool,
    /// As they stand now.
    pub budgets: Budgets,
}

/// Answer to EndTurn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndOfTurn {
    /// What the turn came to.
    pub summary: TurnSummary,
    /// Whether the turn had ended before.
    pub replayed: bool,
    /// Where a silent failure was parked.
    pub dead_letter_id: Option<String>,
}

/// The whole ledger of a turn, for GetTurn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TurnView {
    /// Isolation namespace.
    pub tenant: String,
    /// The turn.
    pub turn_id: String,
    /// First call.
    pub opened_at: Timestamp,
    /// Latest call.
    pub last_activity: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// What the worker said; absent where it is open or idled out.
    pub outcome: Option<Outcome>,
    /// Turn-wide budgets (those of an operation, a cause or a tool are empty here).
    pub budgets: Budgets,
    /// As it would be if the turn ended now, undisclosed.
    pub summary: TurnSummary,
    /// Every cause that was charged.
    pub causes: Vec<CauseView>,
    /// Every operation, oldest first.
    pub operations: Vec<OperationView>,
}

/// One cause of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseView {
    /// Which.
    pub cause: Cause,
    /// Failures charged.
    pub failures: Budget,
    /// Unmet preconditions since their step last succeeded.
    pub preconditions: Budget,
    /// Tools that were charged to it.
    pub tools: Vec<Arc<str>>,
}

/// One operation of a turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OperationView {
    /// Its id.
    pub operation_id: Arc<str>,
    /// The tool's or model's name.
    pub tool: Arc<str>,
    /// Which step it is.
    pub origin: Origin,
    /// The strictest over its attempts.
    pub effect: Effect,
    /// The worst over its attempts that no second word has settled.
    pub execution: Option<Execution>,
    /// Whether a success was reported.
    pub succeeded: bool,
    /// The key that its next attempt carries.
    pub idempotency_key: String,
    /// How often the key's revision moved.
    pub revision: u32,
    /// Where it was parked.
    pub dead_letter_id: Option<String>,
    /// Its attempts, oldest first.
    pub attempts: Vec<AttemptRecord>,
}
