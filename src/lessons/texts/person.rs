//! The message for a person: what happened, what may have been done, and what they can do. No jargon, no names of
//! enums: whoever reads it may never have heard of turns, budgets or verdicts.

use std::time::Duration;

use crate::domain::{Action, Effect, Kind, Reason};
use crate::lessons::name::Name;

use super::{InWords, SpentBudget, SpentBudgetName, TextFacts, capitalised};

/// What a person is told, with escalate and fail loud. Says so whenever the work may have been done.
pub fn user_message(facts: &TextFacts<'_>) -> Option<String> {
    if !matches!(facts.action, Action::Escalate | Action::FailLoud) {
        return None;
    }
    let account = account(facts);
    let mut text = format!("The assistant stopped here: {}.", account.what);
    if let Some(limit) = facts.spent.and_then(limit_reached) {
        text.push(' ');
        text.push_str(&limit);
    }
    let warning = execution(facts);
    let hold_back = warning
        .as_ref()
        .is_some_and(|warning| warning.asks_to_check);
    if let Some(warning) = warning {
        text.push(' ');
        text.push_str(&warning.text);
    }
    if !(hold_back && account.advises_a_repeat) {
        text.push(' ');
        text.push_str(&account.next);
    }
    Some(text)
}

/// What happened, and what a person can do about it.
struct Account {
    /// A clause without a full stop.
    what: String,
    /// One or two sentences.
    next: String,
    /// Whether `next` speaks of trying again, which may not stand beside a warning that the work may have been done.
    advises_a_repeat: bool,
}

fn say(what: impl Into<String>, next: impl Into<String>) -> Account {
    Account {
        what: what.into(),
        next: next.into(),
        advises_a_repeat: false,
    }
}

fn say_try(what: impl Into<String>, next: impl Into<String>) -> Account {
    Account {
        what: what.into(),
        next: next.into(),
        advises_a_repeat: true,
    }
}

/// What is said of work that was or may have been done, before everything else that a person could do.
struct Warning {
    text: String,
    /// Whether a repeat has to wait for a look: then none is advised.
    asks_to_check: bool,
}

fn execution(facts: &TextFacts<'_>) -> Option<Warning> {
    let subject = capitalised(&facts.subject());
    // The account of this reason is the warning itself.
    if facts.reason == Reason::AlreadyExecuted {
        return None;
    }
    if facts.executed {
        let text = format!("{subject} has already done its work; do not have it done again.");
        return Some(Warning {
            text,
            asks_to_check: true,
        });
    }
    let reason_says_so = matches!(
        facts.reason,
        Reason::MayStillBeRunning
            | Reason::CheckStatus
            | Reason::OutcomeUnknown
            | Reason::UnsafeToRepeat
            | Reason::DuplicateOfUnknown
    );
    if !facts.may_have_executed && !reason_says_so {
        return None;
    }
    let asks_to_check = reason_says_so || facts.effect != Effect::Idempotent;
    let then = match facts.check_status_with.and_then(Name::stated) {
        _ if !asks_to_check => "doing it again does no harm".to_owned(),
        Some(status) => format!("check with {status} before anyone repeats it"),
        None => "check before anyone repeats it".to_owned(),
    };
    let text = format!("{subject} may already have done its work; {then}.");
    Some(Warning {
        text,
        asks_to_check,
    })
}

