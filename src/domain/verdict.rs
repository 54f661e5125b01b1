//! The answer: one action, its reason, and everything that the worker needs to act.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::names::named_enum;

named_enum! {
    /// What the worker does next. A client that reads nothing else is safe.
    Action, "action" {
        /// The same call again, after `retry_after`, under the given key.
        Retry = "retry",
        /// Ask the model anew, with `guidance`, in the given context.
        Reprompt = "reprompt",
        /// Hand over to a person or another system.
        Escalate = "escalate",
        /// Stop and say so.
        FailLoud = "fail_loud",
    }
}

named_enum! {
    /// Why. In the order of the verdict table and the payment list (design, section 6).
    Reason, "reason" {
        /// A later attempt of this operation was seen already.
        Superseded = "superseded",
        /// A person must allow it first.
        ApprovalRequired = "approval_required",
        /// In an exploratory tool the error is the finding.
        Exploratory = "exploratory",
        /// A content filter.
        PolicyBlocked = "policy_blocked",
        /// The credentials lack the right.
        PermissionDenied = "permission_denied",
        /// Fails identically on every retry.
        PermanentFailure = "permanent_failure",
        /// Another step comes first.
        Precondition = "precondition",
        /// What the model produced is wrong.
        ModelOutput = "model_output",
        /// The work is done; only the answer was lost.
        AlreadyExecuted = "already_executed",
        /// An expensive call may still be running.
        MayStillBeRunning = "may_still_be_running",
        /// Ask the status tool whether the work happened.
        CheckStatus = "check_status",
        /// Nobody can tell whether the work happened.
        OutcomeUnknown = "outcome_unknown",
        /// Refused, but a tool of several steps may have done the first ones.
        UnsafeToRepeat = "unsafe_to_repeat",
        /// A second failure without evidence.
        UnknownFailure = "unknown_failure",
        /// The same server error again: a deterministic fault dressed as a transient one.
        DeterministicFailure = "deterministic_failure",
        /// Safe because of the key.
        KeyedRetry = "keyed_retry",
        /// Safe, and likely to pass.
        Transient = "transient",
        /// The operator's policy said so.
        PolicyOverride = "policy_override",
        /// An unchanged call that failed is not made again.
        RepeatedCall = "repeated_call",
        /// The correction stopped changing.
        RepeatedLesson = "repeated_lesson",
        /// The turn has spent one of its budgets.
        TurnBudgetExhausted = "turn_budget_exhausted",
        /// The cause has spent its failures.
        CauseBudgetExhausted = "cause_budget_exhausted",
        /// The same precondition stays unmet.
        PreconditionLoop = "precondition_loop",
        /// The operation has spent its attempts or reprompts.
        OperationBudgetExhausted = "operation_budget_exhausted",
        /// The tool has been called as often as it may.
        CallCapReached = "call_cap_reached",
        /// The wait does not fit before the deadline.
        DeadlineTooClose = "deadline_too_close",
        /// The wait is longer than the turn's patience.
        WaitTooLong = "wait_too_long",
        /// The server said not to retry.
        ServerSaysNo = "server_says_no",
        /// The dependency's breaker is open.
        DependencyDown = "dependency_down",
        /// The fleet's retry budget is empty.
        FleetBudgetExhausted = "fleet_budget_exhausted",
        /// Too many sub-agents deep.
        RecursionLimit = "recursion_limit",
        /// The same effect under a new operation, while the first one's outcome is unknown.
        DuplicateOfUnknown = "duplicate_of_unknown",
        /// Another worker holds this attempt.
        InProgress = "in_progress",
        /// The turn is over.
        TurnEnded = "turn_ended",
    }
}

named_enum! {
    /// In which context the model tries again.
    Context, "context" {
        /// The window as it is.
        Same = "same",
        /// A fresh window: the task and the guidance, without the failed trace.
        Clean = "clean",
    }
}

named_enum! {
    /// Who can help.
    EscalateTo, "escalation target" {
        /// The user or another person who can decide.
        Person = "person",
        /// Whoever runs the system.
        Operator = "operator",
        /// A stronger model.
        StrongerModel = "stronger_model",
        /// A model with a larger window.
        LargerContext = "larger_context",
        /// Another provider of the same.
        OtherProvider = "other_provider",
        /// The tool named in `check_status_with`.
        StatusCheck = "status_check",
    }
}

named_enum! {
    /// What not to try again.
    StopScope, "stop scope" {
        /// This operation.
        Operation = "operation",
        /// Everything behind the cause: `closed_tools`.
        Cause = "cause",
        /// The turn.
        Turn = "turn",
    }
}

/// What to do about a failed step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// One sentence for logs.
    pub explanation: String,
    /// For the model: what to do instead, at most 25 words. With reprompt, and with escalate where a lesson exists.
    pub guidance: Option<String>,
    /// For a person, in words to act on. With escalate and fail loud.
    pub user_message: Option<String>,
    /// With retry: how long to wait. With `check_status`: how long to let it settle.
    pub retry_after: Option<Duration>,
    /// With retry and reprompt: in which context.
    pub context: Option<Context>,
    /// The key that the next attempt carries; hex SHA-256 unless the worker's own was adopted.
    pub idempotency_key: String,
    /// Tool that satisfies the precondition.
    pub satisfy_with: Option<Arc<str>>,
    /// Tool that tells whether the work happened.
    pub check_status_with: Option<Arc<str>>,
    /// With a clean context: operations whose stale observations it should not carry, newest 32.
    pub forget_operations: Vec<Arc<str>>,
    /// With escalate: who can help.
    pub escalate_to: Option<EscalateTo>,
    /// With escalate and fail loud: what not to try again.
    pub stop_scope: Option<StopScope>,
    /// With scope `cause`: the tools that share it, as far as they are known.
    pub closed_tools: Vec<Arc<str>>,
    /// The policy only watches.
    pub shadow: bool,
    /// The store was away; judged on a local ledger.
    pub degraded: bool,
}
