//! The embedded store: a concurrent map, each turn under its entry's lock.
//!
//! No guard of the map leaves a function of this module, so none can be held across an await. Making room and letting
//! turns go work through the tenant's queues, never through the map. Locks: the queues' may be held while an entry's is
//! taken, never the other way round.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dashmap::DashMap;
use dashmap::mapref::entry::Entry;

use crate::domain::Timestamp;
use crate::turn::{Lifetimes, Turn};

use super::queue::Queue;
use super::tenant::{Place, Tenant};
use super::{StoreError, Swept, TurnKey, TurnStore, Updated};

/// Bounds of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryStoreOptions {
    /// Turns that a tenant may have at once, ended ones that are still kept included. May be passed by a few in a
    /// hundred for a short time, where all that were looked at so far are busy.
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
pub(super) const LOOKS: usize = 64;

/// A tenant may pass its bound by one part in so many rather than lose a turn that is busy.
pub(super) const LEEWAY: usize = 32;

/// What one request may do to make room.
struct Looks {
    left: usize,
    /// The bound is passed by as much as it may be.
    must_find: bool,
}

/// Turns in a concurrent map.
#[derive(Debug)]
pub struct MemoryStore {
    /// Boxed: a shard that grows moves all that it holds, with its lock held.
    turns: DashMap<TurnKey, Box<Turn>>,
    tenants: DashMap<Arc<str>, Arc<Tenant>>,
    options: MemoryStoreOptions,
    /// Which tenant the next sweep begins with.
    first_swept: AtomicUsize,
    #[cfg(test)]
    pub(super) looks: AtomicUsize,
}

