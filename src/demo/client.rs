//! The oracle as the demo's worker sees it: four questions, in the words of the domain.

use std::future::Future;

use crate::domain::{
    AdmitRequest, EndTurnRequest, JudgeRequest, SuccessReport, TurnSummary, Verdict,
};

/// What a worker needs of Admit's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Admitted {
    /// Whether the call may go out.
    pub admitted: bool,
    /// The key that it carries.
    pub idempotency_key: String,
    /// Why not.
    pub verdict: Option<Verdict>,
}

/// What a worker needs of Judge's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// What to do.
    pub verdict: Verdict,
    /// Where the stop was parked.
    pub dead_letter_id: Option<String>,
}

/// A connection to an oracle that runs with [`super::POLICY`].
pub trait OracleClient {
    /// Why a request failed.
    type Error: std::error::Error + 'static;

    /// May this call go out?
    fn admit(
        &self,
        turn_id: &str,
        request: AdmitRequest,
    ) -> impl Future<Output = Result<Admitted, Self::Error>> + Send;

    /// This call failed; what now?
    fn judge(
        &self,
        turn_id: &str,
        request: JudgeRequest,
    ) -> impl Future<Output = Result<Judged, Self::Error>> + Send;

    /// This call succeeded.
    fn report_success(
        &self,
        turn_id: &str,
        request: SuccessReport,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// The turn is over.
    fn end_turn(
        &self,
        turn_id: &str,
        request: EndTurnRequest,
    ) -> impl Future<Output = Result<TurnSummary, Self::Error>> + Send;
}
