//! Why the oracle could not answer; each maps to one gRPC code at the edge.

use crate::letters::LetterStoreError;
use crate::store::StoreError;
use crate::turn::RequestIdReused;

/// Why the oracle could not answer.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The same `request_id` came with another request.
    #[error(
        "request_id `{request_id}` was used for another request of this turn ({detail}); use a fresh one for each"
    )]
    RequestIdReused {
        /// The id.
        request_id: String,
        /// What it was used for.
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
    #[error("dead letter `{id}` is not known to this tenant")]
    LetterNotFound {
        /// The letter asked for.
        id: String,
    },
    /// The dead-letter store cannot be read.
    #[error("the dead-letter store cannot be read: {0}")]
    Letters(String),
    /// The turn store is away.
    #[error("{0}")]
    Store(String),
}

impl From<RequestIdReused> for OracleError {
    fn from(reused: RequestIdReused) -> Self {
        OracleError::RequestIdReused {
            request_id: reused.request_id.to_string(),
            detail: reused.earlier,
        }
    }
}

impl From<LetterStoreError> for OracleError {
    fn from(error: LetterStoreError) -> Self {
        OracleError::Letters(error.to_string())
    }
}

impl From<StoreError> for OracleError {
    fn from(error: StoreError) -> Self {
        OracleError::Store(error.to_string())
    }
}
