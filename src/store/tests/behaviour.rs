//! What every store does with time, tenants and requests at the same time.

use std::sync::Mutex;
use std::time::Duration;

use super::*;

const MICRO: Duration = Duration::from_micros(1);

fn before(time: Timestamp) -> Timestamp {
    Timestamp(time.0 - 1)
}

fn after_idle() -> Timestamp {
    START.plus(IDLE)
}

/// Whether the turn is open; `None`: not known.
fn is_open<S: TurnStore>(store: &S, key: &TurnKey, now: Timestamp) -> Option<bool> {
    done(store.read(key, now, |turn| turn.ended_at().is_none())).expect("is there")
}

pub(super) fn opens_a_turn_on_its_first_update<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    assert!(store.is_empty());
    let turn = key("acme", "t");
    assert_eq!(call(&store, &turn, START), 1);
    assert_eq!(call(&store, &turn, START), 2);
    assert_eq!(store.len(), 1);
    let seen = done(store.read(&turn, START, |turn| turn.view(&moment(&policy(), START, 1))));
    let seen = seen.expect("is there").expect("is known");
    assert_eq!((seen.tenant.as_str(), seen.turn_id.as_str()), ("acme", "t"));
    assert_eq!(seen.opened_at, START);
}

pub(super) fn reading_opens_nothing<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    let store = make(roomy());
    assert_eq!(is_open(&store, &key("acme", "t"), START), None);
    assert!(store.is_empty());
}

pub(super) fn a_change_is_alone_on_its_turn<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    const THREADS: u64 = 64;
    const CALLS: u64 = 20;
    let store = make(roomy());
    let turn = key("acme", "t");
    let seen = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for _ in 0..CALLS {
                    let count = call(&store, &turn, START);
                    seen.lock().unwrap().push(count);
                }
            });
        }
    });
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    // Every change saw a state of its own: none was lost, none saw half of another.
    assert_eq!(seen, (1..=THREADS * CALLS).collect::<Vec<_>>());
}

pub(super) fn opening_at_the_same_time_opens_one_turn<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    for round in 0..200 {
        let turn = key("acme", &format!("t{round}"));
        let barrier = std::sync::Barrier::new(8);
        let mut seen: Vec<u64> = std::thread::scope(|scope| {
            let opens = |_| {
                scope.spawn(|| {
                    barrier.wait();
                    call(&store, &turn, START)
                })
            };
            let threads: Vec<_> = (0..8).map(opens).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        seen.sort_unstable();
        assert_eq!(seen, (1..=8).collect::<Vec<_>>());
    }
    assert_eq!(store.len(), 200);
    // Each stands in the queue once.
    let swept = sweep(&store, after_idle(), usize::MAX);
    assert_eq!((swept.looked, swept.abandoned.len()), (200, 200));
}

pub(super) fn tenants_do_not_see_each_other<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    let store = make(roomy());
    assert_eq!(call(&store, &key("acme", "t"), START), 1);
    assert_eq!(call(&store, &key("globex", "t"), START), 1);
    // Names that would be the same if they were only put together.
    assert_eq!(call(&store, &key("acm", "et"), START), 1);
    assert_eq!(call(&store, &key("acme", "t"), START), 2);
    assert_eq!(store.len(), 3);
}

pub(super) fn a_turn_idles_out_at_exactly_its_time_by_sweep<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    let turn = key("acme", "t");
    call(&store, &turn, START);
    assert_eq!(sweep(&store, before(after_idle()), 10).looked, 0);
    assert_eq!(is_open(&store, &turn, before(after_idle())), Some(true));
    let swept = sweep(&store, after_idle(), 10);
    assert_eq!((swept.looked, swept.abandoned), (1, vec!["t".to_owned()]));
    assert_eq!(is_open(&store, &turn, after_idle()), Some(false));
    // Only once.
    assert_eq!(sweep(&store, after_idle(), 10).looked, 0);
}

