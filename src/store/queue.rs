//! The order in which a tenant's turns come due.
//!
//! Each turn stands in the queue once, under the second at which it was due when it was last looked at. A call does
//! not move its turn: whoever takes it out of the queue looks at when it is really due and puts it back there. So a
//! call costs nothing here, and a turn is moved at most about once an idle time.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::domain::Timestamp;

/// Turn ids by the second at which they come due.
#[derive(Debug, Default)]
pub(super) struct Queue {
    by_second: BTreeMap<u64, VecDeque<Arc<str>>>,
}

impl Queue {
    /// Puts a turn in.
    pub(super) fn push(&mut self, due: Timestamp, turn_id: Arc<str>) {
        self.by_second
            .entry(second(due))
            .or_default()
            .push_back(turn_id);
    }

    /// Takes out the turn that comes due first.
    pub(super) fn pop(&mut self) -> Option<Arc<str>> {
        self.pop_where(|_| true)
    }

    /// Takes out a turn that is due by now.
    pub(super) fn pop_due(&mut self, now: Timestamp) -> Option<Arc<str>> {
        self.pop_where(|due| due <= now.0 / MICROS)
    }

    /// Whether no turn in here comes due before that one's second, as far as was seen when they were last looked at.
    pub(super) fn has_none_before(&self, due: Timestamp) -> bool {
        let first = self.by_second.first_key_value();
        first.is_none_or(|(first, _)| second(due) <= *first)
    }

    /// Whether it holds none.
    pub(super) fn is_empty(&self) -> bool {
        self.by_second.is_empty()
    }

    /// How many it holds.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_second.values().map(VecDeque::len).sum()
    }

    fn pop_where(&mut self, is_due: impl Fn(u64) -> bool) -> Option<Arc<str>> {
        let mut first = self.by_second.first_entry()?;
        if !is_due(*first.key()) {
            return None;
        }
        let turn_id = first.get_mut().pop_front();
        if first.get().is_empty() {
            first.remove();
        }
        turn_id
    }
}

const MICROS: u64 = 1_000_000;

/// The first full second at which it is due, so that nothing is taken out too early.
fn second(due: Timestamp) -> u64 {
    due.0.div_ceil(MICROS)
}
