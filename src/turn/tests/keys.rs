//! Idempotency keys: the contract's vectors, when the key moves, when it is adopted, when it can no longer be relied on.

use std::time::Duration;

use super::super::key::derive;
use super::{TOOLS, World, ask, fail};
use crate::domain::{Action, Effect, Execution, Kind, Origin, Outcome, Reason};

const VECTORS: &str = include_str!("../../../proto/backstop/v1/idempotency_key_vectors.json");

fn key(revision: u32) -> String {
    derive("default", "t1", "a", revision)
}

#[test]
fn the_contracts_vectors() {
    let vectors: serde_json::Value = serde_json::from_str(VECTORS).unwrap();
    let vectors = vectors["vectors"].as_array().unwrap();
    assert!(vectors.len() >= 5);
    for vector in vectors {
        let text = |name: &str| vector[name].as_str().unwrap();
        let revision = u32::try_from(vector["revision"].as_u64().unwrap()).unwrap();
        assert_eq!(
            derive(
                text("tenant"),
                text("turn_id"),
                text("operation_id"),
                revision
            ),
            text("idempotency_key"),
            "{}",
            text("about")
        );
    }
}

#[test]
fn every_answer_carries_the_key() {
    let mut world = World::new(TOOLS);
    assert_eq!(world.admit(&ask("a", 1, "read")).idempotency_key, key(0));
    for kind in Kind::ALL {
        let mut world = World::new(TOOLS);
        for tool in ["read", "send", "charge", "bash", "nobody"] {
            let judged = world.judge(&fail("a", 0, tool, *kind));
            assert_eq!(judged.verdict.idempotency_key.len(), 64, "{kind} {tool}");
        }
        world.end(Outcome::Failed, true);
        let late = world.judge(&fail("b", 1, "read", *kind));
        assert_eq!(
            late.verdict.idempotency_key,
            derive("default", "t1", "b", 0)
        );
    }
}

#[test]
fn the_key_is_the_same_over_retries() {
    let mut world = World::new(TOOLS);
    for attempt in 1..=2 {
        assert_eq!(
            world.admit(&ask("a", attempt, "charge")).idempotency_key,
            key(0)
        );
        let judged = world.judge(&fail("a", attempt, "charge", Kind::RateLimited));
        assert_eq!(judged.verdict.action, Action::Retry);
        assert_eq!(judged.verdict.idempotency_key, key(0));
    }
}

/// What the first attempt was, and which revision the second one carries.
#[test]
fn the_key_moves_only_with_a_reprompt_while_nothing_may_have_executed() {
    let policy = format!(
        "{TOOLS}\nkinds: {{rate_limited: {{action: reprompt}}, contention: {{action: escalate}}}}"
    );
    for (kind, read, revision) in [
        (Kind::InvalidArguments, None, 1),
        (Kind::MalformedOutput, None, 1),
        (Kind::RateLimited, None, 1),
        (Kind::InvalidArguments, Some(Execution::MaybeExecuted), 0),
        (Kind::InvalidArguments, Some(Execution::Executed), 0),
        (Kind::PreconditionUnmet, None, 0),
        (Kind::Overloaded, None, 0),
        (Kind::Timeout, None, 0),
        (Kind::Contention, None, 0),
        (Kind::ContentFiltered, None, 0),
        (Kind::Misconfigured, None, 0),
    ] {
        let mut world = World::new(&policy);
        let mut failure = fail("a", 1, "charge", kind);
        failure.read = read;
        assert_eq!(
            world.verdict(&failure).idempotency_key,
            key(revision),
            "{kind} {read:?}"
        );
        // A replay moves nothing.
        assert_eq!(world.verdict(&failure).idempotency_key, key(revision));
        assert_eq!(
            world.admit(&ask("a", 2, "charge")).idempotency_key,
            key(revision)
        );
    }
}

#[test]
fn a_stopped_reprompt_moves_no_key() {
    let mut world = World::new(&format!("{TOOLS}\nbudgets: {{turn: {{max_reprompts: 0}}}}"));
    let verdict = world.verdict(&fail("a", 1, "charge", Kind::InvalidArguments));
    assert_eq!(verdict.reason, Reason::TurnBudgetExhausted);
    assert_eq!(verdict.idempotency_key, key(0));
}

