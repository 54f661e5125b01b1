//! `OracleService`: what workers ask.

use std::pin::Pin;
use std::sync::Arc;

use tokio_stream::Stream;
use tonic::{Request, Response, Status, Streaming};

use super::errors::unimplemented;
use super::proto;
use super::proto::oracle_service_server::OracleService as OracleRpc;
use super::tenant::tenant_of;
use super::unary::{now, to_its_end};
use super::wire;
use crate::oracle::Oracle;

/// The workers' service over an oracle.
#[derive(Debug, Clone)]
pub struct OracleService {
    oracle: Arc<Oracle>,
}

impl OracleService {
    /// Serves `oracle`.
    pub fn new(oracle: Arc<Oracle>) -> Self {
        OracleService { oracle }
    }
}

#[tonic::async_trait]
impl OracleRpc for OracleService {
    async fn admit(
        &self,
        request: Request<proto::AdmitRequest>,
    ) -> Result<Response<proto::AdmitResponse>, Status> {
        let tenant = tenant_of(&request);
        let asked = wire::admit_request(request.into_inner(), now())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let admission = oracle.admit(tenant, &asked.turn_id, asked.request).await?;
            Ok(admission.into())
        })
        .await
    }

    async fn judge(
        &self,
        request: Request<proto::JudgeRequest>,
    ) -> Result<Response<proto::JudgeResponse>, Status> {
        let tenant = tenant_of(&request);
        let asked = wire::judge_request(request.into_inner(), now())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let judgement = oracle.judge(tenant, &asked.turn_id, asked.request).await?;
            Ok(judgement.into())
        })
        .await
    }

    async fn report_success(
        &self,
        request: Request<proto::ReportSuccessRequest>,
    ) -> Result<Response<proto::ReportSuccessResponse>, Status> {
        let tenant = tenant_of(&request);
        let asked = wire::success_report(request.into_inner())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let receipt = oracle
                .report_success(tenant, &asked.turn_id, asked.request)
                .await?;
            Ok(receipt.into())
        })
        .await
    }

    async fn end_turn(
        &self,
        request: Request<proto::EndTurnRequest>,
    ) -> Result<Response<proto::EndTurnResponse>, Status> {
        let tenant = tenant_of(&request);
        let asked = wire::end_turn_request(request.into_inner())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let end = oracle
                .end_turn(tenant, &asked.turn_id, asked.request)
                .await?;
            Ok(end.into())
        })
        .await
    }

    async fn explain(
        &self,
        request: Request<proto::ExplainRequest>,
    ) -> Result<Response<proto::ExplainResponse>, Status> {
        let (failure, tool, origin) = wire::explain_request(request.into_inner())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let classification = oracle.explain(&failure, &tool, origin);
            Ok(proto::ExplainResponse {
                classification: Some(classification.into()),
            })
        })
        .await
    }

    async fn register_tools(
        &self,
        _request: Request<proto::RegisterToolsRequest>,
    ) -> Result<Response<proto::RegisterToolsResponse>, Status> {
        Err(unimplemented("OracleService.RegisterTools"))
    }

    async fn judge_batch(
        &self,
        _request: Request<proto::JudgeBatchRequest>,
    ) -> Result<Response<proto::JudgeBatchResponse>, Status> {
        Err(unimplemented("OracleService.JudgeBatch"))
    }

    type ConverseStream =
        Pin<Box<dyn Stream<Item = Result<proto::ConverseResponse, Status>> + Send + 'static>>;

    async fn converse(
        &self,
        _request: Request<Streaming<proto::ConverseRequest>>,
    ) -> Result<Response<Self::ConverseStream>, Status> {
        Err(unimplemented("OracleService.Converse"))
    }
}
