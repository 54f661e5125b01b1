//! The letters' file: whose it is, which version it has, and how it is opened.
//!
//! `user_version` counts the migration steps that were applied; `application_id` says that the file is ours.
//! Statuses, kinds and the like are stored by name, times in microseconds.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::{LetterOptions, LetterStoreError};

/// "Bkst" in ASCII.
const APPLICATION_ID: i64 = 0x426b_7374;

/// Every step from an empty file to the newest schema. Steps are only ever appended.
pub(super) const STEPS: &[&str] = &[
    // The body is the letter's content as JSON. What changes without it (status, count, times, resolution) stands in
    // columns alone, which win over the body; the other columns repeat the body for the lists.
    "CREATE TABLE letters (
        tenant         TEXT    NOT NULL,
        id             TEXT    NOT NULL,
        status         TEXT    NOT NULL,
        by_hand        INTEGER NOT NULL,
        count          INTEGER NOT NULL,
        created_at     INTEGER NOT NULL,
        updated_at     INTEGER NOT NULL,
        content_at     INTEGER NOT NULL,
        resolution     TEXT,
        resolved_by    TEXT,
        turn_id        TEXT    NOT NULL,
        operation_id   TEXT    NOT NULL,
        tool           TEXT    NOT NULL,
        kind           TEXT,
        action         TEXT    NOT NULL,
        reason         TEXT    NOT NULL,
        cause_family   TEXT,
        cause_subject  TEXT,
        body           TEXT    NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX letters_by_id ON letters (tenant, id);
    CREATE INDEX letters_by_tenant_status ON letters (tenant, status, id);
    CREATE INDEX letters_by_status ON letters (status, created_at);
    CREATE INDEX letters_by_turn ON letters (tenant, turn_id, operation_id);
    CREATE INDEX letters_by_tool ON letters (tenant, tool, id);
    CREATE INDEX letters_by_kind ON letters (tenant, kind, id);
    CREATE INDEX letters_by_cause ON letters (tenant, cause_family, cause_subject, id);",
];

/// Page size that SQLite uses for new files, in bytes.
const PAGE_BYTES: u64 = 4_096;

/// How long opening waits for somebody else's lock.
const OPENING_PATIENCE: Duration = Duration::from_secs(5);

/// Makes the data directory, for the owner's eyes only, if it is missing.
pub(super) fn make_directory(dir: &Path) -> Result<(), LetterStoreError> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
        .create(dir)
        .map_err(|source| create_error(dir, source))
}

/// Opens the file for the writer, makes it if it is missing and brings it to the newest schema.
pub(super) fn open_for_writing(
    path: &Path,
    options: &LetterOptions,
) -> Result<Connection, LetterStoreError> {
    make_file(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection =
        Connection::open_with_flags(path, flags).map_err(|e| sqlite_error(path, "open", e))?;
    prepare(&mut connection, path, options)?;
    Ok(connection)
}

fn prepare(
    connection: &mut Connection,
    path: &Path,
    options: &LetterOptions,
) -> Result<(), LetterStoreError> {
    let failed = |e| sqlite_error(path, "open", e);
    connection.busy_timeout(OPENING_PATIENCE).map_err(failed)?;
    check_owner(connection, path)?;
    connection
        .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))
        .map_err(failed)?;
    // In WAL mode FULL syncs at every commit: what was said to be stored survives a power cut.
    connection
        .pragma_update(None, "synchronous", "full")
        .map_err(failed)?;
    connection
        .pragma_update_and_check(None, "journal_size_limit", 64 * 1024 * 1024, |_| Ok(()))
        .map_err(failed)?;
    migrate(connection, path, STEPS)?;
    if let Some(bytes) = options.max_file_bytes {
        let pages = i64::try_from(bytes / PAGE_BYTES).unwrap_or(i64::MAX).max(1);
        connection
            .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
            .map_err(failed)?;
    }
    // Somebody else's lock must not hold the writer longer than a verdict waits.
    connection.busy_timeout(options.patience).map_err(failed)
}

