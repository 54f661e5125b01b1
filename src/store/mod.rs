//! Where turns are kept between requests: one contract, every store.
//!
//! A store runs a change on one turn, alone: no other change of the same turn sees a state in between. It keeps a
//! bounded number of turns for each tenant and lets them go when their time has come. It decides nothing about
//! verdicts: the turn is a value with methods of its own.

mod memory;
mod queue;
mod tenant;

use std::future::Future;
use std::sync::Arc;

use crate::domain::Timestamp;
use crate::turn::Turn;

pub use memory::{MemoryStore, MemoryStoreOptions};

#[cfg(test)]
mod tests;

/// Whose turn.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TurnKey {
    /// Isolation namespace.
    pub tenant: Arc<str>,
    /// The turn.
    pub turn_id: Arc<str>,
}

/// Why a store cannot answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It is away; the same request may pass later.
    #[error("the turn store is away: {0}")]
    Away(String),
}

/// What a change gave, and what the store had to let go to make room for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Updated<R> {
    /// What the change gave.
    pub value: R,
    /// Turns that were evicted because their tenant had as many as it may. They are gone from the store; whoever gets
    /// them ends them.
    pub evicted: Vec<Turn>,
    /// The turn that stood under this key before, where its time was over and nobody had ended it: the same goes for
    /// it. The change saw a fresh one.
    pub lapsed: Option<Turn>,
}

/// What a sweep came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Swept<R> {
    /// Turns that were looked at.
    pub looked: usize,
    /// What `abandon` gave for each turn that had idled out.
    pub abandoned: Vec<R>,
}

/// Keeps turns.
pub trait TurnStore: Send + Sync {
    /// Runs a change on a turn, which is opened where it is not known. The change may run more than once where another
    /// one came first; only its last run counts.
    fn update<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        change: impl FnMut(&mut Turn) -> R + Send,
    ) -> impl Future<Output = Result<Updated<R>, StoreError>> + Send;

    /// Looks at a turn, if it is known.
    fn read<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        look: impl FnOnce(&Turn) -> R + Send,
    ) -> impl Future<Output = Result<Option<R>, StoreError>> + Send;

    /// Lets time pass: gives every turn that has idled out to `abandon`, which must end it, and forgets those that are
    /// gone. Looks at most at `most` turns. Like a change, `abandon` may run more than once on one turn; its last run
    /// counts, and each turn is in the answer once.
    fn sweep<R: Send>(
        &self,
        now: Timestamp,
        most: usize,
        abandon: impl FnMut(&mut Turn) -> R + Send,
    ) -> impl Future<Output = Result<Swept<R>, StoreError>> + Send;

    /// How many turns are kept.
    fn len(&self) -> usize;

    /// Whether none is kept.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
