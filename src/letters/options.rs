//! How the store behaves, and whom it tells when it cannot do its work.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{LetterStoreError, Masking};

/// Told of what operators should see. Called on the writer's thread or a caller's task: must not block.
pub trait LetterEvents: Send + Sync {
    /// A batch could not be committed (called for every try), or the store became too slow (called once a spell).
    fn on_store_failure(&self, error: &LetterStoreError) {
        let _ = error;
    }

    /// So many letters could neither be stored nor spooled; they stand whole, masked, in the log.
    fn on_letters_logged(&self, letters: u64) {
        let _ = letters;
    }
}

/// Tells nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl LetterEvents for NoEvents {}

/// Bounds and seams of a [`super::LetterStore`].
#[derive(Clone)]
pub struct LetterOptions {
    /// How long a verdict waits for its letters to be on disk; 250 ms.
    pub patience: Duration,
    /// Most letters in one transaction; 256.
    pub batch: usize,
    /// Most letters that wait in memory; 10,000.
    pub spool_letters: usize,
    /// Most bytes that wait in memory, estimated; 64 MiB.
    pub spool_bytes: usize,
    /// Pause after the first failed commit, doubled after each further one; 100 ms.
    pub first_pause: Duration,
    /// Longest pause between tries; 10 s.
    pub longest_pause: Duration,
    /// How long [`super::LetterStore::close`] tries to drain a store that fails; 5 s.
    pub close_patience: Duration,
    /// Largest size of the file in bytes, rounded down to pages of 4 KiB; no bound where absent.
    pub max_file_bytes: Option<u64>,
    /// How secrets are taken out.
    pub masking: Masking,
    /// Who is told of failures.
    pub events: Arc<dyn LetterEvents>,
}

impl Default for LetterOptions {
    fn default() -> Self {
        LetterOptions {
            patience: Duration::from_millis(250),
            batch: 256,
            spool_letters: 10_000,
            spool_bytes: 64 * 1024 * 1024,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(10),
            close_patience: Duration::from_secs(5),
            max_file_bytes: None,
            masking: Masking::default(),
            events: Arc::new(NoEvents),
        }
    }
}

impl fmt::Debug for LetterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LetterOptions")
            .field("patience", &self.patience)
            .field("batch", &self.batch)
            .field("spool_letters", &self.spool_letters)
            .field("spool_bytes", &self.spool_bytes)
            .finish_non_exhaustive()
    }
}
