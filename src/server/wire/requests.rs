//! Requests, from messages to the domain.
//!
//! An empty string is an absent one, but for `input` and `result`, whose presence is on the wire: a call without
//! arguments is not a call whose arguments were not sent.

use std::sync::Arc;

use super::faults::{Faults, MAX_TOKENS};
use crate::domain::{
    AdmitRequest, Call, EndTurnRequest, Failure, JudgeRequest, Origin, Outcome, SuccessReport,
    Timestamp,
};
use crate::server::proto;

const MAX_ATTEMPT: u64 = 1_000_000;
const MAX_TRIES: u64 = 1_000;
const MAX_DEPTH: u64 = 1_000;
const MAX_HEADERS: u64 = 200;
const MAX_POLICY_BYTES: usize = 1024 * 1024;
/// What a model is called that the worker does not name.
const UNNAMED_MODEL: &str = "model";

/// A request with the turn that it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Addressed<T> {
    /// The turn, 1 to 256 bytes.
    pub(crate) turn_id: Arc<str>,
    /// What is asked of it.
    pub(crate) request: T,
}

/// Admit; `now` is the time of receipt, from which `time_left` counts.
pub(crate) fn admit_request(
    wire: proto::AdmitRequest,
    now: Timestamp,
) -> Result<Addressed<AdmitRequest>, Faults> {
    let mut faults = Faults::default();
    let turn_id = faults.required_id("turn_id", wire.turn_id);
    let operation_id = faults.required_id("operation_id", wire.operation_id);
    let (origin, tool) = step(&mut faults, wire.origin, wire.tool);
    faults.at_most("attempt", wire.attempt.into(), MAX_ATTEMPT);
    faults.at_most("depth", wire.depth.into(), MAX_DEPTH);
    let call = Call {
        operation_id,
        attempt: wire.attempt,
        tool,
        origin,
        effect: faults.enum_value("effect", wire.effect),
        input: wire.input.map(Into::into),
        approval_id: faults.optional_id("approval_id", wire.approval_id),
        idempotency_key: faults.optional_id("idempotency_key", wire.idempotency_key),
        worker_id: faults.optional_id("worker_id", wire.worker_id),
        deadline: deadline(&mut faults, wire.deadline, wire.time_left, now),
        request_id: faults.optional_id("request_id", wire.request_id),
    };
    faults.accept(Addressed {
        turn_id,
        request: AdmitRequest {
            call,
            depth: wire.depth,
        },
    })
}

/// Judge; `now` is the time of receipt, from which `time_left` counts.
pub(crate) fn judge_request(
    wire: proto::JudgeRequest,
    now: Timestamp,
) -> Result<Addressed<JudgeRequest>, Faults> {
    let mut faults = Faults::default();
    let turn_id = faults.required_id("turn_id", wire.turn_id);
    let operation_id = faults.required_id("operation_id", wire.operation_id);
    let (origin, tool) = step(&mut faults, wire.origin, wire.tool);
    faults.at_most("attempt", wire.attempt.into(), MAX_ATTEMPT);
    faults.at_most("tries", wire.tries.into(), MAX_TRIES);
    faults.at_most("tokens_spent", wire.tokens_spent, MAX_TOKENS);
    faults.check_text("lesson", &wire.lesson);
    let call = Call {
        operation_id,
        attempt: wire.attempt,
        tool,
        origin,
        effect: faults.enum_value("effect", wire.effect),
        input: wire.input.map(Into::into),
        approval_id: faults.optional_id("approval_id", wire.approval_id),
        idempotency_key: faults.optional_id("idempotency_key", wire.idempotency_key),
        worker_id: faults.optional_id("worker_id", wire.worker_id),
        deadline: deadline(&mut faults, wire.deadline, wire.time_left, now),
        request_id: faults.optional_id("request_id", wire.request_id),
    };
    let request = JudgeRequest {
        call,
        failure: failure(&mut faults, wire.failure),
        lesson: Some(wire.lesson).filter(|lesson| !lesson.trim().is_empty()),
        distill: wire.distill,
        elapsed: faults.duration("elapsed", wire.elapsed),
        tries: wire.tries.max(1),
        tokens_spent: wire.tokens_spent,
    };
    faults.accept(Addressed { turn_id, request })
}

/// ReportSuccess.
pub(crate) fn success_report(
    wire: proto::ReportSuccessRequest,
) -> Result<Addressed<SuccessReport>, Faults> {
    let mut faults = Faults::default();
    let turn_id = faults.required_id("turn_id", wire.turn_id);
    let operation_id = faults.required_id("operation_id", wire.operation_id);
    let (origin, tool) = step(&mut faults, wire.origin, wire.tool);
    faults.at_most("attempt", wire.attempt.into(), MAX_ATTEMPT);
    faults.at_most("tokens_spent", wire.tokens_spent, MAX_TOKENS);
    faults.check_text("result", wire.result.as_deref().unwrap_or_default());
    let call = Call {
        operation_id,
        attempt: wire.attempt,
        tool,
        origin,
        effect: faults.enum_value("effect", wire.effect),
        input: wire.input.map(Into::into),
        approval_id: None,
        idempotency_key: faults.optional_id("idempotency_key", wire.idempotency_key),
        worker_id: faults.optional_id("worker_id", wire.worker_id),
        deadline: None,
        request_id: faults.optional_id("request_id", wire.request_id),
    };
    let request = SuccessReport {
        call,
        elapsed: faults.duration("elapsed", wire.elapsed),
        tokens_spent: wire.tokens_spent,
        result: wire.result.map(Into::into),
    };
    faults.accept(Addressed { turn_id, request })
}

