//! The second word on a judged attempt, and approvals: heard before row 1, drawn once, final where it says executed.

use super::{Fail, TOOLS, World, ask, fail};
use crate::domain::{Action, Effect, Execution, Judgement, Kind, LetterStatus, Outcome, Reason};

const POLICY: &str = "
tools:
  idem: {effect: idempotent}
  keyed: {effect: keyed}
  unsafe: {effect: unsafe}
  checked: {effect: unsafe, status_tool: look}
  costly: {effect: idempotent, expensive: true, max_calls: 9}
  costly_keyed: {effect: keyed, expensive: true, max_calls: 9}
";

fn word(reason_of: &Judgement) -> (Action, Reason) {
    (reason_of.verdict.action, reason_of.verdict.reason)
}

fn drawn(judged: &Judgement) -> [u64; 5] {
    let b = &judged.budgets;
    [
        b.operation_attempts.used,
        b.cause_failures.used,
        b.turn_failures.used,
        b.turn_calls.used,
        b.turn_tokens.used,
    ]
}

/// Every reason that a first word can have, and what each second word makes of it. `None`: it is a replay.
#[test]
fn every_reason_and_every_word() {
    const RETRY: (Action, Reason) = (Action::Retry, Reason::Transient);
    const DONE: (Action, Reason) = (Action::FailLoud, Reason::AlreadyExecuted);
    const KEYED: (Action, Reason) = (Action::Retry, Reason::KeyedRetry);
    type Word = Option<(Action, Reason)>;
    let table: Vec<(Fail, Reason, Word, Word)> = vec![
        // Stops that ask for a second word.
        (
            fail("a", 1, "unsafe", Kind::Timeout),
            Reason::OutcomeUnknown,
            Some(RETRY),
            Some(DONE),
        ),
        (
            fail("a", 1, "nobody", Kind::Timeout),
            Reason::OutcomeUnknown,
            Some(RETRY),
            Some(DONE),
        ),
        (
            fail("a", 1, "checked", Kind::Timeout),
            Reason::CheckStatus,
            Some(RETRY),
            Some(DONE),
        ),
        (
            fail("a", 1, "unsafe", Kind::RateLimited),
            Reason::UnsafeToRepeat,
            Some(RETRY),
            Some(DONE),
        ),
        (
            fail("a", 1, "costly", Kind::Timeout),
            Reason::MayStillBeRunning,
            Some(RETRY),
            Some(RETRY),
        ),
        (
            fail("a", 1, "costly_keyed", Kind::Timeout),
            Reason::MayStillBeRunning,
            Some(RETRY),
            Some(KEYED),
        ),
        (
            fail("a", 1, "unsafe", Kind::InvalidArguments).read(Execution::MaybeExecuted),
            Reason::OutcomeUnknown,
            Some((Action::Reprompt, Reason::ModelOutput)),
            Some(DONE),
        ),
        (
            fail("a", 1, "unsafe", Kind::StaleState).read(Execution::MaybeExecuted),
            Reason::OutcomeUnknown,
            Some((Action::Reprompt, Reason::Precondition)),
            Some(DONE),
        ),
        // All others: only EXECUTED is heard.
        (
            fail("a", 1, "idem", Kind::Timeout),
            Reason::Transient,
            None,
            Some(RETRY),
        ),
        (
            fail("a", 1, "keyed", Kind::Timeout),
            Reason::KeyedRetry,
            None,
            Some(KEYED),
        ),
        (
            fail("a", 1, "keyed", Kind::RateLimited),
            Reason::Transient,
            None,
            Some(KEYED),
        ),
        (
            fail("a", 1, "unsafe", Kind::InvalidArguments),
            Reason::ModelOutput,
            None,
            Some(DONE),
        ),
        (
            fail("a", 1, "unsafe", Kind::PreconditionUnmet),
            Reason::Precondition,
            None,
            Some(DONE),
        ),
        (
            fail("a", 1, "unsafe", Kind::ContentFiltered),
            Reason::PolicyBlocked,
            None,
            Some((Action::Escalate, Reason::PolicyBlocked)),
        ),
        (
            fail("a", 1, "unsafe", Kind::ToolBug),
            Reason::PermanentFailure,
            None,
            Some((Action::FailLoud, Reason::PermanentFailure)),
        ),
        (
            fail("a", 1, "unsafe", Kind::RateLimited).word(Execution::NotExecuted),
            Reason::Transient,
            None,
            Some(DONE),
        ),
        (
            fail("a", 1, "unsafe", Kind::Timeout).word(Execution::Executed),
            Reason::AlreadyExecuted,
            None,
            None,
        ),
    ];
    for (failure, reason, not_executed, executed) in table {
        for (second, expected) in [
            (Execution::NotExecuted, not_executed),
            (Execution::Executed, executed),
            (Execution::MaybeExecuted, None),
        ] {
            let context = format!("{} {} then {second}", failure.tool, failure.kind);
            let mut world = World::new(POLICY);
            let first = world.judge(&failure.clone().tokens(5));
            assert_eq!(first.verdict.reason, reason, "{context}");
            let again = world.judge(&failure.clone().tokens(5).word(second));
            assert_eq!(again.replayed, expected.is_none(), "{context}");
            assert_eq!(word(&again), expected.unwrap_or(word(&first)), "{context}");
            assert_eq!(drawn(&again), drawn(&first), "{context}");
            // Once more the same word is a replay of the new verdict.
            let third = world.judge(&failure.clone().tokens(5).word(second));
            assert!(third.replayed, "{context}");
            assert_eq!(third.verdict, again.verdict, "{context}");
            assert_eq!(third.budgets, again.budgets, "{context}");
            // EXECUTED is final.
            if second == Execution::Executed {
                let back = world.judge(&failure.clone().word(Execution::NotExecuted));
                assert!(back.replayed, "{context}");
                assert_eq!(back.verdict, again.verdict, "{context}");
            }
        }
    }
}