/// Opens an existing file for reading, also while another process writes it.
pub(super) fn open_for_reading(path: &Path) -> Result<Connection, LetterStoreError> {
    if !path.exists() {
        return Err(LetterStoreError::Missing {
            path: path.to_owned(),
        });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection =
        Connection::open_with_flags(path, flags).map_err(|e| sqlite_error(path, "open", e))?;
    connection
        .busy_timeout(OPENING_PATIENCE)
        .map_err(|e| sqlite_error(path, "open", e))?;
    check_owner(&connection, path)?;
    let found = version(&connection, path)?;
    if found > STEPS.len() {
        return Err(newer_error(path, found, STEPS.len()));
    }
    Ok(connection)
}

/// Applies the steps that the file has not seen yet, each in a transaction of its own.
pub(super) fn migrate(
    connection: &mut Connection,
    path: &Path,
    steps: &[&str],
) -> Result<(), LetterStoreError> {
    let failed = |e| sqlite_error(path, "migrate", e);
    loop {
        let transaction = connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(failed)?;
        let found = version(&transaction, path)?;
        if found > steps.len() {
            return Err(newer_error(path, found, steps.len()));
        }
        let Some(step) = steps.get(found) else {
            return Ok(());
        };
        transaction.execute_batch(step).map_err(failed)?;
        transaction
            .pragma_update(None, "application_id", APPLICATION_ID)
            .map_err(failed)?;
        let next = i64::try_from(found + 1).unwrap_or(i64::MAX);
        transaction
            .pragma_update(None, "user_version", next)
            .map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
}

/// Refuses what is no SQLite file, or another program's.
fn check_owner(connection: &Connection, path: &Path) -> Result<(), LetterStoreError> {
    let read = |sql| connection.query_row(sql, [], |row| row.get::<_, i64>(0));
    let owner = read("PRAGMA application_id").map_err(|e| sqlite_error(path, "open", e))?;
    let tables =
        read("SELECT COUNT(*) FROM sqlite_schema").map_err(|e| sqlite_error(path, "open", e))?;
    let fresh = owner == 0 && tables == 0;
    if owner == APPLICATION_ID || fresh {
        return Ok(());
    }
    Err(LetterStoreError::Foreign {
        path: path.to_owned(),
        found: format!("a SQLite file with application id {owner:#x} and {tables} schema objects"),
    })
}

fn version(connection: &Connection, path: &Path) -> Result<usize, LetterStoreError> {
    connection
        .query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0))
        .map(|version| usize::try_from(version).unwrap_or(usize::MAX))
        .map_err(|e| sqlite_error(path, "read the version of", e))
}

/// Makes an empty file that only its owner can read; SQLite gives its side files the same mode.
fn make_file(path: &Path) -> Result<(), LetterStoreError> {
    let mut open = OpenOptions::new();
    open.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut open, 0o600);
    open.open(path)
        .map(drop)
        .map_err(|source| create_error(path, source))
}

fn create_error(path: &Path, source: std::io::Error) -> LetterStoreError {
    LetterStoreError::Create {
        path: path.to_owned(),
        source,
    }
}

fn newer_error(path: &Path, found: usize, known: usize) -> LetterStoreError {
    LetterStoreError::Newer {
        path: path.to_owned(),
        found,
        known,
    }
}

/// Names the file and the step; a file that is no database at all is somebody else's.
pub(super) fn sqlite_error(
    path: &Path,
    doing: &'static str,
    source: rusqlite::Error,
) -> LetterStoreError {
    if source.sqlite_error_code() == Some(ErrorCode::NotADatabase) {
        return LetterStoreError::Foreign {
            path: path.to_owned(),
            found: source.to_string(),
        };
    }
    LetterStoreError::Sqlite {
        path: path.to_owned(),
        doing,
        source,
    }
}
