//! Answers as they leave.

use std::time::Duration;

use super::*;
use crate::domain::{
    Action, Context, EscalateTo, EvidenceSource, Execution, Family, Fingerprint, Kind, Reading,
    Reason, StopScope, Subject,
};

pub(in crate::server::wire) fn budgets() -> Budgets {
    let budget = |used| Budget {
        used,
        limit: Some(used + 100),
    };
    Budgets {
        operation_attempts: budget(1),
        operation_reprompts: budget(2),
        cause_failures: budget(3),
        turn_failures: budget(4),
        turn_retries: budget(5),
        turn_reprompts: budget(6),
        preconditions: budget(7),
        tool_calls: budget(8),
        turn_calls: budget(9),
        turn_tokens: budget(10),
        turn_elapsed_ms: Budget {
            used: 11,
            limit: None,
        },
    }
}

fn verdict() -> Verdict {
    Verdict {
        action: Action::Escalate,
        reason: Reason::CheckStatus,
        explanation: "why".into(),
        guidance: Some("what".into()),
        user_message: Some("who".into()),
        retry_after: Some(Duration::from_millis(1_500)),
        context: Some(Context::Clean),
        idempotency_key: "key".into(),
        satisfy_with: Some("load".into()),
        check_status_with: Some("status".into()),
        forget_operations: vec!["a".into(), "b".into()],
        escalate_to: Some(EscalateTo::StatusCheck),
        stop_scope: Some(StopScope::Cause),
        closed_tools: vec!["pay".into()],
        shadow: true,
        degraded: true,
    }
}

fn classification() -> Classification {
    Classification {
        reading: Reading {
            kind: Kind::Timeout,
            execution: Execution::MaybeExecuted,
            vouched: false,
            rule: "text/timeout".into(),
            evidence: "timed out".into(),
            source: EvidenceSource::Text,
            confidence: 0.5,
            retry_after: Some(Duration::from_secs(2)),
            server_says_no: false,
            dependency: Some("in.the.text".into()),
            reference: None,
            fingerprint: Fingerprint(0xabc),
        },
        cause: Cause {
            family: Family::Outage,
            subject: Subject::Dependency("payments".into()),
        },
        dependency: Some("payments".into()),
    }
}

#[test]
fn a_judgement_leaves_whole() {
    let judgement = Judgement {
        verdict: verdict(),
        classification: classification(),
        budgets: budgets(),
        attempt: 4,
        replayed: true,
        dead_letter_id: Some("letter".into()),
        result: Some("done".into()),
    };
    let wire = proto::JudgeResponse::from(judgement);
    let expected = proto::Verdict {
        action: proto::Action::Escalate as i32,
        reason: proto::Reason::CheckStatus as i32,
        explanation: "why".into(),
        guidance: "what".into(),
        user_message: "who".into(),
        retry_after: Some(prost_types::Duration {
            seconds: 1,
            nanos: 500_000_000,
        }),
        context: proto::Context::Clean as i32,
        idempotency_key: "key".into(),
        satisfy_with: "load".into(),
        check_status_with: "status".into(),
        forget_operations: vec!["a".into(), "b".into()],
        escalate_to: proto::EscalateTo::StatusCheck as i32,
        stop_scope: proto::StopScope::Cause as i32,
        closed_tools: vec!["pay".into()],
        shadow: true,
        degraded: true,
    };
    assert_eq!(wire.verdict, Some(expected));
    let read = wire.classification.unwrap();
    assert_eq!(read.kind(), proto::Kind::Timeout);
    assert_eq!(read.category(), proto::Category::Ambiguous);
    assert_eq!(read.execution(), proto::Execution::MaybeExecuted);
    assert_eq!(
        (read.rule.as_str(), read.evidence.as_str()),
        ("text/timeout", "timed out")
    );
    assert_eq!(
        (read.dependency.as_str(), read.confidence),
        ("payments", 0.5)
    );
    assert_eq!(read.fingerprint, "0000000000000abc");
    assert_eq!(read.retry_after.unwrap().seconds, 2);
    let cause = read.cause.unwrap();
    assert_eq!(
        (cause.family(), cause.subject.as_str()),
        (proto::Family::Outage, "payments")
    );
    assert_eq!((wire.attempt, wire.replayed), (4, true));
    assert_eq!(
        (wire.dead_letter_id.as_str(), wire.result.as_deref()),
        ("letter", Some("done"))
    );
}

#[test]
fn every_budget_keeps_its_place() {
    let wire = proto::Budgets::from(&budgets());
    let used = [
        wire.operation_attempts,
        wire.operation_reprompts,
        wire.cause_failures,
        wire.turn_failures,
        wire.turn_retries,
        wire.turn_reprompts,
        wire.preconditions,
        wire.tool_calls,
        wire.turn_calls,
        wire.turn_tokens,
        wire.turn_elapsed,
    ]
    .map(|budget| budget.unwrap().used);
    assert_eq!(used, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
    assert_eq!(wire.turn_calls.unwrap().limit, Some(109));
    assert_eq!(wire.turn_elapsed.unwrap().limit, None);
}

#[test]
fn an_admission_without_a_verdict_has_none() {
    let admission = Admission {
        admitted: true,
        replayed: false,
        verdict: None,
        idempotency_key: "key".into(),
        result: None,
        budgets: Budgets::default(),
        attempt: 2,
        dead_letter_id: None,
    };
    let wire = proto::AdmitResponse::from(admission);
    assert!(wire.admitted && wire.verdict.is_none() && wire.result.is_none());
    assert_eq!((wire.attempt, wire.dead_letter_id.as_str()), (2, ""));
}

#[test]
fn the_end_of_a_turn_keeps_its_numbers() {
    let end = EndOfTurn {
        summary: TurnSummary {
            calls: 1,
            failures: 2,
            retries: 3,
            reprompts: 4,
            recoveries: 5,
            unresolved_operations: vec!["o".into()],
            tokens_wasted: 6,
            silent: true,
        },
        replayed: true,
        dead_letter_id: Some("letter".into()),
    };
    let wire = proto::EndTurnResponse::from(end);
    let expected = proto::TurnSummary {
        calls: 1,
        failures: 2,
        retries: 3,
        reprompts: 4,
        recoveries: 5,
        unresolved_operations: vec!["o".into()],
        tokens_wasted: 6,
        silent: true,
    };
    assert_eq!(wire.summary, Some(expected));
    assert!(wire.replayed);
    assert_eq!(wire.dead_letter_id, "letter");
}
