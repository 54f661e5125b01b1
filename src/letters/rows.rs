//! Letters as rows: written, read and counted through one connection.

use std::collections::BTreeMap;

use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use super::standing::{Entry, Standing};
use crate::domain::{DeadLetter, LetterStatus, Timestamp};

/// What a write did to the letter's status: from what (absent: it is new) to what.
pub(super) type StatusChange = (Option<LetterStatus>, LetterStatus);

const STANDING: &str =
    "status, by_hand, count, created_at, updated_at, content_at, resolution, resolved_by";

/// Writes one letter by the rule of [`Standing::after`]; `body` is its content as JSON.
pub(super) fn write(
    connection: &Connection,
    entry: &Entry,
    body: &str,
) -> rusqlite::Result<StatusChange> {
    let letter = &entry.letter;
    let incoming = entry.standing();
    let stored = read_standing(connection, &letter.tenant, &letter.id)?;
    let (standing, replaces) = match &stored {
        Some(stored) => stored.after(&incoming),
        None => (incoming, true),
    };
    if replaces {
        replace(connection, letter, &standing, body)?;
    } else {
        raise(connection, letter, &standing)?;
    }
    Ok((stored.map(|stored| stored.status), standing.status))
}

fn read_standing(
    connection: &Connection,
    tenant: &str,
    id: &str,
) -> rusqlite::Result<Option<Standing>> {
    let sql = format!("SELECT {STANDING} FROM letters WHERE tenant = ?1 AND id = ?2");
    connection
        .prepare_cached(&sql)?
        .query_row([tenant, id], standing_of)
        .optional()
}

fn replace(
    connection: &Connection,
    letter: &DeadLetter,
    standing: &Standing,
    body: &str,
) -> rusqlite::Result<()> {
    let cause = letter.cause.as_ref();
    connection
        .prepare_cached(
            "INSERT INTO letters (tenant, id, status, by_hand, count, created_at, updated_at, content_at, resolution,
                resolved_by, turn_id, operation_id, tool, kind, action, reason, cause_family, cause_subject, body)
             VALUES (:tenant, :id, :status, :by_hand, :count, :created_at, :updated_at, :content_at, :resolution,
                :resolved_by, :turn_id, :operation_id, :tool, :kind, :action, :reason, :cause_family, :cause_subject,
                :body)
             ON CONFLICT (tenant, id) DO UPDATE SET status = :status, by_hand = :by_hand, count = :count,
                updated_at = :updated_at, content_at = :content_at, resolution = :resolution,
                resolved_by = :resolved_by, turn_id = :turn_id, operation_id = :operation_id, tool = :tool,
                kind = :kind, action = :action, reason = :reason, cause_family = :cause_family,
                cause_subject = :cause_subject, body = :body",
        )?
        .execute(named_params! {
            ":tenant": letter.tenant,
            ":id": letter.id,
            ":status": standing.status.name(),
            ":by_hand": standing.by_hand,
            ":count": integer(standing.count),
            ":created_at": integer(standing.created_at.0),
            ":updated_at": integer(standing.updated_at.0),
            ":content_at": integer(standing.content_at.0),
            ":resolution": standing.resolution,
            ":resolved_by": standing.resolved_by,
            ":turn_id": letter.turn_id,
            ":operation_id": letter.operation_id,
            ":tool": letter.tool,
            ":kind": letter.kind.map(|kind| kind.name()),
            ":action": letter.action.name(),
            ":reason": letter.reason.name(),
            ":cause_family": cause.map(|cause| cause.family.name()),
            ":cause_subject": cause.map(|cause| cause.subject.to_string()),
            ":body": body,
        })?;
    Ok(())
}

fn raise(
    connection: &Connection,
    letter: &DeadLetter,
    standing: &Standing,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE letters SET count = ?3, updated_at = ?4 WHERE tenant = ?1 AND id = ?2",
        )?
        .execute((
            &letter.tenant,
            &letter.id,
            integer(standing.count),
            integer(standing.updated_at.0),
        ))?;
    Ok(())
}

/// A row as it is stored: the standing and the content, still as JSON.
pub(super) struct StoredRow {
    pub(super) standing: Standing,
    pub(super) body: String,
}

/// Reads one letter.
pub(super) fn read(
    connection: &Connection,
    tenant: &str,
    id: &str,
) -> rusqlite::Result<Option<StoredRow>> {
    let sql = format!("SELECT {STANDING}, body FROM letters WHERE tenant = ?1 AND id = ?2");
    connection
        .prepare_cached(&sql)?
        .query_row([tenant, id], |row| {
            Ok(StoredRow {
                standing: standing_of(row)?,
                body: row.get("body")?,
            })
        })
        .optional()
}

/// Letters by status: one pass over an index, for the start and after somebody else has written.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<BTreeMap<LetterStatus, u64>> {
    let mut statement =
        connection.prepare_cached("SELECT status, COUNT(*) FROM letters GROUP BY status")?;
    let rows = statement.query_map([], |row| Ok((status_of(row)?, natural(row.get(1)?))))?;
    rows.collect()
}

/// When the oldest open letter was parked: one look into an index.
pub(super) fn oldest_open(connection: &Connection) -> rusqlite::Result<Option<Timestamp>> {
    let oldest: Option<i64> = connection
        .prepare_cached("SELECT MIN(created_at) FROM letters WHERE status = ?1")?
        .query_row([LetterStatus::Open.name()], |row| row.get(0))?;
    Ok(oldest.map(|micros| Timestamp(natural(micros))))
}

/// Changes whenever another connection has committed.
pub(super) fn data_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection
        .prepare_cached("PRAGMA data_version")?
        .query_row([], |row| row.get(0))
}

fn standing_of(row: &Row<'_>) -> rusqlite::Result<Standing> {
    let time = |name| row.get(name).map(|micros| Timestamp(natural(micros)));
    Ok(Standing {
        status: status_of(row)?,
        by_hand: row.get("by_hand")?,
        count: natural(row.get("count")?),
        created_at: time("created_at")?,
        updated_at: time("updated_at")?,
        content_at: time("content_at")?,
        resolution: row.get("resolution")?,
        resolved_by: row.get("resolved_by")?,
    })
}

fn status_of(row: &Row<'_>) -> rusqlite::Result<LetterStatus> {
    let name: String = row.get("status")?;
    name.parse()
        .map_err(|e| rusqlite::Error::FromSqlConversionFailure(0, Type::Text, Box::new(e)))
}

/// SQLite's integers are signed; counts and microseconds never come near the sign bit.
fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