#[test]
fn once_an_attempt_may_have_executed_the_key_stays_its_key() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::InvalidArguments));
    assert_eq!(
        world
            .verdict(&fail("a", 2, "charge", Kind::Timeout))
            .idempotency_key,
        key(1)
    );
    let later = world.verdict(&fail("a", 3, "charge", Kind::InvalidArguments));
    assert_eq!(later.idempotency_key, key(1));
    // The first attempt turns out to have gone through, under the key before it moved.
    let mut world = World::new(TOOLS);
    let first = fail("a", 1, "charge", Kind::InvalidArguments);
    assert_eq!(world.verdict(&first).idempotency_key, key(1));
    let heard = world.verdict(&first.clone().word(Execution::Executed));
    assert_eq!(heard.idempotency_key, key(0));
    // And where the second one is out already, two keys may have done it.
    let mut world = World::new(TOOLS);
    world.judge(&first);
    world.admit(&ask("a", 2, "charge"));
    world.judge(&first.clone().word(Execution::Executed));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(
        (second.action, second.reason),
        (Action::FailLoud, Reason::AlreadyExecuted)
    );
    // The same where its text says so late.
    let mut world = World::new(TOOLS);
    world.judge(&first);
    world.admit(&ask("a", 2, "charge"));
    world.judge(&fail("a", 1, "charge", Kind::Timeout));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(
        (second.action, second.reason),
        (Action::Escalate, Reason::OutcomeUnknown)
    );
}

#[test]
fn an_attempt_that_names_no_key_carries_the_one_that_was_told_last() {
    let policy = format!(
        "{TOOLS}\nbudgets: {{operation: {{max_attempts: none}}, cause: {{max_failures: none}}}}"
    );
    // Against what it is told, a worker names another key for one attempt, which does nothing.
    let mut world = World::new(&policy);
    world.judge(&fail("a", 1, "charge", Kind::Timeout));
    let second = world.verdict(&fail("a", 2, "charge", Kind::RateLimited).key("mine"));
    assert_eq!(second.idempotency_key, key(0));
    let third = world.verdict(&fail("a", 3, "charge", Kind::Timeout));
    assert_eq!(
        (third.reason, third.idempotency_key),
        (Reason::KeyedRetry, key(0))
    );
    // A replay tells its key again, whatever was told in between.
    let mut world = World::new(&policy);
    world.admit(&ask("a", 1, "charge"));
    let second = fail("a", 2, "charge", Kind::RateLimited).key("mine");
    assert_eq!(world.verdict(&second).idempotency_key, key(0));
    let late = world.verdict(&fail("a", 1, "charge", Kind::MalformedOutput));
    assert_eq!(late.idempotency_key, "mine");
    assert_eq!(world.verdict(&second).idempotency_key, key(0));
    let third = world.verdict(&fail("a", 3, "charge", Kind::Timeout));
    assert_eq!(
        (third.reason, third.idempotency_key),
        (Reason::KeyedRetry, key(0))
    );
}

#[test]
fn a_denial_that_is_given_again_tells_its_key_again() {
    let mut world = World::new(TOOLS);
    let asks = ask("a", 1, "erase").request_id("r1");
    let denied = world.admit(&asks);
    assert!(!denied.admitted);
    assert_eq!(denied.idempotency_key, key(0));
    // The worker goes on under a key of its own, which does nothing.
    let first = world.verdict(&fail("a", 1, "erase", Kind::RateLimited).key("mine"));
    assert_eq!(first.idempotency_key, "mine");
    assert_eq!(world.admit(&asks).idempotency_key, key(0));
    let second = world.verdict(&fail("a", 2, "erase", Kind::Timeout));
    assert_eq!(second.idempotency_key, key(0));
}

#[test]
fn a_finding_binds_no_key() {
    let mut world = World::new(TOOLS);
    let mut look = fail("a", 1, "bash", Kind::Timeout);
    look.effect = Some(Effect::Idempotent);
    assert_eq!(world.verdict(&look).reason, Reason::Exploratory);
    let again = world.admit(&ask("a", 2, "charge").key("mine"));
    assert!(again.admitted);
    assert_eq!(again.idempotency_key, "mine");
    let verdict = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(
        (verdict.reason, &*verdict.idempotency_key),
        (Reason::KeyedRetry, "mine")
    );
}

