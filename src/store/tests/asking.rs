//! Requests to a turn, without an oracle: the classification is given.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crate::causes::classify_cause;
use crate::domain::*;
use crate::policy::Policy;
use crate::turn::{Answered, Heard, Moment, Tool, Turn};

pub(super) fn policy() -> Arc<Policy> {
    static POLICY: OnceLock<Arc<Policy>> = OnceLock::new();
    let parse = || {
        Arc::new(parsed(
            "
tools:
  read: {effect: idempotent, dependency: files}
  charge: {effect: keyed, dependency: payments}
  send: {effect: unsafe}
  research: {effect: idempotent, expensive: true}
",
        ))
    };
    POLICY.get_or_init(parse).clone()
}

pub(super) fn parsed(text: &str) -> Policy {
    Policy::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

pub(super) fn moment(policy: &Policy, now: Timestamp, seed: u64) -> Moment<'_> {
    Moment { policy, now, seed }
}

pub(super) fn ask(operation: &str, tool: &str) -> Call {
    Call {
        operation_id: operation.into(),
        attempt: 1,
        tool: tool.into(),
        origin: Origin::Tool,
        effect: None,
        input: None,
        approval_id: None,
        idempotency_key: None,
        worker_id: None,
        deadline: None,
        request_id: None,
    }
}

/// One more operation of the tool succeeds; gives the calls of the turn.
pub(super) fn succeed(turn: &mut Turn, moment: &Moment<'_>, tool: &str) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let operation = format!("step-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    report(turn, moment, &ask(&operation, tool))
}

/// Says again what was said before, so that the turn is active and does not grow.
pub(super) fn touch(turn: &mut Turn, moment: &Moment<'_>) {
    report(turn, moment, &ask("again", "read"));
}

fn report(turn: &mut Turn, moment: &Moment<'_>, call: &Call) -> u64 {
    let tool = Tool::of(moment.policy, call.tool.clone(), Origin::Tool);
    let report = SuccessReport {
        call: call.clone(),
        elapsed: None,
        tokens_spent: 0,
        result: None,
    };
    let answered = turn.report_success(moment, &tool, &report, None);
    answered.answer.expect("is taken").budgets.turn_calls.used
}

pub(super) fn admit(turn: &mut Turn, moment: &Moment<'_>, call: &Call) -> Admission {
    let tool = Tool::of(moment.policy, call.tool.clone(), call.origin);
    let request = AdmitRequest {
        call: call.clone(),
        depth: 0,
    };
    let answered = turn.admit(moment, &tool, &request, None);
    answered.answer.expect("is answered")
}

/// A failed attempt, ready to be judged.
pub(super) struct Failed {
    tool: Tool,
    request: JudgeRequest,
    classification: Classification,
}

pub(super) fn failed(policy: &Policy, call: Call, kind: Kind) -> Failed {
    failed_with(policy, call, kind, None)
}

pub(super) fn failed_with(
    policy: &Policy,
    call: Call,
    kind: Kind,
    word: Option<Execution>,
) -> Failed {
    let tool = Tool::of(policy, call.tool.clone(), call.origin);
    let failure = Failure {
        message: format!("{kind} of {}", call.operation_id),
        execution: word,
        ..Failure::default()
    };
    let reading = Reading {
        kind,
        execution: word.unwrap_or(kind.usual_execution()),
        vouched: word.is_some(),
        rule: "test".into(),
        evidence: String::new(),
        source: EvidenceSource::Text,
        confidence: 1.0,
        retry_after: None,
        server_says_no: false,
        dependency: None,
        reference: None,
        fingerprint: Fingerprint(7),
    };
    let classification = classify_cause(policy, tool.charged(), &failure, reading);
    Failed {
        tool,
        request: JudgeRequest {
            // Two operations that go wrong alike are told different things.
            lesson: Some(format!("Look at step {} again.", call.operation_id)),
            call,
            failure,
            distill: false,
            elapsed: None,
            tries: 1,
            tokens_spent: 0,
        },
        classification,
    }
}

pub(super) fn judge(turn: &mut Turn, moment: &Moment<'_>, failed: &Failed) -> Answered<Judgement> {
    let heard = Heard {
        request: &failed.request,
        classification: failed.classification.clone(),
        digest: None,
    };
    turn.judge(moment, &failed.tool, &heard)
}

/// The turn has sent something and nobody knows whether it arrived.
pub(super) fn send_into_the_dark(turn: &mut Turn, now: Timestamp) {
    let policy = policy();
    let failed = failed(&policy, ask("send-it", "send"), Kind::Timeout);
    let judged = judge(turn, &moment(&policy, now, 1), &failed).answer;
    let verdict = judged.expect("is judged").verdict;
    assert_eq!(verdict.reason, Reason::OutcomeUnknown);
    assert!(turn.has_unknown_outcome());
}

/// Somebody has looked: it did not arrive.
pub(super) fn settle(turn: &mut Turn, now: Timestamp) {
    let policy = policy();
    let word = Some(Execution::NotExecuted);
    let failed = failed_with(&policy, ask("send-it", "send"), Kind::Timeout, word);
    let judged = judge(turn, &moment(&policy, now, 1), &failed).answer;
    judged.expect("is judged");
    assert!(!turn.has_unknown_outcome());
}
