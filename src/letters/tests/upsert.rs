//! What a second parking of the same letter changes in the file.

use rusqlite::Connection;

use super::super::*;
use super::{letter, open, parking, patient};
use crate::domain::*;

struct Case {
    name: &'static str,
    /// Status set by a person's hand between the two parkings.
    by_hand: Option<LetterStatus>,
    first: (bool, LetterStatus, u64, u64),
    second: (bool, LetterStatus, u64, u64),
    /// Status, count, updated_at in seconds, and whose content.
    expected: (LetterStatus, u64, u64, &'static str),
}

#[tokio::test]
async fn the_rules_of_a_second_parking() {
    use LetterStatus::*;
    let cases = [
        Case {
            name: "newer content replaces",
            by_hand: None,
            first: (true, Open, 1, 10),
            second: (true, Open, 2, 20),
            expected: (Open, 2, 20, "second"),
        },
        Case {
            name: "content of the same time replaces: the later word of one microsecond",
            by_hand: None,
            first: (true, Open, 1, 10),
            second: (true, Open, 1, 10),
            expected: (Open, 1, 10, "second"),
        },
        Case {
            name: "older content, come late, does not",
            by_hand: None,
            first: (true, Open, 2, 20),
            second: (true, Open, 1, 10),
            expected: (Open, 2, 20, "first"),
        },
        Case {
            name: "without replace only count and time rise",
            by_hand: None,
            first: (true, Open, 1, 10),
            second: (false, Resolved, 3, 20),
            expected: (Open, 3, 20, "first"),
        },
        Case {
            name: "count and time never fall",
            by_hand: None,
            first: (true, Open, 5, 50),
            second: (false, Open, 3, 20),
            expected: (Open, 5, 50, "first"),
        },
        Case {
            name: "content overtaken by a mere count still arrives",
            by_hand: None,
            first: (false, Open, 2, 20),
            second: (true, Open, 1, 10),
            expected: (Open, 2, 20, "second"),
        },
        Case {
            name: "a granted verdict resolves",
            by_hand: None,
            first: (true, Open, 1, 10),
            second: (true, Resolved, 1, 20),
            expected: (Resolved, 1, 20, "second"),
        },
        Case {
            name: "what a verdict resolved a later stop opens again",
            by_hand: None,
            first: (true, Resolved, 1, 10),
            second: (true, Open, 2, 20),
            expected: (Open, 2, 20, "second"),
        },
        Case {
            name: "a person's resolution stays",
            by_hand: Some(Resolved),
            first: (true, Open, 1, 10),
            second: (true, Open, 2, 20),
            expected: (Resolved, 2, 20, "first"),
        },
        Case {
            name: "a discarded one stays so",
            by_hand: Some(Discarded),
            first: (true, Open, 1, 10),
            second: (true, Open, 2, 20),
            expected: (Discarded, 2, 20, "first"),
        },
        Case {
            name: "a requeued one stays so",
            by_hand: Some(Requeued),
            first: (true, Open, 1, 10),
            second: (true, Open, 2, 20),
            expected: (Requeued, 2, 20, "first"),
        },
        Case {
            name: "a claimed one is resolved by a granted verdict",
            by_hand: Some(Claimed),
            first: (true, Open, 1, 10),
            second: (true, Resolved, 1, 20),
            expected: (Resolved, 1, 20, "second"),
        },
    ];
    for case in cases {
        let dir = tempfile::tempdir().expect("dir");
        let store = open(dir.path(), patient());
        let state = |(replace, status, count, secs), content: &str| {
            let mut letter = letter("a");
            letter.status = status;
            letter.count = count;
            letter.created_at = Timestamp::from_secs(secs);
            letter.updated_at = Timestamp::from_secs(secs);
            letter.explanation = content.to_owned();
            Parking { letter, replace }
        };
        assert_eq!(
            store.park(vec![state(case.first, "first")]).await,
            Parked::Stored
        );
        if let Some(status) = case.by_hand {
            let hand = Connection::open(dir.path().join(FILE_NAME)).expect("opens");
            hand.execute(
                "UPDATE letters SET status = ?1, by_hand = 1, resolution = 'by hand', resolved_by = 'kim'",
                [status.name()],
            )
            .expect("updates");
        }
        store.park(vec![state(case.second, "second")]).await;
        let found = store.get("acme", "a").await.expect("reads").expect("there");
        let (status, count, secs, content) = case.expected;
        assert_eq!(
            (
                found.status,
                found.count,
                found.updated_at,
                found.explanation.as_str()
            ),
            (status, count, Timestamp::from_secs(secs), content),
            "{}",
            case.name
        );
        let first_seen = Timestamp::from_secs(case.first.3);
        assert_eq!(
            found.created_at, first_seen,
            "{}: created_at changes",
            case.name
        );
        if case.by_hand.is_some() {
            assert_eq!(found.resolved_by.as_deref(), Some("kim"), "{}", case.name);
        }
        let stats = store.stats();
        let counted: u64 = stats.by_status.values().sum();
        assert_eq!((stats.by_status[&status], counted), (1, 1), "{}", case.name);
        store.close().await;
    }
}

#[tokio::test]
async fn the_same_id_of_two_tenants_is_two_letters() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(dir.path(), patient());
    let mut other = letter("a");
    other.tenant = "globex".to_owned();
    other.explanation = "theirs".to_owned();
    store.park(vec![parking(letter("a")), parking(other)]).await;
    let ours = store.get("acme", "a").await.expect("reads").expect("there");
    let theirs = store
        .get("globex", "a")
        .await
        .expect("reads")
        .expect("there");
    assert_ne!(ours.explanation, theirs.explanation);
    assert_eq!(store.get("initech", "a").await.expect("reads"), None);
}

#[tokio::test]
async fn the_oldest_open_letter_is_known() {
    let dir = tempfile::tempdir().expect("dir");
    let store = open(dir.path(), patient());
    assert_eq!(store.stats().oldest_open, None);
    for (id, secs) in [("a", 30), ("b", 10), ("c", 20)] {
        let mut letter = letter(id);
        letter.created_at = Timestamp::from_secs(secs);
        letter.updated_at = Timestamp::from_secs(secs);
        store.park(vec![parking(letter)]).await;
    }
    assert_eq!(store.stats().oldest_open, Some(Timestamp::from_secs(10)));
    let mut resolved = letter("b");
    resolved.status = LetterStatus::Resolved;
    resolved.updated_at = Timestamp::from_secs(40);
    store.park(vec![parking(resolved)]).await;
    assert_eq!(store.stats().oldest_open, Some(Timestamp::from_secs(20)));
    assert_eq!(store.stats().by_status[&LetterStatus::Open], 2);
}