#[test]
fn no_later_word_settles_what_is_done() {
    for succeeds in [false, true] {
        // First seen at its second attempt, without a key: the first one may have carried any.
        let mut world = World::new(TOOLS);
        let second = fail("a", 2, "charge", Kind::RateLimited);
        assert_eq!(world.verdict(&second).reason, Reason::OutcomeUnknown);
        if succeeds {
            world.succeed(&ask("a", 2, "charge"));
        } else {
            world.judge(&second.clone().word(Execution::Executed));
        }
        world.judge(&second.clone().word(Execution::NotExecuted));
        let third = world.verdict(&fail("a", 3, "charge", Kind::RateLimited));
        assert_eq!(
            (third.action, third.reason),
            (Action::FailLoud, Reason::AlreadyExecuted)
        );
    }
}

#[test]
fn a_workers_own_word_outranks_a_late_text() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::Timeout).word(Execution::NotExecuted));
    world.admit(&ask("a", 2, "send"));
    world.judge(&fail("a", 1, "send", Kind::Timeout));
    let second = world.verdict(&fail("a", 2, "send", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(second.action, Action::Retry);
}

#[test]
fn a_second_word_lets_the_key_move_again() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "send", Kind::Timeout));
    let freed = world.verdict(&fail("a", 1, "send", Kind::Timeout).word(Execution::NotExecuted));
    assert_eq!(freed.idempotency_key, key(0));
    let moved = world.verdict(&fail("a", 2, "send", Kind::InvalidArguments));
    assert_eq!(moved.idempotency_key, key(1));
}

#[test]
fn a_key_of_the_workers_own_is_adopted_and_never_moves() {
    for through_admit in [true, false] {
        let mut world = World::new(TOOLS);
        if through_admit {
            let admission = world.admit(&ask("a", 1, "charge").key("mine"));
            assert_eq!(admission.idempotency_key, "mine");
        }
        let mut first = fail("a", 1, "charge", Kind::Timeout);
        if !through_admit {
            first = first.key("mine");
        }
        let verdict = world.verdict(&first);
        assert_eq!(
            (verdict.reason, &*verdict.idempotency_key),
            (Reason::KeyedRetry, "mine")
        );
        assert_eq!(world.admit(&ask("a", 2, "charge")).idempotency_key, "mine");
        assert_eq!(
            world
                .verdict(&fail("a", 2, "charge", Kind::InvalidArguments))
                .idempotency_key,
            "mine"
        );
    }
    let mut world = World::new(TOOLS);
    let verdict = world.verdict(&fail("a", 1, "charge", Kind::InvalidArguments).key("mine"));
    assert_eq!(verdict.action, Action::Reprompt);
    assert_eq!(verdict.idempotency_key, "mine");
}

#[test]
fn attempts_under_several_keys_count_as_unsafe() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::Timeout));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout).key("mine"));
    assert_eq!(
        (second.action, second.reason),
        (Action::Escalate, Reason::OutcomeUnknown)
    );
    // The key of the first one that may have executed goes before all others.
    assert_eq!(second.idempotency_key, key(0));
    // One that was not executed may have carried anything.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::RateLimited));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout).key("mine"));
    assert_eq!(
        (second.reason, &*second.idempotency_key),
        (Reason::KeyedRetry, "mine")
    );
}

#[test]
fn a_key_named_late_for_an_attempt_that_is_past_counts() {
    let mut world = World::new(TOOLS);
    world.admit(&ask("a", 1, "charge"));
    world.admit(&ask("a", 2, "charge"));
    world.judge(&fail("a", 1, "charge", Kind::Timeout).key("mine"));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(second.reason, Reason::OutcomeUnknown);
}

#[test]
fn a_key_whose_state_may_be_lost_counts_as_unsafe() {
    for (key, reason) in [
        (None, Reason::OutcomeUnknown),
        (Some("mine"), Reason::KeyedRetry),
    ] {
        let mut world = World::new(TOOLS);
        let mut first_seen = fail("a", 2, "charge", Kind::RateLimited);
        first_seen.key = key.map(str::to_owned);
        assert_eq!(world.verdict(&first_seen).reason, reason);
    }
    // A second word settles what nobody saw.
    let mut world = World::new(TOOLS);
    let first_seen = fail("a", 2, "charge", Kind::Timeout);
    world.judge(&first_seen);
    let freed = world.verdict(&first_seen.clone().word(Execution::NotExecuted));
    assert_eq!(freed.action, Action::Retry);
    let third = world.verdict(&fail("a", 3, "charge", Kind::Timeout));
    assert_eq!(third.reason, Reason::KeyedRetry);
}

