//! Dead letters of a turn: one for each operation and each spent budget, what resolves them, and silent failures.

use std::collections::HashSet;
use std::time::Duration;

use super::{Fail, TOOLS, World, ask, fail};
use crate::domain::{
    Action, DeadLetter, Effect, Execution, Kind, LetterStatus, Outcome, Reason, Timestamp,
};
use crate::turn::Moment;

fn newest(world: &World) -> &DeadLetter {
    &world.parkings.last().expect("a letter was written").letter
}

fn ids(world: &World) -> HashSet<String> {
    world
        .parkings
        .iter()
        .map(|parking| parking.letter.id.clone())
        .collect()
}

#[test]
fn every_stop_of_judge_is_parked_with_its_context() {
    let stops = [
        (fail("a", 1, "send", Kind::Timeout), Reason::OutcomeUnknown),
        (
            fail("a", 1, "send", Kind::RateLimited),
            Reason::UnsafeToRepeat,
        ),
        (
            fail("a", 1, "send_checked", Kind::Timeout),
            Reason::CheckStatus,
        ),
        (
            fail("a", 1, "research", Kind::Timeout),
            Reason::MayStillBeRunning,
        ),
        (
            fail("a", 1, "read", Kind::PermissionDenied),
            Reason::PermissionDenied,
        ),
        (
            fail("a", 1, "read", Kind::ContentFiltered),
            Reason::PolicyBlocked,
        ),
        (
            fail("a", 1, "read", Kind::ToolBug),
            Reason::PermanentFailure,
        ),
        (
            fail("a", 1, "erase", Kind::Timeout),
            Reason::ApprovalRequired,
        ),
        (
            fail("a", 1, "send", Kind::Timeout).word(Execution::Executed),
            Reason::AlreadyExecuted,
        ),
        (
            fail("a", 1, "read", Kind::RateLimited).deadline(Timestamp::from_secs(1)),
            Reason::DeadlineTooClose,
        ),
        (
            fail("a", 1, "read", Kind::RateLimited).wait(Duration::from_secs(99)),
            Reason::WaitTooLong,
        ),
        (
            fail("a", 1, "read", Kind::RateLimited).server_says_no(true),
            Reason::ServerSaysNo,
        ),
        (
            fail("a", 1, "read", Kind::RateLimited).tries(3),
            Reason::OperationBudgetExhausted,
        ),
    ];
    for (failure, reason) in stops {
        let mut world = World::new(TOOLS);
        let failure = failure
            .input("{\"n\":1}")
            .lesson("Use less.")
            .text("it broke");
        let judged = world.judge(&failure);
        assert_eq!(judged.verdict.reason, reason);
        let letter = newest(&world);
        assert_eq!(Some(&letter.id), judged.dead_letter_id.as_ref());
        assert_eq!(letter.id.len(), 36);
        assert_eq!(
            (letter.status, letter.count, letter.attempt),
            (LetterStatus::Open, 1, 1)
        );
        assert_eq!(
            (letter.tenant.as_str(), letter.turn_id.as_str()),
            ("default", "t1")
        );
        assert_eq!(
            (letter.operation_id.as_str(), &letter.tool),
            ("a", &failure.tool)
        );
        assert_eq!(letter.input.as_deref(), Some("{\"n\":1}"));
        assert_eq!(letter.kind, Some(failure.kind));
        assert_eq!(letter.cause.as_ref(), Some(&judged.classification.cause));
        assert_eq!(
            (letter.action, letter.reason),
            (judged.verdict.action, reason)
        );
        assert_eq!(letter.user_message, judged.verdict.user_message);
        assert_eq!(letter.idempotency_key, judged.verdict.idempotency_key);
        assert_eq!(letter.budgets, judged.budgets);
        let [attempt] = letter.attempts.as_slice() else {
            panic!("one attempt in the history");
        };
        assert_eq!(attempt.failure.as_ref().unwrap().message, "it broke");
        assert_eq!(attempt.lesson.as_deref(), Some("Use less."));
        assert_eq!(attempt.reason, Some(reason));
        assert_eq!(attempt.judged_at, Some(world.now));
    }
}

