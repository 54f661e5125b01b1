//! A store that fails: the verdict is given in time, and nothing is lost that there is room for.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::super::*;
use super::{letter, open, parking, quick};

/// A verdict's wait with much to spare for a busy machine; the deadline of these stores is 1 s.
const BOUNDED: Duration = Duration::from_secs(10);

#[derive(Default)]
struct Counted {
    failures: AtomicU64,
    logged: AtomicU64,
}

impl LetterEvents for Counted {
    fn on_store_failure(&self, _: &LetterStoreError) {
        self.failures.fetch_add(1, Ordering::Relaxed);
    }
    fn on_letters_logged(&self, letters: u64) {
        self.logged.fetch_add(letters, Ordering::Relaxed);
    }
}

fn counted(options: LetterOptions) -> (LetterOptions, Arc<Counted>) {
    let events = Arc::new(Counted::default());
    let options = LetterOptions {
        events: events.clone(),
        ..options
    };
    (options, events)
}

fn lock(dir: &Path) -> Connection {
    let other = Connection::open(dir.join(FILE_NAME)).expect("opens");
    other.busy_timeout(BOUNDED).expect("sets");
    other.execute_batch("BEGIN EXCLUSIVE").expect("locks");
    other
}

/// Until the spool is empty; fails the test after long.
async fn drained(store: &LetterStore) {
    let start = Instant::now();
    while store.stats().spooled > 0 {
        assert!(start.elapsed() < Duration::from_secs(30), "never drained");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_locked_file_delays_no_verdict_and_is_caught_up_with() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, events) = counted(quick());
    let store = open(dir.path(), options);
    let other = lock(dir.path());
    let start = Instant::now();
    assert_eq!(
        store.park(vec![parking(letter("a"))]).await,
        Parked::Spooled
    );
    assert!(start.elapsed() < BOUNDED);
    // From now on nobody waits at all.
    let start = Instant::now();
    for number in 0..100 {
        let id = format!("b-{number}");
        assert_eq!(
            store.park(vec![parking(letter(&id))]).await,
            Parked::Spooled
        );
    }
    assert!(start.elapsed() < BOUNDED);
    assert_eq!(store.stats().spooled, 101);
    assert!(events.failures.load(Ordering::Relaxed) >= 1);
    other.execute_batch("ROLLBACK").expect("unlocks");
    drained(&store).await;
    assert_eq!(store.park(vec![parking(letter("c"))]).await, Parked::Stored);
    store.close().await;
    let reader = read_only(dir.path()).expect("opens");
    for id in ["a", "b-0", "b-99", "c"] {
        assert!(reader.get("acme", id).expect("reads").is_some(), "{id}");
    }
    assert_eq!(events.logged.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn spooled_letters_are_found_and_joined() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(dir.path(), quick());
    store.park(vec![parking(letter("a"))]).await;
    let other = lock(dir.path());
    for count in 2..=40 {
        let mut raised = letter("a");
        raised.count = count;
        let replace = false;
        let letter = raised;
        store.park(vec![Parking { letter, replace }]).await;
    }
    store.park(vec![parking(letter("new"))]).await;
    assert_eq!(store.stats().spooled, 2);
    let found = store.get("acme", "a").await.expect("reads").expect("there");
    assert_eq!(found.count, 40);
    assert!(store.get("acme", "new").await.expect("reads").is_some());
    drop(other);
    drained(&store).await;
    let found = store.get("acme", "a").await.expect("reads").expect("there");
    assert_eq!(found.count, 40);
}

#[tokio::test]
async fn at_the_bound_letters_are_logged_and_counted() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, events) = counted(LetterOptions {
        spool_letters: 10,
        ..quick()
    });
    let store = open(dir.path(), options);
    let other = lock(dir.path());
    store.park(vec![parking(letter("first"))]).await;
    let flood = (0..30).map(|n| parking(letter(&format!("{n}")))).collect();
    assert_eq!(store.park(flood).await, Parked::Logged);
    let stats = store.stats();
    assert_eq!((stats.spooled, stats.logged), (10, 21));
    assert_eq!(events.logged.load(Ordering::Relaxed), 21);
    // A letter that waits already takes no more room.
    let again = vec![parking(letter("first"))];
    assert_eq!(store.park(again).await, Parked::Spooled);
    drop(other);
    drained(&store).await;
    let kept: u64 = store.stats().by_status.values().sum();
    assert_eq!(kept, 10);
}

#[tokio::test]
async fn the_bound_in_bytes_holds_too() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(
        dir.path(),
        LetterOptions {
            spool_bytes: 180 * 1024,
            ..quick()
        },
    );
    let other = lock(dir.path());
    let large = |id: &str| {
        let mut letter = letter(id);
        letter.input = Some("x".repeat(MAX_INPUT_BYTES));
        vec![parking(letter)]
    };
    let mut parked = Vec::new();
    for id in ["a", "b", "c", "d"] {
        parked.push(store.park(large(id)).await);
    }
    assert_eq!(
        parked,
        [
            Parked::Spooled,
            Parked::Spooled,
            Parked::Logged,
            Parked::Logged
        ]
    );
    drop(other);
    drained(&store).await;
}

