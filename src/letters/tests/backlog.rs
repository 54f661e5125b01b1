//! The backlog by itself, step by step, without a writer's timing.

use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TryRecvError;

use super::super::Parking;
use super::super::backlog::{Backlog, Setback, Waiter};
use super::super::standing::Entry;
use super::super::store::LetterStats;
use super::letter;

fn backlog() -> Backlog {
    Backlog::new(3, usize::MAX, LetterStats::default())
}

fn raised(id: &str, count: u64) -> Entry {
    let mut letter = letter(id);
    letter.count = count;
    let replace = false;
    Entry::from(Parking { letter, replace })
}

fn waiter() -> (Waiter, mpsc::Receiver<Setback>) {
    mpsc::channel(1)
}

fn taken(backlog: &Backlog) -> Vec<(String, u64)> {
    let batch = backlog.next(10, None).expect("is open");
    let letters = batch.iter().map(|entry| &entry.letter);
    letters.map(|l| (l.id.clone(), l.count)).collect()
}

fn refused(backlog: &Backlog, entry: Entry) -> bool {
    !backlog.add(vec![entry], &waiter().0).refused.is_empty()
}

#[test]
fn what_was_raised_while_it_was_written_is_one_letter_after_a_setback() {
    let backlog = backlog();
    let (first, mut first_hears) = waiter();
    backlog.add(vec![raised("a", 1), raised("b", 1)], &first);
    drop(first);
    assert_eq!(taken(&backlog), [("a".into(), 1), ("b".into(), 1)]);
    let (second, mut second_hears) = waiter();
    backlog.add(vec![raised("a", 5)], &second);
    drop(second);
    assert_eq!(backlog.stats().spooled, 2);
    backlog.set_back();
    assert!(matches!(first_hears.try_recv(), Ok(Setback::Spooled)));
    assert!(matches!(second_hears.try_recv(), Ok(Setback::Spooled)));
    assert_eq!(backlog.find("acme", "a").len(), 1);
    // In the old order, with the new count.
    assert_eq!(taken(&backlog), [("a".into(), 5), ("b".into(), 1)]);
    assert!(backlog.committed(LetterStats::default(), &[]));
    assert_eq!(backlog.stats().spooled, 0);
}

#[test]
fn what_was_raised_while_it_was_written_is_written_again_after_a_commit() {
    let backlog = backlog();
    let (first, mut first_hears) = waiter();
    backlog.add(vec![raised("a", 1)], &first);
    drop(first);
    assert_eq!(taken(&backlog), [("a".into(), 1)]);
    let (second, mut second_hears) = waiter();
    backlog.add(vec![raised("a", 5)], &second);
    drop(second);
    assert!(!backlog.committed(LetterStats::default(), &[]));
    assert!(matches!(
        first_hears.try_recv(),
        Err(TryRecvError::Disconnected)
    ));
    // Its own commit is still to come.
    assert!(matches!(second_hears.try_recv(), Err(TryRecvError::Empty)));
    assert_eq!(taken(&backlog), [("a".into(), 5)]);
    backlog.committed(LetterStats::default(), &[]);
    assert!(matches!(
        second_hears.try_recv(),
        Err(TryRecvError::Disconnected)
    ));
}

#[test]
fn the_bound_counts_what_is_being_written_and_lets_its_raises_through() {
    let backlog = backlog();
    for id in ["a", "b", "c"] {
        assert!(!refused(&backlog, raised(id, 1)));
    }
    assert!(refused(&backlog, raised("d", 1)));
    taken(&backlog);
    assert!(refused(&backlog, raised("d", 1)));
    assert!(!refused(&backlog, raised("a", 2)));
    backlog.set_back();
    assert!(refused(&backlog, raised("d", 1)));
    taken(&backlog);
    backlog.committed(LetterStats::default(), &[]);
    assert!(!refused(&backlog, raised("d", 1)));
}

#[test]
fn bytes_are_given_back_in_full() {
    let weight = raised("a", 1).weight();
    let backlog = Backlog::new(usize::MAX, weight * 2, LetterStats::default());
    for _ in 0..5 {
        for id in ["a", "b"] {
            assert!(!refused(&backlog, raised(id, 1)));
        }
        assert!(refused(&backlog, raised("c", 1)));
        taken(&backlog);
        assert!(!refused(&backlog, raised("a", 2)));
        backlog.set_back();
        taken(&backlog);
        backlog.committed(LetterStats::default(), &[]);
    }
}

#[test]
fn nobody_is_late_for_an_empty_backlog() {
    let backlog = backlog();
    assert!(!backlog.late());
    assert!(!backlog.add(vec![raised("a", 1)], &waiter().0).failing);
    assert!(backlog.late());
    assert!(!backlog.late(), "said once a spell");
    assert!(backlog.add(vec![raised("b", 1)], &waiter().0).failing);
}

#[test]
fn a_shut_backlog_hands_out_what_is_left_and_takes_nothing() {
    let backlog = backlog();
    let (first, mut hears) = waiter();
    backlog.add(vec![raised("a", 1)], &first);
    backlog.close();
    assert_eq!(backlog.shut().len(), 1);
    assert!(matches!(hears.try_recv(), Ok(Setback::Logged)));
    assert!(refused(&backlog, raised("b", 1)));
    assert!(backlog.next(10, None).is_none());
}
