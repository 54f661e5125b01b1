//! Guidance: what the model is told to do instead, in at most 25 words.

use crate::domain::{Action, Category, Reason};
use crate::lessons::name::Name;
use crate::lessons::rule_made::{general_lesson, is_general};
use crate::lessons::words::cut_to_words;
use crate::secrets;

use super::{TextFacts, capitalised};

/// What the model is told: with reprompt always, with escalate and fail loud what is left to do; nothing with retry,
/// where the model is not asked. At most [`crate::lessons::MAX_WORDS`] words.
pub fn guidance(facts: &TextFacts<'_>) -> Option<String> {
    let text = match facts.action {
        Action::Retry => return None,
        Action::Reprompt => reprompt(facts),
        Action::Escalate | Action::FailLoud => stop(facts),
    };
    Some(cut_to_words(&text).0)
}

/// What to do differently.
fn reprompt(facts: &TextFacts<'_>) -> String {
    match facts.reason {
        Reason::Exploratory => exploratory(facts),
        Reason::Precondition | Reason::PreconditionLoop => precondition(facts),
        Reason::RepeatedCall => repeated_call(facts),
        Reason::ModelOutput
        | Reason::PolicyOverride
        | Reason::RepeatedLesson
        | Reason::Superseded
        | Reason::ApprovalRequired
        | Reason::PolicyBlocked
        | Reason::PermissionDenied
        | Reason::PermanentFailure
        | Reason::AlreadyExecuted
        | Reason::MayStillBeRunning
        | Reason::CheckStatus
        | Reason::OutcomeUnknown
        | Reason::UnsafeToRepeat
        | Reason::UnknownFailure
        | Reason::DeterministicFailure
        | Reason::KeyedRetry
        | Reason::Transient
        | Reason::TurnBudgetExhausted
        | Reason::CauseBudgetExhausted
        | Reason::OperationBudgetExhausted
        | Reason::CallCapReached
        | Reason::DeadlineTooClose
        | Reason::WaitTooLong
        | Reason::ServerSaysNo
        | Reason::DependencyDown
        | Reason::FleetBudgetExhausted
        | Reason::RecursionLimit
        | Reason::DuplicateOfUnknown
        | Reason::InProgress
        | Reason::TurnEnded => lesson_or_general(facts),
    }
}

fn exploratory(facts: &TextFacts<'_>) -> String {
    let subject = facts.subject();
    if facts.category() == Some(Category::Ambiguous) {
        return format!(
            "Look at the current state first: the last run of {subject} may have taken effect. Run again only what is \
             missing."
        );
    }
    match lesson(facts).filter(|lesson| !is_general(lesson)) {
        Some(lesson) => format!("The error is the finding. {lesson}"),
        None => format!(
            "Read the error of {subject} as the finding and choose the next step from it; do not run the same again \
             unchanged."
        ),
    }
}

fn precondition(facts: &TextFacts<'_>) -> String {
    let subject = facts.subject();
    let Some(step) = facts.satisfy_with.and_then(Name::stated) else {
        return lesson_or_general(facts);
    };
    match facts.undone_by.and_then(Name::stated) {
        Some(other) => format!(
            "{other} ran after {step} and may have undone it: call {step} again, then {subject}, with nothing in \
             between."
        ),
        None => format!("Call {step} first, then {subject} again with the same arguments."),
    }
}

fn repeated_call(facts: &TextFacts<'_>) -> String {
    match lesson(facts) {
        Some(lesson) => format!("Do not send the same call again. {lesson}"),
        None => "Do not send the same call again: change the arguments, use another tool, or tell the user plainly \
                 what does not work."
            .to_owned(),
    }
}

