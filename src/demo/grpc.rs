//! The demo's worker over gRPC: a client that any worker could have, speaking the words of the domain.

use std::sync::Arc;
use std::time::Duration;

use tonic::Status;
use tonic::transport::Channel;

use super::{Admitted, Judged, OracleClient};
use crate::domain::{
    Action, AdmitRequest, Call, EndTurnRequest, Failure, JudgeRequest, Reason, SuccessReport,
    TurnSummary, Verdict,
};
use crate::server::proto;
use crate::server::proto::oracle_service_client::OracleServiceClient;
use crate::server::wire::WireEnum;

/// Why a request got no answer that can be used.
#[derive(Debug, thiserror::Error)]
pub enum GrpcError {
    /// The server refused or could not be reached.
    #[error("{code}: {message}", code = .0.code(), message = .0.message())]
    Status(Box<Status>),
    /// The answer lacks a part that the contract promises.
    #[error("the answer has no {0}")]
    Incomplete(&'static str),
}

impl From<Status> for GrpcError {
    fn from(status: Status) -> Self {
        GrpcError::Status(Box::new(status))
    }
}

/// A connection to a server.
#[derive(Debug, Clone)]
pub struct GrpcOracle {
    client: OracleServiceClient<Channel>,
}

impl GrpcOracle {
    /// Asks over this channel.
    pub fn new(channel: Channel) -> Self {
        GrpcOracle {
            client: OracleServiceClient::new(channel),
        }
    }
}

impl OracleClient for GrpcOracle {
    type Error = GrpcError;

    async fn admit(&self, turn_id: &str, request: AdmitRequest) -> Result<Admitted, GrpcError> {
        let call = request.call;
        let request = proto::AdmitRequest {
            turn_id: turn_id.to_owned(),
            operation_id: call.operation_id.to_string(),
            attempt: call.attempt,
            tool: call.tool.to_string(),
            origin: call.origin.to_wire(),
            effect: effect(&call),
            input: input(&call),
            depth: request.depth,
            idempotency_key: text(call.idempotency_key),
            ..proto::AdmitRequest::default()
        };
        let answer = self.client.clone().admit(request).await?.into_inner();
        Ok(Admitted {
            admitted: answer.admitted,
            idempotency_key: answer.idempotency_key,
            verdict: answer.verdict.map(verdict).transpose()?,
        })
    }

    async fn judge(&self, turn_id: &str, request: JudgeRequest) -> Result<Judged, GrpcError> {
        let call = request.call;
        let request = proto::JudgeRequest {
            turn_id: turn_id.to_owned(),
            operation_id: call.operation_id.to_string(),
            attempt: call.attempt,
            tool: call.tool.to_string(),
            origin: call.origin.to_wire(),
            failure: Some(failure(request.failure)),
            effect: effect(&call),
            input: input(&call),
            idempotency_key: text(call.idempotency_key),
            tries: request.tries,
            tokens_spent: request.tokens_spent,
            ..proto::JudgeRequest::default()
        };
        let answer = self.client.clone().judge(request).await?.into_inner();
        Ok(Judged {
            verdict: verdict(answer.verdict.ok_or(GrpcError::Incomplete("verdict"))?)?,
            dead_letter_id: said(answer.dead_letter_id),
        })
    }

    async fn report_success(&self, turn_id: &str, report: SuccessReport) -> Result<(), GrpcError> {
        let call = report.call;
        let request = proto::ReportSuccessRequest {
            turn_id: turn_id.to_owned(),
            operation_id: call.operation_id.to_string(),
            attempt: call.attempt,
            tool: call.tool.to_string(),
            origin: call.origin.to_wire(),
            tokens_spent: report.tokens_spent,
            result: report.result.map(|result| result.to_string()),
            effect: effect(&call),
            input: input(&call),
            idempotency_key: text(call.idempotency_key),
            ..proto::ReportSuccessRequest::default()
        };
        self.client.clone().report_success(request).await?;
        Ok(())
    }

    async fn end_turn(
        &self,
        turn_id: &str,
        request: EndTurnRequest,
    ) -> Result<TurnSummary, GrpcError> {
        let request = proto::EndTurnRequest {
            turn_id: turn_id.to_owned(),
            outcome: request.outcome.to_wire(),
            disclosed: request.disclosed,
            tokens_spent: request.tokens_spent,
            request_id: text(request.request_id),
        };
        let answer = self.client.clone().end_turn(request).await?.into_inner();
        let summary = answer.summary.ok_or(GrpcError::Incomplete("summary"))?;
        Ok(TurnSummary {
            calls: summary.calls,
            failures: summary.failures,
            retries: summary.retries,
            reprompts: summary.reprompts,
            recoveries: summary.recoveries,
            unresolved_operations: names(summary.unresolved_operations),
            tokens_wasted: summary.tokens_wasted,
            silent: summary.silent,
        })
    }
}

fn effect(call: &Call) -> i32 {
    call.effect.map_or(0, WireEnum::to_wire)
}

fn input(call: &Call) -> Option<String> {
    call.input.as_deref().map(str::to_owned)
}

fn text(text: Option<Arc<str>>) -> String {
    text.map(|text| text.to_string()).unwrap_or_default()
}

fn failure(failure: Failure) -> proto::Failure {
    proto::Failure {
        message: failure.message,
        exception_type: failure.exception_type,
        http_status: failure.http_status.map_or(0, u32::from),
        grpc_code: failure.grpc_code,
        code: failure.code,
        headers: failure.headers.into_iter().collect(),
        exit_code: failure.exit_code,
        execution: failure.execution.map_or(0, WireEnum::to_wire),
        dependency: failure.dependency,
    }
}

/// A verdict as a careful client takes it: an action that it does not know is ESCALATE.
fn verdict(verdict: proto::Verdict) -> Result<Verdict, GrpcError> {
    Ok(Verdict {
        action: known(verdict.action).unwrap_or(Action::Escalate),
        reason: known::<Reason>(verdict.reason).ok_or(GrpcError::Incomplete("reason"))?,
        explanation: verdict.explanation,
        guidance: said(verdict.guidance),
        user_message: said(verdict.user_message),
        retry_after: verdict
            .retry_after
            .and_then(|wait| Duration::try_from(wait).ok()),
        context: known(verdict.context),
        idempotency_key: verdict.idempotency_key,
        satisfy_with: said(verdict.satisfy_with),
        check_status_with: said(verdict.check_status_with),
        forget_operations: names(verdict.forget_operations),
        escalate_to: known(verdict.escalate_to),
        stop_scope: known(verdict.stop_scope),
        closed_tools: names(verdict.closed_tools),
        shadow: verdict.shadow,
        degraded: verdict.degraded,
    })
}

fn known<E: WireEnum>(number: i32) -> Option<E> {
    E::from_wire(number).ok().flatten()
}

/// A text that is not empty.
fn said<T: for<'a> From<&'a str>>(text: String) -> Option<T> {
    (!text.is_empty()).then(|| T::from(&text))
}

fn names(names: Vec<String>) -> Vec<Arc<str>> {
    names.into_iter().map(Arc::from).collect()
}
