//! Every budget: what draws from it, what does not, when it stops, which stop goes first, and the turn's own bounds.

use std::time::Duration;

use super::super::{MAX_CAUSES, MAX_OPERATIONS, MAX_REMEMBERED, Turn};
use super::{TOOLS, World, ask, fail};
use crate::domain::{
    Action, Budget, Category, Effect, Execution, Judgement, Kind, Origin, Outcome, Reason,
    StopScope, Timestamp,
};

fn word(judged: &Judgement) -> (Action, Reason) {
    (judged.verdict.action, judged.verdict.reason)
}

/// The tool that the tables use: nothing stops it but budgets.
fn world(budgets: &str) -> World {
    World::new(&format!("tools: {{t: {{effect: idempotent}}}}\n{budgets}"))
}

const FREE: &str = "{cause: {max_failures: none}, operation: {max_attempts: none, max_reprompts: none}, turn: {max_failures: none, max_retries: none, max_reprompts: none, max_calls: none}}";

#[test]
fn what_each_kind_draws() {
    for kind in Kind::ALL {
        let mut world = world("");
        let judged = world.judge(&fail("a", 1, "t", *kind).tries(3).tokens(7));
        let b = judged.budgets;
        // (attempts, cause, turn, preconditions)
        let expected = match kind.category() {
            _ if *kind == Kind::ApprovalRequired => (0, 0, 0, 0),
            Category::ModelOutput => (0, 1, 1, 0),
            Category::Precondition => (0, 0, 0, 1),
            _ => (3, 1, 1, 0),
        };
        assert_eq!(
            (
                b.operation_attempts.used,
                b.cause_failures.used,
                b.turn_failures.used,
                b.preconditions.used
            ),
            expected,
            "{kind}"
        );
        assert_eq!((b.turn_calls.used, b.tool_calls.used), (1, 1), "{kind}");
        assert_eq!(b.turn_tokens.used, 7, "{kind}");
        let action = judged.verdict.action;
        assert_eq!(
            b.turn_retries.used,
            u64::from(action == Action::Retry),
            "{kind}"
        );
        let output = kind.category() == Category::ModelOutput;
        assert_eq!(b.turn_reprompts.used, u64::from(output), "{kind}");
        assert_eq!(b.operation_reprompts.used, u64::from(output), "{kind}");
    }
}

#[test]
fn a_finding_draws_nothing_unless_it_repeats() {
    for kind in [
        Kind::ToolBug,
        Kind::Timeout,
        Kind::InvalidArguments,
        Kind::Unknown,
        Kind::Misconfigured,
    ] {
        let finding = |n: u32, text: &str| {
            fail(&format!("a{n}"), 1, "bash", kind)
                .text(text)
                .input(&format!("run {n}"))
                .lesson(&format!("lesson {n}"))
        };
        let mut world = World::new(TOOLS);
        for n in 1..=9 {
            let judged = world.judge(&finding(n, &"x".repeat(n as usize)));
            assert_eq!(word(&judged), (Action::Reprompt, Reason::Exploratory));
            let b = judged.budgets;
            assert_eq!(
                [
                    b.operation_attempts.used,
                    b.cause_failures.used,
                    b.turn_failures.used,
                    b.turn_reprompts.used,
                    b.operation_reprompts.used
                ],
                [0; 5]
            );
        }
        // The same fingerprint again, with nothing succeeded since: it is charged.
        let judged = world.judge(&finding(10, "x"));
        let output = kind.category() == Category::ModelOutput;
        assert_eq!(judged.budgets.turn_failures.used, 1, "{kind}");
        assert_eq!(judged.budgets.cause_failures.used, 1, "{kind}");
        assert_eq!(judged.budgets.operation_attempts.used, u64::from(!output));
        assert_eq!(judged.budgets.turn_reprompts.used, u64::from(output));
        // After a success it is new again.
        world.succeed(&ask("s", 1, "read"));
        let judged = world.judge(&finding(11, "x"));
        assert_eq!(judged.budgets.turn_failures.used, 1, "{kind}");
    }
}

#[test]
fn the_attempts_of_a_repeated_finding_are_spent_like_others() {
    let mut world = World::new(&format!(
        "{TOOLS}\nbudgets: {{cause: {{max_failures: none}}, turn: {{max_failures: none}}}}"
    ));
    let finding = |n| fail("a", n, "bash", Kind::ToolBug).text("same");
    let reasons: Vec<Reason> = (1..=4).map(|n| word(&world.judge(&finding(n))).1).collect();
    assert_eq!(
        reasons,
        [
            Reason::Exploratory,
            Reason::Exploratory,
            Reason::Exploratory,
            Reason::OperationBudgetExhausted
        ]
    );
}

