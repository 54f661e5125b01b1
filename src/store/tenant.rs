//! What the embedded store keeps of one tenant beside its turns: how many there are, and when each comes due.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::queue::Queue;

/// A tenant's turns, counted and in the order in which they come due.
#[derive(Debug, Default)]
pub(super) struct Tenant {
    /// Turns that it has, those that are just being opened included.
    turns: AtomicUsize,
    queues: Mutex<Queues>,
}

/// A turn of the map stands in exactly one of these, unless somebody has just taken it out to look at it.
#[derive(Debug, Default)]
pub(super) struct Queues {
    pub(super) plain: Queue,
    /// Turns that may have done work of which nobody knows, when they were last looked at: evicted last.
    pub(super) unknown: Queue,
}

impl Tenant {
    pub(super) fn turns(&self) -> usize {
        self.turns.load(Ordering::Relaxed)
    }

    /// Counts a turn that is gone.
    pub(super) fn leave(&self) {
        self.turns.fetch_sub(1, Ordering::Relaxed);
    }

    /// A queue is never left half changed by a panic, so a poisoned lock is as good as a whole one.
    pub(super) fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Room for a turn that is being opened: counted at once, so that many requests at the same time cannot all find the
/// last place free, and given back where no turn is opened after all.
pub(super) struct Place<'a>(Option<&'a Tenant>);

impl<'a> Place<'a> {
    pub(super) fn take(tenant: &'a Tenant) -> Self {
        tenant.turns.fetch_add(1, Ordering::Relaxed);
        Place(Some(tenant))
    }

    /// The turn is there.
    pub(super) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(tenant) = self.0 {
            tenant.leave();
        }
    }
}
