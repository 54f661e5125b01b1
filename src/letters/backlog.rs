//! Letters that are not on disk yet: the queue to the writer while the store works, the spool while it does not.
//!
//! One bounded structure is both, so that nothing moves when the store fails: callers stop waiting, the letters stay.
//! Parkings of one letter that wait together are joined ([`Entry::absorb`]), so a store that is away for long costs
//! memory per letter, not per stop. Letters keep the order in which they first came.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, mpsc};

use super::standing::Entry;
use super::store::LetterStats;

/// Sent to a caller whose letters will not be on disk soon. A caller whose waiters are all gone without one may say
/// that its letters are stored.
#[derive(Debug)]
pub(super) enum Setback {
    /// They wait in memory.
    Spooled,
    /// They stand in the log alone.
    Logged,
}

/// A caller's end, held by each of its letters until it is committed.
pub(super) type Waiter = mpsc::Sender<Setback>;

/// Tenant and id.
type Key = (String, String);

#[derive(Debug)]
struct Waiting {
    entry: Arc<Entry>,
    weight: usize,
    waiters: Vec<Waiter>,
}

#[derive(Debug, Default)]
struct State {
    pending: BTreeMap<u64, Waiting>,
    place_of: HashMap<Key, u64>,
    next_place: u64,
    in_flight: BTreeMap<u64, Waiting>,
    /// The keys of `in_flight`.
    flying: HashSet<Key>,
    bytes: usize,
    /// The last commit failed or is late: nobody waits for the next one.
    failing: bool,
    closing: bool,
    /// Try at once, whatever pause was agreed.
    urgent: bool,
    closed: bool,
    stats: LetterStats,
}

impl State {
    /// Letters that are not on disk; one that is being written and has been raised meanwhile is one.
    fn letters(&self) -> usize {
        let raised = self
            .flying
            .iter()
            .filter(|key| self.place_of.contains_key(*key));
        self.pending.len() + self.in_flight.len() - raised.count()
    }

    fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.in_flight.is_empty()
    }
}

/// What became of letters that were handed in.
pub(super) struct Added {
    /// Those for which there is no room.
    pub(super) refused: Vec<Entry>,
    /// Whether it is no use to wait, for the commit or for room.
    pub(super) failing: bool,
}

/// See the module's head.
#[derive(Debug)]
pub(super) struct Backlog {
    state: Mutex<State>,
    work: Condvar,
    /// Told whenever letters leave, or waiting for that has become useless.
    pub(super) room: Notify,
    most_letters: usize,
    most_bytes: usize,
}