pub(super) fn a_turn_idles_out_at_exactly_its_time_by_request<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let lifetimes = roomy().lifetimes;
    for (now, idled_out) in [(before(after_idle()), false), (after_idle(), true)] {
        let store = make(roomy());
        let turn = key("acme", "t");
        call(&store, &turn, START);
        let late = update(&store, &turn, now, |turn| {
            turn.has_idled_out(now, &lifetimes)
        });
        assert_eq!(late.value, idled_out);
        assert_eq!(late.lapsed, None);
    }
}

pub(super) fn a_call_keeps_a_turn_open<S: TurnStore>(make: impl Fn(MemoryStoreOptions) -> S) {
    let store = make(roomy());
    let turn = key("acme", "t");
    let mut now = START;
    for calls in 1..=5 {
        assert_eq!(call(&store, &turn, now), calls);
        now = Timestamp(now.plus(IDLE).0 - 1_000_000);
        assert_eq!(sweep(&store, now, 10).abandoned.len(), 0);
    }
    assert_eq!(is_open(&store, &turn, now), Some(true));
}

pub(super) fn an_ended_turn_is_kept_and_then_gone<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    let turn = key("acme", "t");
    call(&store, &turn, START);
    sweep(&store, after_idle(), 10);
    let gone = after_idle().plus(IDLE);
    assert_eq!(sweep(&store, before(gone), 10).looked, 0);
    assert_eq!(is_open(&store, &turn, before(gone)), Some(false));
    assert_eq!(is_open(&store, &turn, gone), None);
    // A request that comes before the sweep finds a fresh turn, and nobody has to be told of the ended one.
    let updated = update(&store, &turn, gone, |turn| turn.ended_at());
    assert_eq!((updated.value, updated.lapsed), (None, None));
    assert_eq!(call(&store, &turn, gone), 1);
    assert_eq!(store.len(), 1);
    // The fresh one stands in the queue too, and not in the old one's place.
    let swept = sweep(&store, before(gone.plus(IDLE)), 10);
    assert_eq!(swept.abandoned.len(), 0);
    assert_eq!(sweep(&store, gone.plus(IDLE), 10).abandoned.len(), 1);
    assert_eq!(sweep(&store, gone.plus(IDLE).plus(IDLE), 10).looked, 1);
    assert!(store.is_empty());
}

pub(super) fn a_turn_that_nobody_ended_is_handed_back<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    let turn = key("acme", "t");
    update(&store, &turn, START, |turn| {
        asking::send_into_the_dark(turn, START)
    });
    let gone = after_idle().plus(IDLE);
    let updated = update(&store, &turn, gone, |turn| turn.has_unknown_outcome());
    assert!(!updated.value);
    let lapsed = updated.lapsed.expect("somebody has to end it");
    assert!(lapsed.has_unknown_outcome() && lapsed.ended_at().is_none());
}

pub(super) fn a_sweep_looks_at_no_more_than_it_may<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    for tenant in ["acme", "globex", "initech"] {
        for number in 0..10 {
            call(&store, &key(tenant, &format!("t{number}")), START);
        }
    }
    let mut abandoned = 0;
    for looked in [7, 7, 7, 7, 2, 0] {
        let swept = sweep(&store, after_idle(), 7);
        assert_eq!(swept.looked, looked);
        abandoned += swept.abandoned.len();
    }
    assert_eq!(abandoned, 30);
    assert_eq!(sweep(&store, after_idle().plus(IDLE), 0).looked, 0);
}

pub(super) fn a_sweep_lets_every_tenant_have_its_share<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let store = make(roomy());
    for number in 0..1_000 {
        call(&store, &key("big", &format!("t{number}")), START);
    }
    for tenant in 0..9 {
        call(&store, &key(&format!("small{tenant}"), "t"), START);
    }
    sweep(&store, after_idle(), 20);
    let open = (0..9)
        .filter(|tenant| is_open(&store, &key(&format!("small{tenant}"), "t"), START) == Some(true))
        .count();
    assert_eq!(open, 0);
    // Where there is less than one look for each, all get their turn in time.
    for tenant in 0..9 {
        let turn = key(&format!("small{tenant}"), "other");
        call(&store, &turn, after_idle());
    }
    let later = after_idle().plus(IDLE);
    for _ in 0..100 {
        sweep(&store, later, 1);
    }
    let open = (0..9)
        .filter(|tenant| {
            is_open(&store, &key(&format!("small{tenant}"), "other"), later) == Some(true)
        })
        .count();
    assert_eq!(open, 0);
}

