//! Admit: every denial and which goes first, replays, the same effect under a new operation, repeated calls.

use std::time::Duration;

use super::{Ask, Fail, TOOLS, World, ask, fail};
use crate::domain::{
    Action, Admission, Context, Effect, EscalateTo, Execution, Kind, Origin, Outcome, Reason,
    StopScope,
};

const X: &str = r#"{"to":"a@example.org","sum":12}"#;
const Y: &str = r#"{"to":"b@example.org","sum":12}"#;

#[track_caller]
fn denied(admission: &Admission, action: Action, reason: Reason) {
    let verdict = admission.verdict.as_ref().expect("a denial has a verdict");
    assert_eq!(
        (admission.admitted, verdict.action, verdict.reason),
        (false, action, reason),
        "{}",
        verdict.explanation
    );
    let stops = matches!(action, Action::Escalate | Action::FailLoud);
    assert_eq!(verdict.user_message.is_some(), stops);
    assert_eq!(verdict.stop_scope.is_some(), stops);
    assert_eq!(verdict.escalate_to.is_some(), action == Action::Escalate);
    assert!(!verdict.idempotency_key.is_empty());
    assert_eq!(verdict.idempotency_key, admission.idempotency_key);
}

#[track_caller]
fn passed(admission: &Admission) {
    assert!(
        admission.admitted,
        "{:?}",
        admission.verdict.as_ref().map(|v| &v.explanation)
    );
    assert!(admission.verdict.is_none());
}

fn calls(admission: &Admission) -> u64 {
    admission.budgets.turn_calls.used
}

/// A tool that nobody described, with a harmless effect by the worker's word.
fn free(operation: &str, attempt: u32, tool: &str) -> Ask {
    ask(operation, attempt, tool).effect(Effect::Idempotent)
}

#[test]
fn an_admitted_attempt_counts_once_whoever_sees_it_again() {
    let mut world = World::new(TOOLS);
    let first = world.admit(&ask("a", 1, "read").worker("w1"));
    passed(&first);
    assert!(!first.replayed);
    assert_eq!((calls(&first), first.budgets.tool_calls.used), (1, 1));
    for again in [ask("a", 1, "read").worker("w1"), ask("a", 1, "read")] {
        let again = world.admit(&again);
        passed(&again);
        assert!(again.replayed);
        assert_eq!(calls(&again), 1);
    }
    let judged = world.judge(&fail("a", 1, "read", Kind::Unavailable));
    assert_eq!(judged.budgets.turn_calls.used, 1);
    let receipt = world.succeed(&ask("a", 2, "read"));
    assert_eq!(receipt.budgets.turn_calls.used, 2);
    assert!(!receipt.replayed);
    let receipt = world.succeed(&ask("a", 2, "read"));
    assert_eq!(receipt.budgets.turn_calls.used, 2);
    assert!(receipt.replayed);
}

#[test]
fn attempt_zero_is_the_next_one_to_go_out_and_the_one_that_comes_back() {
    let mut world = World::new(TOOLS);
    assert_eq!(world.admit(&ask("a", 0, "read")).attempt, 1);
    assert_eq!(
        world
            .judge(&fail("a", 0, "read", Kind::Unavailable))
            .attempt,
        1
    );
    assert_eq!(world.admit(&ask("a", 0, "read")).attempt, 2);
    assert_eq!(world.succeed(&ask("a", 0, "read")).attempt, 2);
    // Without Admit, every failure of attempt 0 is the next attempt.
    assert_eq!(
        world
            .judge(&fail("b", 0, "read", Kind::Unavailable))
            .attempt,
        1
    );
    assert_eq!(
        world
            .judge(&fail("b", 0, "read", Kind::Unavailable))
            .attempt,
        2
    );
}

#[test]
fn the_same_request_id_gets_the_same_answer() {
    let mut world = World::new(TOOLS);
    let first = world.admit(&ask("a", 0, "read").request_id("r1"));
    let again = world.admit(&ask("a", 0, "read").request_id("r1"));
    assert_eq!((first.attempt, again.attempt), (1, 1));
    assert!(again.admitted && again.replayed);
    let first = world.judge(&fail("a", 0, "read", Kind::Unavailable).request_id("r2"));
    let again = world.judge(&fail("a", 0, "read", Kind::Unavailable).request_id("r2"));
    assert_eq!((first.attempt, again.attempt), (1, 1));
    assert_eq!(first.verdict, again.verdict);
    assert!(again.replayed);
    // A denial, too, and it draws no second reprompt.
    world.judge(&fail("b", 1, "read", Kind::InvalidArguments).input(X));
    let denial = world.admit(&ask("c", 0, "read").input(X).request_id("r3"));
    denied(&denial, Action::Reprompt, Reason::RepeatedCall);
    let before = world.turn.clone();
    let again = world.admit(&ask("c", 0, "read").input(X).request_id("r3"));
    assert_eq!(again.verdict, denial.verdict);
    assert!(again.replayed);
    assert_eq!(world.turn, before);
}

#[test]
fn a_request_id_of_another_request_is_refused() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::Unavailable).request_id("r1"));
    for other in [
        fail("b", 1, "read", Kind::Unavailable).request_id("r1"),
        fail("a", 2, "read", Kind::Unavailable).request_id("r1"),
    ] {
        let before = world.turn.clone();
        assert!(world.try_judge(&other).answer.is_err());
        assert_eq!(world.turn, before);
    }
}

