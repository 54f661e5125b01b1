//! Every field of every request, at its bounds and beyond.

use std::time::Duration;

use super::requests::*;
use super::{Faults, FieldFault};
use crate::domain::{Effect, Execution, Origin, Outcome, Timestamp};
use crate::server::proto;

const NOW: Timestamp = Timestamp::from_secs(1_000);

fn judge() -> proto::JudgeRequest {
    proto::JudgeRequest {
        turn_id: "t".into(),
        operation_id: "o".into(),
        attempt: 1,
        tool: "pay".into(),
        failure: Some(proto::Failure::default()),
        ..proto::JudgeRequest::default()
    }
}

fn admit() -> proto::AdmitRequest {
    proto::AdmitRequest {
        turn_id: "t".into(),
        operation_id: "o".into(),
        attempt: 1,
        tool: "pay".into(),
        ..proto::AdmitRequest::default()
    }
}

fn success() -> proto::ReportSuccessRequest {
    proto::ReportSuccessRequest {
        turn_id: "t".into(),
        operation_id: "o".into(),
        attempt: 1,
        tool: "pay".into(),
        ..proto::ReportSuccessRequest::default()
    }
}

fn end() -> proto::EndTurnRequest {
    proto::EndTurnRequest {
        turn_id: "t".into(),
        outcome: proto::Outcome::Succeeded as i32,
        ..proto::EndTurnRequest::default()
    }
}

fn fields<T>(result: Result<T, Faults>) -> Vec<String> {
    let faults = result.err().map(|faults| faults.0).unwrap_or_default();
    faults
        .into_iter()
        .map(|FieldFault { field, .. }| field)
        .collect()
}

fn duration(seconds: i64, nanos: i32) -> Option<prost_types::Duration> {
    Some(prost_types::Duration { seconds, nanos })
}

fn time(seconds: i64, nanos: i32) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp { seconds, nanos })
}