fn account(facts: &TextFacts<'_>) -> Account {
    let subject = facts.subject();
    match facts.reason {
        Reason::Superseded => say(
            format!("a newer attempt of the same step with {subject} is already known"),
            "Look at the newer attempt; nothing needs to be done about this one.",
        ),
        Reason::ApprovalRequired => say(
            format!("{subject} needs the approval of a person before it goes on"),
            "Approve it or decline it.",
        ),
        Reason::PolicyBlocked => say_try(
            "a content filter blocked the request or the answer",
            "Put the request in other words, or ask whoever runs the service whether the filter is right.",
        ),
        Reason::PermissionDenied => permission_denied(&subject),
        Reason::Precondition | Reason::PreconditionLoop => precondition(facts, &subject),
        Reason::AlreadyExecuted => say(
            format!("{subject} has already done its work, only its answer was lost"),
            "Look at the result where it was made, and do not ask for it again.",
        ),
        Reason::MayStillBeRunning => say(
            format!("{subject} gave no answer and may still be running"),
            "Wait for its result; starting it again would pay for it twice.",
        ),
        Reason::CheckStatus => say(
            format!("it is not known yet whether {subject} did its work"),
            "Once that is known, the rest can go on.",
        ),
        Reason::OutcomeUnknown => say(
            format!("nobody can tell whether {subject} did its work"),
            "Look where its result would show, and only then ask for it again.",
        ),
        Reason::UnsafeToRepeat => say(
            format!("{subject} failed, and may have done part of its work before"),
            "Look at what is there, and only then ask for the rest.",
        ),
        Reason::UnknownFailure => say_try(
            format!("{subject} failed more than once without saying why"),
            "Ask whoever runs it to look into it, or ask for the same in another way.",
        ),
        Reason::DeterministicFailure => say(
            format!("{subject} fails in the same way each time"),
            "Ask whoever runs it to look into it; trying again would not help.",
        ),
        Reason::RepeatedCall => say_try(
            format!("{subject} was to be called again just as it had failed before"),
            "Ask in other words or give more detail.",
        ),
        Reason::RepeatedLesson => say_try(
            format!("{subject} failed again for the reason that had just been corrected"),
            "Ask in other words, give more detail, or do this step yourself.",
        ),
        Reason::TurnBudgetExhausted => say_try(
            turn_budget(facts.spent),
            "Decide whether to ask again, in smaller parts or later.",
        ),
        Reason::CauseBudgetExhausted | Reason::OperationBudgetExhausted => more_than_once(facts),
        Reason::CallCapReached => say_try(
            format!("{subject} may not be used more often in one request"),
            "Use what it gave so far, or make a new request.",
        ),
        Reason::DeadlineTooClose => say_try(
            format!("{subject} failed, and no time is left to try it again"),
            "Ask again when there is more time.",
        ),
        Reason::WaitTooLong => say_try(
            format!(
                "{} has to be left alone for longer than this request can wait",
                facts.dependency()
            ),
            later(facts.wait),
        ),
        Reason::ServerSaysNo => say_try(
            format!("{} asked not to be tried again", facts.dependency()),
            "Ask whoever runs it, or try later.",
        ),
        Reason::DependencyDown => say_try(
            format!(
                "{} is failing for many requests at the moment",
                facts.dependency()
            ),
            later(facts.wait),
        ),
        Reason::FleetBudgetExhausted => say_try(
            format!(
                "{} is failing, and more attempts would only add to its load",
                facts.dependency()
            ),
            later(facts.wait),
        ),
        Reason::RecursionLimit => say_try(
            format!(
                "{subject} was asked for by a task that is itself a part of other tasks, too many deep"
            ),
            "Ask for it directly.",
        ),
        Reason::DuplicateOfUnknown => say(
            format!(
                "the same work was asked of {subject} before, and nobody knows whether it was done"
            ),
            "Look where its result would show, and only then ask for it again.",
        ),
        Reason::InProgress => say(
            format!("this step with {subject} is already being worked on"),
            "Wait for its result.",
        ),
        Reason::TurnEnded => say_try(
            "this request is already over",
            "Make a new request for what is still missing.",
        ),
        Reason::Exploratory
        | Reason::PermanentFailure
        | Reason::ModelOutput
        | Reason::KeyedRetry
        | Reason::Transient
        | Reason::PolicyOverride => by_kind(facts),
    }
}