pub(super) fn a_sweep_looks_at_a_turn_about_once_an_idle_time<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    const TURNS: usize = 20;
    let store = make(roomy());
    let mut looked = 0;
    let seconds = 4 * IDLE.as_secs();
    for second in 0..seconds {
        let now = START.plus(Duration::from_secs(second));
        // Every turn is busy, some in a steady and some in an odd rhythm.
        for number in 0..TURNS {
            if second % (7 + number as u64) == 0 {
                call(&store, &key("acme", &format!("t{number}")), now);
            }
        }
        looked += sweep(&store, now.plus(MICRO), 1_000).looked;
    }
    assert_eq!(store.len(), TURNS);
    assert!(looked <= TURNS * 5, "{looked}");
}

pub(super) fn a_hundred_thousand_turns_leave_nothing_behind<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    const TURNS: u64 = 100_000;
    let store = make(roomy());
    let mut swept = Swept {
        looked: 0,
        abandoned: Vec::new(),
    };
    for number in 0..TURNS {
        // A hundred a second, in no particular place within it.
        let now = START.plus(Duration::from_micros(number * 10_007));
        update(&store, &key("acme", &format!("t{number}")), now, |_| ());
        if number % 100 == 0 {
            let mut some = sweep(&store, now, 250);
            swept.looked += some.looked;
            swept.abandoned.append(&mut some.abandoned);
        }
    }
    let end = START.plus(Duration::from_micros(TURNS * 10_007));
    // Due times are rounded up to seconds.
    assert!(store.len() > 0);
    for second in 0..2 * IDLE.as_secs() + 2 {
        let mut some = sweep(&store, end.plus(Duration::from_secs(second)), 250);
        swept.looked += some.looked;
        swept.abandoned.append(&mut some.abandoned);
    }
    assert!(store.is_empty(), "{} left", store.len());
    swept.abandoned.sort_unstable();
    swept.abandoned.dedup();
    assert_eq!(swept.abandoned.len() as u64, TURNS);
    // Once when it idled out, once when it was gone.
    assert_eq!(swept.looked as u64, 2 * TURNS);
}

/// Opening, ending, sweeping and using a key again at the same time: every turn that was opened ends exactly once.
pub(super) fn nobody_is_lost_while_turns_open_end_and_go<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    const THREADS: u64 = 8;
    let store = make(roomy());
    let opened = Mutex::new(0u64);
    let ended = Mutex::new(0u64);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (store, opened, ended) = (&store, &opened, &ended);
            scope.spawn(move || {
                let policy = policy();
                for step in 0..2_000u64 {
                    // Time flies, at another pace in each thread, and keys are used again and again.
                    let now = START.plus(Duration::from_secs(step * 20 + thread));
                    let turn = key("acme", &format!("t{}", (step * 7 + thread * 3) % 50));
                    let updated = update(store, &turn, now, |turn| {
                        let calls = asking::succeed(turn, &moment(&policy, now, 1), "read");
                        let is_new = calls == 1 && turn.ended_at().is_none();
                        (is_new, turn.ended_at().is_some())
                    });
                    *opened.lock().unwrap() += u64::from(updated.value.0);
                    *ended.lock().unwrap() += u64::from(updated.lapsed.is_some());
                    if step % 5 == thread % 5 {
                        let swept = sweep(store, now, 10);
                        *ended.lock().unwrap() += swept.abandoned.len() as u64;
                    }
                }
            });
        }
    });
    let end = START.plus(Duration::from_secs(200_000));
    let mut ended = ended.into_inner().unwrap();
    for _ in 0..2 {
        ended += sweep(&store, end, usize::MAX).abandoned.len() as u64;
    }
    assert!(store.is_empty());
    assert_eq!(opened.into_inner().unwrap(), ended);
}
