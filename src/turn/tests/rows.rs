//! Every row of the verdict table, in its order, through the turn.

use super::{TOOLS, World, ask, fail};
use crate::domain::{Action, Context, Effect, Execution, Kind, Origin, Outcome, Reason};

#[track_caller]
fn check(fails: &[super::Fail], action: Action, reason: Reason) -> crate::domain::Judgement {
    let mut world = World::new(TOOLS);
    let mut last = None;
    for fail in fails {
        last = Some(world.judge(fail));
    }
    let judgement = last.unwrap();
    assert_eq!(
        (judgement.verdict.action, judgement.verdict.reason),
        (action, reason),
        "{}",
        judgement.verdict.explanation
    );
    let stops = matches!(action, Action::Escalate | Action::FailLoud);
    assert_eq!(judgement.dead_letter_id.is_some(), stops);
    assert_eq!(judgement.verdict.user_message.is_some(), stops);
    assert_eq!(judgement.verdict.stop_scope.is_some(), stops);
    assert_eq!(
        judgement.verdict.escalate_to.is_some(),
        action == Action::Escalate
    );
    assert_eq!(judgement.verdict.context.is_some(), !stops);
    assert!(!judgement.verdict.idempotency_key.is_empty());
    judgement
}

#[test]
fn row_1_a_replay_is_the_same_answer_and_draws_nothing() {
    let mut world = World::new(TOOLS);
    let first = world.judge(&fail("a", 1, "read", Kind::Unavailable));
    let events = world.events.len();
    let second = world.judge(&fail("a", 1, "read", Kind::Unavailable));
    assert!(second.replayed);
    assert_eq!(second.verdict, first.verdict);
    assert_eq!(second.budgets, first.budgets);
    assert_eq!(world.events.len(), events);
}

#[test]
fn row_1_a_later_attempt_supersedes() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "read", Kind::Unavailable));
    world.judge(&fail("a", 2, "read", Kind::Unavailable));
    let late = world.judge(&fail("a", 1, "read", Kind::Unavailable));
    assert_eq!(late.verdict.action, Action::Escalate);
    assert_eq!(late.verdict.reason, Reason::Superseded);
    assert_eq!(late.budgets.turn_failures.used, 2);
}

#[test]
fn row_1_after_success_the_result_is_handed_back() {
    let mut world = World::new(TOOLS);
    world.judge(&fail("a", 1, "charge", Kind::Timeout));
    world.succeed_with(&ask("a", 2, "charge"), Some("receipt 7"));
    let late = world.judge(&fail("a", 1, "charge", Kind::Timeout));
    assert_eq!(late.verdict.action, Action::FailLoud);
    assert_eq!(late.verdict.reason, Reason::AlreadyExecuted);
    assert_eq!(late.result.as_deref(), Some("receipt 7"));
}

#[test]
fn row_1_the_execution_of_a_superseded_attempt_is_heard() {
    let mut world = World::new(TOOLS);
    let refused = fail("a", 1, "insert", Kind::RateLimited);
    assert_eq!(world.verdict(&refused).action, Action::Retry);
    world.admit(&ask("a", 2, "insert"));
    // The first attempt's worker learns late that it did go through.
    let late = world.judge(&refused.clone().word(Execution::Executed));
    assert_eq!(late.verdict.reason, Reason::Superseded);
    let next = world.judge(&fail("a", 2, "insert", Kind::RateLimited));
    assert_eq!(next.verdict.reason, Reason::AlreadyExecuted);
}

#[test]
fn row_2_approval() {
    check(
        &[fail("a", 1, "read", Kind::ApprovalRequired)],
        Action::Escalate,
        Reason::ApprovalRequired,
    );
    check(
        &[fail("a", 1, "erase", Kind::Timeout)],
        Action::Escalate,
        Reason::ApprovalRequired,
    );
    check(
        &[fail("a", 1, "erase", Kind::Timeout).approval("x")],
        Action::Retry,
        Reason::KeyedRetry,
    );
    check(
        &[fail("a", 1, "read", Kind::ApprovalRequired).approval("x")],
        Action::Retry,
        Reason::Transient,
    );
    // Model output and preconditions of an irreversible tool need no person.
    check(
        &[fail("a", 1, "erase", Kind::InvalidArguments)],
        Action::Reprompt,
        Reason::ModelOutput,
    );
    check(
        &[fail("a", 1, "erase", Kind::PreconditionUnmet)],
        Action::Reprompt,
        Reason::Precondition,
    );
}