fn permission_denied(subject: &str) -> Account {
    say(
        format!("the access that {subject} has does not allow this"),
        "Ask whoever manages the access to grant it, or ask for something that needs less.",
    )
}

fn precondition(facts: &TextFacts<'_>, subject: &str) -> Account {
    let step = facts.satisfy_with.and_then(Name::stated);
    match (step, facts.undone_by.and_then(Name::stated)) {
        (Some(step), Some(other)) => say_try(
            format!("{subject} needs {step} first, and {other} seems to undo it each time"),
            "Check the order of these steps, then ask again.",
        ),
        (Some(step), None) => say_try(
            format!("{subject} needs {step} first, and still finds it missing"),
            format!("Check why {step} does not last, then ask again."),
        ),
        (None, _) => say_try(
            format!("{subject} needs another step first, which is still missing"),
            "Do the missing step, then ask again.",
        ),
    }
}

fn more_than_once(facts: &TextFacts<'_>) -> Account {
    let account = by_kind(facts);
    let once = facts.spent.is_some_and(|spent| spent.limit <= 1);
    let what = if once {
        account.what
    } else {
        format!("{}, and that more than once", account.what)
    };
    Account { what, ..account }
}

/// What a failure of this kind is to a person.
fn by_kind(facts: &TextFacts<'_>) -> Account {
    let subject = facts.subject();
    let dependency = facts.dependency();
    let Some(kind) = facts.kind else {
        return say_try(
            format!("{subject} could not be used"),
            "Ask whoever runs it, or ask for the same in another way.",
        );
    };
    match kind {
        Kind::RateLimited => say_try(
            format!("{dependency} limits how often it may be used"),
            later(facts.wait),
        ),
        Kind::Overloaded => say_try(
            format!("{dependency} was too busy to answer"),
            later(facts.wait),
        ),
        Kind::Unavailable => say_try(format!("{dependency} was not available"), later(facts.wait)),
        Kind::ConnectFailed => say_try(
            format!("{dependency} could not be reached"),
            "Check that it is running, then ask again.",
        ),
        Kind::Contention => say_try(
            format!("{dependency} was kept busy by other changes to the same data"),
            later(facts.wait),
        ),
        Kind::ServerError => say_try(
            format!("{dependency} failed on its own side"),
            "Ask whoever runs it, or try later.",
        ),
        Kind::Timeout => say_try(
            format!("{subject} gave no answer in time"),
            later(facts.wait),
        ),
        Kind::ConnectionLost => say_try(
            format!("the connection to {dependency} broke before {subject} had answered"),
            later(facts.wait),
        ),
        Kind::Cancelled => say_try(
            format!("{subject} was cancelled before it had answered"),
            "Ask again if it is still wanted.",
        ),
        Kind::MalformedOutput => say_try(
            format!("the assistant did not manage to write a readable request for {subject}"),
            "Ask in other words or in smaller parts.",
        ),
        Kind::InvalidArguments => say_try(
            format!("{subject} did not accept what the assistant filled in"),
            "Give the missing or exact details, or do this step yourself.",
        ),
        Kind::UnknownTool => say_try(
            "the assistant asked for something that it cannot use here",
            "Ask for the same in another way.",
        ),
        Kind::WrongReference => say_try(
            format!("{subject} could not find what the assistant named"),
            "Give the exact name or place of what you mean.",
        ),
        Kind::Refusal => say_try(
            "the assistant declined the task",
            "Explain what it is for, or do this step yourself.",
        ),
        Kind::TruncatedOutput => say_try(
            "the answer was too long and was cut",
            "Ask for a shorter answer or in smaller parts.",
        ),
        Kind::EmptyOutput => say_try("no answer came", "Ask again in other words."),
        Kind::ContextOverflow => say_try(
            "there is more text than the assistant can read at once",
            "Ask for less at once or start a new conversation.",
        ),
        Kind::PreconditionUnmet => precondition(facts, &subject),
        Kind::StaleState => say_try(
            format!("what {subject} was to change had changed in the meantime"),
            "Look at how it is now, then ask again.",
        ),
        Kind::Unauthenticated => say(
            format!("{dependency} did not accept the sign-in"),
            "Sign in again, or ask whoever manages the access to renew it.",
        ),
        Kind::PermissionDenied => permission_denied(&subject),
        Kind::QuotaExhausted => say(
            format!("what may be used of {dependency} is used up"),
            "Raise the limit or the credit, or wait until it is renewed.",
        ),
        Kind::Unsupported => say(
            format!("{subject} cannot do this"),
            "Ask for the same in another way.",
        ),
        Kind::Misconfigured => say(
            format!("{subject} is not set up correctly"),
            "Ask whoever runs it to check its settings; trying again would not help.",
        ),
        Kind::ToolBug => say(
            format!("{subject} has a fault of its own"),
            "Ask whoever maintains it to look into it; trying again would not help.",
        ),
        Kind::ResourceExhausted => say(
            format!("{subject} ran out of room or memory"),
            "Ask whoever runs it to make room, or ask for less at once.",
        ),
        Kind::ContentFiltered => say_try(
            "a content filter blocked the request or the answer",
            "Put the request in other words.",
        ),
        Kind::ApprovalRequired => say(
            format!("{subject} needs the approval of a person before it goes on"),
            "Approve it or decline it.",
        ),
        Kind::Unknown => say_try(
            format!("{subject} failed without saying why"),
            "Ask whoever runs it to look into it, or ask for the same in another way.",
        ),
    }
}