impl Backlog {
    pub(super) fn new(most_letters: usize, most_bytes: usize, stats: LetterStats) -> Self {
        Backlog {
            state: Mutex::new(State {
                stats,
                ..State::default()
            }),
            work: Condvar::new(),
            room: Notify::new(),
            most_letters,
            most_bytes,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes letters in, as many as there is room for; `waiter` hears of each.
    pub(super) fn add(&self, entries: Vec<Entry>, waiter: &Waiter) -> Added {
        let mut state = self.lock();
        let mut refused = Vec::new();
        for entry in entries {
            if state.closed {
                refused.push(entry);
            } else {
                refused.extend(self.add_one(&mut state, entry, waiter));
            }
        }
        let failing = state.failing || state.closed;
        drop(state);
        self.work.notify_one();
        Added { refused, failing }
    }

    /// Hands the letter back where there is no room.
    fn add_one(&self, state: &mut State, entry: Entry, waiter: &Waiter) -> Option<Entry> {
        let waiter = (!state.failing).then(|| waiter.clone());
        let key = (entry.letter.tenant.clone(), entry.letter.id.clone());
        let place = state.place_of.get(&key).copied();
        if let Some(waiting) = place.and_then(|place| state.pending.get_mut(&place)) {
            Arc::make_mut(&mut waiting.entry).absorb(&entry);
            waiting.waiters.extend(waiter);
            let weight = waiting.entry.weight();
            let before = std::mem::replace(&mut waiting.weight, weight);
            state.bytes = (state.bytes + weight).saturating_sub(before);
            return None;
        }
        let weight = entry.weight();
        let full = state.pending.len() + state.in_flight.len() >= self.most_letters
            || state.bytes + weight > self.most_bytes;
        // A letter that is being written needs no new place: written or not, it will be one with this.
        if full && !state.flying.contains(&key) {
            return Some(entry);
        }
        let place = state.next_place;
        state.next_place += 1;
        state.bytes += weight;
        state.place_of.insert(key, place);
        state.pending.insert(
            place,
            Waiting {
                entry: Arc::new(entry),
                weight,
                waiters: waiter.into_iter().collect(),
            },
        );
        None
    }

    /// The next letters to write, oldest first, at most `most`; absent when the backlog is closing and empty.
    /// Blocks until there are some, and not before `not_before`.
    pub(super) fn next(&self, most: usize, not_before: Option<Instant>) -> Option<Vec<Arc<Entry>>> {
        let mut state = self.lock();
        loop {
            let pause = not_before.and_then(|then| then.checked_duration_since(Instant::now()));
            if state.pending.is_empty() {
                if state.closing {
                    return None;
                }
                state = self
                    .work
                    .wait(state)
                    .unwrap_or_else(PoisonError::into_inner);
            } else if let Some(pause) = pause.filter(|pause| !pause.is_zero() && !state.urgent) {
                let waited = self.work.wait_timeout(state, pause);
                state = waited.unwrap_or_else(PoisonError::into_inner).0;
            } else {
                break;
            }
        }
        state.urgent = false;
        while state.in_flight.len() < most.max(1)
            && let Some((place, waiting)) = state.pending.pop_first()
        {
            let key = key_of(&waiting.entry);
            state.place_of.remove(&key);
            state.flying.insert(key);
            state.in_flight.insert(place, waiting);
        }
        let entries = state.in_flight.values().map(|w| Arc::clone(&w.entry));
        Some(entries.collect())
    }

    /// The letters of the last [`Backlog::next`] are on disk, but for those that no store would take. Returns whether
    /// the store had been failing.
    pub(super) fn committed(&self, stats: LetterStats, untaken: &[Arc<Entry>]) -> bool {
        let mut state = self.lock();
        let written = std::mem::take(&mut state.in_flight);
        state.flying.clear();
        let bytes: usize = written.values().map(|waiting| waiting.weight).sum();
        state.bytes = state.bytes.saturating_sub(bytes);
        let logged = state.stats.logged;
        state.stats = LetterStats { logged, ..stats };
        let recovered = std::mem::take(&mut state.failing);
        drop(state);
        for waiting in written.values() {
            if untaken
                .iter()
                .any(|entry| Arc::ptr_eq(entry, &waiting.entry))
            {
                tell(&waiting.waiters, || Setback::Logged);
            }
        }
        // Their waiters go with them: that is what tells the callers.
        drop(written);
        self.room.notify_waiters();
        recovered
    }

    /// The letters of the last [`Backlog::next`] could not be written: they wait on, and nobody for them.
    pub(super) fn set_back(&self) {
        let mut state = self.lock();
        state.flying.clear();
        for (place, mut older) in std::mem::take(&mut state.in_flight) {
            let key = key_of(&older.entry);
            let newer = state.place_of.insert(key, place);
            if let Some(newer) = newer.and_then(|newer| state.pending.remove(&newer)) {
                Arc::make_mut(&mut older.entry).absorb(&newer.entry);
                let weight = older.entry.weight();
                state.bytes = (state.bytes + weight).saturating_sub(older.weight + newer.weight);
                older.weight = weight;
                older.waiters.extend(newer.waiters);
            }
            state.pending.insert(place, older);
        }
        for waiting in state.pending.values_mut() {
            tell(&waiting.waiters, || Setback::Spooled);
            waiting.waiters.clear();
        }
        state.failing = true;
        drop(state);
        self.room.notify_waiters();
    }

    /// A caller has waited long enough. Returns whether it is the first to say so since the last commit.
    pub(super) fn late(&self) -> bool {
        let mut state = self.lock();
        // Nothing waits any more: the commit came just now.
        let late = !state.is_empty();
        let first = late && !std::mem::replace(&mut state.failing, true);
        drop(state);
        self.room.notify_waiters();
        first
    }

    /// What waits of one letter, oldest first.
    pub(super) fn find(&self, tenant: &str, id: &str) -> Vec<Arc<Entry>> {
        let state = self.lock();
        let is_it = |waiting: &&Waiting| {
            waiting.entry.letter.id == id && waiting.entry.letter.tenant == tenant
        };
        let in_flight = state.in_flight.values().find(is_it);
        let place = state.place_of.get(&(tenant.to_owned(), id.to_owned()));
        let pending = place.and_then(|place| state.pending.get(place));
        let found = in_flight.into_iter().chain(pending);
        found.map(|waiting| Arc::clone(&waiting.entry)).collect()
    }

    pub(super) fn stats(&self) -> LetterStats {
        let state = self.lock();
        LetterStats {
            spooled: u64::try_from(state.letters()).unwrap_or(u64::MAX),
            ..state.stats.clone()
        }
    }

    /// So many letters are kept in the log alone.
    pub(super) fn count_logged(&self, letters: u64) {
        self.lock().stats.logged += letters;
    }

    /// Lets the writer finish what waits and stop.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.closing = true;
        state.urgent = true;
        drop(state);
        self.work.notify_all();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    /// Takes nothing in any more; returns what was not written.
    pub(super) fn shut(&self) -> Vec<Arc<Entry>> {
        let mut state = self.lock();
        state.closed = true;
        state.bytes = 0;
        state.place_of.clear();
        state.flying.clear();
        let in_flight = std::mem::take(&mut state.in_flight).into_values();
        let pending = std::mem::take(&mut state.pending).into_values();
        let left: Vec<Waiting> = in_flight.chain(pending).collect();
        drop(state);
        for waiting in &left {
            tell(&waiting.waiters, || Setback::Logged);
        }
        self.room.notify_waiters();
        left.into_iter().map(|waiting| waiting.entry).collect()
    }
}

fn tell(waiters: &[Waiter], what: impl Fn() -> Setback) {
    for waiter in waiters {
        // Full or gone: the caller knows already.
        let _ = waiter.try_send(what());
    }
}

fn key_of(entry: &Entry) -> Key {
    (entry.letter.tenant.clone(), entry.letter.id.clone())
}
