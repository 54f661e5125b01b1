//! One judgement from end to end: policy, reading, turn, dead letter, metrics.
use std::sync::Arc;

use crate::domain::{
    Admission, AdmitRequest, Classification, DeadLetter, EndOfTurn, EndTurnRequest, Failure,
    JudgeRequest, Judgement, Origin, SuccessReceipt, SuccessReport, TurnView,
};
use crate::policy::Policy;

/// Why the oracle could not answer; each maps to one gRPC code at the edge.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The same `request_id` came with another request.
    #[error("request_id `{request_id}` was used for another request of this turn: {detail}")]
    RequestIdReused {
        /// The id.
        request_id: String,
        /// What differs.
        detail: String,
    },
    /// No such turn, or it is gone.
    #[error(
        "turn `{turn_id}` is not known: it was never opened, or it ended or idled out more than 15 minutes ago"
    )]
    TurnNotFound {
        /// The turn asked for.
        turn_id: String,
    },
    /// No such letter.
    #[error("dead letter `{id}` is not known")]
    LetterNotFound {
        /// The letter asked for.
        id: String,
    },
    /// The dead-letter store cannot be read.
    #[error("the dead-letter store cannot be read: {0}")]
    Letters(String),
    /// The turn store is away.
    #[error("the turn store is away: {0}")]
    Store(String),
}

/// The oracle: shared by all connections.
#[derive(Debug)]
pub struct Oracle {}

impl Oracle {
    pub async fn admit(
        &self,
        tenant: &str,
        turn_id: &str,
        request: AdmitRequest,
    ) -> Result<Admission, OracleError> {
        todo!("{tenant}{turn_id}{request:?}")
    }
    pub async fn judge(
        &self,
        tenant: &str,
        turn_id: &str,
        request: JudgeRequest,
    ) -> Result<Judgement, OracleError> {
        todo!("{tenant}{turn_id}{request:?}")
    }
    pub async fn report_success(
        &self,
        tenant: &str,
        turn_id: &str,
        request: SuccessReport,
    ) -> Result<SuccessReceipt, OracleError> {
        todo!("{tenant}{turn_id}{request:?}")
    }
    pub async fn end_turn(
        &self,
        tenant: &str,
        turn_id: &str,
        request: EndTurnRequest,
    ) -> Result<EndOfTurn, OracleError> {
        todo!("{tenant}{turn_id}{request:?}")
    }
    pub fn explain(&self, failure: &Failure, tool: &str, origin: Origin) -> Classification {
        todo!("{failure:?}{tool}{origin:?}")
    }
    pub async fn turn(&self, tenant: &str, turn_id: &str) -> Result<TurnView, OracleError> {
        todo!("{tenant}{turn_id}")
    }
    pub async fn dead_letter(&self, tenant: &str, id: &str) -> Result<DeadLetter, OracleError> {
        todo!("{tenant}{id}")
    }
    pub fn policy(&self) -> Arc<Policy> {
        todo!()
    }
}