#[test]
fn an_attempt_held_by_another_worker() {
    for (tool, effect, held) in [
        ("read", None, false),
        ("charge", None, true),
        ("send", None, true),
        ("research", None, true),
        ("nobody", None, true),
        ("nobody", Some(Effect::Idempotent), false),
    ] {
        let mut world = World::new(TOOLS);
        let make = |worker: &str| {
            let mut asks = ask("a", 1, tool).worker(worker);
            asks.call.effect = effect;
            asks
        };
        passed(&world.admit(&make("w1")));
        let second = world.admit(&make("w2"));
        if held {
            denied(&second, Action::Escalate, Reason::InProgress);
        } else {
            passed(&second);
            assert!(second.replayed);
        }
        assert_eq!(calls(&second), 1);
        // The holder itself, and whoever does not say who it is, may go on.
        assert!(world.admit(&make("w1")).replayed);
        let mut nobody = ask("a", 1, tool);
        nobody.call.effect = effect;
        assert!(world.admit(&nobody).replayed);
    }
}

#[test]
fn an_attempt_that_is_over_is_superseded() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::Unavailable));
    denied(
        &world.admit(&ask("a", 1, "read")),
        Action::Escalate,
        Reason::Superseded,
    );
    passed(&world.admit(&ask("a", 2, "read")));
    denied(
        &world.admit(&ask("a", 1, "read")),
        Action::Escalate,
        Reason::Superseded,
    );
}

#[test]
fn after_success_no_attempt_of_a_harmful_operation_goes_out() {
    for (tool, effect) in [
        ("charge", None),
        ("send", None),
        ("nobody", None),
        ("x", Some(Effect::Keyed)),
        ("x", Some(Effect::Unsafe)),
    ] {
        // The first attempt is never seen in the second round.
        for success in [1, 2] {
            let mut world = World::new(TOOLS);
            let make = |attempt| {
                let mut asks = ask("a", attempt, tool);
                asks.call.effect = effect;
                asks
            };
            world.succeed_with(&make(success), Some("receipt"));
            for attempt in [1, 2, 3] {
                let again = world.admit(&make(attempt));
                denied(&again, Action::FailLoud, Reason::AlreadyExecuted);
                assert_eq!(again.result.as_deref(), Some("receipt"), "{tool} {attempt}");
            }
        }
    }
    let mut world = World::new(TOOLS);
    world.succeed(&ask("a", 1, "read"));
    passed(&world.admit(&ask("a", 2, "read")));
}

#[test]
fn a_further_attempt_of_an_unknown_outcome_is_denied_with_the_reason_of_the_last_stop() {
    let maybe = Execution::MaybeExecuted;
    let table: Vec<(Fail, Option<(Action, Reason)>)> = vec![
        (
            fail("a", 1, "send", Kind::Timeout),
            Some((Action::Escalate, Reason::OutcomeUnknown)),
        ),
        (
            fail("a", 1, "send_checked", Kind::Timeout),
            Some((Action::Escalate, Reason::CheckStatus)),
        ),
        (
            fail("a", 1, "nobody", Kind::Timeout),
            Some((Action::Escalate, Reason::OutcomeUnknown)),
        ),
        (fail("a", 1, "charge", Kind::Timeout), None),
        (fail("a", 1, "read", Kind::Timeout), None),
        (
            fail("a", 1, "send", Kind::RateLimited),
            Some((Action::Escalate, Reason::UnsafeToRepeat)),
        ),
        (
            fail("a", 1, "send", Kind::RateLimited).word(Execution::NotExecuted),
            None,
        ),
        (
            fail("a", 1, "send", Kind::ContentFiltered).read(maybe),
            Some((Action::Escalate, Reason::PolicyBlocked)),
        ),
        (
            fail("a", 1, "send", Kind::ToolBug),
            Some((Action::FailLoud, Reason::PermanentFailure)),
        ),
        (
            fail("a", 1, "send", Kind::ContentFiltered).read(Execution::Executed),
            Some((Action::FailLoud, Reason::AlreadyExecuted)),
        ),
        (
            fail("a", 1, "send", Kind::Timeout).word(Execution::Executed),
            Some((Action::FailLoud, Reason::AlreadyExecuted)),
        ),
        (
            fail("a", 1, "send", Kind::Timeout).read(Execution::Executed),
            Some((Action::FailLoud, Reason::AlreadyExecuted)),
        ),
        (fail("a", 1, "bash", Kind::Timeout), None),
        (
            fail("a", 1, "bash", Kind::Timeout).dependency("db"),
            Some((Action::Escalate, Reason::OutcomeUnknown)),
        ),
        (
            fail("a", 1, "shell", Kind::Timeout),
            Some((Action::Escalate, Reason::OutcomeUnknown)),
        ),
    ];
    for (failure, expected) in table {
        let mut world = World::new(TOOLS);
        world.judge(&failure);
        let next = world.admit(&ask("a", 2, &failure.tool));
        match expected {
            Some((action, reason)) => denied(&next, action, reason),
            None => passed(&next),
        }
        assert_eq!(calls(&next), if expected.is_some() { 1 } else { 2 });
    }
}