impl MemoryStore {
    /// An empty store.
    pub fn new(options: MemoryStoreOptions) -> Self {
        MemoryStore {
            turns: DashMap::new(),
            tenants: DashMap::new(),
            options,
            first_swept: AtomicUsize::new(0),
            #[cfg(test)]
            looks: AtomicUsize::new(0),
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
        if let Some(mut turn) = self.turns.get_mut(key) {
            return self.change_known(&mut turn, key, now, &mut change);
        }
        let tenant = self.tenant(&key.tenant);
        let place = Place::take(&tenant);
        let evicted = self.make_room(&key.tenant, &tenant);
        let (value, due) = match self.turns.entry(key.clone()) {
            // Another request opened it meanwhile.
            Entry::Occupied(mut known) => {
                let updated = self.change_known(known.get_mut(), key, now, &mut change);
                return Updated { evicted, ..updated };
            }
            Entry::Vacant(free) => {
                let mut turn = Box::new(open(key, now));
                let value = change(&mut turn);
                let due = turn.due(&self.options.lifetimes);
                free.insert(turn);
                (value, due)
            }
        };
        place.keep();
        tenant.queues().plain.push(due, key.turn_id.clone());
        Updated {
            value,
            evicted,
            lapsed: None,
        }
    }

    /// Changes a turn of the map; where its time is over, a fresh one takes its place in map and queue.
    fn change_known<R>(
        &self,
        turn: &mut Turn,
        key: &TurnKey,
        now: Timestamp,
        change: &mut impl FnMut(&mut Turn) -> R,
    ) -> Updated<R> {
        let gone = turn
            .is_gone(now, &self.options.lifetimes)
            .then(|| std::mem::replace(turn, open(key, now)));
        Updated {
            value: change(turn),
            evicted: Vec::new(),
            lapsed: gone.filter(|gone| gone.ended_at().is_none()),
        }
    }

    /// Evicts as long as the tenant has more turns than it may: the idlest first (to the second), and none with an
    /// unknown outcome before all others were looked at. Where that takes more looks than one request may have, the
    /// next one goes on where this one stopped; for so long the tenant has more.
    fn make_room(&self, name: &Arc<str>, tenant: &Tenant) -> Vec<Turn> {
        let mut evicted = Vec::new();
        if tenant.turns() <= self.options.max_turns {
            return evicted;
        }
        let mut queues = tenant.queues();
        let queues = &mut *queues;
        let mut looks = Looks {
            left: LOOKS,
            must_find: tenant.turns() > self.options.max_turns + self.options.max_turns / LEEWAY,
        };
        while tenant.turns() > self.options.max_turns {
            let spared = Some(&mut queues.unknown);
            let found = self
                .evict(name, &mut queues.plain, spared, &mut looks)
                .or_else(|| {
                    let is_last_resort = queues.plain.is_empty();
                    is_last_resort
                        .then(|| self.evict(name, &mut queues.unknown, None, &mut looks))
                        .flatten()
                });
            let Some(turn) = found else {
                break;
            };
            tenant.leave();
            evicted.push(turn);
        }
        evicted
    }

    /// Takes the idlest turn of a queue out of queue and map. The queue knows when a turn was due at the last look, so
    /// those in front are looked at until one of them is due before all that are left. Where the looks are used up
    /// before, none goes, or if it must be, the idlest that was seen. With `spared`, turns with an unknown outcome go
    /// there instead.
    fn evict(
        &self,
        name: &Arc<str>,
        queue: &mut Queue,
        mut spared: Option<&mut Queue>,
        looks: &mut Looks,
    ) -> Option<Turn> {
        let mut seen = BinaryHeap::new();
        let evicted = loop {
            if let Some(Reverse((due, turn_id))) = seen.pop() {
                let is_last = looks.left == 0 && looks.must_find;
                if is_last || queue.has_none_before(due) {
                    let spare = spared.is_some();
                    match self
                        .remove_unless(name, &turn_id, |turn| spare && turn.has_unknown_outcome())
                    {
                        Some(turn) => break Some(turn),
                        None => spared
                            .iter_mut()
                            .for_each(|to| to.push(due, turn_id.clone())),
                    }
                    continue;
                }
                seen.push(Reverse((due, turn_id)));
            }
            if looks.left == 0 {
                break None;
            }
            let Some(turn_id) = queue.pop() else {
                break None;
            };
            looks.left -= 1;
            #[cfg(test)]
            self.looks.fetch_add(1, Ordering::Relaxed);
            let Some(turn) = self.turns.get(&key(name, &turn_id)) else {
                continue;
            };
            let due = turn.due(&self.options.lifetimes);
            match &mut spared {
                Some(spared) if turn.has_unknown_outcome() => spared.push(due, turn_id),
                _ => seen.push(Reverse((due, turn_id))),
            }
        };
        for Reverse((due, turn_id)) in seen {
            queue.push(due, turn_id);
        }
        evicted
    }

    fn remove_unless(
        &self,
        name: &Arc<str>,
        turn_id: &Arc<str>,
        stays: impl FnOnce(&Turn) -> bool,
    ) -> Option<Turn> {
        let removed = self
            .turns
            .remove_if(&key(name, turn_id), |_, turn| !stays(turn));
        removed.map(|(_, turn)| *turn)
    }

    /// Looks at a turn that came due: ends it, forgets it, or says when it is due again.
    fn look<R>(
        &self,
        key: TurnKey,
        tenant: &Tenant,
        now: Timestamp,
        abandon: &mut impl FnMut(&mut Turn) -> R,
        swept: &mut Swept<R>,
    ) -> Option<Timestamp> {
        let lifetimes = &self.options.lifetimes;
        swept.looked += 1;
        let Entry::Occupied(mut known) = self.turns.entry(key) else {
            return None;
        };
        if known.get().has_idled_out(now, lifetimes) {
            swept.abandoned.push(abandon(known.get_mut()));
        }
        if known.get().is_gone(now, lifetimes) {
            known.remove();
            tenant.leave();
            return None;
        }
        Some(known.get().due(lifetimes))
    }

    /// Looks at turns of one tenant that are due.
    fn sweep_tenant<R>(
        &self,
        name: &Arc<str>,
        tenant: &Tenant,
        now: Timestamp,
        most: usize,
        abandon: &mut impl FnMut(&mut Turn) -> R,
        swept: &mut Swept<R>,
    ) {
        for pick in [PLAIN, UNKNOWN] {
            while swept.looked < most {
                let Some(turn_id) = pick(&mut tenant.queues()).pop_due(now) else {
                    break;
                };
                let key = key(name, &turn_id);
                if let Some(due) = self.look(key, tenant, now, abandon, swept) {
                    pick(&mut tenant.queues()).push(due, turn_id);
                }
            }
        }
    }

    /// Every tenant gets an equal share of the looks, so that one with many turns cannot hold up the others; what a
    /// tenant leaves of its share goes to the rest.
    fn sweep_now<R>(
        &self,
        now: Timestamp,
        most: usize,
        abandon: &mut impl FnMut(&mut Turn) -> R,
    ) -> Swept<R> {
        let mut tenants: Vec<(Arc<str>, Arc<Tenant>)> = self
            .tenants
            .iter()
            .map(|entry| (entry.key().clone(), entry.value().clone()))
            .collect();
        let mut swept = Swept {
            looked: 0,
            abandoned: Vec::new(),
        };
        if tenants.is_empty() {
            return swept;
        }
        let first = self.first_swept.fetch_add(1, Ordering::Relaxed) % tenants.len();
        tenants.rotate_left(first);
        let share = (most / tenants.len()).max(1);
        loop {
            let before = swept.looked;
            for (name, tenant) in &tenants {
                let most = most.min(swept.looked.saturating_add(share));
                self.sweep_tenant(name, tenant, now, most, abandon, &mut swept);
            }
            if swept.looked == before {
                return swept;
            }
        }
    }

    /// Turn ids in the queues, and turns counted, of a tenant.
    #[cfg(test)]
    pub(super) fn tally(&self, name: &str) -> (usize, usize) {
        let tenant = self.tenant(&name.into());
        let queues = tenant.queues();
        (queues.plain.len() + queues.unknown.len(), tenant.turns())
    }
}

type Pick = fn(&mut super::tenant::Queues) -> &mut Queue;
const PLAIN: Pick = |queues| &mut queues.plain;
const UNKNOWN: Pick = |queues| &mut queues.unknown;

fn key(tenant: &Arc<str>, turn_id: &Arc<str>) -> TurnKey {
    TurnKey {
        tenant: tenant.clone(),
        turn_id: turn_id.clone(),
    }
}

fn open(key: &TurnKey, now: Timestamp) -> Turn {
    Turn::open(key.tenant.clone(), key.turn_id.clone(), now)
}

impl TurnStore for MemoryStore {
    async fn update<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        change: impl FnMut(&mut Turn) -> R + Send,
    ) -> Result<Updated<R>, StoreError> {
        Ok(self.update_now(key, now, change))
    }

    async fn read<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        look: impl FnOnce(&Turn) -> R + Send,
    ) -> Result<Option<R>, StoreError> {
        let known = self
            .turns
            .get(key)
            .filter(|turn| !turn.is_gone(now, &self.options.lifetimes))
            .map(|turn| look(&turn));
        Ok(known)
    }

    async fn sweep<R: Send>(
        &self,
        now: Timestamp,
        most: usize,
        mut abandon: impl FnMut(&mut Turn) -> R + Send,
    ) -> Result<Swept<R>, StoreError> {
        Ok(self.sweep_now(now, most, &mut abandon))
    }

    fn len(&self) -> usize {
        self.turns.len()
    }
}