#[tokio::test]
async fn more_letters_than_fit_wait_for_room_while_the_store_works() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(
        dir.path(),
        LetterOptions {
            spool_letters: 4,
            ..super::patient()
        },
    );
    let flood = (0..100).map(|n| parking(letter(&format!("{n}")))).collect();
    assert_eq!(store.park(flood).await, Parked::Stored);
    assert_eq!(store.stats().logged, 0);
    let kept: u64 = store.stats().by_status.values().sum();
    assert_eq!(kept, 100);
}

#[tokio::test]
async fn a_full_disk_is_caught_up_with_once_there_is_room() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, events) = counted(LetterOptions {
        max_file_bytes: Some(512 * 1024),
        ..super::patient()
    });
    let store = open(dir.path(), options);
    let large = |number: usize| {
        let mut letter = letter(&format!("{number}"));
        letter.input = Some("x".repeat(50_000));
        vec![parking(letter)]
    };
    let mut number = 0;
    while store.park(large(number)).await == Parked::Stored {
        number += 1;
        assert!(number < 100, "never full");
    }
    assert!(number > 1);
    let failed = events.failures.load(Ordering::Relaxed);
    assert!(failed >= 1);
    assert_eq!(store.park(large(number + 1)).await, Parked::Spooled);
    let other = Connection::open(dir.path().join(FILE_NAME)).expect("opens");
    other.busy_timeout(BOUNDED).expect("sets");
    other
        .execute("DELETE FROM letters", [])
        .expect("makes room");
    drained(&store).await;
    let found = store.get("acme", &number.to_string()).await;
    assert!(found.expect("reads").is_some());
    // What another connection deleted is no longer counted.
    let kept: u64 = store.stats().by_status.values().sum();
    assert_eq!(kept, 2);
}

#[tokio::test]
async fn a_file_that_breaks_delays_no_verdict() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, _) = counted(quick());
    let store = open(dir.path(), options);
    store.park(vec![parking(letter("a"))]).await;
    for suffix in ["", "-wal", "-shm"] {
        let path = dir.path().join(format!("{FILE_NAME}{suffix}"));
        let length = std::fs::metadata(&path).expect("there").len();
        let garbage = vec![0xa5; usize::try_from(length).expect("small")];
        std::fs::write(&path, garbage).expect("breaks it");
    }
    for number in 0..20 {
        let start = Instant::now();
        store
            .park(vec![parking(letter(&format!("b-{number}")))])
            .await;
        assert!(start.elapsed() < BOUNDED);
    }
    let start = Instant::now();
    store.close().await;
    assert!(start.elapsed() < Duration::from_secs(30));
}

#[cfg(unix)]
#[tokio::test]
async fn a_read_only_directory_is_refused_at_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("dir");
    let set = |mode| {
        std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(mode)).expect("sets")
    };
    set(0o500);
    // The superuser may write here all the same; then there is nothing to see.
    let writable = std::fs::write(dir.path().join("probe"), "").is_ok();
    let opened = LetterStore::open(dir.path(), quick());
    assert_eq!(opened.is_ok(), writable);
    set(0o700);
}

#[tokio::test]
async fn a_letter_that_no_store_would_take_holds_up_no_other() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, events) = counted(super::patient());
    let store = open(dir.path(), options);
    let other = Connection::open(dir.path().join(FILE_NAME)).expect("opens");
    other
        .execute_batch(
            "CREATE TRIGGER refuse BEFORE INSERT ON letters WHEN NEW.tool = 'cursed'
             BEGIN SELECT RAISE(ABORT, 'refused'); END",
        )
        .expect("creates");
    let mut cursed = letter("cursed");
    cursed.tool = "cursed".to_owned();
    let both = vec![parking(cursed), parking(letter("fine"))];
    assert_eq!(store.park(both).await, Parked::Logged);
    assert_eq!(events.logged.load(Ordering::Relaxed), 1);
    assert!(store.get("acme", "fine").await.expect("reads").is_some());
}

#[tokio::test]
async fn closing_a_store_that_fails_gives_up_in_time() {
    let dir = tempfile::tempdir().expect("dir");
    let (options, events) = counted(LetterOptions {
        close_patience: Duration::from_millis(100),
        longest_pause: Duration::from_secs(3_600),
        first_pause: Duration::from_secs(3_600),
        ..quick()
    });
    let store = open(dir.path(), options);
    let _other = lock(dir.path());
    store.park(vec![parking(letter("a"))]).await;
    let start = Instant::now();
    store.close().await;
    assert!(start.elapsed() < Duration::from_secs(30));
    assert_eq!(events.logged.load(Ordering::Relaxed), 1);
}