#[test]
fn an_expensive_call_that_may_still_run_is_not_made_again() {
    let policy = "tools: {research: {effect: idempotent, expensive: true, max_calls: 5}}";
    let mut world = World::new(policy);
    world.judge(&fail("a", 1, "research", Kind::Timeout));
    denied(
        &world.admit(&ask("a", 2, "research")),
        Action::Escalate,
        Reason::MayStillBeRunning,
    );
    world.judge(&fail("a", 1, "research", Kind::Timeout).word(Execution::NotExecuted));
    passed(&world.admit(&ask("a", 2, "research")));
}

#[test]
fn an_attempt_admitted_and_never_judged_may_have_executed() {
    for (tool, open) in [
        ("send", false),
        ("nobody", false),
        ("insert", false),
        ("charge", true),
        ("read", true),
    ] {
        let mut world = World::new(TOOLS);
        passed(&world.admit(&ask("a", 1, tool)));
        let next = world.admit(&ask("a", 2, tool));
        if open {
            passed(&next);
        } else {
            denied(&next, Action::Escalate, Reason::OutcomeUnknown);
        }
    }
}

#[test]
fn work_that_is_read_as_done_stays_done_whatever_failed_later() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::Timeout).read(Execution::Executed));
    // A worker that does not obey tries again and fails otherwise.
    world.judge(&fail("a", 2, "send", Kind::Unauthenticated));
    denied(
        &world.admit(&ask("a", 3, "send")),
        Action::FailLoud,
        Reason::AlreadyExecuted,
    );
}

