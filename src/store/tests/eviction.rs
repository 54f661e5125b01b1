//! Making room: within the tenant, the idlest first, unknown outcomes last.

use std::collections::HashSet;
use std::sync::Mutex;

use super::*;

fn at(second: u64) -> Timestamp {
    START.plus(Duration::from_secs(second))
}

fn ids(turns: &[Turn]) -> Vec<String> {
    let policy = policy();
    let view = |turn: &Turn| turn.view(&moment(&policy, START, 1)).turn_id;
    turns.iter().map(view).collect()
}

fn opens<S: TurnStore>(store: &S, turn: &TurnKey, now: Timestamp) -> Vec<String> {
    let policy = policy();
    let updated = update(store, turn, now, |turn| {
        asking::touch(turn, &moment(&policy, now, 1));
    });
    ids(&updated.evicted)
}

fn is_known<S: TurnStore>(store: &S, turn: &TurnKey, now: Timestamp) -> bool {
    let known = done(store.read(turn, now, |_| ())).expect("is there");
    known.is_some()
}

pub(super) fn the_bound_holds_within_the_tenant<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(room_for(3));
    opens(&store, &key("globex", "old"), START);
    for number in 0..3 {
        let evicted = opens(&store, &key("acme", &format!("t{number}")), at(number + 1));
        assert!(evicted.is_empty());
    }
    // One more call of a turn that is there needs no room.
    assert!(opens(&store, &key("acme", "t1"), at(5)).is_empty());
    assert_eq!(opens(&store, &key("acme", "t3"), at(6)), ["t0"]);
    assert_eq!(store.len(), 4);
    assert!(is_known(&store, &key("globex", "old"), at(6)));
    // Who is evicted and comes again is a fresh turn.
    assert_eq!(call(&store, &key("acme", "t0"), at(7)), 1);
}

pub(super) fn the_idlest_goes_first<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    let store = make(room_for(10));
    for number in 0..10 {
        opens(&store, &key("acme", &format!("t{number}")), at(number));
    }
    // Used again, in another order than that of opening.
    let order = [3, 0, 7, 1, 9, 5, 2, 8, 4, 6];
    for (second, number) in order.iter().enumerate() {
        let turn = key("acme", &format!("t{number}"));
        opens(&store, &turn, at(100 + second as u64));
    }
    for (second, number) in order.iter().enumerate() {
        let turn = key("acme", &format!("new{second}"));
        let evicted = opens(&store, &turn, at(200 + second as u64));
        assert_eq!(evicted, [format!("t{number}")]);
    }
}

/// Busy turns stay, though they were opened first and stand in front of the queue, more of them than one request may
/// look at.
pub(super) fn the_busiest_stay_whenever_they_were_opened<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    const BUSY: usize = 100;
    const ROOM: usize = 300;
    let store = make(room_for(ROOM));
    for number in 0..BUSY {
        opens(&store, &key("acme", &format!("busy{number}")), START);
    }
    for second in 1..500u64 {
        let now = at(second);
        for number in 0..BUSY {
            let evicted = opens(&store, &key("acme", &format!("busy{number}")), now);
            assert!(evicted.is_empty(), "a busy turn had to be opened again");
        }
        opens(&store, &key("acme", &format!("idle{second}")), now);
        assert!(store.len() <= ROOM + ROOM / 32);
    }
}

/// A tenant whose turns are all busy all the time, so that no look finds an idle one, has a bound all the same.
pub(super) fn busy_turns_have_a_bound_too<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    const ROOM: usize = 300;
    let store = make(room_for(ROOM));
    let mut all = Vec::new();
    for second in 0..400 {
        if second >= ROOM as u64 {
            for turn in &all {
                if is_known(&store, turn, at(second)) {
                    opens(&store, turn, at(second));
                }
            }
        }
        let turn = key("acme", &format!("t{second}"));
        opens(&store, &turn, at(second));
        all.push(turn);
        assert!(store.len() <= ROOM + ROOM / 32, "{}", store.len());
    }
}

pub(super) fn an_unknown_outcome_goes_last<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    // More of them than one request may look at.
    const UNKNOWN: u64 = 200;
    let room = UNKNOWN as usize + 20;
    let store = make(room_for(room));
    for number in 0..UNKNOWN {
        let turn = key("acme", &format!("dark{number}"));
        update(&store, &turn, at(number), |turn| {
            asking::send_into_the_dark(turn, at(number));
        });
    }
    for number in 0..20 {
        let turn = key("acme", &format!("plain{number}"));
        opens(&store, &turn, at(1_000 + number));
    }
    let mut evicted = Vec::new();
    for number in 0..200 {
        let turn = key("acme", &format!("new{number}"));
        evicted.extend(opens(&store, &turn, at(2_000 + number)));
        // The bound may be passed by one for every 64 of them, until they have been looked at.
        assert!(store.len() <= room + 4, "{}", store.len());
    }
    assert_eq!(store.len(), room);
    assert!(evicted.iter().all(|id| !id.starts_with("dark")));
    // Where there are no others any more, the idlest of them goes.
    let store = make(room_for(2));
    for number in 0..2 {
        let turn = key("acme", &format!("dark{number}"));
        update(&store, &turn, at(number), |turn| {
            asking::send_into_the_dark(turn, at(number));
        });
    }
    opens(&store, &key("globex", "plain"), START);
    assert_eq!(opens(&store, &key("acme", "new"), at(9)), ["dark0"]);
}

pub(super) fn a_settled_outcome_protects_nobody<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(room_for(2));
    for name in ["settled", "dark"] {
        update(&store, &key("acme", name), START, |turn| {
            asking::send_into_the_dark(turn, START);
        });
    }
    let turn = key("acme", "settled");
    update(&store, &turn, at(5), |turn| asking::settle(turn, at(5)));
    assert_eq!(opens(&store, &key("acme", "new"), at(9)), ["settled"]);
}

pub(super) fn the_bound_holds_under_concurrency<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    const THREADS: usize = 16;
    const ROOM: usize = 100;
    let store = make(room_for(ROOM));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for number in 0..500 {
                    let turn = key("acme", &format!("t{thread}-{number}"));
                    update(store, &turn, at(number), |_| ());
                    // Each of the others may be about to put its own in the queue.
                    assert!(store.len() <= ROOM + THREADS);
                }
            });
        }
    });
    update(&store, &key("acme", "last"), at(1_000), |_| ());
    assert_eq!(store.len(), ROOM);
}

/// Openers that meet at one key, at the bound: whatever was opened was either evicted once or is still there.
pub(super) fn evicted_turns_are_counted_once<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    const THREADS: u64 = 8;
    let store = make(room_for(10));
    let opened = Mutex::new(0usize);
    let evicted = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let policy = policy();
                for number in 0..1_000 {
                    let turn = key("acme", &format!("t{number}"));
                    let updated = update(&store, &turn, at(number), |turn| {
                        asking::succeed(turn, &moment(&policy, at(number), 1), "read")
                    });
                    *opened.lock().unwrap() += usize::from(updated.value == 1);
                    evicted.lock().unwrap().extend(updated.evicted);
                }
            });
        }
    });
    let evicted = evicted.into_inner().unwrap();
    assert_eq!(opened.into_inner().unwrap(), evicted.len() + store.len());
    assert!(store.len() <= 10 + THREADS as usize);
    let ids: HashSet<String> = ids(&evicted).into_iter().collect();
    assert!(ids.len() >= 1_000 - store.len());
}
