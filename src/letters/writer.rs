//! The one thread that writes letters: everything that waits goes into one transaction, so that one sync of the disk
//! serves many verdicts. After a failure it tries again with a growing pause.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

use super::backlog::Backlog;
use super::rows::{self, StatusChange};
use super::schema::{open_for_writing, sqlite_error};
use super::standing::Entry;
use super::store::LetterStats;
use super::{LetterOptions, LetterStoreError};
use crate::domain::{DeadLetter, LetterStatus};

/// Longest pause between tries while closing: there may not be many left.
const CLOSING_PAUSE: Duration = Duration::from_millis(50);

/// The connection with what is known of the file through it.
#[derive(Debug)]
pub(super) struct LetterFile {
    connection: Connection,
    /// [`rows::data_version`] when `stats` was true.
    seen: i64,
    stats: LetterStats,
}

impl LetterFile {
    pub(super) fn open(path: &Path, options: &LetterOptions) -> Result<Self, LetterStoreError> {
        let connection = open_for_writing(path, options)?;
        let counted = || -> rusqlite::Result<(i64, LetterStats)> {
            let seen = rows::data_version(&connection)?;
            let stats = LetterStats {
                by_status: rows::count(&connection)?,
                oldest_open: rows::oldest_open(&connection)?,
                ..LetterStats::default()
            };
            Ok((seen, stats))
        };
        let (seen, stats) = counted().map_err(|e| sqlite_error(path, "count the letters in", e))?;
        Ok(LetterFile {
            connection,
            seen,
            stats,
        })
    }

    pub(super) fn stats(&self) -> LetterStats {
        self.stats.clone()
    }

    /// Writes a batch as one transaction. Returns the letters that are at fault themselves: everything else is
    /// committed. On an error nothing is.
    fn commit(&mut self, batch: &[Arc<Entry>]) -> rusqlite::Result<Vec<Arc<Entry>>> {
        let bodies: Vec<_> = batch
            .iter()
            .map(|entry| serde_json::to_string(&entry.letter))
            .collect();
        let mut at_fault = Vec::new();
        let mut stats = self.stats.clone();
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let seen = rows::data_version(&transaction)?;
        for (entry, body) in batch.iter().zip(bodies) {
            let written = match &body {
                Ok(body) => rows::write(&transaction, entry, body),
                Err(_) => {
                    at_fault.push(Arc::clone(entry));
                    continue;
                }
            };
            match written {
                Ok(change) => tally(&mut stats, change),
                Err(error) if is_its_own_fault(&error) => at_fault.push(Arc::clone(entry)),
                Err(error) => return Err(error),
            }
        }
        if seen != self.seen {
            stats.by_status = rows::count(&transaction)?;
        }
        stats.oldest_open = rows::oldest_open(&transaction)?;
        stats.transactions += 1;
        transaction.commit()?;
        self.seen = seen;
        self.stats = stats;
        Ok(at_fault)
    }
}

fn tally(stats: &mut LetterStats, (from, to): StatusChange) {
    if let Some(count) = from.and_then(|from| stats.by_status.get_mut(&from)) {
        *count = count.saturating_sub(1);
    }
    *stats.by_status.entry(to).or_default() += 1;
}

/// Whether no other time and no other disk would take this letter: it must not hold up the others.
fn is_its_own_fault(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::ToSqlConversionFailure(_) => true,
        error => matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
        ),
    }
}

/// See the module's head.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) options: LetterOptions,
    pub(super) backlog: Arc<Backlog>,
    /// Absent after an error that a new connection may not have.
    pub(super) file: Option<LetterFile>,
}

impl Writer {
    /// Runs until the backlog is closed.
    pub(super) fn run(mut self) {
        let mut pause = self.options.first_pause;
        let mut not_before = None;
        let mut give_up_at = None;
        while let Some(batch) = self.backlog.next(self.options.batch, not_before) {
            let Err(error) = self.commit(&batch) else {
                pause = self.options.first_pause;
                not_before = None;
                continue;
            };
            tracing::error!(%error, letters = batch.len(), retry_in = ?pause, "dead letters could not be stored; they wait in memory");
            self.options.events.on_store_failure(&error);
            self.backlog.set_back();
            let now = Instant::now();
            if self.backlog.is_closing() {
                pause = pause.min(CLOSING_PAUSE);
                if now >= *give_up_at.get_or_insert(now + self.options.close_patience) {
                    break;
                }
            }
            not_before = Some(now + pause);
            pause = (pause * 2).min(self.options.longest_pause);
        }
        let left = self.backlog.shut();
        log_whole(&self.options, &self.backlog, left.iter().map(|e| &e.letter));
    }

    fn commit(&mut self, batch: &[Arc<Entry>]) -> Result<(), LetterStoreError> {
        let mut file = match self.file.take() {
            Some(file) => file,
            None => LetterFile::open(&self.path, &self.options)?,
        };
        match file.commit(batch) {
            Ok(at_fault) => {
                let letters = at_fault.iter().map(|entry| &entry.letter);
                log_whole(&self.options, &self.backlog, letters);
                if self.backlog.committed(file.stats(), &at_fault) {
                    tracing::info!("dead letters are stored again");
                }
                self.file = Some(file);
                Ok(())
            }
            Err(error) => {
                // These say nothing against the connection; after anything else a new one is tried.
                if matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::DiskFull)
                ) {
                    self.file = Some(file);
                }
                Err(sqlite_error(&self.path, "write", error))
            }
        }
    }
}

/// The last resort: a letter that can be kept nowhere else stands in the log.
pub(super) fn log_whole<'a>(
    options: &LetterOptions,
    backlog: &Backlog,
    letters: impl Iterator<Item = &'a DeadLetter>,
) {
    let mut logged = 0;
    for letter in letters {
        logged += 1;
        let whole = serde_json::to_string(letter).unwrap_or_else(|error| error.to_string());
        tracing::error!(tenant = %letter.tenant, id = %letter.id, letter = %whole, "a dead letter could not be kept; this line is all that is left of it");
    }
    if logged > 0 {
        backlog.count_logged(logged);
        options.events.on_letters_logged(logged);
    }
}

/// For gauges: every status has a number.
pub(super) fn zero_filled(stats: &mut LetterStats) {
    for status in LetterStatus::ALL {
        stats.by_status.entry(*status).or_default();
    }
}