#[test]
fn a_granted_second_word_draws_its_verdict_once() {
    let mut world = World::new(POLICY);
    let failure = fail("a", 1, "unsafe", Kind::Timeout);
    assert_eq!(world.judge(&failure).budgets.turn_retries.used, 0);
    let granted = world.judge(&failure.clone().word(Execution::NotExecuted));
    assert_eq!(granted.budgets.turn_retries.used, 1);
    let replay = world.judge(&failure.clone().word(Execution::NotExecuted));
    assert_eq!(replay.budgets.turn_retries.used, 1);
    let end = world.end(Outcome::Failed, true);
    assert_eq!((end.summary.failures, end.summary.retries), (1, 1));
}

#[test]
fn a_reprompt_that_stands_after_the_second_word_is_counted_once() {
    let mut world = World::new(POLICY);
    let failure = fail("a", 1, "keyed", Kind::InvalidArguments);
    assert_eq!(world.judge(&failure).budgets.turn_reprompts.used, 1);
    let heard = world.judge(&failure.clone().word(Execution::Executed));
    assert_eq!(word(&heard), (Action::Reprompt, Reason::ModelOutput));
    assert_eq!(heard.budgets.turn_reprompts.used, 1);
    assert_eq!(world.end(Outcome::Failed, true).summary.reprompts, 1);
}

