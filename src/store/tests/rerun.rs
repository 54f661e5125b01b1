//! A store that lost every race: each change runs on a copy first, whose result is thrown away, as after a lost
//! compare-and-set. Whatever is observed must be as if it had run once.

use crate::domain::Timestamp;
use crate::store::{StoreError, Swept, TurnKey, TurnStore, Updated};
use crate::turn::Turn;

pub(crate) struct Rerun<S>(pub(crate) S);

impl<S: TurnStore> TurnStore for Rerun<S> {
    async fn update<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        mut change: impl FnMut(&mut Turn) -> R + Send,
    ) -> Result<Updated<R>, StoreError> {
        let twice = |turn: &mut Turn| {
            drop(change(&mut turn.clone()));
            change(turn)
        };
        self.0.update(key, now, twice).await
    }

    async fn read<R: Send>(
        &self,
        key: &TurnKey,
        now: Timestamp,
        look: impl FnOnce(&Turn) -> R + Send,
    ) -> Result<Option<R>, StoreError> {
        self.0.read(key, now, look).await
    }

    async fn sweep<R: Send>(
        &self,
        now: Timestamp,
        most: usize,
        mut abandon: impl FnMut(&mut Turn) -> R + Send,
    ) -> Result<Swept<R>, StoreError> {
        let twice = |turn: &mut Turn| {
            drop(abandon(&mut turn.clone()));
            abandon(turn)
        };
        self.0.sweep(now, most, twice).await
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}