#[test]
fn attempts_that_nobody_saw() {
    for (tool, key, open) in [
        ("read", None, true),
        ("insert", None, false),
        ("send", None, false),
        ("charge", None, false),
        ("charge", Some("mine"), true),
    ] {
        let mut world = World::new(TOOLS);
        let mut second = ask("a", 2, tool);
        second.call.idempotency_key = key.map(Into::into);
        let admission = world.admit(&second);
        if open {
            passed(&admission);
            if let Some(key) = key {
                assert_eq!(admission.idempotency_key, key);
            }
        } else {
            denied(&admission, Action::Escalate, Reason::OutcomeUnknown);
            // The request has told that an earlier attempt was made: it stays so for the first one, too.
            denied(
                &world.admit(&ask("a", 1, tool)),
                Action::Escalate,
                Reason::OutcomeUnknown,
            );
        }
    }
    // Numbers that were skipped later.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "insert", Kind::RateLimited));
    denied(
        &world.admit(&ask("a", 3, "insert")),
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
}

#[test]
fn the_same_effect_under_a_new_operation_while_the_first_is_unknown() {
    for (tool, effect, expected) in [
        ("send", None, Some(Reason::DuplicateOfUnknown)),
        ("nobody", None, Some(Reason::DuplicateOfUnknown)),
        ("next_page", None, Some(Reason::DuplicateOfUnknown)),
        ("x", Some(Effect::Unsafe), Some(Reason::DuplicateOfUnknown)),
        ("charge", None, None),
        ("x", Some(Effect::Keyed), None),
        ("read", None, None),
    ] {
        let mut world = World::new(TOOLS);
        let mut first = fail("a", 1, tool, Kind::Timeout).input(X);
        first.effect = effect;
        let key = world.judge(&first).verdict.idempotency_key;
        let make = |input: &str| {
            let mut asks = ask("b", 1, tool).input(input);
            asks.call.effect = effect;
            asks
        };
        let same = world.admit(&make(r#"{ "sum": 12.0, "to": "a@example.org" }"#));
        match expected {
            Some(reason) => {
                denied(&same, Action::Escalate, reason);
                assert!(same.dead_letter_id.is_some());
                let verdict = same.verdict.unwrap();
                assert_eq!(verdict.escalate_to, Some(EscalateTo::Person));
                assert_eq!(verdict.stop_scope, Some(StopScope::Operation));
            }
            None => {
                passed(&same);
                assert_eq!(same.idempotency_key == key, tool != "read");
            }
        }
        // Another input, and none, are other calls.
        let mut world = World::new(TOOLS);
        world.judge(&first);
        passed(&world.admit(&make(Y)));
        let mut none = ask("c", 1, tool);
        none.call.effect = effect;
        passed(&world.admit(&none));
    }
}

#[test]
fn a_settled_outcome_frees_the_same_effect() {
    let mut world = World::new(TOOLS);
    let first = fail("a", 1, "send", Kind::Timeout).input(X);
    world.judge(&first);
    world.judge(&first.clone().word(Execution::NotExecuted));
    passed(&world.admit(&ask("b", 1, "send").input(X)));
    // Where the second word says that it is done, it is not done again.
    let mut world = World::new(TOOLS);
    world.judge(&first);
    world.judge(&first.clone().word(Execution::Executed));
    denied(
        &world.admit(&ask("b", 1, "send").input(X)),
        Action::FailLoud,
        Reason::AlreadyExecuted,
    );
    // The same input again is meant as a new effect where the policy says so.
    let mut world = World::new(TOOLS);
    let page = fail("a", 1, "next_page", Kind::Timeout).input(X);
    world.judge(&page);
    world.judge(&page.clone().word(Execution::Executed));
    passed(&world.admit(&ask("b", 1, "next_page").input(X)));
}

#[test]
fn an_older_word_on_an_attempt_hides_no_newer_unknown() {
    let mut world = World::new(TOOLS);
    let attempt = |n| fail("a", n, "send", Kind::Timeout).input(X);
    world.judge(&attempt(1));
    world.judge(&attempt(3));
    world.judge(&attempt(1));
    world.judge(&attempt(1).word(Execution::NotExecuted));
    denied(
        &world.admit(&ask("b", 1, "send").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
}

#[test]
fn a_key_that_cannot_be_relied_on_makes_the_same_effect_unsafe() {
    // After the key's time to live.
    let mut world = World::new("tools: {charge: {effect: keyed, key_ttl: 1h}}");
    world.judge(&fail("a", 1, "charge", Kind::Timeout).input(X));
    world.pass(Duration::from_secs(3_601));
    denied(
        &world.admit(&ask("b", 1, "charge").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
    // Where the new operation would go out under a key of its own.
    let mut world = World::new(TOOLS);
    let judged = world.judge(&fail("a", 1, "charge", Kind::Timeout).input(X));
    denied(
        &world.admit(&ask("b", 1, "charge").input(X).key("another")),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
    passed(
        &world.admit(
            &ask("b", 1, "charge")
                .input(X)
                .key(&judged.verdict.idempotency_key),
        ),
    );
    // Where two unknown outcomes stand under two keys.
    let mut world = World::new(TOOLS);
    world.admit(&ask("a", 1, "charge").input(X));
    world.admit(&ask("b", 1, "charge").input(X));
    world.judge(&fail("a", 1, "charge", Kind::Timeout).input(X));
    world.judge(&fail("b", 1, "charge", Kind::Timeout).input(X));
    denied(
        &world.admit(&ask("c", 1, "charge").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
    // Where the operation has an attempt out under its own key already.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::Timeout).input(X));
    world.judge(&fail("b", 1, "charge", Kind::Timeout).input(Y));
    denied(
        &world.admit(&ask("b", 2, "charge").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
}

#[test]
fn another_key_for_an_operation_that_may_have_executed_is_a_second_effect() {
    let mut world = World::new(TOOLS);
    let judged = world.judge(&fail("a", 1, "charge", Kind::Timeout));
    denied(
        &world.admit(&ask("a", 2, "charge").key("another")),
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    passed(&world.admit(&ask("a", 2, "charge").key(&judged.verdict.idempotency_key)));
}

#[test]
fn the_same_effect_after_it_succeeded() {
    for (tool, first, second, expected) in [
        ("charge", None, None, true),
        ("send", None, None, true),
        ("next_page", None, None, false),
        ("nobody", None, None, false),
        ("read", None, None, false),
        ("x", Some(Effect::Keyed), Some(Effect::Keyed), true),
        ("x", Some(Effect::Unsafe), Some(Effect::Unsafe), true),
        // Declared once is declared, also where the second worker says nothing.
        ("x", Some(Effect::Keyed), None, true),
        ("x", Some(Effect::Unsafe), None, true),
        ("x", None, Some(Effect::Keyed), true),
        (
            "x",
            Some(Effect::Idempotent),
            Some(Effect::Idempotent),
            false,
        ),
    ] {
        let mut world = World::new(TOOLS);
        let mut done = ask("a", 1, tool).input(X);
        done.call.effect = first;
        world.succeed_with(&done, Some("receipt"));
        let mut again = ask("b", 1, tool).input(X);
        again.call.effect = second;
        let admission = world.admit(&again);
        if expected {
            denied(&admission, Action::FailLoud, Reason::AlreadyExecuted);
            assert_eq!(admission.result.as_deref(), Some("receipt"));
            assert!(admission.dead_letter_id.is_none());
        } else {
            passed(&admission);
        }
        let mut other = ask("c", 1, tool).input(Y);
        other.call.effect = second;
        passed(&world.admit(&other));
    }
}

#[test]
fn an_exploratory_tool_repeats_an_unknown_outcome_after_any_success() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "bash", Kind::Timeout).input(X));
    denied(
        &world.admit(&ask("b", 1, "bash").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
    world.succeed(&ask("c", 1, "read"));
    passed(&world.admit(&ask("d", 1, "bash").input(X)));
    // Only an ambiguous failure counts.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "bash", Kind::ServerError).input(X));
    passed(&world.admit(&ask("b", 1, "bash").input(X)));
}

#[test]
fn the_same_effect_goes_before_the_repeated_call() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::ToolBug).input(X));
    denied(
        &world.admit(&ask("b", 1, "send").input(X)),
        Action::Escalate,
        Reason::DuplicateOfUnknown,
    );
}

#[test]
fn a_repeated_call_is_denied_with_the_earlier_lesson() {
    for (kind, repeats) in [
        (Kind::InvalidArguments, true),
        (Kind::WrongReference, true),
        (Kind::MalformedOutput, true),
        (Kind::Unsupported, true),
        (Kind::PermissionDenied, true),
        (Kind::ContentFiltered, true),
        (Kind::Unknown, true),
        (Kind::RateLimited, false),
        (Kind::ServerError, false),
        (Kind::Timeout, false),
        (Kind::PreconditionUnmet, false),
        (Kind::StaleState, false),
    ] {
        let mut world = World::new(TOOLS);
        world.judge(
            &fail("a", 1, "read", kind)
                .input(r#"{"a":1,"b":2}"#)
                .lesson("Use `name` instead of `nmae`."),
        );
        let same = world.admit(&ask("b", 1, "read").input(r#"{ "b" : 2, "a" : 1 }"#));
        if repeats {
            denied(&same, Action::Reprompt, Reason::RepeatedCall);
            let verdict = same.verdict.unwrap();
            let guidance = verdict.guidance.unwrap();
            assert!(guidance.contains("`name`"), "{guidance}");
            assert!(guidance.split_whitespace().count() <= 25);
            assert_eq!(verdict.context, Some(Context::Same));
            assert_eq!(
                same.budgets.turn_reprompts.used,
                world.turn.counters.reprompts
            );
            assert_eq!(same.budgets.turn_calls.used, 1);
        } else {
            passed(&same);
        }
        // Another input, another tool, no input.
        passed(&world.admit(&ask("c", 1, "read").input(r#"{"a":1,"b":3}"#)));
        passed(&world.admit(&ask("d", 1, "draw_a").input(r#"{"a":1,"b":2}"#)));
        passed(&world.admit(&ask("e", 1, "read")));
        // Any success clears it.
        world.succeed(&ask("d", 1, "draw_a"));
        passed(&world.admit(&ask("f", 1, "read").input(r#"{"a":1,"b":2}"#)));
    }
}

#[test]
fn the_third_denial_of_the_same_call_escalates() {
    let mut world = World::new(&format!(
        "{TOOLS}\nbudgets: {{turn: {{max_reprompts: none}}, operation: {{max_reprompts: none}}}}"
    ));
    world.judge(&fail("a", 1, "read", Kind::InvalidArguments).input(X));
    for n in 1..=5 {
        let admission = world.admit(&ask(&format!("b{n}"), 1, "read").input(X));
        let action = if n < 3 {
            Action::Reprompt
        } else {
            Action::Escalate
        };
        denied(&admission, action, Reason::RepeatedCall);
        assert_eq!(admission.budgets.turn_reprompts.used, n.min(2) + 1);
    }
    world.succeed(&ask("z", 1, "read"));
    world.judge(&fail("y", 1, "read", Kind::InvalidArguments).input(X));
    denied(
        &world.admit(&ask("b9", 1, "read").input(X)),
        Action::Reprompt,
        Reason::RepeatedCall,
    );
}

#[test]
fn with_no_reprompt_left_a_repeated_call_escalates() {
    for budgets in [
        "{turn: {max_reprompts: 1}}",
        "{operation: {max_reprompts: 1}}",
    ] {
        let mut world = World::new(&format!("{TOOLS}\nbudgets: {budgets}"));
        world.judge(&fail("a", 1, "read", Kind::InvalidArguments).input(X));
        let again = world.admit(&ask("a", 2, "read").input(X));
        denied(&again, Action::Escalate, Reason::RepeatedCall);
        assert_eq!(again.budgets.turn_reprompts.used, 1);
    }
}

#[test]
fn the_next_attempt_of_a_retry_is_no_repeated_call() {
    let mut world = World::new(TOOLS);
    assert_eq!(
        world
            .verdict(&fail("a", 1, "read", Kind::Unknown).input(X))
            .action,
        Action::Retry
    );
    passed(&world.admit(&ask("a", 2, "read").input(X)));
    denied(
        &world.admit(&ask("b", 1, "read").input(X)),
        Action::Reprompt,
        Reason::RepeatedCall,
    );
}

#[test]
fn judged_without_admit_a_repeated_call_counts_as_a_repeated_lesson() {
    let mut world = World::new(TOOLS);
    let call = |n| {
        fail(&format!("a{n}"), 1, "read", Kind::InvalidArguments)
            .input(X)
            .lesson(&format!("lesson {n}"))
    };
    assert_eq!(world.verdict(&call(1)).action, Action::Reprompt);
    let second = world.verdict(&call(2));
    assert_eq!(
        (second.action, second.reason),
        (Action::Escalate, Reason::RepeatedLesson)
    );
}

#[test]
fn a_wrong_reference_named_again() {
    for (profile, closed) in [("coding", true), ("assistant", false), ("batch", false)] {
        let mut world = World::new(&format!("{TOOLS}\nprofile: {profile}"));
        for n in 0..3 {
            world.judge(
                &fail(&format!("a{n}"), 1, "draw_a", Kind::WrongReference)
                    .input(&format!("cat src/ghost.rs | head -{n}"))
                    .effect(Effect::Idempotent)
                    .reference("src/ghost.rs"),
            );
        }
        let named = |id: &str| ask(id, 1, "draw_a").input("wc -l src/ghost.rs");
        if profile == "coding" {
            passed(&world.admit(&ask("other", 1, "draw_a").input("wc -l src/ghost.rs_old")));
            passed(&world.admit(&ask("tool", 1, "read").input("wc -l src/ghost.rs")));
        }
        let admission = world.admit(&named("b1"));
        if !closed {
            assert_ne!(
                admission.verdict.map(|verdict| verdict.reason),
                Some(Reason::RepeatedCall)
            );
            continue;
        }
        denied(&admission, Action::Reprompt, Reason::RepeatedCall);
        assert!(
            admission
                .verdict
                .unwrap()
                .guidance
                .unwrap()
                .contains("src/ghost.rs")
        );
        denied(
            &world.admit(&named("b2")),
            Action::Reprompt,
            Reason::RepeatedCall,
        );
        // The third denial of the same call escalates, whatever the reason was.
        denied(
            &world.admit(&named("b3")),
            Action::Escalate,
            Reason::RepeatedCall,
        );
        world.succeed(&ask("z", 1, "read"));
        passed(&world.admit(&named("b4")));
    }
}

#[test]
fn two_failures_that_name_a_reference_are_not_enough() {
    let mut world = World::new(&format!("{TOOLS}\nprofile: coding"));
    for n in 0..2 {
        world.judge(
            &fail(&format!("a{n}"), 1, "read", Kind::WrongReference)
                .input(&format!("{n} ghost"))
                .reference("ghost"),
        );
    }
    passed(&world.admit(&ask("b", 1, "read").input("3 ghost")));
}

#[test]
fn spent_causes_close_what_they_are_about() {
    // (policy, failing tool, kind, dependency in the text, asked tool, closed)
    let table = [
        ("", "read", Kind::Unavailable, None, "read", true),
        ("", "read", Kind::Unavailable, None, "send", false),
        (
            "  read_too: {dependency: files}\n",
            "read",
            Kind::Unavailable,
            None,
            "read_too",
            true,
        ),
        ("", "draw_a", Kind::Unavailable, None, "draw_b", true),
        ("", "draw_a", Kind::InvalidArguments, None, "draw_b", true),
        ("", "draw_a", Kind::ToolBug, None, "draw_b", true),
        ("", "x", Kind::Unavailable, Some("db"), "x", true),
        ("", "x", Kind::Unavailable, Some("db"), "y", false),
        (
            "  y: {dependency: db}\n",
            "x",
            Kind::Unavailable,
            Some("db"),
            "y",
            true,
        ),
        ("", "x", Kind::Unknown, None, "x", true),
        ("", "x", Kind::PreconditionUnmet, None, "x", false),
        ("", "bash", Kind::Unauthenticated, None, "bash", false),
        ("", "bash", Kind::Unavailable, Some("db"), "bash", true),
        ("", "bash", Kind::Unavailable, None, "bash", false),
    ];
    for (entry, failing, kind, dependency, asked, closed) in table {
        let mut world = World::new(&format!("{TOOLS}{entry}"));
        for n in 0..3 {
            let mut failure = fail(&format!("a{n}"), 1, failing, kind).effect(Effect::Idempotent);
            failure.dependency = dependency.map(str::to_owned);
            world.judge(&failure);
        }
        let admission = world.admit(&free("b", 1, asked));
        if closed {
            denied(&admission, Action::Escalate, Reason::CauseBudgetExhausted);
            let verdict = admission.verdict.clone().unwrap();
            assert_eq!(verdict.stop_scope, Some(StopScope::Cause));
            assert!(verdict.closed_tools.iter().any(|tool| **tool == *failing));
            assert!(admission.dead_letter_id.is_none());
        } else {
            passed(&admission);
        }
        assert_eq!(calls(&admission), if closed { 3 } else { 4 });
    }
}

#[test]
fn a_charged_tool_stays_closed_though_it_has_another_dependency() {
    let mut world = World::new(TOOLS);
    for n in 0..3 {
        // The policy's dependency of the tool goes first, so two undescribed tools share what the worker names.
        world.judge(
            &fail(
                &format!("a{n}"),
                1,
                if n == 0 { "x" } else { "y" },
                Kind::Unavailable,
            )
            .effect(Effect::Idempotent)
            .worker_dependency("gate"),
        );
    }
    denied(
        &world.admit(&free("b", 1, "x")),
        Action::Escalate,
        Reason::CauseBudgetExhausted,
    );
    passed(&world.admit(&free("c", 1, "z")));
}

#[test]
fn an_exploratory_tool_is_open_again_once_it_has_succeeded() {
    let mut world = World::new(TOOLS);
    for n in 0..3 {
        world.judge(&fail(&format!("a{n}"), 1, "bash", Kind::Unavailable).dependency("db"));
    }
    denied(
        &world.admit(&ask("b", 1, "bash")),
        Action::Escalate,
        Reason::CauseBudgetExhausted,
    );
    world.succeed(&ask("c", 1, "bash"));
    passed(&world.admit(&ask("d", 1, "bash")));
}

#[test]
fn in_the_profile_coding_output_causes_close_nothing() {
    for (profile, closed) in [("assistant", true), ("coding", false), ("batch", true)] {
        let mut world = World::new(&format!("{TOOLS}\nprofile: {profile}"));
        for n in 0..5 {
            world.judge(
                &fail(&format!("a{n}"), 1, "read", Kind::InvalidArguments)
                    .lesson(&format!("lesson {n}")),
            );
        }
        assert_eq!(
            world.admit(&ask("b", 1, "read")).admitted,
            !closed,
            "{profile}"
        );
        let mut world = World::new(&format!("{TOOLS}\nprofile: {profile}"));
        for n in 0..5 {
            world.judge(&fail(&format!("a{n}"), 1, "read", Kind::Unavailable));
        }
        denied(
            &world.admit(&ask("b", 1, "read")),
            Action::Escalate,
            Reason::CauseBudgetExhausted,
        );
    }
}

#[test]
fn call_caps_and_depth() {
    let mut world = World::new(
        "tools: {a: {effect: idempotent, max_calls: 2}, r: {effect: idempotent, expensive: true}, d: {effect: idempotent, max_depth: 5}}",
    );
    passed(&world.admit(&ask("1", 1, "a")));
    passed(&world.admit(&ask("2", 1, "a")));
    world.succeed(&ask("2", 1, "a"));
    let third = world.admit(&ask("3", 1, "a"));
    denied(&third, Action::Escalate, Reason::CallCapReached);
    assert_eq!(third.budgets.tool_calls.used, 2);
    passed(&world.admit(&ask("4", 1, "r")));
    denied(
        &world.admit(&ask("5", 1, "r")),
        Action::Escalate,
        Reason::CallCapReached,
    );
    for (tool, depth, open) in [
        ("x", 3, true),
        ("x", 4, false),
        ("r", 0, true),
        ("r", 1, false),
        ("d", 5, true),
        ("d", 6, false),
    ] {
        let mut world = World::new(
            "tools: {a: {effect: idempotent, max_calls: 2}, r: {effect: idempotent, expensive: true}, d: {effect: idempotent, max_depth: 5}}",
        );
        let admission = world.admit(&ask("b", 1, tool).depth(depth));
        if open {
            passed(&admission);
        } else {
            denied(&admission, Action::Escalate, Reason::RecursionLimit);
            assert!(admission.dead_letter_id.is_some());
            assert_eq!(calls(&admission), 0);
        }
    }
}

#[test]
fn a_cap_may_fail_loud() {
    let mut world =
        World::new("tools: {a: {effect: idempotent, max_calls: 1, on_exhausted: fail_loud}}");
    passed(&world.admit(&ask("1", 1, "a")));
    denied(
        &world.admit(&ask("2", 1, "a")),
        Action::FailLoud,
        Reason::CallCapReached,
    );
    let judged = world.judge(&fail("1", 1, "a", Kind::RateLimited));
    assert_eq!(judged.verdict.reason, Reason::CallCapReached);
    assert_eq!(judged.verdict.action, Action::FailLoud);
}

#[test]
fn spent_turn_budgets_close_admit_and_spent_verdicts_do_not() {
    let tools = "tools: {a: {effect: idempotent}}\nbudgets: {cause: {max_failures: none}, operation: {max_attempts: none, max_reprompts: none}, turn: ";
    for (turn, tokens, wait, closed) in [
        ("{max_failures: 2}", 0, 0, true),
        ("{max_calls: 2}", 0, 0, true),
        ("{max_tokens: 20}", 10, 0, true),
        ("{max_tokens: 21}", 10, 0, false),
        ("{max_elapsed: 10s}", 0, 10, true),
        ("{max_elapsed: 10s}", 0, 9, false),
        ("{max_retries: 0}", 0, 0, false),
        ("{max_reprompts: 0}", 0, 0, false),
    ] {
        let mut world = World::new(&format!("{tools}{turn}}}"));
        world.judge(&fail("a", 1, "a", Kind::RateLimited).tokens(tokens));
        world.judge(&fail("b", 1, "a", Kind::InvalidArguments).tokens(tokens));
        world.pass(Duration::from_secs(wait));
        let admission = world.admit(&ask("c", 1, "a"));
        if closed {
            denied(&admission, Action::FailLoud, Reason::TurnBudgetExhausted);
            assert_eq!(admission.verdict.unwrap().stop_scope, Some(StopScope::Turn));
        } else {
            passed(&admission);
        }
    }
    let mut world = World::new(&format!(
        "{tools}{{max_failures: 1, on_exhausted: escalate}}}}"
    ));
    world.judge(&fail("a", 1, "a", Kind::RateLimited));
    denied(
        &world.admit(&ask("b", 1, "a")),
        Action::Escalate,
        Reason::TurnBudgetExhausted,
    );
}

#[test]
fn an_irreversible_call_needs_an_approval_of_this_operation_and_input() {
    let mut world = World::new(TOOLS);
    let first = world.admit(&ask("a", 1, "erase").input(X));
    denied(&first, Action::Escalate, Reason::ApprovalRequired);
    assert!(first.dead_letter_id.is_some());
    assert_eq!(first.verdict.unwrap().escalate_to, Some(EscalateTo::Person));
    let second = world.admit(&ask("a", 1, "erase").input(X));
    assert_eq!(second.dead_letter_id, first.dead_letter_id);
    passed(&world.admit(&ask("a", 1, "erase").input(X).approval("ok-1")));
    // New input, and another operation, need a new one.
    let mut world = World::new(TOOLS);
    passed(&world.admit(&ask("a", 1, "erase").input(X).approval("ok-1")));
    world.judge(&fail("a", 1, "erase", Kind::RateLimited));
    denied(
        &world.admit(&ask("a", 2, "erase").input(Y)),
        Action::Escalate,
        Reason::ApprovalRequired,
    );
    // Without input, the approved one is meant.
    passed(&world.admit(&ask("a", 2, "erase")));
    denied(
        &world.admit(&ask("b", 1, "erase").input(X)),
        Action::Escalate,
        Reason::ApprovalRequired,
    );
    passed(&world.admit(&ask("b", 1, "erase").input(X).approval("ok-2")));
}

/// Worlds in which each denial is due; the later ones are due in the earlier ones as well, where they can be.
#[test]
fn the_first_denial_of_the_list_wins() {
    let policy = "
budgets: {cause: {max_failures: 2}, turn: {max_failures: FAILURES, max_depth: DEPTH}}
tools:
  t: {effect: unsafe, irreversible: true, max_calls: CALLS}
";
    // All five are due; they are lifted one after the other.
    for (failures, calls, depth, cause, reason) in [
        ("3", "3", "0", 3, Reason::TurnBudgetExhausted),
        ("9", "3", "0", 3, Reason::CauseBudgetExhausted),
        ("9", "1", "0", 1, Reason::CallCapReached),
        ("9", "9", "0", 1, Reason::RecursionLimit),
        ("9", "9", "1", 1, Reason::OutcomeUnknown),
    ] {
        let mut world = World::new(
            &policy
                .replace("FAILURES", failures)
                .replace("CALLS", calls)
                .replace("DEPTH", depth),
        );
        for n in 0..cause {
            world.judge(&fail(&format!("a{n}"), 1, "t", Kind::Timeout).input(X));
        }
        let admission = world.admit(&ask("a0", 2, "t").input(X).depth(1));
        denied(
            &admission,
            if reason == Reason::TurnBudgetExhausted {
                Action::FailLoud
            } else {
                Action::Escalate
            },
            reason,
        );
        world.end(Outcome::Failed, true);
        denied(
            &world.admit(&ask("a0", 2, "t").input(X).depth(1)),
            Action::FailLoud,
            Reason::TurnEnded,
        );
    }
    // Approval goes before the repeated call.
    let mut world = World::new(TOOLS);
    world.judge(
        &fail("a", 1, "erase", Kind::InvalidArguments)
            .input(X)
            .approval("ok"),
    );
    denied(
        &world.admit(&ask("b", 1, "erase").input(X)),
        Action::Escalate,
        Reason::ApprovalRequired,
    );
    denied(
        &world.admit(&ask("b", 1, "erase").input(X).approval("ok-2")),
        Action::Reprompt,
        Reason::RepeatedCall,
    );
}

#[test]
fn a_denial_draws_no_failure_and_is_never_unresolved() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::Timeout).input(X));
    world.judge(&fail("a", 1, "send", Kind::Timeout).word(Execution::NotExecuted));
    world.succeed(&ask("a", 2, "send").input(X));
    let denial = world.admit(&ask("b", 1, "erase"));
    denied(&denial, Action::Escalate, Reason::ApprovalRequired);
    assert_eq!(denial.budgets.turn_failures.used, 1);
    let end = world.end(Outcome::Succeeded, false);
    assert!(end.summary.unresolved_operations.is_empty());
    assert!(!end.summary.silent);
}

#[test]
fn in_shadow_mode_admit_admits_and_says_what_it_would_have_said() {
    let mut world = World::new(&format!("{TOOLS}\nmode: shadow"));
    let judged = world.judge(&fail("a", 1, "send", Kind::Timeout).input(X));
    assert_eq!(judged.verdict.reason, Reason::OutcomeUnknown);
    assert!(judged.verdict.shadow);
    for asks in [
        ask("a", 2, "send").input(X),
        ask("b", 1, "send").input(X).request_id("r"),
        ask("c", 1, "erase"),
        ask("d", 1, "read").depth(9),
    ] {
        let before = world.turn.counters.calls;
        let admission = world.admit(&asks);
        assert!(admission.admitted);
        let verdict = admission.verdict.clone().unwrap();
        assert!(verdict.shadow);
        assert_eq!(world.turn.counters.calls, before + 1);
        if asks.call.request_id.is_some() {
            assert_eq!(world.admit(&asks).verdict, admission.verdict);
        }
    }
    let passes = world.admit(&ask("e", 1, "read"));
    assert!(passes.admitted && passes.verdict.is_none());
    world.end(Outcome::Succeeded, true);
    let late = world.admit(&ask("f", 1, "read"));
    assert!(late.admitted);
    assert_eq!(late.verdict.unwrap().reason, Reason::TurnEnded);
}

#[test]
fn another_tool_under_a_known_operation_brings_its_own_unknown_effect() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::RateLimited));
    let verdict = world.verdict(&fail("a", 2, "nobody", Kind::Timeout));
    assert_eq!(verdict.reason, Reason::OutcomeUnknown);
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "gpt", Kind::RateLimited).origin(Origin::Model));
    let verdict = world.verdict(&fail("a", 2, "nobody", Kind::Timeout));
    assert_eq!(verdict.reason, Reason::OutcomeUnknown);
}

/// The call that a person has approved is the same call, and the approval is what it lacked.
#[test]
fn an_approved_call_is_no_repeat() {
    let mut world = World::new(TOOLS);
    let refused = fail("a", 1, "read", Kind::ApprovalRequired).input("x");
    assert_eq!(world.verdict(&refused).reason, Reason::ApprovalRequired);
    let again = ask("a", 2, "read").input("x");
    let denied = world.admit(&again);
    assert_eq!(denied.verdict.unwrap().reason, Reason::RepeatedCall);
    assert!(
        world
            .admit(&ask("a", 3, "read").input("x").approval("ticket-7"))
            .admitted
    );
}
