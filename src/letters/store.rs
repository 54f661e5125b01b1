//! The letters' front door: park, look up, count, close.

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::backlog::{Backlog, Setback};
use super::reader::LetterReader;
use super::schema::make_directory;
use super::standing::Entry;
use super::writer::{LetterFile, Writer, log_whole, zero_filled};
use super::{FILE_NAME, LetterOptions, LetterStoreError, Parking, masked};
use crate::domain::{DeadLetter, LetterStatus, Timestamp};

/// Where the letters of one call are, the least safe place of any of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parked {
    /// On disk: they survive `kill -9`.
    Stored,
    /// In memory, to be stored as soon as the store works again; [`LetterStore::get`] finds them.
    Spooled,
    /// There was no room in memory either: at least one stands in the log alone, whole, at error level.
    Logged,
}

/// Numbers for the gauges.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LetterStats {
    /// Stored letters of all tenants, every status present.
    pub by_status: BTreeMap<LetterStatus, u64>,
    /// When the oldest stored letter that is still open was parked.
    pub oldest_open: Option<Timestamp>,
    /// Letters in memory that are not stored yet; near zero while the store works.
    pub spooled: u64,
    /// Letters that are kept in the log alone, since the start.
    pub logged: u64,
    /// Transactions committed through the present connection.
    pub transactions: u64,
}

/// The dead-letter store over one SQLite file. Shared by all requests; close it before the program ends.
#[derive(Debug)]
pub struct LetterStore {
    options: LetterOptions,
    backlog: Arc<Backlog>,
    reader: Arc<LetterReader>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl LetterStore {
    /// Opens `dir/dead-letters.sqlite3`, makes both if missing (the directory with mode 0700), brings the file to the
    /// newest schema and starts the writer. Blocks on the disk.
    ///
    /// # Errors
    /// If the directory or file cannot be made or opened, or the file is another program's or a newer version's.
    pub fn open(dir: &Path, options: LetterOptions) -> Result<LetterStore, LetterStoreError> {
        make_directory(dir)?;
        let path = dir.join(FILE_NAME);
        let file = LetterFile::open(&path, &options)?;
        let backlog = Arc::new(Backlog::new(
            options.spool_letters,
            options.spool_bytes,
            file.stats(),
        ));
        let writer = Writer {
            path: path.clone(),
            options: options.clone(),
            backlog: Arc::clone(&backlog),
            file: Some(file),
        };
        let thread = std::thread::Builder::new()
            .name("dead-letters".to_owned())
            .spawn(move || writer.run())
            .map_err(LetterStoreError::Thread)?;
        Ok(LetterStore {
            options,
            backlog,
            reader: Arc::new(LetterReader::new(path)),
            writer: Mutex::new(Some(thread)),
        })
    }

    /// Parks letters and waits until they are on disk, at most [`LetterOptions::patience`]; not at all while the
    /// store is known to fail. Never fails: what cannot be stored is spooled, what cannot be spooled is logged. A
    /// caller that goes away loses nothing that it handed in.
    pub async fn park(&self, parkings: Vec<Parking>) -> Parked {
        let deadline = Instant::now() + self.options.patience;
        let (waiter, mut setback) = mpsc::channel(1);
        let mut unkept = Unkept {
            entries: parkings
                .into_iter()
                .map(|parking| self.entry(parking))
                .collect(),
            store: self,
        };
        while !unkept.entries.is_empty() {
            let mut room = pin!(self.backlog.room.notified());
            room.as_mut().enable();
            let added = self
                .backlog
                .add(std::mem::take(&mut unkept.entries), &waiter);
            unkept.entries = added.refused;
            match (unkept.entries.is_empty(), added.failing) {
                (true, true) => return Parked::Spooled,
                (false, true) => return Parked::Logged,
                (true, false) => {}
                (false, false) => {
                    if timeout_at(deadline, room).await.is_err() {
                        self.late();
                        return Parked::Logged;
                    }
                }
            }
        }
        drop(waiter);
        match timeout_at(deadline, setback.recv()).await {
            Ok(None) => Parked::Stored,
            Ok(Some(Setback::Spooled)) => Parked::Spooled,
            Ok(Some(Setback::Logged)) => Parked::Logged,
            Err(_) => {
                self.late();
                Parked::Spooled
            }
        }
    }

    fn entry(&self, parking: Parking) -> Entry {
        Entry::from(Parking {
            letter: masked(parking.letter, &self.options.masking),
            ..parking
        })
    }

    fn late(&self) {
        if self.backlog.late() {
            let patience: Duration = self.options.patience;
            let error = LetterStoreError::Slow { patience };
            tracing::error!(%error, "dead letters wait in memory");
            self.options.events.on_store_failure(&error);
        }
    }

    /// One letter as it stands, spooled ones included; absent where the tenant has none of this id.
    ///
    /// # Errors
    /// If the file cannot be read and the letter is not in memory.
    pub async fn get(
        &self,
        tenant: &str,
        id: &str,
    ) -> Result<Option<DeadLetter>, LetterStoreError> {
        // The backlog first: a letter that leaves it meanwhile is then in the file.
        let waiting = self.backlog.find(tenant, id);
        let reader = Arc::clone(&self.reader);
        let (tenant, id) = (tenant.to_owned(), id.to_owned());
        let stored = tokio::task::spawn_blocking(move || reader.entry(&tenant, &id))
            .await
            .map_err(|error| LetterStoreError::Thread(std::io::Error::other(error)))?;
        let mut found = match stored {
            Ok(stored) => stored,
            Err(_) if !waiting.is_empty() => None,
            Err(error) => return Err(error),
        };
        for newer in waiting {
            match &mut found {
                Some(found) => found.absorb(&newer),
                None => found = Some(Entry::clone(&newer)),
            }
        }
        Ok(found.map(|entry| entry.letter))
    }

    /// Numbers for the gauges. Cheap: kept by the writer, nothing is read from the file.
    pub fn stats(&self) -> LetterStats {
        let mut stats = self.backlog.stats();
        zero_filled(&mut stats);
        stats
    }

    /// Writes what still waits and stops the writer; what cannot be written within
    /// [`LetterOptions::close_patience`] is logged whole. Letters parked afterwards are logged.
    pub async fn close(&self) {
        self.backlog.close();
        let thread = self
            .writer
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // A writer that panicked has said so itself, and there is nothing left to wait for.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }
}

impl Drop for LetterStore {
    fn drop(&mut self) {
        // Ends the writer's thread, which finishes what waits; dropping must not block, so it is not awaited.
        self.backlog.close();
    }
}

/// Letters that nobody has taken yet; dropped, whether by a full backlog or by a caller who goes away, they are logged.
struct Unkept<'a> {
    entries: Vec<Entry>,
    store: &'a LetterStore,
}

impl Drop for Unkept<'_> {
    fn drop(&mut self) {
        let letters = self.entries.iter().map(|entry| &entry.letter);
        log_whole(&self.store.options, &self.store.backlog, letters);
    }
}
