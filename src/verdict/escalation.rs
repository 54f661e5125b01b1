//! Who can help with a stop, and what not to try again.

use crate::domain::{EscalateTo, Family, Kind, Origin, Reason, StopScope};

/// What decides who can help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EscalationFacts {
    /// Why it stops.
    pub reason: Reason,
    /// What failed, where something did.
    pub kind: Option<Kind>,
    /// Tool or model.
    pub origin: Origin,
    /// The policy names a status tool.
    pub has_status_tool: bool,
    /// The effect is not idempotent and an attempt may have executed: another provider does not know the key.
    pub only_who_can_look: bool,
}

/// Who can help with an escalation.
pub fn escalate_to(facts: &EscalationFacts) -> EscalateTo {
    let wanted = wanted(facts);
    let can_look = matches!(
        wanted,
        EscalateTo::Person | EscalateTo::Operator | EscalateTo::StatusCheck
    );
    if facts.only_who_can_look && !can_look {
        return if facts.has_status_tool {
            EscalateTo::StatusCheck
        } else {
            EscalateTo::Person
        };
    }
    wanted
}

fn wanted(facts: &EscalationFacts) -> EscalateTo {
    match facts.reason {
        Reason::CheckStatus => EscalateTo::StatusCheck,
        Reason::MayStillBeRunning | Reason::DuplicateOfUnknown if facts.has_status_tool => {
            EscalateTo::StatusCheck
        }
        Reason::PermissionDenied
        | Reason::DeterministicFailure
        | Reason::UnknownFailure
        | Reason::RecursionLimit
        | Reason::Superseded
        | Reason::InProgress
        | Reason::ServerSaysNo
        | Reason::MayStillBeRunning => EscalateTo::Operator,
        Reason::RepeatedLesson | Reason::RepeatedCall => by_model(facts),
        Reason::TurnBudgetExhausted
        | Reason::CauseBudgetExhausted
        | Reason::OperationBudgetExhausted
        | Reason::PolicyOverride
        | Reason::DeadlineTooClose
        | Reason::WaitTooLong
        | Reason::DependencyDown
        | Reason::FleetBudgetExhausted => by_kind(facts),
        _ => EscalateTo::Person,
    }
}

/// What the model could not get right: a stronger one, or one with more room.
fn by_model(facts: &EscalationFacts) -> EscalateTo {
    match facts.kind {
        Some(Kind::ContextOverflow | Kind::TruncatedOutput) => EscalateTo::LargerContext,
        _ => EscalateTo::StrongerModel,
    }
}

fn by_kind(facts: &EscalationFacts) -> EscalateTo {
    match facts.kind.map(Kind::family) {
        Some(Family::Output) => by_model(facts),
        Some(Family::Outage | Family::Throttle | Family::Contention)
            if facts.origin == Origin::Model =>
        {
            EscalateTo::OtherProvider
        }
        Some(Family::Credential) if facts.origin == Origin::Model => EscalateTo::OtherProvider,
        Some(
            Family::Outage
            | Family::Throttle
            | Family::Contention
            | Family::Credential
            | Family::Setup
            | Family::Bug
            | Family::Unknown,
        ) => EscalateTo::Operator,
        Some(Family::Precondition | Family::Policy) | None => EscalateTo::Person,
    }
}

/// What not to try again.
pub fn stop_scope(reason: Reason) -> StopScope {
    match reason {
        Reason::TurnBudgetExhausted | Reason::TurnEnded => StopScope::Turn,
        Reason::CauseBudgetExhausted | Reason::DependencyDown | Reason::FleetBudgetExhausted => {
            StopScope::Cause
        }
        _ => StopScope::Operation,
    }
}
