//! What becomes of a turn that nobody ends: whatever the way it goes, its silent failure is parked.

use std::collections::HashSet;

use super::*;

const IDLE: Duration = Duration::from_secs(15 * 60);

/// The silent failure of a turn that nobody ended, of a turn's letters.
fn silent(letters: &[DeadLetter], turn: &str) -> Vec<DeadLetter> {
    let of_turn = letters.iter().filter(|letter| letter.turn_id == turn);
    of_turn
        .filter(|letter| letter.silent.is_some())
        .cloned()
        .collect()
}

fn assert_abandoned(letter: &DeadLetter, operation: &str) {
    let record = letter.silent.as_ref().expect("is a silent failure");
    assert_eq!(record.outcome, None);
    assert_eq!(record.unresolved_operations, [operation]);
    assert_eq!(letter.status, LetterStatus::Open);
}

#[tokio::test]
async fn a_sweep_parks_the_silent_failure_of_an_abandoned_turn() {
    let world = World::new();
    world.judge("t", left()).await;
    world.pass(IDLE - Duration::from_micros(1));
    assert_eq!(world.oracle.sweep(100).await.unwrap(), 0);
    world.pass(Duration::from_micros(1));
    assert_eq!(world.oracle.sweep(100).await.unwrap(), 1);
    let letters = world.all_on_disk();
    assert_eq!(letters.len(), 1);
    assert_abandoned(&letters[0], "read-it");
    // Once a turn.
    world.pass(IDLE);
    assert_eq!(world.oracle.sweep(100).await.unwrap(), 1);
    assert_eq!(world.all_on_disk().len(), 1);
    assert_eq!(world.oracle.turns_kept(), 0);
    assert!(world.metric("backstop_silent_failures_total{reason=\"abandoned\"} 1"));
    assert!(world.metric("backstop_turns_total{outcome=\"abandoned\"} 1"));
}

#[tokio::test]
async fn a_late_request_ends_the_turn_first() {
    let world = World::new();
    world.judge("t", left()).await;
    world.pass(IDLE);
    let late = world.judge("t", failed("read-it", 2, "read", "503")).await;
    assert_eq!(late.verdict.reason, Reason::TurnEnded);
    let letters = silent(&world.all_on_disk(), "t");
    assert_eq!(letters.len(), 1);
    assert_abandoned(&letters[0], "read-it");
    assert_ne!(late.dead_letter_id, Some(letters[0].id.clone()));
    assert_eq!(world.oracle.sweep(100).await.unwrap(), 1);
    assert_eq!(silent(&world.all_on_disk(), "t").len(), 1);
}

#[tokio::test]
async fn a_key_that_is_used_again_before_any_sweep_loses_no_silent_failure() {
    let world = World::new();
    world.judge("t", left()).await;
    world.pass(IDLE * 2);
    let fresh = world.judge("t", left()).await;
    assert!(!fresh.replayed);
    assert_eq!(fresh.budgets.turn_failures.used, 1);
    let letters = silent(&world.all_on_disk(), "t");
    assert_eq!(letters.len(), 1);
    assert_abandoned(&letters[0], "read-it");
}

#[tokio::test]
async fn an_evicted_turn_parks_its_silent_failure() {
    let world = World::with_room_for(2);
    world.judge("first", left()).await;
    world.pass(Duration::from_secs(1));
    world.judge("second", left()).await;
    world.pass(Duration::from_secs(1));
    assert!(world.all_on_disk().is_empty());
    world.judge("third", left()).await;
    let letters = world.all_on_disk();
    assert_eq!(letters.len(), 1);
    assert_eq!(letters[0].turn_id, "first");
    assert_abandoned(&letters[0], "read-it");
    assert_eq!(world.oracle.turns_kept(), 2);
}

#[tokio::test]
async fn turns_swept_in_the_same_instant_get_letters_of_their_own() {
    let world = World::new();
    for number in 0..50 {
        world.judge(&format!("t{number}"), left()).await;
    }
    world.pass(IDLE);
    assert_eq!(world.oracle.sweep(1_000).await.unwrap(), 50);
    let letters = world.all_on_disk();
    let ids: HashSet<&str> = letters.iter().map(|letter| letter.id.as_str()).collect();
    let turns: HashSet<&str> = letters.iter().map(|l| l.turn_id.as_str()).collect();
    assert_eq!((letters.len(), ids.len(), turns.len()), (50, 50, 50));
}

#[tokio::test]
async fn a_sweep_that_is_dropped_while_it_waits_loses_no_letter() {
    use std::future::Future;
    use std::task::{Context, Waker};
    let world = World::new();
    for number in 0..50 {
        world.judge(&format!("t{number}"), left()).await;
    }
    world.pass(IDLE);
    {
        let mut sweep = std::pin::pin!(world.oracle.sweep(1_000));
        let _ = sweep.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }
    world.oracle.letters().close().await;
    assert_eq!(world.all_on_disk().len(), 50);
}

#[tokio::test]
async fn a_turn_that_was_ended_openly_parks_nothing_more() {
    let world = World::new();
    world.judge("t", left()).await;
    let end = EndTurnRequest {
        outcome: Outcome::Degraded,
        disclosed: true,
        tokens_spent: 0,
        request_id: None,
    };
    let ended = world.oracle.end_turn("default", "t", end).await.unwrap();
    assert!(!ended.summary.silent);
    world.pass(IDLE);
    assert_eq!(world.oracle.sweep(100).await.unwrap(), 1);
    assert!(world.all_on_disk().is_empty());
    assert_eq!(world.oracle.turns_kept(), 0);
}
