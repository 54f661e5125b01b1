//! The embedded store: a concurrent map, each turn under its entry's lock.
//!
//! No guard of the map leaves a function of this module, so none can be held across an await. Making room and letting
//! turns go work through the tenant's queue, never through the map.

use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use crate::domain::Timestamp;
use crate::turn::{Lifetimes, Turn};

use super::queue::Queue;
use super::{StoreError, TurnKey, TurnStore, Updated};

/// Bounds of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStoreOptions {
    /// Turns that a tenant may have at once, ended ones that are still kept included.
    pub max_turns: usize,
    /// How long turns are kept.
    pub lifetimes: Lifetimes,
}

impl Default for MemoryStoreOptions {
    fn default() -> Self {
        MemoryStoreOptions {
            max_turns: 100_000,
            lifetimes: Lifetimes::default(),
        }
    }
}

/// How many turns one request looks at, at most, to make room for its own.
const LOOKS: usize = 64;

/// A tenant's turns in the order in which they come due.
#[derive(Debug, Default)]
struct Tenant {
    turns: AtomicUsize,
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    plain: Queue,
    /// Turns of which somebody still has to learn whether work was done: evicted last.
    unknown_outcome: Queue,
}

/// Turns in a concurrent map.
#[derive(Debug)]
pub struct MemoryStore {
    turns: DashMap<TurnKey, Turn>,
    tenants: DashMap<Arc<str>, Arc<Tenant>>,
    options: MemoryStoreOptions,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(options: MemoryStoreOptions) -> Self {
        MemoryStore {
            turns: DashMap::new(),
            tenants: DashMap::new(),
            options,
        }
    }

    fn tenant(&self, name: &Arc<str>) -> Arc<Tenant> {
        if let Some(tenant) = self.tenants.get(name) {
            return tenant.clone();
        }
        self.tenants.entry(name.clone()).or_default().clone()
    }

    fn update_now<R>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        mut change: impl FnMut(&mut Turn) -> R,
    ) -> Updated<R> {
        let lifetimes = &self.options.lifetimes;
        let open = || Turn::open(key.tenant.clone(), key.turn_id.clone(), now);
        if let Some(mut turn) = self.turns.get_mut(key) {
            if turn.is_gone(now, lifetimes) {
                *turn = open();
            }
            let value = change(&mut turn);
            return Updated {
                value,
                evicted: Vec::new(),
            };
        }
        let tenant = self.tenant(&key.tenant);
        let evicted = self.make_room(&key.tenant, &tenant);
        let (value, due) = match self.turns.entry(key.clone()) {
            // Another request opened it meanwhile.
            Entry::Occupied(mut known) => (change(known.get_mut()), None),
            Entry::Vacant(free) => {
                let mut turn = open();
                let value = change(&mut turn);
                let due = turn.due(lifetimes);
                free.insert(turn);
                (value, Some(due))
            }
        };
        if let Some(due) = due {
            tenant.turns.fetch_add(1, Ordering::Relaxed);
            lock(&tenant.queues).plain.push(due, key.turn_id.clone());
        }
        Updated { value, evicted }
    }

    /// Evicts a turn where the tenant has as many as it may: the idlest, one with an unknown outcome only where no
    /// other was found.
    fn make_room(&self, name: &Arc<str>, tenant: &Tenant) -> Vec<Turn> {
        let mut evicted = Vec::new();
        if tenant.turns.load(Ordering::Relaxed) < self.options.max_turns {
            return evicted;
        }
        for _ in 0..LOOKS {
            let Some(turn_id) = lock(&tenant.queues).plain.pop() else {
                break;
            };
            if self.evict(name, tenant, turn_id, true, &mut evicted) {
                return evicted;
            }
        }
        for _ in 0..LOOKS {
            let Some(turn_id) = lock(&tenant.queues).unknown_outcome.pop() else {
                break;
            };
            if self.evict(name, tenant, turn_id, false, &mut evicted) {
                return evicted;
            }
        }
        evicted
    }

    /// Takes a turn that was popped out of a queue out of the map too, or puts it back where it belongs.
    fn evict(
        &self,
        name: &Arc<str>,
        tenant: &Tenant,
        turn_id: Arc<str>,
        spare_unknown: bool,
        evicted: &mut Vec<Turn>,
    ) -> bool {
        let key = TurnKey {
            tenant: name.clone(),
            turn_id,
        };
        let Entry::Occupied(known) = self.turns.entry(key) else {
            return false;
        };
        if spare_unknown && known.get().has_unknown_outcome() {
            let due = known.get().due(&self.options.lifetimes);
            let turn_id = known.key().turn_id.clone();
            drop(known);
            lock(&tenant.queues).unknown_outcome.push(due, turn_id);
            return false;
        }
        evicted.push(known.remove());
        tenant.turns.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Looks at a turn that came due: ends it, forgets it, or puts it back.
    fn look(
        &self,
        key: TurnKey,
        tenant: &Tenant,
        now: Timestamp,
        abandon: &mut impl FnMut(&mut Turn),
    ) {
        let lifetimes = &self.options.lifetimes;
        let Entry::Occupied(mut known) = self.turns.entry(key) else {
            return;
        };
        if known.get().has_idled_out(now, lifetimes) {
            abandon(known.get_mut());
        }
        if known.get().is_gone(now, lifetimes) {
            known.remove();
            tenant.turns.fetch_sub(1, Ordering::Relaxed);
            return;
        }
        let due = known.get().due(lifetimes);
        let turn_id = known.key().turn_id.clone();
        drop(known);
        lock(&tenant.queues).plain.push(due, turn_id);
    }

    fn sweep_now(&self, now: Timestamp, most: usize, abandon: &mut impl FnMut(&mut Turn)) -> usize {
        let tenants: Vec<(Arc<str>, Arc<Tenant>)> = self
            .tenants
            .iter()
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        let mut looked = 0;
        for (name, tenant) in tenants {
            while looked < most {
                let due = {
                    let mut queues = lock(&tenant.queues);
                    let plain = queues.plain.pop_due(now);
                    plain.or_else(|| queues.unknown_outcome.pop_due(now))
                };
                let Some(turn_id) = due else {
                    break;
                };
                looked += 1;
                let key = TurnKey {
                    tenant: name.clone(),
                    turn_id,
                };
                self.look(key, &tenant, now, abandon);
            }
        }
        looked
    }
}

/// A queue is never left half changed by a panic, so a poisoned lock is as good as a whole one.
fn lock(queues: &Mutex<Queues>) -> std::sync::MutexGuard<'_, Queues> {
    queues.lock().unwrap_or_else(PoisonError::into_inner)
}

impl TurnStore for MemoryStore {
    fn update<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        change: impl FnMut(&mut Turn) -> R + Send,
    ) -> impl Future<Output = Result<Updated<R>, StoreError>> + Send {
        std::future::ready(Ok(self.update_now(key, now, change)))
    }

    fn read<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        look: impl FnOnce(&Turn) -> R + Send,
    ) -> impl Future<Output = Result<Option<R>, StoreError>> + Send {
        let known = self
            .turns
            .get(key)
            .filter(|turn| !turn.is_gone(now, &self.options.lifetimes))
            .map(|turn| look(&turn));
        std::future::ready(Ok(known))
    }

    fn sweep(
        &self,
        now: Timestamp,
        most: usize,
        mut abandon: impl FnMut(&mut Turn) + Send,
    ) -> impl Future<Output = Result<usize, StoreError>> + Send {
        std::future::ready(Ok(self.sweep_now(now, most, &mut abandon)))
    }

    fn len(&self) -> usize {
        self.turns.len()
    }
}
