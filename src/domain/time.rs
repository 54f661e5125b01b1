//! Points in time as numbers, so that the core never asks a clock.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// A point in time: microseconds since the Unix epoch.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Timestamp(pub u64);

impl Timestamp {
    /// Seconds since the epoch, for tests and tables.
    pub const fn from_secs(secs: u64) -> Self {
        Timestamp(secs.saturating_mul(1_000_000))
    }

    /// The point `duration` later; stays at the end of time instead of wrapping.
    pub fn plus(self, duration: Duration) -> Self {
        let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Timestamp(self.0.saturating_add(micros))
    }

    /// How much later `self` is than `earlier`; zero if it is not.
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_micros(self.0.saturating_sub(earlier.0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        UNIX_EPOCH + Duration::from_micros(time.0)
    }
}
