//! What a failure deserves: the table of the design's section 6, rows 2 to 14, in that order. The first row that fits
//! decides. Row 1 (replays and superseded attempts) needs the operation's history and is decided by the turn.

use crate::domain::{Action, Category, Context, Effect, Execution, Kind, Reason};
use crate::policy::Exploratory;

/// Everything that the rows look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaseFacts {
    /// What failed.
    pub kind: Kind,
    /// The operation's worst execution over all attempts that no second word has settled.
    pub execution: Execution,
    /// The worker knows that this attempt was not executed.
    pub vouched_not_executed: bool,
    /// The strictest effect over the operation's attempts.
    pub effect: Effect,
    /// The effect is unsafe or unknown, or keyed with a key that cannot be relied on.
    pub counts_as_unsafe: bool,
    /// The tool cannot be undone.
    pub irreversible: bool,
    /// This operation with this input was approved.
    pub approved: bool,
    /// This very judgement brings an approval.
    pub brings_approval: bool,
    /// Failing is part of the tool's work.
    pub exploratory: Exploratory,
    /// The worker or the text names a dependency as failed.
    pub names_dependency: bool,
    /// Slow or metered.
    pub expensive: bool,
    /// One request only.
    pub atomic: bool,
    /// The policy names a tool that tells whether the work happened.
    pub has_status_tool: bool,
    /// The operation failed before this attempt.
    pub failed_before: bool,
    /// Its previous failure has the same fingerprint.
    pub same_fingerprint_as_before: bool,
    /// What the policy says of this kind.
    pub override_action: Option<Action>,
}

/// What a failure deserves, before anybody asked whether the turn can pay for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deserved {
    /// What to do.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// With retry and reprompt.
    pub context: Option<Context>,
}

impl Deserved {
    const fn retry(reason: Reason) -> Self {
        Deserved {
            action: Action::Retry,
            reason,
            context: Some(Context::Same),
        }
    }

    const fn reprompt(reason: Reason, context: Context) -> Self {
        Deserved {
            action: Action::Reprompt,
            reason,
            context: Some(context),
        }
    }

    const fn escalate(reason: Reason) -> Self {
        Deserved {
            action: Action::Escalate,
            reason,
            context: None,
        }
    }

    const fn fail_loud(reason: Reason) -> Self {
        Deserved {
            action: Action::FailLoud,
            reason,
            context: None,
        }
    }
}

/// Whether repeating the call could do its work a second time.
pub const fn repeats_harm(counts_as_unsafe: bool, execution: Execution) -> bool {
    counts_as_unsafe && !matches!(execution, Execution::NotExecuted)
}

/// The first row that fits.
pub fn deserved(facts: &CaseFacts) -> Deserved {
    approval(facts)
        .or_else(|| finding(facts))
        .or_else(|| overridden(facts))
        .or_else(|| by_kind(facts))
        .or_else(|| protected(facts))
        .or_else(|| hopeless(facts))
        .unwrap_or_else(|| repeatable(facts))
}

/// Row 2.
fn approval(facts: &CaseFacts) -> Option<Deserved> {
    let asked_for = facts.kind == Kind::ApprovalRequired && !facts.brings_approval;
    let cannot_be_undone = facts.irreversible
        && !facts.approved
        && !matches!(
            facts.kind.category(),
            Category::Precondition | Category::ModelOutput
        )
        && !repeats_harm(facts.counts_as_unsafe, facts.execution);
    (asked_for || cannot_be_undone).then_some(Deserved::escalate(Reason::ApprovalRequired))
}

/// Row 3.
fn finding(facts: &CaseFacts) -> Option<Deserved> {
    if facts.exploratory == Exploratory::No
        || facts.effect.is_declared_harmful()
        || facts.names_dependency
    {
        return None;
    }
    let is_finding = match facts.kind.category() {
        Category::ModelOutput | Category::Unknown => true,
        Category::Ambiguous => facts.exploratory == Exploratory::Declared,
        Category::Permanent => matches!(
            facts.kind,
            Kind::PermissionDenied
                | Kind::Unsupported
                | Kind::Misconfigured
                | Kind::ResourceExhausted
                | Kind::ToolBug
        ),
        Category::Transient | Category::Precondition | Category::Policy => false,
    };
    is_finding.then_some(Deserved::reprompt(Reason::Exploratory, Context::Same))
}

/// The operator's action for the kind: in place of rows 4 to 7 and 12 to 14, never in place of the safety rows.
fn overridden(facts: &CaseFacts) -> Option<Deserved> {
    let action = facts.override_action?;
    let safety = match action {
        Action::Retry => protected(facts),
        Action::Reprompt => protected(facts).filter(|row| row.reason != Reason::UnsafeToRepeat),
        Action::Escalate | Action::FailLoud => None,
    };
    Some(safety.unwrap_or(match action {
        Action::Retry => Deserved::retry(Reason::PolicyOverride),
        Action::Reprompt => Deserved::reprompt(Reason::PolicyOverride, Context::Clean),
        Action::Escalate => Deserved::escalate(Reason::PolicyOverride),
        Action::FailLoud => Deserved::fail_loud(Reason::PolicyOverride),
    }))
}

/// Rows 4 to 7.
fn by_kind(facts: &CaseFacts) -> Option<Deserved> {
    let harm = repeats_harm(facts.counts_as_unsafe, facts.execution);
    match (facts.kind, facts.kind.category()) {
        (Kind::ContentFiltered, _) => Some(Deserved::escalate(Reason::PolicyBlocked)),
        (Kind::PermissionDenied, _) => Some(Deserved::escalate(Reason::PermissionDenied)),
        (_, Category::Permanent) => Some(Deserved::fail_loud(Reason::PermanentFailure)),
        (_, Category::Precondition) if !harm => {
            Some(Deserved::reprompt(Reason::Precondition, Context::Same))
        }
        (_, Category::ModelOutput) if !harm => {
            Some(Deserved::reprompt(Reason::ModelOutput, Context::Clean))
        }
        _ => None,
    }
}

/// Rows 8 to 11: what keeps somebody's payment from being repeated.
fn protected(facts: &CaseFacts) -> Option<Deserved> {
    match facts.execution {
        Execution::Executed if facts.counts_as_unsafe => {
            Some(Deserved::fail_loud(Reason::AlreadyExecuted))
        }
        Execution::MaybeExecuted if facts.expensive => {
            Some(Deserved::escalate(Reason::MayStillBeRunning))
        }
        Execution::MaybeExecuted if facts.counts_as_unsafe => {
            Some(Deserved::escalate(if facts.has_status_tool {
                Reason::CheckStatus
            } else {
                Reason::OutcomeUnknown
            }))
        }
        Execution::NotExecuted
            if facts.counts_as_unsafe && !facts.vouched_not_executed && !facts.atomic =>
        {
            Some(Deserved::escalate(Reason::UnsafeToRepeat))
        }
        _ => None,
    }
}

/// Row 12.
fn hopeless(facts: &CaseFacts) -> Option<Deserved> {
    match facts.kind {
        Kind::Unknown if facts.failed_before => Some(Deserved::escalate(Reason::UnknownFailure)),
        Kind::ServerError if facts.same_fingerprint_as_before => {
            Some(Deserved::escalate(Reason::DeterministicFailure))
        }
        _ => None,
    }
}

/// Rows 13 and 14.
fn repeatable(facts: &CaseFacts) -> Deserved {
    if facts.effect == Effect::Keyed && facts.execution != Execution::NotExecuted {
        Deserved::retry(Reason::KeyedRetry)
    } else {
        Deserved::retry(Reason::Transient)
    }
}
