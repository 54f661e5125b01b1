//! One suite for every store: each behaviour is written against the contract, and the macro runs it for each store.

mod asking;
mod behaviour;
mod budgets;
mod eviction;
mod memory;
mod rerun;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use crate::domain::Timestamp;
use crate::turn::{Answered, Turn};

use super::{MemoryStoreOptions, Swept, TurnKey, TurnStore, Updated};
use asking::{moment, policy};

/// Expands to one test for each behaviour, for one store; `$make` takes the bounds.
macro_rules! suite {
    ($store:ident, $make:expr, $module:ident: $($behaviour:ident),+ $(,)?) => {
        mod $store { $(
            #[test]
            fn $behaviour() {
                #[allow(unused_imports)]
                use $crate::store::MemoryStore;
                $crate::store::tests::$module::$behaviour($make);
            }
        )+ }
    };
}
macro_rules! every_store {
    ($module:ident: $($behaviour:ident),+ $(,)?) => {
        mod $module {
            suite!(memory, |options| MemoryStore::new(options), $module: $($behaviour),+);
            suite!(
                memory_that_runs_changes_twice,
                |options| $crate::store::tests::rerun::Rerun(MemoryStore::new(options)),
                $module: $($behaviour),+
            );
        }
    };
}

mod suites {
    every_store!(behaviour:
        opens_a_turn_on_its_first_update,
        reading_opens_nothing,
        a_change_is_alone_on_its_turn,
        opening_at_the_same_time_opens_one_turn,
        tenants_do_not_see_each_other,
        a_turn_idles_out_at_exactly_its_time_by_sweep,
        a_turn_idles_out_at_exactly_its_time_by_request,
        a_call_keeps_a_turn_open,
        an_ended_turn_is_kept_and_then_gone,
        a_turn_that_nobody_ended_is_handed_back,
        a_sweep_looks_at_no_more_than_it_may,
        a_sweep_lets_every_tenant_have_its_share,
        a_sweep_looks_at_a_turn_about_once_an_idle_time,
        a_hundred_thousand_turns_leave_nothing_behind,
        nobody_is_lost_while_turns_open_end_and_go,
    );
    every_store!(eviction:
        the_bound_holds_within_the_tenant,
        the_idlest_goes_first,
        the_busiest_stay_whenever_they_were_opened,
        busy_turns_have_a_bound_too,
        an_unknown_outcome_goes_last,
        a_settled_outcome_protects_nobody,
        the_bound_holds_under_concurrency,
        evicted_turns_are_counted_once,
    );
    every_store!(budgets:
        the_same_requests_give_the_same_turn,
        sixty_four_workers_never_get_more_than_the_budget,
        an_expensive_tool_is_admitted_once,
        a_keyed_attempt_is_admitted_to_one_worker,
    );
}

/// What a store gives, for stores that never wait.
fn done<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the store waits"),
    }
}

fn update<S: TurnStore, R: Send>(
    store: &S,
    key: &TurnKey,
    now: Timestamp,
    change: impl FnMut(&mut Turn) -> R + Send,
) -> Updated<R> {
    done(store.update(key, now, change)).expect("is there")
}

/// Sweeps as the oracle does: turns that idled out end as of their time.
fn sweep<S: TurnStore>(store: &S, now: Timestamp, most: usize) -> Swept<String> {
    let policy = policy();
    let abandon = |turn: &mut Turn| {
        let at = turn.last_activity().plus(IDLE).min(now);
        let Answered { answer, .. } = turn.abandon(&moment(&policy, now, 7), at);
        answer.expect("ends");
        turn.view(&moment(&policy, now, 7)).turn_id
    };
    done(store.sweep(now, most, abandon)).expect("is there")
}

/// Marks a turn as active, and answers how many calls it has seen.
fn call<S: TurnStore>(store: &S, key: &TurnKey, now: Timestamp) -> u64 {
    let policy = policy();
    update(store, key, now, |turn| {
        asking::succeed(turn, &moment(&policy, now, 1), "read")
    })
    .value
}

fn key(tenant: &str, turn_id: &str) -> TurnKey {
    TurnKey {
        tenant: tenant.into(),
        turn_id: turn_id.into(),
    }
}

const IDLE: Duration = Duration::from_secs(15 * 60);
const START: Timestamp = Timestamp::from_secs(1_000_000);

fn roomy() -> MemoryStoreOptions {
    MemoryStoreOptions::default()
}

fn room_for(max_turns: usize) -> MemoryStoreOptions {
    MemoryStoreOptions {
        max_turns,
        ..MemoryStoreOptions::default()
    }
}
