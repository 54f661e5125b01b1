//! What can go wrong with the letters' file, with what to do about it.

use std::path::PathBuf;
use std::time::Duration;

/// Why letters cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub enum LetterStoreError {
    /// The directory or the file cannot be made.
    #[error("cannot create {path}: {source}; check that the data directory may be written")]
    Create {
        /// What was to be made.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// There is no file to read.
    #[error(
        "there is no {path}: nothing was parked here yet, or --data-dir names another directory"
    )]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Some other program's file.
    #[error(
        "{path} is not a dead-letter file of this program ({found}): move it away or choose another data directory"
    )]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// Written by a later version of this program.
    #[error(
        "{path} has schema version {found}, this program knows up to {known}: run the newer program, an older one would lose letters"
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: usize,
        /// The newest version known here.
        known: usize,
    },
    /// SQLite refused.
    #[error("cannot {doing} {path}: {source}")]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// What was tried.
        doing: &'static str,
        /// Why not.
        source: rusqlite::Error,
    },
    /// A stored letter cannot be read back.
    #[error("dead letter {id} in {path} cannot be read back: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The letter.
        id: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// The store did not answer in time; the letters wait in memory.
    #[error("the dead-letter store did not commit within {patience:?}")]
    Slow {
        /// How long was waited.
        patience: Duration,
    },
    /// The writer's thread, or a reader's, could not be run.
    #[error("cannot run the dead-letter store's thread: {0}")]
    Thread(std::io::Error),
}