type Change<T> = (&'static str, fn(&mut T));

/// Each change alone spoils exactly the field that it is named after.
fn each_spoils<T, R>(
    good: impl Fn() -> T,
    read: impl Fn(T) -> Result<R, Faults>,
    changes: &[Change<T>],
) {
    assert_eq!(
        fields(read(good())),
        Vec::<String>::new(),
        "the good request"
    );
    for (position, (field, change)) in changes.iter().enumerate() {
        let mut request = good();
        change(&mut request);
        assert_eq!(fields(read(request)), [*field], "change {position}");
    }
}

#[test]
fn bad_fields_of_judge() {
    each_spoils(
        judge,
        |request| judge_request(request, NOW),
        &[
            ("turn_id", |r| r.turn_id.clear()),
            ("turn_id", |r| r.turn_id = "t".repeat(257)),
            ("turn_id", |r| r.turn_id = "ä".repeat(129)),
            ("turn_id", |r| r.turn_id = "t\n".into()),
            ("turn_id", |r| r.turn_id = "t\u{0}".into()),
            ("turn_id", |r| r.turn_id = "t\u{85}".into()),
            ("operation_id", |r| r.operation_id.clear()),
            ("operation_id", |r| r.operation_id = "o".repeat(257)),
            ("operation_id", |r| r.operation_id = "o\u{7f}".into()),
            ("attempt", |r| r.attempt = 1_000_001),
            ("tool", |r| r.tool.clear()),
            ("tool", |r| r.tool = "x".repeat(257)),
            ("tool", |r| r.tool = "a\tb".into()),
            ("origin", |r| r.origin = 99),
            ("origin", |r| r.origin = -1),
            ("failure", |r| r.failure = None),
            ("failure.http_status", |r| failure(r).http_status = 99),
            ("failure.http_status", |r| failure(r).http_status = 1_000),
            ("failure.http_status", |r| failure(r).http_status = 65_736),
            ("failure.execution", |r| failure(r).execution = 77),
            ("failure.headers", |r| {
                failure(r).headers = (0..201).map(|n| (format!("h{n}"), String::new())).collect();
            }),
            ("effect", |r| r.effect = 42),
            ("approval_id", |r| r.approval_id = "a".repeat(257)),
            ("approval_id", |r| r.approval_id = "a\r".into()),
            ("lesson", |r| r.lesson = "l".repeat(65_537)),
            ("idempotency_key", |r| r.idempotency_key = "k".repeat(257)),
            ("idempotency_key", |r| r.idempotency_key = "k\n".into()),
            ("worker_id", |r| r.worker_id = "w".repeat(257)),
            ("request_id", |r| r.request_id = "r".repeat(257)),
            ("deadline", |r| r.deadline = time(0, -1)),
            ("deadline", |r| r.deadline = time(i64::MAX, 0)),
            ("time_left", |r| r.time_left = duration(0, 1_000_000_000)),
            ("time_left", |r| r.time_left = duration(i64::MAX, 0)),
            ("elapsed", |r| r.elapsed = duration(0, -1)),
            ("tries", |r| r.tries = 1_001),
            ("tokens_spent", |r| r.tokens_spent = u64::MAX),
        ],
    );
}

fn failure(request: &mut proto::JudgeRequest) -> &mut proto::Failure {
    request.failure.as_mut().unwrap()
}

#[test]
fn bad_fields_of_admit() {
    each_spoils(
        admit,
        |request| admit_request(request, NOW),
        &[
            ("turn_id", |r| r.turn_id.clear()),
            ("operation_id", |r| r.operation_id.clear()),
            ("attempt", |r| r.attempt = u32::MAX),
            ("tool", |r| r.tool.clear()),
            ("origin", |r| r.origin = 3),
            ("effect", |r| r.effect = -7),
            ("depth", |r| r.depth = 1_001),
            ("approval_id", |r| r.approval_id = "a".repeat(257)),
            ("idempotency_key", |r| r.idempotency_key = "k".repeat(257)),
            ("worker_id", |r| r.worker_id = "w\n".into()),
            ("deadline", |r| r.deadline = time(0, 1_000_000_000)),
            ("time_left", |r| r.time_left = duration(1, -1)),
            ("request_id", |r| r.request_id = "r".repeat(257)),
        ],
    );
}

#[test]
fn bad_fields_of_report_success() {
    each_spoils(
        success,
        success_report,
        &[
            ("turn_id", |r| r.turn_id.clear()),
            ("operation_id", |r| r.operation_id.clear()),
            ("attempt", |r| r.attempt = 1_000_001),
            ("tool", |r| r.tool.clear()),
            ("origin", |r| r.origin = 3),
            ("effect", |r| r.effect = 9),
            ("elapsed", |r| r.elapsed = duration(-1, 0)),
            ("tokens_spent", |r| r.tokens_spent = 1_000_000_000_001),
            ("result", |r| r.result = Some("x".repeat(65_537))),
            ("idempotency_key", |r| r.idempotency_key = "k".repeat(257)),
            ("worker_id", |r| r.worker_id = "w".repeat(257)),
            ("request_id", |r| r.request_id = "r".repeat(257)),
        ],
    );
}

#[test]
fn bad_fields_of_the_other_requests() {
    each_spoils(
        end,
        end_turn_request,
        &[
            ("turn_id", |r| r.turn_id.clear()),
            ("outcome", |r| r.outcome = 0),
            ("outcome", |r| r.outcome = 9),
            ("tokens_spent", |r| r.tokens_spent = u64::MAX),
            ("request_id", |r| r.request_id = "r\u{1}".into()),
        ],
    );
    each_spoils(
        || proto::ExplainRequest {
            failure: Some(proto::Failure::default()),
            ..proto::ExplainRequest::default()
        },
        explain_request,
        &[
            ("failure", |r| r.failure = None),
            ("failure.http_status", |r| {
                r.failure.as_mut().unwrap().http_status = 7
            }),
            ("tool", |r| r.tool = "x".repeat(257)),
            ("origin", |r| r.origin = 9),
            ("request_id", |r| r.request_id = "r".repeat(257)),
        ],
    );
    each_spoils(
        || proto::GetTurnRequest {
            turn_id: "t".into(),
            ..proto::GetTurnRequest::default()
        },
        turn_id,
        &[
            ("turn_id", |r| r.turn_id.clear()),
            ("request_id", |r| r.request_id = "\u{0}".into()),
        ],
    );
    each_spoils(
        || proto::GetDeadLetterRequest {
            id: "l".into(),
            ..proto::GetDeadLetterRequest::default()
        },
        dead_letter_id,
        &[
            ("id", |r| r.id.clear()),
            ("request_id", |r| r.request_id = "r".repeat(257)),
        ],
    );
    each_spoils(
        || proto::ValidatePolicyRequest {
            document: "mode: shadow".into(),
            ..proto::ValidatePolicyRequest::default()
        },
        policy_document,
        &[
            ("document", |r| r.document = " \n".into()),
            ("document", |r| r.document = "x".repeat(1_048_577)),
            ("request_id", |r| r.request_id = "r".repeat(257)),
        ],
    );
}

#[test]
fn all_bad_fields_are_named_at_once() {
    let request = proto::JudgeRequest {
        origin: 9,
        effect: 9,
        tries: 9_999,
        attempt: 9_999_999,
        tokens_spent: u64::MAX,
        lesson: "l".repeat(70_000),
        approval_id: "\n".into(),
        idempotency_key: "\n".into(),
        worker_id: "\n".into(),
        request_id: "\n".into(),
        deadline: time(0, -1),
        time_left: duration(1, -1),
        elapsed: duration(-1, 0),
        ..proto::JudgeRequest::default()
    };
    let mut named = fields(judge_request(request, NOW));
    named.sort();
    assert_eq!(
        named,
        [
            "approval_id",
            "attempt",
            "deadline",
            "effect",
            "elapsed",
            "failure",
            "idempotency_key",
            "lesson",
            "operation_id",
            "origin",
            "request_id",
            "time_left",
            "tokens_spent",
            "tool",
            "tries",
            "turn_id",
            "worker_id"
        ]
    );
}

#[test]
fn values_at_their_bounds_are_taken() {
    let longest = "x".repeat(256);
    let request = proto::JudgeRequest {
        turn_id: longest.clone(),
        operation_id: longest.clone(),
        attempt: 1_000_000,
        tool: longest.clone(),
        approval_id: longest.clone(),
        idempotency_key: longest.clone(),
        worker_id: longest.clone(),
        request_id: longest.clone(),
        lesson: "l".repeat(65_536),
        tries: 1_000,
        tokens_spent: 1_000_000_000_000,
        input: Some("i".repeat(1_000_000)),
        failure: Some(proto::Failure {
            http_status: 999,
            headers: (0..200).map(|n| (format!("h{n}"), String::new())).collect(),
            ..proto::Failure::default()
        }),
        ..judge()
    };
    let asked = judge_request(request, NOW).unwrap();
    assert_eq!(&*asked.turn_id, longest);
    assert_eq!(asked.request.failure.headers.len(), 200);
}

#[test]
fn what_is_not_said_is_absent() {
    let asked = judge_request(judge(), NOW).unwrap().request;
    let call = asked.call;
    assert_eq!(
        (call.origin, call.effect, call.deadline),
        (Origin::Tool, None, None)
    );
    assert_eq!(
        (call.approval_id, call.idempotency_key, call.worker_id),
        (None, None, None)
    );
    assert_eq!((call.input, call.request_id), (None, None));
    assert_eq!((asked.lesson, asked.elapsed, asked.tries), (None, None, 1));
    let failure = asked.failure;
    assert_eq!(
        (failure.http_status, failure.exit_code, failure.execution),
        (None, None, None)
    );
    let report = success_report(success()).unwrap().request;
    assert_eq!((report.result, report.elapsed), (None, None));
}

#[test]
fn what_is_said_arrives() {
    let request = proto::JudgeRequest {
        attempt: 0,
        origin: proto::Origin::Model as i32,
        effect: proto::Effect::Keyed as i32,
        input: Some(String::new()),
        lesson: "look first".into(),
        distill: true,
        elapsed: duration(1, 500_000_000),
        tries: 3,
        tokens_spent: 12,
        failure: Some(proto::Failure {
            message: "m".into(),
            exception_type: "E".into(),
            http_status: 429,
            grpc_code: "14".into(),
            code: "c".into(),
            headers: [("Retry-After".into(), "2".into()), ("A".into(), "1".into())].into(),
            exit_code: Some(0),
            execution: proto::Execution::Executed as i32,
            dependency: "crm".into(),
        }),
        ..judge()
    };
    let asked = judge_request(request, NOW).unwrap().request;
    assert_eq!((asked.call.attempt, asked.call.origin), (0, Origin::Model));
    assert_eq!(asked.call.effect, Some(Effect::Keyed));
    assert_eq!(
        asked.call.input.as_deref(),
        Some(""),
        "a call without arguments"
    );
    assert_eq!(asked.lesson.as_deref(), Some("look first"));
    assert!(asked.distill);
    assert_eq!(asked.elapsed, Some(Duration::from_millis(1_500)));
    assert_eq!((asked.tries, asked.tokens_spent), (3, 12));
    let failure = asked.failure;
    assert_eq!(
        (failure.http_status, failure.exit_code),
        (Some(429), Some(0))
    );
    assert_eq!(failure.execution, Some(Execution::Executed));
    assert_eq!(
        failure.headers,
        [
            ("a".to_owned(), "1".to_owned()),
            ("retry-after".to_owned(), "2".to_owned())
        ]
    );
    let request = proto::EndTurnRequest {
        outcome: proto::Outcome::Degraded as i32,
        disclosed: true,
        ..end()
    };
    let asked = end_turn_request(request).unwrap().request;
    assert_eq!((asked.outcome, asked.disclosed), (Outcome::Degraded, true));
}

#[test]
fn a_model_need_not_be_named() {
    for (tool, expected) in [("", "model"), ("gpt", "gpt")] {
        let request = proto::JudgeRequest {
            origin: proto::Origin::Model as i32,
            tool: tool.into(),
            ..judge()
        };
        assert_eq!(
            &*judge_request(request, NOW).unwrap().request.call.tool,
            expected
        );
    }
}

#[test]
fn the_earlier_deadline_counts() {
    let at = |seconds: u64| Some(Timestamp::from_secs(seconds));
    for (deadline, time_left, expected) in [
        (None, None, None),
        (time(1_010, 0), None, at(1_010)),
        (None, duration(10, 0), at(1_010)),
        (time(1_005, 0), duration(10, 0), at(1_005)),
        (time(1_015, 0), duration(10, 0), at(1_010)),
        (time(5, 0), duration(10, 0), at(5)),
        (time(-5, 0), None, at(0)),
        (None, duration(0, 0), at(1_000)),
        (None, duration(-3, 0), at(1_000)),
    ] {
        let request = proto::JudgeRequest {
            deadline,
            time_left,
            ..judge()
        };
        assert_eq!(
            judge_request(request, NOW).unwrap().request.call.deadline,
            expected
        );
        let request = proto::AdmitRequest {
            deadline,
            time_left,
            ..admit()
        };
        assert_eq!(
            admit_request(request, NOW).unwrap().request.call.deadline,
            expected
        );
    }
}