#[test]
fn grants_are_not_parked() {
    let mut world = World::new(TOOLS);
    for failure in [
        fail("a", 1, "read", Kind::RateLimited),
        fail("b", 1, "read", Kind::InvalidArguments),
        fail("c", 1, "compute", Kind::PreconditionUnmet),
        fail("d", 1, "bash", Kind::ToolBug),
    ] {
        assert!(world.judge(&failure).dead_letter_id.is_none());
    }
    assert!(world.parkings.is_empty());
}

#[test]
fn one_letter_an_operation_whose_count_rises() {
    let mut world = World::new(TOOLS);
    let mut first = None;
    for n in 1..=3 {
        let judged = world.judge(&fail("a", n, "send", Kind::Timeout));
        first = first.or(judged.dead_letter_id.clone());
        assert_eq!(judged.dead_letter_id, first);
        assert_eq!(newest(&world).count, u64::from(n));
        assert_eq!(newest(&world).attempts.len(), n as usize);
    }
    let other = world.judge(&fail("b", 1, "send", Kind::Timeout));
    assert_ne!(other.dead_letter_id, first);
    assert_eq!(ids(&world).len(), 2);
}

#[test]
fn a_replay_writes_the_same_letter_again_and_counts_nothing() {
    let mut world = World::new(TOOLS);
    let failure = fail("a", 1, "send", Kind::Timeout);
    let first = world.judge(&failure);
    world.pass(Duration::from_secs(1));
    let again = world.judge(&failure);
    assert_eq!(again.dead_letter_id, first.dead_letter_id);
    assert_eq!(world.parkings.len(), 2);
    assert!(!world.parkings[1].replace);
    assert_eq!(newest(&world).count, 1);
    assert_eq!(
        newest(&world).created_at,
        world.parkings[0].letter.created_at
    );
}

#[test]
fn stops_by_one_spent_budget_share_a_letter() {
    // (policy, failure of operation n, shares)
    type Make = fn(u32) -> Fail;
    let o = "tools: {t: {effect: idempotent}, u: {effect: unsafe, atomic: true}, c: {effect: idempotent, max_calls: 1}}\nbudgets: ";
    let table: [(&str, Make, Reason, bool); 7] = [
        (
            "{turn: {max_failures: 1}}",
            |n| fail(&format!("a{n}"), 1, "t", Kind::Overloaded),
            Reason::TurnBudgetExhausted,
            true,
        ),
        (
            "{cause: {max_failures: 1}}",
            |n| fail(&format!("a{n}"), 1, "t", Kind::Overloaded),
            Reason::CauseBudgetExhausted,
            true,
        ),
        (
            "{turn: {max_preconditions: 1}}",
            |n| fail(&format!("a{n}"), 1, "t", Kind::PreconditionUnmet),
            Reason::PreconditionLoop,
            true,
        ),
        (
            "{turn: {max_preconditions_total: 1}}",
            |n| {
                fail(
                    &format!("a{n}"),
                    1,
                    &format!("t{n}"),
                    Kind::PreconditionUnmet,
                )
            },
            Reason::PreconditionLoop,
            true,
        ),
        (
            "{cause: {max_failures: none}}",
            |n| fail(&format!("a{n}"), 1, "c", Kind::Overloaded),
            Reason::CallCapReached,
            true,
        ),
        (
            "{operation: {max_attempts: 1}}",
            |n| fail(&format!("a{n}"), 1, "t", Kind::Overloaded),
            Reason::OperationBudgetExhausted,
            false,
        ),
        // What was not executed of an unsafe tool shares; what may have been does not (its own test).
        (
            "{cause: {max_failures: 1}}",
            |n| fail(&format!("a{n}"), 1, "u", Kind::Overloaded),
            Reason::CauseBudgetExhausted,
            true,
        ),
    ];
    for (budgets, make, reason, shares) in table {
        let mut world = World::new(&format!("{o}{budgets}"));
        let first = world.judge(&make(1));
        assert_eq!(first.verdict.reason, reason, "{budgets}");
        let second = world.judge(&make(2));
        assert_eq!(second.verdict.reason, reason, "{budgets}");
        assert_eq!(
            second.dead_letter_id == first.dead_letter_id,
            shares,
            "{budgets}"
        );
        assert_eq!(newest(&world).count, if shares { 2 } else { 1 });
        // A replay of either returns its own id and raises no count.
        let again = world.judge(&make(1));
        assert_eq!(again.dead_letter_id, first.dead_letter_id);
        assert_eq!(newest(&world).count, if shares { 2 } else { 1 });
    }
}

