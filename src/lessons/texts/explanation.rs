//! The explanation: one sentence for logs, from which an operator sees what decided.

use std::time::Duration;

use crate::domain::Reason;
use crate::lessons::name::Name;

use super::{SpentBudgetName, TextFacts};

/// One sentence for logs: `backstop verdict <action>/<reason>: <what failed>; <why>; <numbers>.`
pub fn explanation(facts: &TextFacts<'_>) -> String {
    let mut text = format!(
        "backstop verdict {}/{}: {}",
        facts.action,
        facts.reason,
        facts.subject()
    );
    match facts.kind {
        Some(kind) => text.push_str(&format!(" failed with {kind}")),
        None => text.push_str(" was not called"),
    }
    if let Some(subject) = facts.cause_subject.and_then(Name::stated) {
        text.push_str(&format!(" (charged to {subject})"));
    }
    text.push_str("; ");
    text.push_str(why(facts.reason));
    if let Some(spent) = facts.spent {
        let unit = if spent.name == SpentBudgetName::TurnElapsed {
            " ms"
        } else {
            ""
        };
        text.push_str(&format!(
            "; {} {} of {}{unit}",
            spent.name, spent.used, spent.limit
        ));
    }
    if let Some(wait) = facts.wait {
        let wait = Duration::from_millis(u64::try_from(wait.as_millis()).unwrap_or(u64::MAX));
        text.push_str(&format!("; wait {}", humantime::format_duration(wait)));
    }
    if facts.executed {
        text.push_str(&format!("; it has executed, effect {}", facts.effect));
    } else if facts.may_have_executed {
        text.push_str(&format!("; it may have executed, effect {}", facts.effect));
    }
    text.push('.');
    text
}

const fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Superseded => "a later attempt of the operation is known",
        Reason::ApprovalRequired => "a person has to approve this operation and input first",
        Reason::Exploratory => "the tool is exploratory, so the error is the finding",
        Reason::PolicyBlocked => "a content filter blocked it",
        Reason::PermissionDenied => "the credentials lack the right",
        Reason::PermanentFailure => "it fails identically on every retry",
        Reason::Precondition => "another step has to come first; nothing is broken",
        Reason::ModelOutput => {
            "what the model produced is wrong, so a clean context and the lesson help"
        }
        Reason::AlreadyExecuted => "the work is done and only the answer was lost",
        Reason::MayStillBeRunning => "the tool is expensive and may still be running",
        Reason::CheckStatus => "the status tool can tell whether the work happened",
        Reason::OutcomeUnknown => "nothing tells whether the work happened",
        Reason::UnsafeToRepeat => "the tool may have done its first steps before it was refused",
        Reason::UnknownFailure => "a second failure came without evidence",
        Reason::DeterministicFailure => "the same server error came again, so it is no passing one",
        Reason::KeyedRetry => "the idempotency key makes a repeat safe",
        Reason::Transient => "a repeat is safe and likely to pass",
        Reason::PolicyOverride => "the operator's policy says so for this kind",
        Reason::RepeatedCall => "the same call failed before and nothing has changed since",
        Reason::RepeatedLesson => "the correction is the same as the one before",
        Reason::TurnBudgetExhausted => "a budget of the turn is spent",
        Reason::CauseBudgetExhausted => "the cause has spent its failures",
        Reason::PreconditionLoop => "the precondition stays unmet",
        Reason::OperationBudgetExhausted => "a budget of the operation is spent",
        Reason::CallCapReached => "the tool has been called as often as it may",
        Reason::DeadlineTooClose => "the wait does not fit before the deadline",
        Reason::WaitTooLong => "the wait is longer than the policy gives out",
        Reason::ServerSaysNo => "the server said not to retry",
        Reason::DependencyDown => "the dependency's breaker is open",
        Reason::FleetBudgetExhausted => "the fleet's retry budget for the dependency is empty",
        Reason::RecursionLimit => "the caller is too many sub-agents deep",
        Reason::DuplicateOfUnknown => "another operation with the same effect is still unsettled",
        Reason::InProgress => "another worker holds this attempt",
        Reason::TurnEnded => "the turn is over",
    }
}
