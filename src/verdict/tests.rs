//! The table against a second telling of it: every case that the facts can make, row by row, in plain ifs.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::domain::{
    Action, Category, Context, Effect, EscalateTo, Execution, Kind, Origin, Reason, StopScope,
};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::policy::{Exploratory, OnExhausted};

/// Section 6, told again without looking at how the table is built.
fn told(f: &CaseFacts) -> (Action, Reason, Option<Context>) {
    use Action::*;
    let may = f.execution == Execution::MaybeExecuted;
    let done = f.execution == Execution::Executed;
    let not = f.execution == Execution::NotExecuted;
    let category = f.kind.category();
    let harm = f.counts_as_unsafe && !not;
    // 2
    if f.kind == Kind::ApprovalRequired && !f.brings_approval {
        return (Escalate, Reason::ApprovalRequired, None);
    }
    let is_reprompted = category == Category::Precondition || category == Category::ModelOutput;
    if f.irreversible && !f.approved && !is_reprompted && !harm {
        return (Escalate, Reason::ApprovalRequired, None);
    }
    // 3
    let declared = f.effect == Effect::Unsafe || f.effect == Effect::Keyed;
    if f.exploratory != Exploratory::No && !declared && !f.names_dependency {
        let finding = category == Category::ModelOutput
            || f.kind == Kind::Unknown
            || (category == Category::Ambiguous && f.exploratory == Exploratory::Declared)
            || f.kind == Kind::PermissionDenied
            || f.kind == Kind::Unsupported
            || f.kind == Kind::Misconfigured
            || f.kind == Kind::ResourceExhausted
            || f.kind == Kind::ToolBug;
        if finding {
            return (Reprompt, Reason::Exploratory, Some(Context::Same));
        }
    }
    // 8 to 11
    let row_8 = done && f.counts_as_unsafe;
    let row_9 = may && f.expensive;
    let row_10 = may && f.counts_as_unsafe;
    let row_11 = not && f.counts_as_unsafe && !f.vouched_not_executed && !f.atomic;
    let safety = |with_row_11: bool| {
        if row_8 {
            Some((FailLoud, Reason::AlreadyExecuted, None))
        } else if row_9 {
            Some((Escalate, Reason::MayStillBeRunning, None))
        } else if row_10 && f.has_status_tool {
            Some((Escalate, Reason::CheckStatus, None))
        } else if row_10 {
            Some((Escalate, Reason::OutcomeUnknown, None))
        } else if row_11 && with_row_11 {
            Some((Escalate, Reason::UnsafeToRepeat, None))
        } else {
            None
        }
    };
    match f.override_action {
        Some(Escalate) => return (Escalate, Reason::PolicyOverride, None),
        Some(FailLoud) => return (FailLoud, Reason::PolicyOverride, None),
        Some(Retry) => {
            let granted = (Retry, Reason::PolicyOverride, Some(Context::Same));
            return safety(true).unwrap_or(granted);
        }
        Some(Reprompt) => {
            let granted = (Reprompt, Reason::PolicyOverride, Some(Context::Clean));
            return safety(false).unwrap_or(granted);
        }
        None => {}
    }
    // 4 to 7
    if f.kind == Kind::ContentFiltered {
        return (Escalate, Reason::PolicyBlocked, None);
    }
    if f.kind == Kind::PermissionDenied {
        return (Escalate, Reason::PermissionDenied, None);
    }
    if category == Category::Permanent {
        return (FailLoud, Reason::PermanentFailure, None);
    }
    if category == Category::Precondition && !harm {
        return (Reprompt, Reason::Precondition, Some(Context::Same));
    }
    if category == Category::ModelOutput && !harm {
        return (Reprompt, Reason::ModelOutput, Some(Context::Clean));
    }
    if let Some(stop) = safety(true) {
        return stop;
    }
    // 12
    if f.kind == Kind::Unknown && f.failed_before {
        return (Escalate, Reason::UnknownFailure, None);
    }
    if f.kind == Kind::ServerError && f.same_fingerprint_as_before {
        return (Escalate, Reason::DeterministicFailure, None);
    }
    // 13, 14
    if f.effect == Effect::Keyed && !not {
        return (Retry, Reason::KeyedRetry, Some(Context::Same));
    }
    (Retry, Reason::Transient, Some(Context::Same))
}

