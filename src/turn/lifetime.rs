//! How long a turn lives: open until it is idle for too long, then ended, then gone.

use std::time::Duration;

use crate::domain::Timestamp;

use super::Turn;

/// How long turns are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lifetimes {
    /// An open turn of which nothing is heard for so long has ended; 15 minutes.
    pub idle: Duration,
    /// An ended turn answers TURN_ENDED for so long, then it is gone; 15 minutes.
    pub keep_ended: Duration,
}

impl Default for Lifetimes {
    fn default() -> Self {
        let quarter = Duration::from_secs(15 * 60);
        Lifetimes {
            idle: quarter,
            keep_ended: quarter,
        }
    }
}

impl Turn {
    /// When the turn's state changes by the passing of time alone: an open one ends, an ended one is gone.
    pub fn due(&self, lifetimes: &Lifetimes) -> Timestamp {
        match self.ended_at() {
            Some(ended) => ended.plus(lifetimes.keep_ended),
            None => self.last_activity().plus(lifetimes.idle),
        }
    }

    /// Whether an open turn has idled out.
    pub fn has_idled_out(&self, now: Timestamp, lifetimes: &Lifetimes) -> bool {
        self.ended_at().is_none() && self.due(lifetimes) <= now
    }

    /// Whether the turn is forgotten: its key stands for nothing any more.
    pub fn is_gone(&self, now: Timestamp, lifetimes: &Lifetimes) -> bool {
        let ended = self
            .ended_at()
            .unwrap_or_else(|| self.last_activity().plus(lifetimes.idle));
        ended.plus(lifetimes.keep_ended) <= now
    }
}
