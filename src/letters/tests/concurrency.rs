//! Many verdicts at once: nothing is lost, and one commit serves many.

use std::sync::Arc;

use super::super::*;
use super::{letter, open, parking, patient};
use crate::domain::*;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_tasks_park_at_once_and_share_commits() {
    const TASKS: u64 = 64;
    const LETTERS: u64 = 50;
    let dir = tempfile::tempdir().expect("dir");
    let store = Arc::new(open(dir.path(), patient()));
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for number in 0..LETTERS {
                    let parked = store
                        .park(vec![parking(letter(&format!("{task}-{number}")))])
                        .await;
                    assert_eq!(parked, Parked::Stored);
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("runs");
    }
    let stats = store.stats();
    assert_eq!(stats.by_status[&LetterStatus::Open], TASKS * LETTERS);
    assert_eq!(stats.spooled, 0);
    assert!(
        stats.transactions * 4 <= TASKS * LETTERS,
        "{} transactions for {} letters",
        stats.transactions,
        TASKS * LETTERS
    );
    store.close().await;
    let reader = read_only(dir.path()).expect("opens");
    for task in 0..TASKS {
        for number in 0..LETTERS {
            let found = reader.get("acme", &format!("{task}-{number}"));
            assert!(found.expect("reads").is_some());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_letter_raised_by_all_is_one_letter() {
    let dir = tempfile::tempdir().expect("dir");
    let store = Arc::new(open(dir.path(), patient()));
    let tasks: Vec<_> = (1..=200)
        .map(|count| {
            let store = Arc::clone(&store);
            let mut letter = letter("a");
            letter.count = count;
            letter.updated_at = Timestamp::from_secs(1_000 + count);
            tokio::spawn(async move {
                let replace = count % 3 == 0;
                store.park(vec![Parking { letter, replace }]).await
            })
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.expect("runs"), Parked::Stored);
    }
    let found = store.get("acme", "a").await.expect("reads").expect("there");
    assert_eq!(
        (found.count, found.updated_at),
        (200, Timestamp::from_secs(1_200))
    );
    assert_eq!(store.stats().by_status[&LetterStatus::Open], 1);
}

#[tokio::test]
async fn a_caller_who_goes_away_takes_nothing_along() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(dir.path(), patient());
    {
        let parking = store.park(vec![parking(letter("a"))]);
        // Polled once, then dropped: the client has hung up.
        tokio::select! {
            biased;
            _ = parking => {}
            () = std::future::ready(()) => {}
        }
    }
    assert!(store.get("acme", "a").await.expect("reads").is_some());
    store.close().await;
    let reader = read_only(dir.path()).expect("opens");
    assert!(reader.get("acme", "a").expect("reads").is_some());
}
