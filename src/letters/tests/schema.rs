//! Whose file it is, and which version.

use rusqlite::Connection;

use super::super::schema::{STEPS, migrate};
use super::super::*;
use super::quick;

fn refused(dir: &std::path::Path) -> LetterStoreError {
    LetterStore::open(dir, quick()).expect_err("is refused")
}

#[test]
fn a_file_of_a_newer_program_is_refused_by_writer_and_reader() {
    let dir = tempfile::tempdir().expect("dir");
    drop(LetterStore::open(dir.path(), quick()).expect("opens"));
    let connection = Connection::open(dir.path().join(FILE_NAME)).expect("opens");
    connection
        .pragma_update(None, "user_version", 99)
        .expect("sets");
    for error in [
        refused(dir.path()),
        read_only(dir.path()).expect_err("is refused"),
    ] {
        assert!(matches!(
            error,
            LetterStoreError::Newer { found: 99, known, .. } if known == STEPS.len()
        ));
        assert!(error.to_string().contains("run the newer program"));
    }
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join(FILE_NAME);
    let theirs = Connection::open(&path).expect("opens");
    theirs
        .execute_batch("CREATE TABLE letters (theirs)")
        .expect("creates");
    drop(theirs);
    let before = std::fs::read(&path).expect("reads");
    assert!(matches!(
        refused(dir.path()),
        LetterStoreError::Foreign { .. }
    ));
    assert_eq!(std::fs::read(&path).expect("reads"), before);
}

#[test]
fn what_is_no_database_is_refused_and_left_alone() {
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join(FILE_NAME);
    let text = "not a database, and long enough to have a header ".repeat(50);
    std::fs::write(&path, &text).expect("writes");
    assert!(matches!(
        refused(dir.path()),
        LetterStoreError::Foreign { .. }
    ));
    assert_eq!(std::fs::read_to_string(&path).expect("reads"), text);
}

#[test]
fn a_directory_that_is_a_file_is_named() {
    let dir = tempfile::tempdir().expect("dir");
    let file = dir.path().join("file");
    std::fs::write(&file, "").expect("writes");
    let error = refused(&file);
    assert!(matches!(error, LetterStoreError::Create { .. }), "{error}");
}

#[test]
fn an_old_file_is_brought_up_step_by_step() {
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join(FILE_NAME);
    let mut connection = Connection::open(&path).expect("opens");
    let first = "CREATE TABLE letters (id TEXT)";
    let second = "ALTER TABLE letters ADD COLUMN note TEXT DEFAULT 'none'";
    migrate(&mut connection, &path, &[first]).expect("first version");
    connection
        .execute("INSERT INTO letters (id) VALUES ('a')", [])
        .expect("inserts");
    migrate(&mut connection, &path, &[first, second]).expect("second version");
    migrate(&mut connection, &path, &[first, second]).expect("nothing left to do");
    let note: String = connection
        .query_row("SELECT note FROM letters WHERE id = 'a'", [], |row| {
            row.get(0)
        })
        .expect("is still there");
    assert_eq!(note, "none");
    let error = migrate(&mut connection, &path, &[first]).expect_err("went backwards");
    assert!(matches!(
        error,
        LetterStoreError::Newer {
            found: 2,
            known: 1,
            ..
        }
    ));
}

#[test]
fn a_step_that_fails_changes_nothing() {
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join(FILE_NAME);
    let mut connection = Connection::open(&path).expect("opens");
    let broken = "CREATE TABLE half (id TEXT); CREATE TABLE half (id TEXT);";
    migrate(&mut connection, &path, &[broken]).expect_err("fails");
    let tables: i64 = connection
        .query_row("SELECT COUNT(*) FROM sqlite_schema", [], |row| row.get(0))
        .expect("counts");
    assert_eq!(tables, 0);
}
