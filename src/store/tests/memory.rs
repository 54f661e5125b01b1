//! What only the embedded store can be asked: its queues and counters, and what making room costs.

use std::sync::atomic::Ordering;

use super::super::MemoryStore;
use super::super::memory::{LEEWAY, LOOKS};
use super::*;

#[test]
fn making_room_never_looks_at_more_than_it_may() {
    const TURNS: usize = 5_000;
    let store = MemoryStore::new(room_for(TURNS));
    let policy = policy();
    for number in 0..TURNS {
        let turn = key("acme", &format!("t{number}"));
        update(&store, &turn, START, |_| ());
    }
    // All of them were active since they were put in the queue, so that no look finds what it expects.
    let later = START.plus(Duration::from_secs(60));
    for number in 0..TURNS {
        let turn = key("acme", &format!("t{number}"));
        update(&store, &turn, later, |turn| {
            asking::succeed(turn, &moment(&policy, later, 1), "read")
        });
    }
    assert_eq!(store.looks.load(Ordering::Relaxed), 0);
    for number in 0..200 {
        let turn = key("acme", &format!("new{number}"));
        update(&store, &turn, later, |_| ());
        assert!(store.len() <= TURNS + TURNS / LEEWAY);
        let looks = store.looks.swap(0, Ordering::Relaxed);
        assert!(looks <= LOOKS, "{looks}");
    }
    assert_eq!(store.tally("acme"), (TURNS, TURNS));
}

#[test]
fn a_turn_in_front_that_is_idle_costs_one_look() {
    let store = MemoryStore::new(room_for(1_000));
    for number in 0..1_100u64 {
        let now = START.plus(Duration::from_secs(number));
        update(&store, &key("acme", &format!("t{number}")), now, |_| ());
    }
    assert_eq!(store.looks.load(Ordering::Relaxed), 100);
}

#[test]
fn queues_and_counters_agree_with_the_map_after_everything_happened_at_once() {
    let store = MemoryStore::new(room_for(40));
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let store = &store;
            scope.spawn(move || {
                for step in 0..3_000u64 {
                    let now = START.plus(Duration::from_secs(step * 13 + thread));
                    let turn = key("acme", &format!("t{}", (step * 11 + thread * 5) % 90));
                    update(store, &turn, now, |turn| {
                        if step % 17 == 0 && turn.ended_at().is_none() {
                            let policy = policy();
                            let _ = turn.abandon(&moment(&policy, now, 1), now);
                        }
                    });
                    if step % 31 == 0 {
                        sweep(store, now, 20);
                    }
                }
            });
        }
    });
    let kept = store.len();
    assert!(kept > 0);
    assert_eq!(store.tally("acme"), (kept, kept));
    let end = START.plus(Duration::from_secs(1_000_000));
    sweep(&store, end, usize::MAX);
    assert!(store.is_empty());
    assert_eq!(store.tally("acme"), (0, 0));
}

#[test]
fn a_change_that_panics_leaves_no_place_taken() {
    let store = MemoryStore::new(room_for(10));
    let turn = key("acme", "t");
    let panics = std::panic::AssertUnwindSafe(|| {
        update(&store, &turn, START, |_| panic!("a defect"));
    });
    assert!(std::panic::catch_unwind(panics).is_err());
    assert_eq!(store.tally("acme"), (0, 0));
    update(&store, &turn, START, |_| ());
    assert_eq!(store.tally("acme"), (1, 1));
}

#[test]
fn an_update_that_is_never_polled_changes_nothing() {
    let store = MemoryStore::new(roomy());
    drop(store.update(&key("acme", "t"), START, |_| ()));
    assert!(store.is_empty());
}