#[test]
fn an_effect_in_doubt_has_a_letter_of_its_own() {
    let policy = "tools: {k: {effect: keyed}, t: {effect: idempotent}}\nbudgets: {cause: {max_failures: none}, turn: {max_failures: 1}}";
    let mut world = World::new(policy);
    let shared = world.judge(&fail("a", 1, "t", Kind::Overloaded));
    let own = world.judge(&fail("b", 1, "k", Kind::Timeout));
    assert_eq!(own.verdict.reason, Reason::TurnBudgetExhausted);
    assert_ne!(own.dead_letter_id, shared.dead_letter_id);
    // An operation that has a letter goes on with it.
    let mut world =
        World::new("tools: {t: {effect: idempotent}}\nbudgets: {turn: {max_failures: 2}}");
    let own = world.judge(&fail("a", 1, "t", Kind::PermissionDenied));
    let spent = world.judge(&fail("a", 2, "t", Kind::Overloaded));
    assert_eq!(spent.verdict.reason, Reason::TurnBudgetExhausted);
    assert_eq!(spent.dead_letter_id, own.dead_letter_id);
    assert_eq!(newest(&world).count, 2);
}

#[test]
fn denials_that_park_and_denials_that_do_not() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("u", 1, "send", Kind::Timeout).input("{}"));
    for (asks, reason, parks) in [
        (ask("a", 1, "erase"), Reason::ApprovalRequired, true),
        (
            ask("b", 1, "send").input("{}"),
            Reason::DuplicateOfUnknown,
            true,
        ),
        (ask("c", 1, "read").depth(4), Reason::RecursionLimit, true),
        (ask("u", 2, "send"), Reason::OutcomeUnknown, false),
        (ask("u", 1, "send"), Reason::OutcomeUnknown, false),
    ] {
        let before = world.parkings.len();
        let first = world.admit(&asks);
        assert_eq!(first.verdict.as_ref().unwrap().reason, reason);
        assert_eq!(first.dead_letter_id.is_some(), parks, "{reason}");
        let again = world.admit(&asks);
        assert_eq!(again.dead_letter_id, first.dead_letter_id, "{reason}");
        if parks {
            assert_eq!(world.parkings.len(), before + 2);
            assert_eq!(newest(&world).count, 2, "one letter an operation");
            assert_eq!(newest(&world).kind, None);
        }
    }
}

#[test]
fn a_later_success_resolves_the_operations_open_letter() {
    let mut world = World::new(TOOLS);
    let id = world
        .judge(&fail("a", 1, "read", Kind::PermissionDenied))
        .dead_letter_id;
    world.succeed(&ask("a", 2, "read"));
    assert_eq!(Some(&newest(&world).id), id.as_ref());
    assert_eq!(newest(&world).status, LetterStatus::Resolved);
    assert_eq!(newest(&world).count, 1);
    assert!(newest(&world).resolved_by.is_some());
    // Once is enough, and another operation's success is none of its business.
    let written = world.parkings.len();
    world.succeed(&ask("a", 3, "read"));
    world.succeed(&ask("b", 1, "read"));
    assert_eq!(world.parkings.len(), written);
}

