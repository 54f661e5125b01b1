//! Why the oracle could not answer; each maps to one gRPC code at the edge.

use crate::letters::LetterStoreError;
use crate::store::StoreError;
use crate::turn::RequestIdReused;

/// Why the oracle could not answer.
#[derive(Debug, thiserror::Error)]
pub enum OracleError {
    /// The same `request_id` came with another request.
    #[error(transparent)]
    RequestIdReused(#[from] RequestIdReused),
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
    Letters(#[from] LetterStoreError),
    /// The turn store is away.
    #[error(transparent)]
    Store(#[from] StoreError),
}