#[test]
fn after_its_time_to_live_a_key_counts_as_unsafe() {
    for (policy, seconds, reason) in [
        (
            "tools: {c: {effect: keyed}}",
            24 * 3_600,
            Reason::KeyedRetry,
        ),
        (
            "tools: {c: {effect: keyed}}",
            24 * 3_600 + 1,
            Reason::OutcomeUnknown,
        ),
        (
            "tools: {c: {effect: keyed, key_ttl: 1h}}",
            3_600,
            Reason::KeyedRetry,
        ),
        (
            "tools: {c: {effect: keyed, key_ttl: 1h}}",
            3_601,
            Reason::OutcomeUnknown,
        ),
        (
            "tools: {c: {effect: unsafe, key_ttl: 1h}}",
            0,
            Reason::OutcomeUnknown,
        ),
    ] {
        let mut world = World::new(policy);
        world.admit(&ask("a", 1, "c"));
        world.pass(Duration::from_secs(seconds));
        assert_eq!(
            world.verdict(&fail("a", 1, "c", Kind::Timeout)).reason,
            reason,
            "{policy} {seconds}"
        );
    }
}

#[test]
fn the_same_effect_is_admitted_under_the_first_operations_key_and_keeps_it() {
    let mut world = World::new(TOOLS);
    let first = world.verdict(&fail("a", 1, "charge", Kind::Timeout).input("{}"));
    let admission = world.admit(&ask("b", 1, "charge").input("{}"));
    assert_eq!(admission.idempotency_key, first.idempotency_key);
    let again = world.verdict(&fail("b", 1, "charge", Kind::Timeout).input("{}"));
    assert_eq!(again.reason, Reason::KeyedRetry);
    assert_eq!(again.idempotency_key, first.idempotency_key);
    assert_eq!(
        world
            .admit(&ask("b", 2, "charge").input("{}"))
            .idempotency_key,
        first.idempotency_key
    );
}

#[test]
fn another_provider_does_not_know_the_key() {
    use crate::domain::EscalateTo;
    for (kind, effect, allowed) in [
        (Kind::Timeout, Effect::Keyed, false),
        (Kind::Timeout, Effect::Unsafe, false),
        (Kind::Timeout, Effect::Idempotent, true),
        (Kind::Overloaded, Effect::Keyed, true),
    ] {
        let mut world = World::new("budgets: {operation: {max_attempts: 1}}");
        let verdict = world.verdict(
            &fail("a", 1, "gpt", kind)
                .origin(Origin::Model)
                .effect(effect)
                .word(if kind == Kind::Timeout {
                    Execution::MaybeExecuted
                } else {
                    Execution::NotExecuted
                }),
        );
        assert_eq!(verdict.action, Action::Escalate);
        let to = verdict.escalate_to.unwrap();
        assert_eq!(to == EscalateTo::OtherProvider, allowed, "{kind} {effect}");
        if !allowed {
            assert!(matches!(
                to,
                EscalateTo::Person | EscalateTo::Operator | EscalateTo::StatusCheck
            ));
        }
    }
}

#[test]
fn an_attempt_sent_under_the_key_that_a_reprompt_told_carries_it() {
    // The first attempt turns out to have succeeded while the second one is out under the next key.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::InvalidArguments));
    world.succeed(&ask("a", 1, "charge"));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(
        (second.action, second.reason),
        (Action::FailLoud, Reason::AlreadyExecuted)
    );
    // Who asks first is told the key of what has succeeded, and gets no second one.
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::InvalidArguments));
    let first = fail("a", 1, "charge", Kind::InvalidArguments).word(Execution::Executed);
    assert_eq!(world.verdict(&first).idempotency_key, key(0));
    let admission = world.admit(&ask("a", 2, "charge"));
    assert!(admission.admitted);
    assert_eq!(admission.idempotency_key, key(0));
    let second = world.verdict(&fail("a", 2, "charge", Kind::Timeout));
    assert_eq!(second.reason, Reason::KeyedRetry);
}
