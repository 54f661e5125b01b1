//! Closed label sets that are not words of the domain.

use crate::domain::names::named_enum;
use crate::domain::{Outcome, Reason};

named_enum! {
    /// What Admit answered.
    Dispatch, "admission result" {
        /// The call may go out.
        Admitted = "admitted",
        /// It may not.
        Denied = "denied",
    }
}

named_enum! {
    /// How a turn ended.
    TurnEnd, "turn end" {
        /// The worker said: as asked.
        Succeeded = "succeeded",
        /// The worker said: with less than was asked.
        Degraded = "degraded",
        /// The worker said: not at all.
        Failed = "failed",
        /// The worker said: handed over.
        Escalated = "escalated",
        /// Nobody said anything for too long.
        Abandoned = "abandoned",
    }
}

named_enum! {
    /// What made a failure silent: how the turn ended while an operation was unresolved and nobody was told.
    SilentReason, "silent-failure reason" {
        /// It claimed success.
        Succeeded = "succeeded",
        /// It claimed a partial success.
        Degraded = "degraded",
        /// It was abandoned.
        Abandoned = "abandoned",
    }
}

named_enum! {
    /// Whose budget was spent.
    BudgetScope, "budget scope" {
        /// The operation's attempts or reprompts.
        Operation = "operation",
        /// The cause's failures.
        Cause = "cause",
        /// The cause's or turn's preconditions.
        Precondition = "precondition",
        /// The tool's calls.
        Tool = "tool",
        /// Any budget of the turn.
        Turn = "turn",
        /// The depth of sub-agents.
        Depth = "depth",
        /// The dependency's retries across turns.
        Fleet = "fleet",
    }
}

named_enum! {
    /// Which store failed.
    StoreName, "store" {
        /// Of turns.
        Turns = "turns",
        /// Of dead letters.
        DeadLetters = "dead_letters",
    }
}

named_enum! {
    /// What came of a changed policy file.
    ReloadOutcome, "policy reload result" {
        /// It is in force.
        Accepted = "accepted",
        /// It has faults or cannot be read; the old one stays in force.
        Refused = "refused",
    }
}

impl From<Outcome> for TurnEnd {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Succeeded => TurnEnd::Succeeded,
            Outcome::Degraded => TurnEnd::Degraded,
            Outcome::Failed => TurnEnd::Failed,
            Outcome::Escalated => TurnEnd::Escalated,
        }
    }
}

impl BudgetScope {
    /// The budget that a verdict's reason says is spent, if it says so.
    pub const fn of(reason: Reason) -> Option<Self> {
        match reason {
            Reason::OperationBudgetExhausted => Some(BudgetScope::Operation),
            Reason::CauseBudgetExhausted => Some(BudgetScope::Cause),
            Reason::PreconditionLoop => Some(BudgetScope::Precondition),
            Reason::CallCapReached => Some(BudgetScope::Tool),
            Reason::TurnBudgetExhausted => Some(BudgetScope::Turn),
            Reason::RecursionLimit => Some(BudgetScope::Depth),
            Reason::FleetBudgetExhausted => Some(BudgetScope::Fleet),
            _ => None,
        }
    }
}