/// A policy, a failure repeated over attempts or operations, and at which one which stop comes.
#[test]
fn each_budget_stops_when_it_is_spent() {
    let free = |field: &str, to: &str| FREE.replacen(field, to, 1);
    let table: Vec<(&str, String, Kind, bool, usize, Action, Reason)> = vec![
        // One operation, many attempts.
        (
            "attempts",
            free("max_attempts: none", "max_attempts: 3"),
            Kind::Overloaded,
            true,
            3,
            Action::Escalate,
            Reason::OperationBudgetExhausted,
        ),
        (
            "attempts 1",
            free("max_attempts: none", "max_attempts: 1"),
            Kind::Overloaded,
            true,
            1,
            Action::Escalate,
            Reason::OperationBudgetExhausted,
        ),
        (
            "reprompts",
            free("max_reprompts: none", "max_reprompts: 2"),
            Kind::InvalidArguments,
            true,
            3,
            Action::Escalate,
            Reason::OperationBudgetExhausted,
        ),
        (
            "reprompts 0",
            free("max_reprompts: none", "max_reprompts: 0"),
            Kind::InvalidArguments,
            true,
            1,
            Action::Escalate,
            Reason::OperationBudgetExhausted,
        ),
        // Many operations.
        (
            "cause",
            free("max_failures: none", "max_failures: 3"),
            Kind::Overloaded,
            false,
            3,
            Action::Escalate,
            Reason::CauseBudgetExhausted,
        ),
        (
            "cause output",
            free("max_failures: none", "max_failures: 3"),
            Kind::InvalidArguments,
            false,
            3,
            Action::Escalate,
            Reason::CauseBudgetExhausted,
        ),
        (
            "cause 1",
            free("max_failures: none", "max_failures: 1"),
            Kind::Overloaded,
            false,
            1,
            Action::Escalate,
            Reason::CauseBudgetExhausted,
        ),
        (
            "turn",
            free("turn: {max_failures: none", "turn: {max_failures: 6"),
            Kind::Overloaded,
            false,
            6,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "retries",
            free("max_retries: none", "max_retries: 6"),
            Kind::Overloaded,
            false,
            7,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "retries 0",
            free("max_retries: none", "max_retries: 0"),
            Kind::Overloaded,
            false,
            1,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "turn reprompts",
            free(
                "max_retries: none, max_reprompts: none",
                "max_retries: none, max_reprompts: 4",
            ),
            Kind::InvalidArguments,
            false,
            5,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "calls",
            free("max_calls: none", "max_calls: 5"),
            Kind::Overloaded,
            false,
            5,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "tokens",
            free("max_calls: none", "max_tokens: 50"),
            Kind::Overloaded,
            false,
            5,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "elapsed",
            free("max_calls: none", "max_elapsed: 5s"),
            Kind::Overloaded,
            false,
            6,
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
    ];
    for (name, budgets, kind, one, at, action, reason) in table {
        let mut world = world(&format!("budgets: {budgets}"));
        for n in 1..=at {
            let (operation, attempt) = if one {
                ("a".to_owned(), u32::try_from(n).unwrap())
            } else {
                (format!("a{n}"), 1)
            };
            let judged = world.judge(
                &fail(&operation, attempt, "t", kind)
                    .text(&format!("y {n}"))
                    .lesson(&format!("lesson {n}"))
                    .tokens(10),
            );
            world.pass(Duration::from_secs(1));
            if n == at {
                assert_eq!(word(&judged), (action, reason), "{name} at {n}");
            } else {
                assert!(
                    matches!(judged.verdict.action, Action::Retry | Action::Reprompt),
                    "{name} at {n}: {}",
                    judged.verdict.explanation
                );
            }
        }
    }
}

#[test]
fn tries_draw_as_many_attempts_and_one_failure() {
    for (tries, expected) in [(0, 1), (1, 1), (2, 2), (3, 3), (1_000, 1_000)] {
        let mut world = world(&format!("budgets: {FREE}"));
        let judged = world.judge(
            &fail("a", 1, "t", Kind::Overloaded)
                .tries(tries)
                .word(Execution::NotExecuted),
        );
        assert_eq!(judged.budgets.operation_attempts.used, expected);
        assert_eq!(judged.budgets.cause_failures.used, 1);
        assert_eq!(judged.budgets.turn_failures.used, 1);
        assert_eq!(judged.budgets.turn_calls.used, 1);
    }
    let mut world = world("");
    let judged = world.judge(&fail("a", 1, "t", Kind::Overloaded).tries(3));
    assert_eq!(
        word(&judged),
        (Action::Escalate, Reason::OperationBudgetExhausted)
    );
}

#[test]
fn the_profiles() {
    type Limits = [Option<u64>; 8];
    let table: [(&str, Limits); 3] = [
        (
            "assistant",
            [
                Some(3),
                Some(2),
                Some(3),
                Some(6),
                Some(6),
                Some(4),
                Some(40),
                None,
            ],
        ),
        (
            "coding",
            [
                Some(3),
                Some(2),
                Some(3),
                None,
                Some(30),
                None,
                Some(500),
                None,
            ],
        ),
        (
            "batch",
            [
                Some(3),
                Some(2),
                Some(5),
                Some(30),
                Some(60),
                Some(20),
                Some(5_000),
                None,
            ],
        ),
    ];
    for (profile, limits) in table {
        let mut world = world(&format!("profile: {profile}"));
        let b = world.judge(&fail("a", 1, "t", Kind::Overloaded)).budgets;
        assert_eq!(
            [
                b.operation_attempts.limit,
                b.operation_reprompts.limit,
                b.cause_failures.limit,
                b.turn_failures.limit,
                b.turn_retries.limit,
                b.turn_reprompts.limit,
                b.turn_calls.limit,
                b.turn_tokens.limit
            ],
            limits,
            "{profile}"
        );
        assert_eq!(b.preconditions.limit, Some(3), "{profile}");
    }
    // What is written wins over the profile, field by field.
    let mut world = world("profile: coding\nbudgets: {turn: {max_failures: 2}}");
    let b = world.judge(&fail("a", 1, "t", Kind::Overloaded)).budgets;
    assert_eq!(
        (b.turn_failures.limit, b.turn_retries.limit),
        (Some(2), Some(30))
    );
}

/// Everything is spent at once; then the first is lifted, then the second, and so on: the next stop shows.
#[test]
fn the_payment_order_of_a_retry() {
    let policy = |turn, cause, attempts, calls| {
        format!(
            "tools: {{t: {{effect: idempotent, max_calls: {calls}}}}}\nbudgets: {{operation: {{max_attempts: {attempts}}}, cause: {{max_failures: {cause}}}, turn: {{max_failures: {turn}}}}}"
        )
    };
    let (near, far) = (5, 500);
    for (policy, left, wait, no, expected) in [
        (
            policy(1, 1, 1, 1),
            near,
            70,
            true,
            Reason::TurnBudgetExhausted,
        ),
        (
            policy(9, 1, 1, 1),
            near,
            70,
            true,
            Reason::CauseBudgetExhausted,
        ),
        (
            policy(9, 9, 1, 1),
            near,
            70,
            true,
            Reason::OperationBudgetExhausted,
        ),
        (policy(9, 9, 9, 1), near, 70, true, Reason::CallCapReached),
        (policy(9, 9, 9, 9), near, 70, true, Reason::DeadlineTooClose),
        (policy(9, 9, 9, 9), far, 70, true, Reason::WaitTooLong),
        (policy(9, 9, 9, 9), far, 60, true, Reason::ServerSaysNo),
        (policy(9, 9, 9, 9), far, 60, false, Reason::Transient),
    ] {
        let mut world = World::new(&policy);
        let deadline = world.now.plus(Duration::from_secs(left));
        let judged = world.judge(
            &fail("a", 1, "t", Kind::Overloaded)
                .deadline(deadline)
                .wait(Duration::from_secs(wait))
                .server_says_no(no),
        );
        assert_eq!(judged.verdict.reason, expected);
        let action = match expected {
            Reason::TurnBudgetExhausted => Action::FailLoud,
            Reason::Transient => Action::Retry,
            _ => Action::Escalate,
        };
        assert_eq!(judged.verdict.action, action);
        let scope = match expected {
            Reason::TurnBudgetExhausted => Some(StopScope::Turn),
            Reason::CauseBudgetExhausted => Some(StopScope::Cause),
            Reason::Transient => None,
            _ => Some(StopScope::Operation),
        };
        assert_eq!(judged.verdict.stop_scope, scope);
        assert_eq!(
            judged.budgets.turn_retries.used,
            u64::from(expected == Reason::Transient)
        );
    }
}

#[test]
fn the_payment_order_of_a_reprompt() {
    let policy = |turn, cause, reprompts, calls| {
        format!(
            "tools: {{t: {{effect: idempotent, max_calls: {calls}}}}}\nbudgets: {{operation: {{max_reprompts: {reprompts}}}, cause: {{max_failures: {cause}}}, turn: {{max_failures: {turn}}}}}"
        )
    };
    for (policy, lesson, expected) in [
        (policy(2, 2, 1, 2), "the same", Reason::RepeatedLesson),
        (policy(2, 2, 1, 2), "another", Reason::TurnBudgetExhausted),
        (policy(9, 2, 1, 2), "another", Reason::CauseBudgetExhausted),
        (
            policy(9, 9, 1, 2),
            "another",
            Reason::OperationBudgetExhausted,
        ),
        (policy(9, 9, 9, 2), "another", Reason::CallCapReached),
        (policy(9, 9, 9, 9), "another", Reason::ModelOutput),
    ] {
        let mut world = World::new(&policy);
        let failure = |n, lesson: &str| {
            fail("a", n, "t", Kind::InvalidArguments)
                .lesson(lesson)
                .deadline(Timestamp::from_secs(1))
        };
        assert_eq!(
            word(&world.judge(&failure(1, "the same"))),
            (Action::Reprompt, Reason::ModelOutput)
        );
        let judged = world.judge(&failure(2, lesson));
        assert_eq!(judged.verdict.reason, expected);
        assert_eq!(
            judged.budgets.turn_reprompts.used,
            1 + u64::from(expected == Reason::ModelOutput)
        );
    }
}

#[test]
fn the_payment_order_of_a_precondition() {
    let policy = |turn, loops, calls| {
        format!(
            "tools: {{t: {{effect: idempotent, max_calls: {calls}}}, u: {{effect: idempotent}}}}\nbudgets: {{turn: {{max_failures: {turn}, max_preconditions: {loops}, max_retries: 1, max_reprompts: 0}}, cause: {{max_failures: 1}}, operation: {{max_attempts: 1, max_reprompts: 0}}}}"
        )
    };
    for (policy, expected) in [
        (policy(1, 1, 1), Reason::TurnBudgetExhausted),
        (policy(9, 1, 1), Reason::PreconditionLoop),
        (policy(9, 9, 1), Reason::CallCapReached),
        (policy(9, 9, 9), Reason::Precondition),
    ] {
        let mut world = World::new(&policy);
        world.judge(&fail("z", 1, "u", Kind::Overloaded));
        let judged = world.judge(&fail("a", 1, "t", Kind::PreconditionUnmet));
        assert_eq!(judged.verdict.reason, expected);
        assert_eq!(judged.budgets.turn_failures.used, 1);
    }
}

#[test]
fn a_finding_is_stopped_by_what_closes_the_turn_or_the_tool() {
    let policy = |turn, calls| {
        format!(
            "tools: {{bash: {{exploratory: true, max_calls: {calls}}}}}\nbudgets: {{turn: {{max_failures: {turn}, max_reprompts: 0, max_retries: 0}}, cause: {{max_failures: 1}}, operation: {{max_attempts: 1, max_reprompts: 0}}}}"
        )
    };
    for (policy, input, expected) in [
        (policy(1, 2), "same", Reason::RepeatedLesson),
        (policy(1, 2), "other", Reason::TurnBudgetExhausted),
        (policy(9, 2), "other", Reason::CallCapReached),
        (policy(9, 9), "other", Reason::Exploratory),
    ] {
        let mut world = World::new(&policy);
        // A failure that is no finding spends the turn.
        world.judge(&fail("z", 1, "bash", Kind::Unauthenticated).input("same"));
        let judged = world.judge(&fail("a", 1, "bash", Kind::InvalidArguments).input(input));
        assert_eq!(judged.verdict.reason, expected);
    }
}

#[test]
fn a_stop_is_what_the_policy_makes_of_it() {
    for (budgets, action, reason) in [
        (
            "turn: {max_failures: 1}",
            Action::FailLoud,
            Reason::TurnBudgetExhausted,
        ),
        (
            "turn: {max_failures: 1, on_exhausted: escalate}",
            Action::Escalate,
            Reason::TurnBudgetExhausted,
        ),
        (
            "turn: {max_retries: 0, on_exhausted: escalate}",
            Action::Escalate,
            Reason::TurnBudgetExhausted,
        ),
        (
            "cause: {max_failures: 1}",
            Action::Escalate,
            Reason::CauseBudgetExhausted,
        ),
        (
            "cause: {max_failures: 1, on_exhausted: fail_loud}",
            Action::FailLoud,
            Reason::CauseBudgetExhausted,
        ),
        (
            "operation: {max_attempts: 1}",
            Action::Escalate,
            Reason::OperationBudgetExhausted,
        ),
        (
            "operation: {max_attempts: 1, on_exhausted: fail_loud}",
            Action::FailLoud,
            Reason::OperationBudgetExhausted,
        ),
    ] {
        let mut world = world(&format!("budgets: {{{budgets}}}"));
        let judged = world.judge(&fail("a", 1, "t", Kind::Overloaded));
        assert_eq!(word(&judged), (action, reason), "{budgets}");
        assert!(judged.dead_letter_id.is_some());
    }
}

#[test]
fn tool_group_dependency_and_kind_set_their_own_limits() {
    for (policy, tool, stops_at, reason) in [
        (
            "tools: {t: {effect: idempotent, max_attempts: 1}}",
            "t",
            1,
            Reason::OperationBudgetExhausted,
        ),
        (
            "groups: {g: {max_attempts: 2}}\ntools: {t: {effect: idempotent, group: g}}",
            "t",
            2,
            Reason::OperationBudgetExhausted,
        ),
        (
            "groups: {g: {max_failures: 1}}\ntools: {t: {effect: idempotent, group: g}}",
            "t",
            1,
            Reason::CauseBudgetExhausted,
        ),
        (
            "dependencies: {d: {max_failures: 1}}\ntools: {t: {effect: idempotent, dependency: d}}",
            "t",
            1,
            Reason::CauseBudgetExhausted,
        ),
        (
            "dependencies: {d: {max_attempts: 2}}\ntools: {t: {effect: idempotent, dependency: d}}",
            "t",
            2,
            Reason::OperationBudgetExhausted,
        ),
        (
            "kinds: {overloaded: {max_failures: 2}}\ntools: {t: {effect: idempotent}}",
            "t",
            2,
            Reason::CauseBudgetExhausted,
        ),
        (
            "kinds: {overloaded: {max_attempts: 1}}\ntools: {t: {effect: idempotent}}",
            "t",
            1,
            Reason::OperationBudgetExhausted,
        ),
        // The tool's word goes before the group's, the group's before the kind's.
        (
            "groups: {g: {max_attempts: 1}}\nkinds: {overloaded: {max_attempts: 1}}\ntools: {t: {effect: idempotent, group: g, max_attempts: 2}}",
            "t",
            2,
            Reason::OperationBudgetExhausted,
        ),
    ] {
        let mut world = World::new(policy);
        for n in 1..=stops_at {
            let judged = world.judge(&fail("a", n, tool, Kind::Overloaded));
            if n == stops_at {
                assert_eq!(word(&judged), (Action::Escalate, reason), "{policy}");
            } else {
                assert_eq!(judged.verdict.action, Action::Retry, "{policy}");
            }
        }
    }
}

#[test]
fn causes_are_shared_by_what_shares_a_fate() {
    // Two tools of one group, of one dependency, behind one dead link, or of one text share one budget.
    let shared = |world: &mut World, fails: [super::Fail; 3]| {
        let actions = fails.map(|failure| word(&world.judge(&failure)));
        actions[2] == (Action::Escalate, Reason::CauseBudgetExhausted)
    };
    let f =
        |n: u32, tool: &str, kind| fail(&format!("a{n}"), 1, tool, kind).effect(Effect::Idempotent);
    let o = Kind::Overloaded;
    assert!(shared(
        &mut World::new(TOOLS),
        [f(1, "draw_a", o), f(2, "draw_b", o), f(3, "draw_a", o)]
    ));
    assert!(shared(
        &mut World::new(""),
        [
            f(1, "x", o).dependency("db"),
            f(2, "y", o).dependency("db"),
            f(3, "z", o).dependency("db"),
        ]
    ));
    assert!(shared(
        &mut World::new(""),
        [f(1, "x", o), f(2, "y", o), f(3, "z", o)]
    ));
    assert!(!shared(
        &mut World::new(""),
        [
            f(1, "x", o).text("one"),
            f(2, "y", o).text("two"),
            f(3, "z", o).text("three"),
        ]
    ));
    // A throttle is not shared by text.
    let r = Kind::RateLimited;
    assert!(!shared(
        &mut World::new(""),
        [f(1, "x", r), f(2, "y", r), f(3, "z", r)]
    ));
    let u = Kind::UnknownTool;
    assert!(shared(
        &mut World::new(""),
        [f(1, "x", u), f(2, "y", u), f(3, "z", u)]
    ));
}

#[test]
fn waits_are_stated_or_jittered_within_their_bounds() {
    let mut world = world(&format!("budgets: {FREE}"));
    let stated =
        world.verdict(&fail("s", 1, "t", Kind::Overloaded).wait(Duration::from_millis(1_234)));
    assert_eq!(stated.retry_after, Some(Duration::from_millis(1_234)));
    for (tries, ceiling) in [
        (1, 200),
        (2, 400),
        (3, 800),
        (8, 25_600),
        (9, 30_000),
        (1_000, 30_000),
    ] {
        let (mut least, mut most) = (Duration::MAX, Duration::ZERO);
        for n in 0..200 {
            let wait = world
                .verdict(
                    &fail(&format!("{tries}-{n}"), 1, "t", Kind::Overloaded)
                        .tries(tries)
                        .word(Execution::NotExecuted),
                )
                .retry_after
                .unwrap();
            least = least.min(wait);
            most = most.max(wait);
        }
        let ceiling = Duration::from_millis(ceiling);
        assert!(most <= ceiling, "{tries}: {most:?}");
        // Full jitter uses the whole range.
        assert!(
            most > ceiling * 9 / 10 && least < ceiling / 10,
            "{tries}: {least:?} {most:?}"
        );
    }
    // A failure that drew no attempt waits as the first one.
    let mut approved = world_with_approval();
    let wait = approved
        .verdict(&fail("a", 1, "t", Kind::ApprovalRequired).approval("ok"))
        .retry_after
        .unwrap();
    assert!(wait <= Duration::from_millis(200));
}

fn world_with_approval() -> World {
    world("")
}

#[test]
fn deadlines_and_long_waits() {
    for (left, wait, max, reason) in [
        (Some(0), 0, 60, Reason::DeadlineTooClose),
        (Some(10), 10, 60, Reason::DeadlineTooClose),
        (Some(11), 10, 60, Reason::Transient),
        (None, 60, 60, Reason::Transient),
        (None, 61, 60, Reason::WaitTooLong),
        (Some(1_000), 61, 60, Reason::WaitTooLong),
        (None, 61, 90, Reason::Transient),
    ] {
        let mut world = world(&format!("backoff: {{max_wait: {max}s}}"));
        let mut failure = fail("a", 1, "t", Kind::RateLimited).wait(Duration::from_secs(wait));
        failure.deadline = left.map(|left| world.now.plus(Duration::from_secs(left)));
        let verdict = world.verdict(&failure);
        assert_eq!(verdict.reason, reason, "{left:?} {wait}");
        assert_eq!(
            verdict.retry_after.is_some(),
            verdict.action == Action::Retry
        );
    }
    // A deadline that is past stops a retry even without a wait, and no reprompt.
    let past = Timestamp::from_secs(1);
    let mut world = world("");
    assert_eq!(
        world
            .verdict(&fail("a", 1, "t", Kind::RateLimited).deadline(past))
            .reason,
        Reason::DeadlineTooClose
    );
    assert_eq!(
        world
            .verdict(&fail("b", 1, "t", Kind::InvalidArguments).deadline(past))
            .action,
        Action::Reprompt
    );
}

#[test]
fn preconditions_draw_from_their_own_counter_and_start_anew_with_the_step() {
    let mut world = World::new(TOOLS);
    let unmet = |n: u32| fail(&format!("a{n}"), 1, "compute", Kind::PreconditionUnmet);
    for n in 1..=2 {
        assert_eq!(world.verdict(&unmet(n)).reason, Reason::Precondition);
    }
    let third = world.judge(&unmet(3));
    assert_eq!(word(&third), (Action::Escalate, Reason::PreconditionLoop));
    assert_eq!(
        third.budgets.preconditions,
        Budget {
            used: 3,
            limit: Some(3)
        }
    );
    // Another tool's success changes nothing, the step's own does.
    world.succeed(&ask("r", 1, "read"));
    assert_eq!(world.verdict(&unmet(4)).reason, Reason::PreconditionLoop);
    world.succeed(&ask("l", 1, "load"));
    let anew = world.judge(&unmet(5));
    assert_eq!(anew.verdict.reason, Reason::Precondition);
    assert_eq!(anew.budgets.preconditions.used, 1);
    assert_eq!(anew.budgets.turn_failures.used, 0);
}

#[test]
fn the_guidance_names_what_may_have_undone_the_step() {
    let mut world = World::new(TOOLS);
    let unmet = |n: u32| fail(&format!("a{n}"), 1, "compute", Kind::PreconditionUnmet);
    let first = world.verdict(&unmet(1));
    assert!(first.guidance.unwrap().contains("load"));
    world.succeed(&ask("l", 1, "load"));
    world.succeed(&ask("d", 1, "draw_a"));
    let second = world.verdict(&unmet(2));
    assert!(second.guidance.unwrap().contains("draw_a"));
    assert_eq!(second.satisfy_with.as_deref(), Some("load"));
}

#[test]
fn twelve_preconditions_a_turn() {
    let mut world = World::new("");
    for n in 1..=12 {
        // Each of another tool, so that no cause has more than one.
        let judged = world.judge(&fail(
            &format!("a{n}"),
            1,
            &format!("t{n}"),
            Kind::PreconditionUnmet,
        ));
        let expected = if n < 12 {
            Reason::Precondition
        } else {
            Reason::PreconditionLoop
        };
        assert_eq!(judged.verdict.reason, expected, "{n}");
        if n == 12 {
            assert!(
                judged
                    .verdict
                    .explanation
                    .contains("turn_preconditions 12 of 12"),
                "{}",
                judged.verdict.explanation
            );
        }
    }
    let mut world = World::new("budgets: {turn: {max_preconditions_total: 2}}");
    world.judge(&fail("a", 1, "x", Kind::PreconditionUnmet));
    let second = world.judge(&fail("b", 1, "y", Kind::PreconditionUnmet));
    assert_eq!(second.verdict.reason, Reason::PreconditionLoop);
}

#[test]
fn a_reprompt_by_override_draws_and_is_stopped_by_the_attempts_of_its_failure() {
    let mut world = world(
        "kinds: {overloaded: {action: reprompt}}\nbudgets: {operation: {max_attempts: 2, max_reprompts: none}, cause: {max_failures: none}}",
    );
    let failure = |n| fail("a", n, "t", Kind::Overloaded).lesson(&format!("lesson {n}"));
    assert_eq!(
        word(&world.judge(&failure(1))),
        (Action::Reprompt, Reason::PolicyOverride)
    );
    assert_eq!(
        word(&world.judge(&failure(2))),
        (Action::Escalate, Reason::OperationBudgetExhausted)
    );
}

#[test]
fn the_models_own_calls_count_like_others() {
    let mut world = World::new("");
    let call = |n: u32| {
        fail(&format!("a{n}"), 1, "gpt", Kind::RateLimited)
            .origin(Origin::Model)
            .text(&"z".repeat(n as usize))
    };
    assert_eq!(world.verdict(&call(1)).action, Action::Retry);
    assert_eq!(world.verdict(&call(2)).action, Action::Retry);
    let third = world.judge(&call(3));
    assert_eq!(
        word(&third),
        (Action::Escalate, Reason::CauseBudgetExhausted)
    );
    assert_eq!(
        third.classification.cause.to_owned().subject.to_string(),
        "gpt"
    );
}

/// Everything of a turn that takes room.
fn size(turn: &Turn) -> [usize; 8] {
    let operations = || turn.operations.values();
    [
        operations().count(),
        operations().map(|operation| operation.attempts.len()).sum(),
        turn.causes.len(),
        turn.causes.iter().map(|cause| cause.tools.len()).sum(),
        turn.tools.len(),
        turn.memory.len(),
        turn.requests.len(),
        turn.budget_letters.len(),
    ]
}

/// Whatever a hostile worker asks of a turn at its bound: it fails loud and does not grow.
#[track_caller]
fn does_not_grow(world: &mut World, known: &str) {
    // The letter of the bound is written once.
    world.judge(&fail(known, 0, "t", Kind::Overloaded));
    let before = size(&world.turn);
    for n in 0..50 {
        let fresh = world.judge(
            &fail(
                &format!("new-{n}"),
                1,
                &format!("u{n}"),
                Kind::InvalidArguments,
            )
            .input(&format!("{n}"))
            .request_id(&format!("j{n}")),
        );
        assert_eq!(
            word(&fresh),
            (Action::FailLoud, Reason::TurnBudgetExhausted)
        );
        assert!(fresh.dead_letter_id.is_some());
        let further = world.judge(
            &fail(known, 0, &format!("v{n}"), Kind::ToolBug)
                .input(&format!("k{n}"))
                .request_id(&format!("k{n}")),
        );
        assert_eq!(
            word(&further),
            (Action::FailLoud, Reason::TurnBudgetExhausted)
        );
        // Attempts of a known operation that were skipped.
        world.judge(&fail("high", n + 1, "t", Kind::Overloaded).input(&format!("h{n}")));
        let denial = world.admit(
            &ask(known, 0, &format!("w{n}"))
                .input(&format!("a{n}"))
                .request_id(&format!("a{n}")),
        );
        let verdict = denial.verdict.unwrap();
        assert_eq!(
            (verdict.action, verdict.reason),
            (Action::FailLoud, Reason::TurnBudgetExhausted)
        );
        world.admit(&ask(&format!("newer-{n}"), 1, "t").request_id(&format!("n{n}")));
        world.succeed(
            &ask(known, 0, &format!("x{n}"))
                .input(&format!("s{n}"))
                .request_id(&format!("s{n}")),
        );
        world.succeed(&ask(&format!("newest-{n}"), 1, &format!("y{n}")).input(&format!("s{n}")));
    }
    assert_eq!(size(&world.turn), before);
    world.end(Outcome::Failed, true);
    for n in 50..100 {
        let late = world
            .judge(&fail(known, 0, &format!("z{n}"), Kind::ToolBug).request_id(&format!("e{n}")));
        assert_eq!(late.verdict.reason, Reason::TurnEnded);
        world.judge(&fail("high", n, "t", Kind::Overloaded));
    }
    assert_eq!(size(&world.turn), before);
}

fn without_limits() -> World {
    let mut world = world(&format!("budgets: {FREE}"));
    world.judge(&fail("high", 1_000_000, "t", Kind::Overloaded));
    world
}

#[test]
fn a_turn_holds_so_many_operations_and_no_more() {
    let mut world = without_limits();
    for n in 1..MAX_OPERATIONS {
        world.admit(&ask(&format!("o{n}"), 1, "t"));
    }
    assert_eq!(world.turn.operations.len(), MAX_OPERATIONS);
    let new = world.judge(&fail("one-more", 1, "t", Kind::Overloaded));
    assert_eq!(word(&new), (Action::FailLoud, Reason::TurnBudgetExhausted));
    assert!(
        new.verdict.explanation.contains("turn_operations"),
        "{}",
        new.verdict.explanation
    );
    let denial = world.admit(&ask("one-more", 1, "t")).verdict.unwrap();
    assert_eq!(denial.reason, Reason::TurnBudgetExhausted);
    // Those that it knows go on.
    assert_eq!(
        world
            .judge(&fail("o1", 1, "t", Kind::Overloaded))
            .verdict
            .action,
        Action::Retry
    );
    assert_eq!(world.turn.operations.len(), MAX_OPERATIONS);
}

#[test]
fn a_turn_holds_so_many_causes_and_no_more() {
    let mut world = without_limits();
    for n in 0..MAX_CAUSES {
        world.judge(&fail("a", 0, &format!("t{n}"), Kind::RateLimited).effect(Effect::Idempotent));
    }
    assert_eq!(world.turn.causes.len(), MAX_CAUSES);
    let new = world.judge(&fail("a", 0, "t", Kind::Overloaded));
    assert!(
        new.verdict.explanation.contains("turn_causes"),
        "{}",
        new.verdict.explanation
    );
    does_not_grow(&mut world, "a");
    assert_eq!(world.turn.causes.len(), MAX_CAUSES);
}

#[test]
fn a_turn_remembers_so_many_calls_and_no_more() {
    let mut world = without_limits();
    for n in 0..MAX_REMEMBERED - 1 {
        world.succeed(&ask(&format!("o{}", n % 5_000), 0, "t"));
    }
    let new = world.judge(&fail("b", 1, "t", Kind::Overloaded));
    assert!(
        new.verdict.explanation.contains("turn_remembered_calls"),
        "{}",
        new.verdict.explanation
    );
    does_not_grow(&mut world, "o1");
}

#[test]
fn a_success_is_heard_at_the_bound() {
    let mut world = without_limits();
    world.judge(&fail("b", 1, "send", Kind::Timeout).effect(Effect::Unsafe));
    for n in 0..MAX_CAUSES {
        world.judge(&fail("a", 0, &format!("t{n}"), Kind::RateLimited).effect(Effect::Idempotent));
    }
    world.succeed_with(&ask("b", 2, "send"), Some("receipt"));
    let late = world.judge(&fail("b", 1, "send", Kind::Timeout));
    assert_eq!(word(&late), (Action::FailLoud, Reason::AlreadyExecuted));
    assert_eq!(late.result.as_deref(), Some("receipt"));
}

#[test]
fn a_shadow_turn_does_not_grow_past_its_bound() {
    let mut world = World::new(&format!(
        "mode: shadow\ntools: {{t: {{effect: idempotent}}}}\nbudgets: {FREE}"
    ));
    for n in 0..=MAX_CAUSES {
        world.judge(&fail("a", 0, &format!("t{n}"), Kind::RateLimited).effect(Effect::Idempotent));
    }
    let before = size(&world.turn);
    for n in 0..20 {
        assert!(
            world
                .admit(&ask("a", 0, "t").request_id(&format!("r{n}")))
                .admitted
        );
        assert!(world.admit(&ask(&format!("b{n}"), 0, "t")).admitted);
    }
    let after = size(&world.turn);
    assert_eq!(after[1..], before[1..]);
}