fn later(wait: Option<Duration>) -> String {
    match wait {
        Some(wait) if wait >= Duration::from_secs(1) => {
            format!("Ask again in {} or later.", InWords(wait))
        }
        _ => "Ask again later.".to_owned(),
    }
}

fn turn_budget(spent: Option<SpentBudget>) -> String {
    use SpentBudgetName as Name;
    match spent.map(|spent| spent.name) {
        Some(
            Name::TurnCalls
            | Name::TurnTokens
            | Name::TurnElapsed
            | Name::TurnOperations
            | Name::TurnCauses
            | Name::TurnRememberedCalls
            | Name::Depth
            | Name::ToolCalls,
        ) => "this request has used up what one request may use".to_owned(),
        Some(
            Name::OperationAttempts
            | Name::OperationReprompts
            | Name::CauseFailures
            | Name::TurnFailures
            | Name::TurnRetries
            | Name::TurnReprompts
            | Name::Preconditions
            | Name::TurnPreconditions,
        )
        | None => "too much went wrong in this request to go on".to_owned(),
    }
}

/// The limit in plain words; nothing for limits that mean nothing to a person.
fn limit_reached(spent: SpentBudget) -> Option<String> {
    use SpentBudgetName as Name;
    let (noun, of) = match spent.name {
        Name::OperationAttempts => ("attempt", " for one step"),
        Name::OperationReprompts => ("correction", " for one step"),
        Name::CauseFailures => ("failure", " of the same cause"),
        Name::TurnFailures => ("failure", " in one request"),
        Name::TurnRetries => ("repeated attempt", " in one request"),
        Name::TurnReprompts => ("correction", " in one request"),
        Name::ToolCalls => ("use", " of it in one request"),
        Name::TurnCalls => ("step", " in one request"),
        Name::TurnTokens => ("token", " for one request"),
        Name::TurnElapsed => {
            let limit = InWords(Duration::from_millis(spent.limit));
            return Some(format!("The limit is {limit} for one request."));
        }
        Name::Preconditions
        | Name::TurnPreconditions
        | Name::Depth
        | Name::TurnOperations
        | Name::TurnCauses
        | Name::TurnRememberedCalls => return None,
    };
    let plural = if spent.limit == 1 { "" } else { "s" };
    Some(format!("The limit is {} {noun}{plural}{of}.", spent.limit))
}