#[test]
fn a_letter_of_admit_is_resolved_by_the_success_too() {
    let mut world = World::new(TOOLS);
    let id = world.admit(&ask("a", 1, "erase")).dead_letter_id.unwrap();
    assert!(world.admit(&ask("a", 1, "erase").approval("ok")).admitted);
    world.succeed(&ask("a", 1, "erase"));
    let letter = newest(&world);
    assert_eq!((&letter.id, letter.status), (&id, LetterStatus::Resolved));
    assert_eq!(letter.reason, Reason::ApprovalRequired);
    assert_eq!(letter.action, Action::Escalate);
    // The letter keeps the reason of the denial also where the operation was judged before it.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "erase", Kind::InvalidArguments).input("{}"));
    let id = world.admit(&ask("a", 2, "erase")).dead_letter_id.unwrap();
    assert!(world.admit(&ask("a", 2, "erase").approval("ok")).admitted);
    world.succeed(&ask("a", 2, "erase"));
    let letter = newest(&world);
    assert_eq!((&letter.id, letter.status), (&id, LetterStatus::Resolved));
    assert_eq!(
        (letter.action, letter.reason),
        (Action::Escalate, Reason::ApprovalRequired)
    );
}

/// A history and whether it leaves its operation unresolved.
#[test]
fn what_is_unresolved() {
    type Play = fn(&mut World);
    let table: [(&str, Play, &[&str]); 14] = [
        ("nothing", |_| {}, &[]),
        ("a success", |w| _ = w.succeed(&ask("a", 1, "read")), &[]),
        ("an admission", |w| drop(w.admit(&ask("a", 1, "read"))), &[]),
        ("a denial", |w| drop(w.admit(&ask("a", 1, "erase"))), &[]),
        (
            "a retry",
            |w| drop(w.judge(&fail("a", 1, "read", Kind::RateLimited))),
            &["a"],
        ),
        (
            "a retry that succeeded",
            |w| {
                w.judge(&fail("a", 1, "read", Kind::RateLimited));
                w.succeed(&ask("a", 2, "read"));
            },
            &[],
        ),
        (
            "a retry, and another operation of the tool succeeded",
            |w| {
                w.judge(&fail("a", 1, "read", Kind::RateLimited));
                w.succeed(&ask("b", 1, "read"));
            },
            &["a"],
        ),
        (
            "a reprompt, and another operation of the tool succeeded",
            |w| {
                w.judge(&fail("a", 1, "read", Kind::InvalidArguments));
                w.succeed(&ask("b", 1, "read"));
            },
            &[],
        ),
        (
            "a reprompt, and another tool succeeded",
            |w| {
                w.judge(&fail("a", 1, "read", Kind::InvalidArguments));
                w.succeed(&ask("b", 1, "load"));
            },
            &["a"],
        ),
        (
            "a reprompt after a success of the tool",
            |w| {
                w.succeed(&ask("b", 1, "read"));
                w.judge(&fail("a", 1, "read", Kind::InvalidArguments));
            },
            &["a"],
        ),
        (
            "stops",
            |w| {
                w.judge(&fail("a", 1, "send", Kind::Timeout));
                w.judge(&fail("b", 1, "read", Kind::ToolBug));
                w.succeed(&ask("c", 1, "send"));
            },
            &["a", "b"],
        ),
        (
            "a failure after a success",
            |w| {
                w.succeed(&ask("a", 1, "read"));
                w.judge(&fail("a", 2, "read", Kind::ToolBug));
            },
            &["a"],
        ),
        (
            "a finding",
            |w| drop(w.judge(&fail("a", 1, "bash", Kind::ToolBug))),
            &[],
        ),
        (
            "a superseded attempt of an operation that succeeded",
            |w| {
                w.judge(&fail("a", 1, "read", Kind::RateLimited));
                w.succeed(&ask("a", 2, "read"));
                w.judge(&fail("a", 1, "read", Kind::RateLimited));
            },
            &[],
        ),
    ];
    for (name, play, unresolved) in table {
        for (outcome, disclosed, claims) in [
            (Outcome::Succeeded, false, true),
            (Outcome::Degraded, false, true),
            (Outcome::Succeeded, true, false),
            (Outcome::Degraded, true, false),
            (Outcome::Failed, false, false),
            (Outcome::Escalated, false, false),
        ] {
            let mut world = World::new(TOOLS);
            play(&mut world);
            let before = world.parkings.len();
            let end = world.end(outcome, disclosed);
            let found: Vec<&str> = end
                .summary
                .unresolved_operations
                .iter()
                .map(|id| &**id)
                .collect();
            assert_eq!(found, unresolved, "{name}");
            let silent = claims && !unresolved.is_empty();
            assert_eq!(end.summary.silent, silent, "{name} {outcome} {disclosed}");
            assert_eq!(end.dead_letter_id.is_some(), silent, "{name}");
            assert_eq!(world.parkings.len() - before, usize::from(silent), "{name}");
            if silent {
                let letter = newest(&world);
                assert_eq!(Some(&letter.id), end.dead_letter_id.as_ref());
                let record = letter.silent.as_ref().unwrap();
                assert_eq!(record.outcome, Some(outcome));
                assert_eq!(record.unresolved_operations, unresolved);
            }
            // Repeated, it repeats its summary, whatever it claims now.
            let again = world.end(Outcome::Failed, true);
            assert!(again.replayed);
            assert_eq!(again.summary, end.summary);
            assert_eq!(again.dead_letter_id, end.dead_letter_id);
        }
    }
}