/// Every case: all kinds, executions, effects, overrides and flags.
fn every_case(mut look: impl FnMut(&CaseFacts)) {
    let overrides = [
        None,
        Some(Action::Retry),
        Some(Action::Reprompt),
        Some(Action::Escalate),
        Some(Action::FailLoud),
    ];
    let explorations = [Exploratory::No, Exploratory::Declared, Exploratory::ByName];
    for kind in Kind::ALL {
        for execution in Execution::ALL {
            for effect in Effect::ALL {
                for unreliable in [false, true] {
                    // Only a key can be unreliable; the other effects are what they are.
                    if unreliable && *effect != Effect::Keyed {
                        continue;
                    }
                    let counts_as_unsafe =
                        matches!(effect, Effect::Unsafe | Effect::Unknown) || unreliable;
                    for override_action in overrides {
                        for exploratory in explorations {
                            for flags in 0..1u32 << 10 {
                                let flag = |n: u32| flags >> n & 1 == 1;
                                look(&CaseFacts {
                                    kind: *kind,
                                    execution: *execution,
                                    vouched_not_executed: flag(0),
                                    effect: *effect,
                                    counts_as_unsafe,
                                    irreversible: flag(1),
                                    approved: flag(2),
                                    brings_approval: flag(3),
                                    exploratory,
                                    names_dependency: flag(4),
                                    expensive: flag(5),
                                    atomic: flag(6),
                                    has_status_tool: flag(7),
                                    failed_before: flag(8),
                                    same_fingerprint_as_before: flag(9),
                                    override_action,
                                });
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_table_is_the_designs() {
    let mut cases = 0u64;
    every_case(|facts| {
        cases += 1;
        let found = deserved(facts);
        assert_eq!(
            (found.action, found.reason, found.context),
            told(facts),
            "{facts:?}"
        );
    });
    assert_eq!(cases, 29 * 3 * 5 * 5 * 3 * 1_024);
}

#[test]
fn no_case_repeats_a_harmful_effect_that_may_have_happened() {
    every_case(|facts| {
        let found = deserved(facts);
        let grants = matches!(found.action, Action::Retry | Action::Reprompt);
        let harmful = facts.counts_as_unsafe && facts.execution != Execution::NotExecuted;
        let finding = found.reason == Reason::Exploratory && !facts.effect.is_declared_harmful();
        assert!(!grants || !harmful || finding, "{facts:?} {found:?}");
        // What is irreversible and not approved is never simply tried again.
        let unapproved = facts.irreversible && !facts.approved && found.action == Action::Retry;
        let approvable = !matches!(
            facts.kind.category(),
            Category::Precondition | Category::ModelOutput
        );
        assert!(!unapproved || !approvable, "{facts:?} {found:?}");
        assert_eq!(found.context.is_some(), grants);
    });
}

const BUDGET: SpentBudget = SpentBudget {
    name: SpentBudgetName::TurnFailures,
    used: 1,
    limit: 1,
};

fn free() -> PaymentFacts {
    PaymentFacts {
        same_call_again: false,
        repeated_lesson: false,
        turn: None,
        cause: None,
        preconditions: None,
        operation: None,
        tool_calls: None,
        wait: WaitFacts {
            wait: Duration::from_secs(1),
            time_left: None,
            max_wait: Duration::from_secs(60),
            server_says_no: false,
        },
    }
}

fn grant(action: Action, reason: Reason) -> Deserved {
    Deserved {
        action,
        reason,
        context: Some(Context::Same),
    }
}

/// The list, told again: which stops stand against a verdict, in order.
fn stops(deserved: &Deserved, f: &PaymentFacts) -> Vec<Reason> {
    let mut list = Vec::new();
    let is_reprompt = deserved.action == Action::Reprompt;
    if !is_reprompt && deserved.action != Action::Retry {
        return list;
    }
    let lesson_counts = matches!(
        deserved.reason,
        Reason::ModelOutput | Reason::PolicyOverride
    );
    let call_counts = lesson_counts || deserved.reason == Reason::Exploratory;
    if is_reprompt && ((call_counts && f.same_call_again) || (lesson_counts && f.repeated_lesson)) {
        list.push(Reason::RepeatedLesson);
    }
    for (spent, reason) in [
        (f.turn.is_some(), Reason::TurnBudgetExhausted),
        (f.cause.is_some(), Reason::CauseBudgetExhausted),
        (f.preconditions.is_some(), Reason::PreconditionLoop),
        (f.operation.is_some(), Reason::OperationBudgetExhausted),
        (f.tool_calls.is_some(), Reason::CallCapReached),
    ] {
        if spent {
            list.push(reason);
        }
    }
    if !is_reprompt {
        let w = &f.wait;
        if w.time_left.is_some_and(|left| left <= w.wait) {
            list.push(Reason::DeadlineTooClose);
        }
        if w.wait > w.max_wait {
            list.push(Reason::WaitTooLong);
        }
        if w.server_says_no {
            list.push(Reason::ServerSaysNo);
        }
    }
    list
}

proptest! {
    #[test]
    fn the_first_stop_of_the_list_wins(
        flags in prop::collection::vec(any::<bool>(), 9),
        loud in prop::collection::vec(any::<bool>(), 4),
        wait in 0u64..100,
        left in prop::option::of(0u64..100),
        which in 0usize..8,
    ) {
        let verdict = [
            grant(Action::Retry, Reason::Transient),
            grant(Action::Retry, Reason::KeyedRetry),
            grant(Action::Retry, Reason::PolicyOverride),
            grant(Action::Reprompt, Reason::ModelOutput),
            grant(Action::Reprompt, Reason::Precondition),
            grant(Action::Reprompt, Reason::Exploratory),
            grant(Action::Reprompt, Reason::PolicyOverride),
            grant(Action::Escalate, Reason::OutcomeUnknown),
        ][which];
        let then = |n: usize| if loud[n] { OnExhausted::FailLoud } else { OnExhausted::Escalate };
        let budget = |n: usize, t: usize| flags[n].then(|| (BUDGET, then(t)));
        let facts = PaymentFacts {
            same_call_again: flags[0],
            repeated_lesson: flags[1],
            turn: budget(2, 0),
            cause: budget(3, 1),
            preconditions: flags[4].then_some(BUDGET),
            operation: budget(5, 2),
            tool_calls: budget(6, 3),
            wait: WaitFacts {
                wait: Duration::from_secs(wait),
                time_left: left.map(Duration::from_secs),
                max_wait: Duration::from_secs(60),
                server_says_no: flags[7],
            },
        };
        let stop = stop_for(&verdict, &facts);
        prop_assert_eq!(stop.map(|stop| stop.reason), stops(&verdict, &facts).first().copied());
        if let Some(stop) = stop {
            let loud = match stop.reason {
                Reason::TurnBudgetExhausted => loud[0],
                Reason::CauseBudgetExhausted => loud[1],
                Reason::OperationBudgetExhausted => loud[2],
                Reason::CallCapReached => loud[3],
                _ => false,
            };
            let action = if loud { Action::FailLoud } else { Action::Escalate };
            prop_assert_eq!(stop.action, action);
        }
    }
}

#[test]
fn what_nothing_stands_against_is_given() {
    for deserved in [
        grant(Action::Retry, Reason::Transient),
        grant(Action::Reprompt, Reason::ModelOutput),
    ] {
        assert_eq!(stop_for(&deserved, &free()), None);
    }
}

/// Who can help: never another provider or model where an effect is in doubt, whatever the reason.
#[test]
fn an_effect_in_doubt_goes_to_who_can_look() {
    for reason in Reason::ALL {
        for kind in Kind::ALL.iter().copied().map(Some).chain([None]) {
            for origin in [Origin::Tool, Origin::Model] {
                for has_status_tool in [false, true] {
                    let facts = EscalationFacts {
                        reason: *reason,
                        kind,
                        origin,
                        has_status_tool,
                        only_who_can_look: true,
                    };
                    assert!(
                        matches!(
                            escalate_to(&facts),
                            EscalateTo::Person | EscalateTo::Operator | EscalateTo::StatusCheck
                        ),
                        "{facts:?}"
                    );
                    // A status check needs a tool to check with.
                    let to = escalate_to(&EscalationFacts {
                        only_who_can_look: false,
                        ..facts
                    });
                    assert!(
                        to != EscalateTo::StatusCheck
                            || has_status_tool
                            || *reason == Reason::CheckStatus,
                        "{facts:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_not_to_try_again() {
    for reason in Reason::ALL {
        let expected = match reason {
            Reason::TurnBudgetExhausted | Reason::TurnEnded => StopScope::Turn,
            Reason::CauseBudgetExhausted
            | Reason::DependencyDown
            | Reason::FleetBudgetExhausted => StopScope::Cause,
            _ => StopScope::Operation,
        };
        assert_eq!(stop_scope(*reason), expected);
    }
}
