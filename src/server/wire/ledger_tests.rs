//! A turn and a letter as people see them.

use std::time::Duration;

use super::*;
use crate::domain::{
    Action, Budget, Budgets, Cause, Context, Effect, EscalateTo, Execution, Failure, Family,
    Fingerprint, Kind, LetterStatus, Origin, Outcome, Reason, StopScope, Subject, Timestamp,
    TurnSummary,
};

fn attempt() -> AttemptRecord {
    AttemptRecord {
        attempt: 2,
        worker_id: Some("w".into()),
        admitted_at: Some(Timestamp::from_secs(1)),
        judged_at: Some(Timestamp(2_500_000)),
        succeeded_at: None,
        kind: Some(Kind::Timeout),
        execution: Some(Execution::MaybeExecuted),
        rule: Some("r".into()),
        failure: Some(Failure {
            message: "m".into(),
            http_status: Some(504),
            headers: vec![("a".into(), "b".into())],
            exit_code: Some(3),
            ..Failure::default()
        }),
        fingerprint: Some(Fingerprint(16)),
        lesson: Some("l".into()),
        lesson_cut: true,
        action: Some(Action::Retry),
        reason: Some(Reason::KeyedRetry),
        retry_after: Some(Duration::from_secs(3)),
        elapsed: Some(Duration::from_secs(4)),
        tries: 5,
        tokens_spent: 6,
    }
}

fn letter() -> DeadLetter {
    DeadLetter {
        id: "letter".into(),
        status: LetterStatus::Requeued,
        count: 2,
        created_at: Timestamp::from_secs(1),
        updated_at: Timestamp::from_secs(2),
        tenant: "default".into(),
        turn_id: "t".into(),
        operation_id: "o".into(),
        attempt: 3,
        tool: "pay".into(),
        origin: Origin::Tool,
        effect: Effect::Keyed,
        input: Some("{}".into()),
        input_cut: true,
        kind: Some(Kind::Timeout),
        execution: Some(Execution::MaybeExecuted),
        cause: Some(Cause {
            family: Family::Outage,
            subject: Subject::Tools,
        }),
        rule: Some("r".into()),
        evidence: Some("e".into()),
        action: Action::Escalate,
        reason: Reason::CheckStatus,
        explanation: "x".into(),
        guidance: Some("g".into()),
        user_message: Some("u".into()),
        context: Some(Context::Same),
        escalate_to: Some(EscalateTo::Person),
        stop_scope: Some(StopScope::Turn),
        check_status_with: Some("s".into()),
        idempotency_key: "k".into(),
        budgets: Budgets::default(),
        attempts: vec![attempt()],
        silent: Some(SilentRecord {
            outcome: Some(Outcome::Degraded),
            unresolved_operations: vec!["o".into()],
        }),
        resolution: Some("paid".into()),
        resolved_by: Some("p".into()),
    }
}

#[test]
fn a_letter_leaves_whole() {
    let wire = proto::DeadLetter::from(letter());
    assert_eq!(
        (wire.id.as_str(), wire.status(), wire.count),
        ("letter", proto::LetterStatus::Requeued, 2)
    );
    assert_eq!(
        (wire.origin(), wire.effect()),
        (proto::Origin::Tool, proto::Effect::Keyed)
    );
    assert_eq!(
        (wire.kind(), wire.execution()),
        (proto::Kind::Timeout, proto::Execution::MaybeExecuted)
    );
    assert_eq!((wire.input.as_deref(), wire.input_cut), (Some("{}"), true));
    assert_eq!(wire.cause.unwrap().subject, "tools");
    let verdict = wire.verdict.unwrap();
    assert_eq!(
        (verdict.action(), verdict.reason()),
        (proto::Action::Escalate, proto::Reason::CheckStatus)
    );
    assert_eq!(
        (verdict.guidance.as_str(), verdict.user_message.as_str()),
        ("g", "u")
    );
    assert_eq!(
        (
            verdict.explanation.as_str(),
            verdict.check_status_with.as_str()
        ),
        ("x", "s")
    );
    assert_eq!(
        (verdict.escalate_to(), verdict.stop_scope()),
        (proto::EscalateTo::Person, proto::StopScope::Turn)
    );
    assert_eq!(
        (verdict.context(), verdict.idempotency_key.as_str()),
        (proto::Context::Same, "k")
    );
    assert_eq!(wire.silent.unwrap().outcome(), proto::Outcome::Degraded);
    assert_eq!(
        (wire.resolution.as_str(), wire.resolved_by.as_str()),
        ("paid", "p")
    );
    let attempt = &wire.attempts[0];
    assert_eq!(
        (attempt.attempt, attempt.tries, attempt.tokens_spent),
        (2, 5, 6)
    );
    assert_eq!(attempt.judged_at.unwrap().nanos, 500_000_000);
    assert_eq!((attempt.succeeded_at, attempt.lesson_cut), (None, true));
    assert_eq!(attempt.fingerprint, "0000000000000010");
    let failure = attempt.failure.as_ref().unwrap();
    assert_eq!((failure.http_status, failure.exit_code), (504, Some(3)));
    assert_eq!(failure.headers["a"], "b");
}

#[test]
fn a_turn_leaves_whole() {
    let view = TurnView {
        tenant: "default".into(),
        turn_id: "t".into(),
        opened_at: Timestamp::from_secs(1),
        last_activity: Timestamp::from_secs(2),
        ended_at: Some(Timestamp::from_secs(3)),
        outcome: None,
        budgets: Budgets::default(),
        summary: TurnSummary::default(),
        causes: vec![CauseView {
            cause: Cause {
                family: Family::Bug,
                subject: Subject::Group("canvas".into()),
            },
            failures: Budget {
                used: 1,
                limit: Some(3),
            },
            preconditions: Budget::default(),
            tools: vec!["draw".into()],
        }],
        operations: vec![OperationView {
            operation_id: "o".into(),
            tool: "draw".into(),
            origin: Origin::Model,
            effect: Effect::Unknown,
            execution: None,
            succeeded: true,
            idempotency_key: "k".into(),
            revision: 1,
            dead_letter_id: None,
            attempts: vec![attempt()],
        }],
    };
    let wire = proto::Turn::from(view);
    assert_eq!(
        (wire.outcome(), wire.ended_at.unwrap().seconds),
        (proto::Outcome::Unspecified, 3)
    );
    let cause = &wire.causes[0];
    assert_eq!(
        (cause.tools.as_slice(), cause.failures.unwrap().used),
        (["draw".to_owned()].as_slice(), 1)
    );
    assert_eq!(cause.cause.as_ref().unwrap().subject, "canvas");
    let operation = &wire.operations[0];
    assert_eq!(
        (operation.effect(), operation.execution()),
        (proto::Effect::Unknown, proto::Execution::Unspecified)
    );
    assert_eq!(
        (
            operation.succeeded,
            operation.revision,
            operation.attempts.len()
        ),
        (true, 1, 1)
    );
}