#[test]
fn a_turn_that_idles_out_with_something_unresolved_is_a_silent_failure() {
    for (kind, silent) in [(Some(Kind::RateLimited), true), (None, false)] {
        let mut world = World::new(TOOLS);
        world.succeed(&ask("b", 1, "read"));
        if let Some(kind) = kind {
            world.judge(&fail("a", 1, "read", kind));
        }
        let moment = Moment {
            policy: &world.policy,
            now: world.now,
            seed: 9,
        };
        let at = world.now.plus(Duration::from_secs(900));
        let abandoned = world.turn.abandon(&moment, at);
        assert_eq!(abandoned.parkings.len(), usize::from(silent));
        if let Some(parking) = abandoned.parkings.first() {
            assert_eq!(parking.letter.created_at, at);
            assert_eq!(parking.letter.silent.as_ref().unwrap().outcome, None);
        }
        assert_eq!(world.turn.ended_at(), Some(at));
        let again = world.turn.abandon(&moment, at);
        assert!(again.parkings.is_empty() && again.events.is_empty());
    }
}

#[test]
fn a_word_after_the_end_is_parked_once() {
    let mut world = World::new(TOOLS);
    world.end(Outcome::Succeeded, false);
    let failure = fail("a", 1, "read", Kind::RateLimited);
    let first = world.judge(&failure);
    assert_eq!(first.verdict.reason, Reason::TurnEnded);
    assert!(first.dead_letter_id.is_some());
    let written = world.parkings.len();
    let again = world.judge(&failure);
    assert!(again.replayed);
    assert_eq!(again.dead_letter_id, first.dead_letter_id);
    assert_eq!(world.parkings.len(), written);
}

