//! What was said to be stored is there afterwards, whatever happened to the process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::super::*;
use super::{letter, open, parking, patient};
use crate::domain::*;

const CHILD_DIR: &str = "BACKSTOP_TEST_LETTERS_DIR";

#[tokio::test]
async fn a_letter_comes_back_whole_after_a_reopening() {
    let dir = tempfile::tempdir().expect("dir");
    let mut full = letter("a");
    full.silent = Some(SilentRecord {
        outcome: Some(Outcome::Succeeded),
        unresolved_operations: vec!["charge".to_owned()],
    });
    full.attempts[0].retry_after = Some(std::time::Duration::from_millis(1_250));
    let store = open(dir.path(), patient());
    assert_eq!(
        store.park(vec![parking(full.clone())]).await,
        Parked::Stored
    );
    store.close().await;
    let store = open(dir.path(), patient());
    assert_eq!(
        store.get("acme", "a").await.expect("reads"),
        Some(full.clone())
    );
    assert_eq!(store.stats().by_status[&LetterStatus::Open], 1);
    assert_eq!(store.stats().oldest_open, Some(full.created_at));
}

#[tokio::test]
async fn the_command_line_reads_beside_the_server_and_after_it() {
    let dir = tempfile::tempdir().expect("dir");
    assert!(matches!(
        read_only(dir.path()),
        Err(LetterStoreError::Missing { .. })
    ));
    let store = open(dir.path(), patient());
    store.park(vec![parking(letter("a"))]).await;
    let reader = read_only(dir.path()).expect("opens");
    assert_eq!(reader.get("acme", "a").expect("reads"), Some(letter("a")));
    store.park(vec![parking(letter("b"))]).await;
    assert!(reader.get("acme", "b").expect("reads").is_some());
    drop(reader);
    store.close().await;
    let reader = read_only(dir.path()).expect("opens");
    assert!(reader.get("acme", "b").expect("reads").is_some());
}

/// The other half of the next test: parks, says so, and waits to be killed.
#[tokio::test]
#[ignore = "run as a child by letters_survive_kill_9"]
async fn child_that_parks_and_waits() {
    let Ok(dir) = std::env::var(CHILD_DIR) else {
        return;
    };
    let store = open(dir.as_ref(), patient());
    for number in 0..20 {
        let id = format!("letter-{number}");
        assert_eq!(store.park(vec![parking(letter(&id))]).await, Parked::Stored);
        println!("\nparked {id}");
    }
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn letters_survive_kill_9() {
    let dir = tempfile::tempdir().expect("dir");
    let mut child = Command::new(std::env::current_exe().expect("this test binary"))
        .args([
            "letters::tests::durability::child_that_parks_and_waits",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD_DIR, dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
    let given_out: Vec<String> = lines
        .map_while(Result::ok)
        .filter_map(|line| line.strip_prefix("parked ").map(str::to_owned))
        .take(20)
        .collect();
    // On Unix this is SIGKILL.
    child.kill().expect("kills");
    child.wait().expect("ends");
    assert_eq!(given_out.len(), 20);
    let store = open(dir.path(), patient());
    for id in given_out {
        assert!(
            store.get("acme", &id).await.expect("reads").is_some(),
            "{id} is lost"
        );
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read() {
    use std::os::unix::fs::PermissionsExt;
    let parent = tempfile::tempdir().expect("dir");
    let dir = parent.path().join("data");
    let store = open(&dir, patient());
    store.park(vec![parking(letter("a"))]).await;
    let mode = |path: &std::path::Path| {
        std::fs::metadata(path).expect("there").permissions().mode() & 0o777
    };
    assert_eq!(mode(&dir), 0o700);
    for suffix in ["", "-wal", "-shm"] {
        assert_eq!(mode(&dir.join(format!("{FILE_NAME}{suffix}"))), 0o600);
    }
}

#[tokio::test]
async fn a_closed_store_says_that_it_keeps_nothing() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(dir.path(), patient());
    store.close().await;
    store.close().await;
    assert_eq!(store.park(vec![parking(letter("a"))]).await, Parked::Logged);
    assert_eq!(store.stats().logged, 1);
    assert_eq!(store.park(Vec::new()).await, Parked::Stored);
}