#[test]
fn a_second_word_settles_its_attempt_and_all_before() {
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
    world.judge(&fail("a", 2, "unsafe", Kind::Timeout));
    // The word on an older attempt is heard; the newer one stands.
    let old = world.judge(&fail("a", 1, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(word(&old), (Action::Escalate, Reason::Superseded));
    assert!(!world.admit(&ask("a", 3, "unsafe")).admitted);
    let new = world.judge(&fail("a", 2, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(word(&new), (Action::Retry, Reason::Transient));
    assert!(world.admit(&ask("a", 3, "unsafe")).admitted);
    // The newest alone settles all.
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
    world.judge(&fail("a", 2, "unsafe", Kind::Timeout));
    let new = world.judge(&fail("a", 2, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(word(&new), (Action::Retry, Reason::Transient));
    // A first word that the attempt was not executed settles nothing before it.
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
    let fresh = world.judge(&fail("a", 2, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(word(&fresh), (Action::Escalate, Reason::OutcomeUnknown));
}

#[test]
fn executed_is_heard_after_a_later_attempt_and_after_the_end() {
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::RateLimited).word(Execution::NotExecuted));
    world.admit(&ask("a", 2, "unsafe"));
    world.judge(&fail("a", 1, "unsafe", Kind::RateLimited).word(Execution::Executed));
    let next = world.judge(&fail("a", 2, "unsafe", Kind::RateLimited).word(Execution::NotExecuted));
    assert_eq!(word(&next), (Action::FailLoud, Reason::AlreadyExecuted));
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
    world.end(Outcome::Failed, true);
    let late = world.judge(&fail("a", 1, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(word(&late), (Action::FailLoud, Reason::TurnEnded));
}

#[test]
fn the_letter_keeps_its_id_and_a_grant_resolves_it() {
    let mut world = World::new(POLICY);
    let failure = fail("a", 1, "checked", Kind::Timeout);
    let id = world.judge(&failure).dead_letter_id.unwrap();
    let done = world.judge(&failure.clone().word(Execution::Executed));
    assert_eq!(done.dead_letter_id.as_ref(), Some(&id));
    let last = world.parkings.last().unwrap();
    assert_eq!((&last.letter.id, last.letter.count), (&id, 1));
    assert_eq!(last.letter.reason, Reason::AlreadyExecuted);
    assert_eq!(last.letter.status, LetterStatus::Open);

    let mut world = World::new(POLICY);
    let id = world.judge(&failure).dead_letter_id.unwrap();
    let granted = world.judge(&failure.clone().word(Execution::NotExecuted));
    assert!(granted.dead_letter_id.is_none());
    let last = world.parkings.last().unwrap();
    assert_eq!((&last.letter.id, last.letter.count), (&id, 1));
    assert_eq!(last.letter.status, LetterStatus::Resolved);
    assert!(last.letter.resolution.is_some());
    // The next stop of the operation opens the same letter again.
    let stopped = world.judge(&fail("a", 2, "checked", Kind::Timeout));
    assert_eq!(stopped.dead_letter_id.as_ref(), Some(&id));
    let last = world.parkings.last().unwrap();
    assert_eq!(
        (last.letter.count, last.letter.status),
        (2, LetterStatus::Open)
    );
}

#[test]
fn an_approval_after_approval_required() {
    for (tool, kind, granted) in [
        ("read", Kind::ApprovalRequired, Reason::Transient),
        ("erase", Kind::Timeout, Reason::KeyedRetry),
        ("erase", Kind::RateLimited, Reason::Transient),
    ] {
        let mut world = World::new(TOOLS);
        let failure = fail("a", 1, tool, kind).input("{}");
        let first = world.judge(&failure);
        assert_eq!(word(&first), (Action::Escalate, Reason::ApprovalRequired));
        let again = world.judge(&failure);
        assert!(again.replayed);
        let second = world.judge(&failure.clone().approval("ok"));
        assert_eq!(word(&second), (Action::Retry, granted));
        assert_eq!(drawn(&second), drawn(&first));
        assert_eq!(
            world.parkings.last().unwrap().letter.status,
            LetterStatus::Resolved
        );
        let third = world.judge(&failure.clone().approval("ok"));
        assert!(third.replayed);
        assert_eq!(third.verdict, second.verdict);
    }
}

#[test]
fn an_approval_holds_for_its_operation_and_input() {
    let mut world = World::new(TOOLS);
    let first = fail("a", 1, "erase", Kind::RateLimited).input("{\"x\":1}");
    world.judge(&first);
    assert_eq!(
        word(&world.judge(&first.clone().approval("ok"))).0,
        Action::Retry
    );
    // The same input, and a request without one, mean the approved one.
    let second = fail("a", 2, "erase", Kind::RateLimited).text("2");
    assert_eq!(word(&world.judge(&second)).0, Action::Retry);
    // New input needs a new one.
    let mut world = World::new(TOOLS);
    world.judge(&first.clone().approval("ok"));
    let other = fail("a", 2, "erase", Kind::RateLimited).input("{\"x\":2}");
    assert_eq!(
        word(&world.judge(&other)),
        (Action::Escalate, Reason::ApprovalRequired)
    );
    assert_eq!(
        word(&world.judge(&other.clone().approval("ok-2"))).0,
        Action::Retry
    );
    // Another operation, too.
    let elsewhere = fail("b", 1, "erase", Kind::RateLimited).input("{\"x\":1}");
    assert_eq!(
        word(&world.judge(&elsewhere)),
        (Action::Escalate, Reason::ApprovalRequired)
    );
    // An approval that comes with another input than the attempt's approves that one, not what was tried.
    let mut world = World::new(TOOLS);
    world.judge(&first);
    let wrong = world.judge(
        &fail("a", 1, "erase", Kind::RateLimited)
            .input("{\"x\":3}")
            .approval("ok"),
    );
    assert_eq!(word(&wrong), (Action::Escalate, Reason::ApprovalRequired));
}

#[test]
fn an_approval_is_no_word_on_other_reasons() {
    let mut world = World::new(POLICY);
    let failure = fail("a", 1, "unsafe", Kind::Timeout);
    let first = world.judge(&failure);
    let again = world.judge(&failure.clone().approval("ok"));
    assert!(again.replayed);
    assert_eq!(again.verdict, first.verdict);
}

#[test]
fn a_second_word_may_still_be_too_dear() {
    let mut world = World::new(
        "tools: {u: {effect: unsafe}}\nbudgets: {turn: {max_retries: 0}, cause: {max_failures: none}}",
    );
    let failure = fail("a", 1, "u", Kind::Timeout);
    let id = world.judge(&failure).dead_letter_id;
    let second = world.judge(&failure.clone().word(Execution::NotExecuted));
    assert_eq!(
        word(&second),
        (Action::FailLoud, Reason::TurnBudgetExhausted)
    );
    assert_eq!(second.dead_letter_id, id);
}

#[test]
fn the_effect_of_the_second_request_only_tightens() {
    let mut world = World::new("");
    let failure = fail("a", 1, "x", Kind::Timeout).effect(Effect::Unsafe);
    world.judge(&failure);
    let again = world.judge(
        &fail("a", 1, "x", Kind::Timeout)
            .effect(Effect::Idempotent)
            .word(Execution::Executed),
    );
    assert_eq!(word(&again), (Action::FailLoud, Reason::AlreadyExecuted));
}

#[test]
fn a_first_word_that_is_delivered_twice_is_no_second_word() {
    for id in [None, Some("r2")] {
        let mut world = World::new(POLICY);
        world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
        let mut second = fail("a", 2, "unsafe", Kind::Timeout).word(Execution::NotExecuted);
        second.request_id = id.map(str::to_owned);
        let first = world.judge(&second);
        assert_eq!(word(&first), (Action::Escalate, Reason::OutcomeUnknown));
        let again = world.judge(&second);
        assert!(again.replayed);
        assert_eq!(again.verdict, first.verdict);
        assert!(!world.admit(&ask("a", 3, "unsafe")).admitted);
        // A request of its own says it anew, after the verdict.
        let mut news = second.clone();
        news.request_id = Some("r3".to_owned());
        assert_eq!(
            word(&world.judge(&news)),
            (Action::Retry, Reason::Transient)
        );
    }
    // Where the other attempt has been settled, the same word is enough.
    let mut world = World::new(POLICY);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout));
    let second = fail("a", 2, "unsafe", Kind::Timeout).word(Execution::NotExecuted);
    world.judge(&second);
    world.judge(&fail("a", 1, "unsafe", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(
        word(&world.judge(&second)),
        (Action::Retry, Reason::Transient)
    );
}