/// EndTurn.
pub(crate) fn end_turn_request(
    wire: proto::EndTurnRequest,
) -> Result<Addressed<EndTurnRequest>, Faults> {
    let mut faults = Faults::default();
    let turn_id = faults.required_id("turn_id", wire.turn_id);
    faults.at_most("tokens_spent", wire.tokens_spent, MAX_TOKENS);
    if wire.outcome == proto::Outcome::Unspecified as i32 {
        faults.add("outcome", "is required: how did the turn end?");
    }
    let request = EndTurnRequest {
        outcome: faults
            .enum_value("outcome", wire.outcome)
            .unwrap_or(Outcome::Failed),
        disclosed: wire.disclosed,
        tokens_spent: wire.tokens_spent,
        request_id: faults.optional_id("request_id", wire.request_id),
    };
    faults.accept(Addressed { turn_id, request })
}

/// Explain: the failure, the tool's name (empty where it is not known) and the step. The request id is checked and
/// dropped, since the answer is a pure function of the request.
pub(crate) fn explain_request(
    wire: proto::ExplainRequest,
) -> Result<(Failure, Arc<str>, Origin), Faults> {
    let mut faults = Faults::default();
    let failure = failure(&mut faults, wire.failure);
    let tool = faults.optional_id("tool", wire.tool).unwrap_or_default();
    let origin = faults
        .enum_value("origin", wire.origin)
        .unwrap_or(Origin::Tool);
    faults.optional_id("request_id", wire.request_id);
    faults.accept((failure, tool, origin))
}

/// The turn that an operator asks for.
pub(crate) fn turn_id(wire: proto::GetTurnRequest) -> Result<Arc<str>, Faults> {
    let mut faults = Faults::default();
    let turn_id = faults.required_id("turn_id", wire.turn_id);
    faults.optional_id("request_id", wire.request_id);
    faults.accept(turn_id)
}

/// The letter that somebody asks for.
pub(crate) fn dead_letter_id(wire: proto::GetDeadLetterRequest) -> Result<Arc<str>, Faults> {
    let mut faults = Faults::default();
    let id = faults.required_id("id", wire.id);
    faults.optional_id("request_id", wire.request_id);
    faults.accept(id)
}

/// The policy document that is to be checked.
pub(crate) fn policy_document(wire: proto::ValidatePolicyRequest) -> Result<String, Faults> {
    let mut faults = Faults::default();
    if wire.document.trim().is_empty() {
        faults.add("document", "is required: a policy in YAML");
    }
    if wire.document.len() > MAX_POLICY_BYTES {
        faults.add("document", "is longer than 1 MiB");
    }
    faults.optional_id("request_id", wire.request_id);
    faults.accept(wire.document)
}

/// Which step it is, and its tool's or model's name.
fn step(faults: &mut Faults, origin: i32, tool: String) -> (Origin, Arc<str>) {
    let origin = faults.enum_value("origin", origin).unwrap_or(Origin::Tool);
    let tool = match origin {
        Origin::Tool => faults.required_id("tool", tool),
        Origin::Model => faults
            .optional_id("tool", tool)
            .unwrap_or_else(|| UNNAMED_MODEL.into()),
    };
    (origin, tool)
}

/// The earlier of the two ways to say until when an answer is of use.
fn deadline(
    faults: &mut Faults,
    deadline: Option<prost_types::Timestamp>,
    time_left: Option<prost_types::Duration>,
    now: Timestamp,
) -> Option<Timestamp> {
    let stated = faults.timestamp("deadline", deadline);
    // A worker that subtracts two times may come out below zero: its time is over, which is no bad request.
    let counted = if time_left.is_some_and(|left| left.seconds < 0) {
        Some(now)
    } else {
        faults
            .duration("time_left", time_left)
            .map(|left| now.plus(left))
    };
    match (stated, counted) {
        (Some(stated), Some(counted)) => Some(stated.min(counted)),
        (stated, counted) => stated.or(counted),
    }
}

fn failure(faults: &mut Faults, wire: Option<proto::Failure>) -> Failure {
    let Some(wire) = wire else {
        faults.add("failure", "is required: what failed?");
        return Failure::default();
    };
    let http_status = match (wire.http_status, u16::try_from(wire.http_status)) {
        (0, _) => None,
        (_, Ok(status @ 100..=999)) => Some(status),
        (status, _) => {
            faults.add(
                "failure.http_status",
                format!(
                    "is {status}; HTTP statuses are 100 to 999, and 0 says that there was none"
                ),
            );
            None
        }
    };
    let headers = wire.headers.len().try_into().unwrap_or(u64::MAX);
    faults.at_most("failure.headers", headers, MAX_HEADERS);
    Failure {
        message: wire.message,
        exception_type: wire.exception_type,
        http_status,
        grpc_code: wire.grpc_code,
        code: wire.code,
        headers: sorted_headers(wire.headers),
        exit_code: wire.exit_code,
        execution: faults.enum_value("failure.execution", wire.execution),
        dependency: wire.dependency,
    }
}

/// In lower case and a fixed order, since a map on the wire has none and a reading must not depend on chance.
fn sorted_headers(headers: impl IntoIterator<Item = (String, String)>) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = headers
        .into_iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value))
        .collect();
    headers.sort_unstable();
    headers
}