#[test]
fn row_3_a_finding() {
    for kind in [
        Kind::WrongReference,
        Kind::Unknown,
        Kind::Timeout,
        Kind::PermissionDenied,
        Kind::Unsupported,
        Kind::Misconfigured,
        Kind::ResourceExhausted,
        Kind::ToolBug,
    ] {
        let judged = check(
            &[fail("a", 1, "bash", kind)],
            Action::Reprompt,
            Reason::Exploratory,
        );
        assert_eq!(judged.verdict.context, Some(Context::Same));
        assert_eq!(judged.budgets.turn_failures.used, 0);
    }
    check(
        &[fail("a", 1, "bash", Kind::Unauthenticated)],
        Action::FailLoud,
        Reason::PermanentFailure,
    );
    // A named dependency is no finding.
    check(
        &[fail("a", 1, "bash", Kind::Timeout).dependency("db:5432")],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    // Exploratory only by its usual name: an ambiguous failure goes on.
    check(
        &[fail("a", 1, "shell", Kind::Timeout)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    check(
        &[fail("a", 1, "shell", Kind::ToolBug)],
        Action::Reprompt,
        Reason::Exploratory,
    );
    // Declared unsafe: no finding, whatever the tool is.
    check(
        &[fail("a", 1, "bash", Kind::Timeout).effect(Effect::Unsafe)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
}

#[test]
fn rows_4_and_5_what_no_retry_helps() {
    check(
        &[fail("a", 1, "read", Kind::ContentFiltered)],
        Action::Escalate,
        Reason::PolicyBlocked,
    );
    check(
        &[fail("a", 1, "read", Kind::PermissionDenied)],
        Action::Escalate,
        Reason::PermissionDenied,
    );
    for kind in [
        Kind::Unauthenticated,
        Kind::QuotaExhausted,
        Kind::Unsupported,
        Kind::Misconfigured,
        Kind::ToolBug,
        Kind::ResourceExhausted,
    ] {
        check(
            &[fail("a", 1, "read", kind)],
            Action::FailLoud,
            Reason::PermanentFailure,
        );
        check(
            &[fail("a", 1, "send", kind)],
            Action::FailLoud,
            Reason::PermanentFailure,
        );
    }
}

#[test]
fn row_6_a_precondition_spends_nothing() {
    let judged = check(
        &[fail("a", 1, "compute", Kind::PreconditionUnmet)],
        Action::Reprompt,
        Reason::Precondition,
    );
    assert_eq!(judged.verdict.satisfy_with.as_deref(), Some("load"));
    assert_eq!(judged.verdict.context, Some(Context::Same));
    assert_eq!(judged.budgets.turn_failures.used, 0);
    assert_eq!(judged.budgets.preconditions.used, 1);
    check(
        &[fail("a", 1, "send", Kind::StaleState).read(Execution::MaybeExecuted)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
}

#[test]
fn row_7_model_output_is_reprompted_on_a_clean_context() {
    for tool in ["read", "send", "charge", "nobody_described_this"] {
        let judged = check(
            &[fail("a", 1, tool, Kind::InvalidArguments)],
            Action::Reprompt,
            Reason::ModelOutput,
        );
        assert_eq!(judged.verdict.context, Some(Context::Clean));
        assert_eq!(judged.verdict.forget_operations.len(), 1);
        assert_eq!(judged.budgets.operation_attempts.used, 0);
        assert_eq!(judged.budgets.turn_failures.used, 1);
    }
    check(
        &[fail("a", 1, "send", Kind::InvalidArguments).read(Execution::Executed)],
        Action::FailLoud,
        Reason::AlreadyExecuted,
    );
}

#[test]
fn rows_8_to_11_keep_effects_from_repeating() {
    let done = Execution::Executed;
    check(
        &[fail("a", 1, "send", Kind::Timeout).word(done)],
        Action::FailLoud,
        Reason::AlreadyExecuted,
    );
    check(
        &[fail("a", 1, "nobody", Kind::Timeout).word(done)],
        Action::FailLoud,
        Reason::AlreadyExecuted,
    );
    check(
        &[fail("a", 1, "research", Kind::Timeout)],
        Action::Escalate,
        Reason::MayStillBeRunning,
    );
    check(
        &[fail("a", 1, "send", Kind::Timeout)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    let checked = check(
        &[fail("a", 1, "send_checked", Kind::Timeout)],
        Action::Escalate,
        Reason::CheckStatus,
    );
    assert_eq!(
        checked.verdict.check_status_with.as_deref(),
        Some("get_status")
    );
    assert_eq!(
        checked.verdict.retry_after,
        Some(std::time::Duration::from_secs(7))
    );
    check(
        &[fail("a", 1, "send", Kind::RateLimited)],
        Action::Escalate,
        Reason::UnsafeToRepeat,
    );
    check(
        &[fail("a", 1, "insert", Kind::RateLimited)],
        Action::Retry,
        Reason::Transient,
    );
    check(
        &[fail("a", 1, "send", Kind::RateLimited).word(Execution::NotExecuted)],
        Action::Retry,
        Reason::Transient,
    );
    // The layers below tried more than once: the text speaks for the last try only.
    check(
        &[fail("a", 1, "insert", Kind::RateLimited).tries(2)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
}

#[test]
fn row_12_a_second_failure_without_evidence_and_a_fault_dressed_as_transient() {
    let unknown = |n| fail("a", n, "read", Kind::Unknown);
    check(&[unknown(1)], Action::Retry, Reason::Transient);
    check(
        &[unknown(1), unknown(2)],
        Action::Escalate,
        Reason::UnknownFailure,
    );
    let fault = |n, text: &str| fail("a", n, "read", Kind::ServerError).text(text);
    check(
        &[fault(1, "boom"), fault(2, "boom")],
        Action::Escalate,
        Reason::DeterministicFailure,
    );
    check(
        &[fault(1, "boom"), fault(2, "bang")],
        Action::Retry,
        Reason::Transient,
    );
}

#[test]
fn rows_13_and_14_retries() {
    check(
        &[fail("a", 1, "charge", Kind::Timeout)],
        Action::Retry,
        Reason::KeyedRetry,
    );
    check(
        &[fail("a", 1, "charge", Kind::RateLimited)],
        Action::Retry,
        Reason::Transient,
    );
    check(
        &[fail("a", 1, "read", Kind::Timeout)],
        Action::Retry,
        Reason::Transient,
    );
}

#[test]
fn the_model_call_itself_is_idempotent_unless_somebody_says_otherwise() {
    let model = |kind| fail("a", 1, "gpt", kind).origin(Origin::Model);
    check(&[model(Kind::Timeout)], Action::Retry, Reason::Transient);
    check(
        &[model(Kind::Timeout).effect(Effect::Unsafe)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    check(
        &[model(Kind::ContextOverflow)],
        Action::Reprompt,
        Reason::ModelOutput,
    );
}

#[test]
fn the_strictest_effect_over_the_attempts_stands() {
    check(
        &[
            fail("a", 1, "x", Kind::RateLimited)
                .effect(Effect::Unsafe)
                .word(Execution::NotExecuted),
            fail("a", 2, "x", Kind::Timeout).effect(Effect::Idempotent),
        ],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    // What the operator says outranks the worker.
    check(
        &[fail("a", 1, "send", Kind::Timeout).effect(Effect::Idempotent)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    check(
        &[fail("a", 1, "read", Kind::Timeout).effect(Effect::Unsafe)],
        Action::Retry,
        Reason::Transient,
    );
    // A request that claims nothing loosens nothing and tightens nothing.
    check(
        &[
            fail("a", 1, "x", Kind::Timeout).effect(Effect::Idempotent),
            fail("a", 2, "x", Kind::Timeout),
        ],
        Action::Retry,
        Reason::Transient,
    );
}

#[test]
fn an_attempt_that_nobody_saw_may_have_executed() {
    check(
        &[fail("a", 2, "insert", Kind::RateLimited)],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
    check(
        &[
            fail("a", 1, "insert", Kind::RateLimited),
            fail("a", 3, "insert", Kind::RateLimited),
        ],
        Action::Escalate,
        Reason::OutcomeUnknown,
    );
}

#[test]
fn an_override_changes_the_action_never_the_safety() {
    let policy = format!(
        "{TOOLS}\nkinds: {{timeout: {{action: retry}}, rate_limited: {{action: reprompt}}, unauthenticated: {{action: escalate}}, server_error: {{action: fail_loud}}, tool_bug: {{action: retry}}}}"
    );
    for (case, action, reason) in [
        (
            fail("a", 1, "read", Kind::Timeout),
            Action::Retry,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "send", Kind::Timeout),
            Action::Escalate,
            Reason::OutcomeUnknown,
        ),
        (
            fail("a", 1, "research", Kind::Timeout),
            Action::Escalate,
            Reason::MayStillBeRunning,
        ),
        (
            fail("a", 1, "erase", Kind::Timeout),
            Action::Escalate,
            Reason::ApprovalRequired,
        ),
        // Reprompting stands behind rows 8 to 10, not behind row 11.
        (
            fail("a", 1, "send", Kind::RateLimited),
            Action::Reprompt,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "send", Kind::RateLimited).tries(2),
            Action::Escalate,
            Reason::OutcomeUnknown,
        ),
        (
            fail("a", 1, "read", Kind::Unauthenticated),
            Action::Escalate,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "read", Kind::ServerError),
            Action::FailLoud,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "send", Kind::ServerError),
            Action::FailLoud,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "read", Kind::ToolBug),
            Action::Retry,
            Reason::PolicyOverride,
        ),
        (
            fail("a", 1, "send", Kind::ToolBug),
            Action::Escalate,
            Reason::OutcomeUnknown,
        ),
    ] {
        let mut world = World::new(&policy);
        let verdict = world.verdict(&case);
        assert_eq!(
            (verdict.action, verdict.reason),
            (action, reason),
            "{} {}",
            case.tool,
            case.kind
        );
    }
}

#[test]
fn an_ended_turn_answers_so() {
    let mut world = World::new(TOOLS);
    world.end(Outcome::Succeeded, false);
    let verdict = world.verdict(&fail("a", 1, "read", Kind::Timeout));
    assert_eq!(
        (verdict.action, verdict.reason),
        (Action::FailLoud, Reason::TurnEnded)
    );
    let admission = world.admit(&ask("b", 1, "read"));
    assert!(!admission.admitted);
    assert_eq!(admission.verdict.unwrap().reason, Reason::TurnEnded);
}
