//! `DeadLetterService`: what people and batch jobs do with parked stops.

use std::pin::Pin;
use std::sync::Arc;

use tokio_stream::Stream;
use tonic::{Request, Response, Status};

use super::errors::unimplemented;
use super::proto;
use super::proto::dead_letter_service_server::DeadLetterService as DeadLetterRpc;
use super::tenant::tenant_of;
use super::unary::to_its_end;
use super::wire;
use crate::oracle::Oracle;

/// The letters' service over an oracle.
#[derive(Debug, Clone)]
pub struct DeadLetterService {
    oracle: Arc<Oracle>,
}

impl DeadLetterService {
    /// Serves the letters of `oracle`.
    pub fn new(oracle: Arc<Oracle>) -> Self {
        DeadLetterService { oracle }
    }
}

type Answers<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send + 'static>>;

#[tonic::async_trait]
impl DeadLetterRpc for DeadLetterService {
    async fn get_dead_letter(
        &self,
        request: Request<proto::GetDeadLetterRequest>,
    ) -> Result<Response<proto::GetDeadLetterResponse>, Status> {
        let tenant = tenant_of(&request);
        let id = wire::dead_letter_id(request.into_inner())?;
        let oracle = Arc::clone(&self.oracle);
        to_its_end(async move {
            let letter = oracle.dead_letter(tenant, &id).await?;
            Ok(proto::GetDeadLetterResponse {
                dead_letter: Some(letter.into()),
            })
        })
        .await
    }

    async fn list_dead_letters(
        &self,
        _request: Request<proto::ListDeadLettersRequest>,
    ) -> Result<Response<proto::ListDeadLettersResponse>, Status> {
        Err(unimplemented("DeadLetterService.ListDeadLetters"))
    }

    async fn resolve_dead_letter(
        &self,
        _request: Request<proto::ResolveDeadLetterRequest>,
    ) -> Result<Response<proto::ResolveDeadLetterResponse>, Status> {
        Err(unimplemented("DeadLetterService.ResolveDeadLetter"))
    }

    async fn requeue_dead_letter(
        &self,
        _request: Request<proto::RequeueDeadLetterRequest>,
    ) -> Result<Response<proto::RequeueDeadLetterResponse>, Status> {
        Err(unimplemented("DeadLetterService.RequeueDeadLetter"))
    }

    async fn claim_dead_letter(
        &self,
        _request: Request<proto::ClaimDeadLetterRequest>,
    ) -> Result<Response<proto::ClaimDeadLetterResponse>, Status> {
        Err(unimplemented("DeadLetterService.ClaimDeadLetter"))
    }

    type ExportDeadLettersStream = Answers<proto::ExportDeadLettersResponse>;

    async fn export_dead_letters(
        &self,
        _request: Request<proto::ExportDeadLettersRequest>,
    ) -> Result<Response<Self::ExportDeadLettersStream>, Status> {
        Err(unimplemented("DeadLetterService.ExportDeadLetters"))
    }

    type WatchDeadLettersStream = Answers<proto::WatchDeadLettersResponse>;

    async fn watch_dead_letters(
        &self,
        _request: Request<proto::WatchDeadLettersRequest>,
    ) -> Result<Response<Self::WatchDeadLettersStream>, Status> {
        Err(unimplemented("DeadLetterService.WatchDeadLetters"))
    }
}