/// What is left to do where nothing more may be tried.
fn stop(facts: &TextFacts<'_>) -> String {
    let subject = facts.subject();
    match facts.reason {
        Reason::Superseded => format!(
            "Go on from the newer attempt of {subject}; this one is over. Tell the user plainly what its outcome is."
        ),
        Reason::ApprovalRequired => format!(
            "{} waits for a person's approval. Tell the user plainly what needs approval, and do not do it otherwise.",
            capitalised(&subject)
        ),
        Reason::AlreadyExecuted => already_executed(&subject),
        Reason::CheckStatus => match facts.check_status_with.and_then(Name::stated) {
            Some(status) => format!(
                "Do not call {subject} again. Ask {status} whether the work was done, and tell the user plainly what \
                 it says."
            ),
            None => outcome_unknown(&subject),
        },
        Reason::MayStillBeRunning
        | Reason::OutcomeUnknown
        | Reason::UnsafeToRepeat
        | Reason::DuplicateOfUnknown => outcome_unknown(&subject),
        Reason::InProgress => format!(
            "Another worker is on this step: do not call {subject} too. Use its result, or tell the user plainly what \
             is pending."
        ),
        Reason::TurnEnded => {
            "This request is over: call no more tools. Tell the user plainly what was done and what was not.".to_owned()
        }
        Reason::PolicyBlocked => {
            "Leave out the blocked content; tell the user plainly what was blocked and what they can do.".to_owned()
        }
        Reason::TurnBudgetExhausted
        | Reason::PermissionDenied
        | Reason::PermanentFailure
        | Reason::Exploratory
        | Reason::Precondition
        | Reason::PreconditionLoop
        | Reason::ModelOutput
        | Reason::UnknownFailure
        | Reason::DeterministicFailure
        | Reason::KeyedRetry
        | Reason::Transient
        | Reason::PolicyOverride
        | Reason::RepeatedCall
        | Reason::RepeatedLesson
        | Reason::CauseBudgetExhausted
        | Reason::OperationBudgetExhausted
        | Reason::CallCapReached
        | Reason::DeadlineTooClose
        | Reason::WaitTooLong
        | Reason::ServerSaysNo
        | Reason::DependencyDown
        | Reason::FleetBudgetExhausted
        | Reason::RecursionLimit => after_failure(facts, &subject),
    }
}

/// Where the failure itself says nothing about the work: what may have been done goes first, then the lesson for
/// whoever takes over, then the plain stop.
fn after_failure(facts: &TextFacts<'_>, subject: &str) -> String {
    if facts.executed {
        return already_executed(subject);
    }
    if facts.repeat_may_harm() {
        return outcome_unknown(subject);
    }
    let speaks_to_a_model = matches!(
        facts.category(),
        Some(Category::ModelOutput | Category::Precondition)
    );
    match (facts.reason, lesson(facts)) {
        (Reason::TurnBudgetExhausted, _) => {
            "Call no more tools in this request. Tell the user plainly what was done, what failed, and what they can \
             do."
                .to_owned()
        }
        (Reason::PreconditionLoop, _) if facts.satisfy_with.is_some() => format!(
            "Stop calling {subject}: {} does not hold. Tell the user plainly what is missing and what they can do.",
            facts.satisfy_with.and_then(Name::stated).map_or_else(|| "its first step".to_owned(), |step| step.to_string())
        ),
        (_, Some(lesson)) if speaks_to_a_model => format!("Stop here; pass on: {lesson}"),
        (Reason::CauseBudgetExhausted | Reason::DependencyDown | Reason::ServerSaysNo, _)
            if facts.dependency.is_some() =>
        {
            format!(
                "Stop calling {subject} and everything else behind {}; tell the user plainly what failed and what they \
                 can do.",
                facts.dependency()
            )
        }
        (Reason::CallCapReached | Reason::RecursionLimit, _) => format!(
            "Stop calling {subject} and work with what you have; tell the user plainly what is missing because of it."
        ),
        _ => format!(
            "Stop calling {subject}; tell the user plainly what failed and what they can do."
        ),
    }
}

fn already_executed(subject: &str) -> String {
    format!(
        "{} has done its work; only its answer was lost. Do not call it again; tell the user plainly what was done.",
        capitalised(subject)
    )
}

fn outcome_unknown(subject: &str) -> String {
    format!(
        "Do not call {subject} again: it may already have done its work. Tell the user plainly what is unknown and \
         needs checking."
    )
}

/// The lesson, masked; `None` if it is empty.
fn lesson(facts: &TextFacts<'_>) -> Option<String> {
    let (lesson, _) = cut_to_words(&secrets::mask(facts.lesson?));
    (!lesson.is_empty()).then_some(lesson)
}

fn lesson_or_general(facts: &TextFacts<'_>) -> String {
    lesson(facts).unwrap_or_else(|| general_lesson(facts.kind, &facts.subject()))
}