#[test]
fn a_duplicate_word_on_an_attempt_judged_before_parks_nothing() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::RateLimited));
    world.judge(&fail("a", 2, "read", Kind::RateLimited));
    let late = world.judge(&fail("a", 1, "read", Kind::RateLimited));
    assert_eq!(late.verdict.reason, Reason::Superseded);
    assert!(late.replayed);
    assert!(world.parkings.is_empty());
    // The first word on an attempt that was passed over is parked.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 3, "read", Kind::RateLimited));
    let late = world.judge(&fail("a", 2, "read", Kind::RateLimited));
    assert_eq!(late.verdict.reason, Reason::Superseded);
    assert!(!late.replayed && late.dead_letter_id.is_some());
}

#[test]
fn the_summary_counts() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::RateLimited).tokens(10));
    world.judge(&fail("a", 1, "read", Kind::RateLimited).tokens(10));
    world.succeed(&ask("a", 2, "read"));
    world.judge(&fail("b", 1, "read", Kind::InvalidArguments).tokens(5));
    world.succeed(&ask("b", 2, "read"));
    world.judge(&fail("c", 1, "compute", Kind::PreconditionUnmet));
    world.judge(&fail("d", 1, "bash", Kind::ToolBug));
    world.succeed(&ask("d", 2, "bash"));
    world.admit(&ask("e", 1, "read"));
    let summary = world.end(Outcome::Failed, true).summary;
    assert_eq!(
        (
            summary.calls,
            summary.failures,
            summary.retries,
            summary.reprompts
        ),
        (8, 4, 1, 3)
    );
    assert_eq!((summary.recoveries, summary.tokens_wasted), (2, 15));
    assert_eq!(summary.unresolved_operations.len(), 1);
}

#[test]
fn a_clean_context_names_what_it_should_not_carry() {
    let mut world = World::new(&format!(
        "{TOOLS}\nbudgets: {{cause: {{max_failures: none}}, turn: {{max_failures: none, max_retries: none, max_calls: none}}}}"
    ));
    for n in 0..40 {
        world.judge(&fail(&format!("a{n}"), 1, "read", Kind::RateLimited));
    }
    world.succeed(&ask("a39", 2, "read"));
    let verdict = world.verdict(&fail("b", 1, "read", Kind::InvalidArguments));
    let forget: Vec<&str> = verdict.forget_operations.iter().map(|id| &**id).collect();
    assert_eq!(forget.len(), 32);
    assert_eq!(forget[..3], ["b", "a38", "a37"]);
    assert_eq!(forget.iter().collect::<HashSet<_>>().len(), 32);
}

#[test]
fn results_are_kept_for_harmful_effects_up_to_the_turns_bound() {
    let mut world = World::new("");
    let result = "r".repeat(60 * 1024);
    for n in 0..6 {
        world.succeed_with(
            &ask(&format!("a{n}"), 1, "x").effect(Effect::Unsafe),
            Some(&result),
        );
    }
    let kept = (0..6)
        .filter(|n| {
            let late = world.judge(&fail(&format!("a{n}"), 1, "x", Kind::Timeout));
            assert_eq!(late.verdict.reason, Reason::AlreadyExecuted);
            late.result.is_some()
        })
        .count();
    assert_eq!(kept, 4, "256 KiB hold four of them");
    let mut world = World::new("");
    world.succeed_with(&ask("a", 1, "x").effect(Effect::Idempotent), Some("r"));
    assert!(
        world
            .judge(&fail("a", 1, "x", Kind::Timeout))
            .result
            .is_none()
    );
}

/// A panic in the middle of a judgement loses the operation that was in hand, and with it whether its work was done.
#[test]
fn a_turn_that_lost_an_operation_lets_nothing_out() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::Timeout));
    let call = ask("a", 2, "send").call;
    let lost = world.turn.take_operation(&call, world.now);
    assert!(lost.is_some());
    drop(lost);
    let verdict = world.verdict(&fail("b", 1, "read", Kind::RateLimited));
    assert_eq!(verdict.action, Action::FailLoud);
    assert_eq!(verdict.reason, Reason::TurnBudgetExhausted);
    assert!(!world.admit(&ask("c", 1, "read")).admitted);
}
