//! Letters read back, in the server beside the writer and in the command line beside a running server.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;

use super::rows::{self, StoredRow};
use super::schema::{open_for_reading, sqlite_error};
use super::standing::Entry;
use super::{FILE_NAME, LetterStoreError};
use crate::domain::DeadLetter;

/// Reads a data directory's letters and never writes. WAL lets it read while a server writes; what that server still
/// holds in memory is not seen.
///
/// # Errors
/// If there is no file, it is another program's or a newer one's, or SQLite cannot open it.
pub fn read_only(dir: &Path) -> Result<LetterReader, LetterStoreError> {
    let reader = LetterReader::new(dir.join(FILE_NAME));
    reader.with_connection(|_| Ok(()))?;
    Ok(reader)
}

/// A connection that only reads; opened when it is first needed and anew after an error.
#[derive(Debug)]
pub struct LetterReader {
    path: PathBuf,
    connection: Mutex<Option<Connection>>,
}

impl LetterReader {
    pub(super) fn new(path: PathBuf) -> Self {
        LetterReader {
            path,
            connection: Mutex::new(None),
        }
    }

    /// One letter, absent where the tenant has none of this id. Blocks on the disk.
    ///
    /// # Errors
    /// If SQLite cannot read, or the stored letter is not readable by this version.
    pub fn get(&self, tenant: &str, id: &str) -> Result<Option<DeadLetter>, LetterStoreError> {
        Ok(self.entry(tenant, id)?.map(|entry| entry.letter))
    }

    pub(super) fn entry(&self, tenant: &str, id: &str) -> Result<Option<Entry>, LetterStoreError> {
        let row = self.with_connection(|connection| rows::read(connection, tenant, id))?;
        row.map(|row| self.entry_of(row, id)).transpose()
    }

    fn entry_of(&self, row: StoredRow, id: &str) -> Result<Entry, LetterStoreError> {
        let letter: DeadLetter =
            serde_json::from_str(&row.body).map_err(|source| LetterStoreError::Unreadable {
                path: self.path.clone(),
                id: id.to_owned(),
                source,
            })?;
        let mut entry = Entry {
            letter,
            by_hand: false,
            content_at: row.standing.content_at,
        };
        entry.stand(row.standing);
        Ok(entry)
    }

    fn with_connection<T>(
        &self,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, LetterStoreError> {
        let mut slot = self
            .connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let connection = match slot.take() {
            Some(connection) => connection,
            None => open_for_reading(&self.path)?,
        };
        let answer = read(&connection).map_err(|e| sqlite_error(&self.path, "read", e))?;
        *slot = Some(connection);
        Ok(answer)
    }
}
