//! What happened, for whoever counts: the core names it, the shell turns it into metrics and logs.

use std::time::Duration;

use crate::domain::{Action, EvidenceSource, Kind, Outcome, Reason};

/// One thing to be counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A failure was judged (replays are not).
    Judged {
        /// The verdict's action.
        action: Action,
        /// The verdict's reason.
        reason: Reason,
        /// What failed.
        kind: Kind,
        /// Which sort of evidence decided.
        source: EvidenceSource,
        /// The verdict's wait.
        retry_after: Option<Duration>,
        /// Tokens that the failed attempt cost; 0 where they were counted before.
        tokens_spent: u64,
    },
    /// A call was let through or denied (replays are not).
    Admission {
        /// Whether it may go out.
        admitted: bool,
        /// Why not; in shadow mode what would have been said.
        verdict: Option<(Action, Reason)>,
    },
    /// An operation succeeded after failing.
    Recovered {
        /// The verdict that it followed.
        action: Action,
        /// The attempt that succeeded.
        attempt: u32,
    },
    /// An operation succeeded.
    Succeeded {
        /// At which attempt.
        attempt: u32,
    },
    /// A turn was opened by its first call.
    TurnOpened,
    /// A turn ended.
    TurnEnded {
        /// How; `None`: it idled out.
        outcome: Option<Outcome>,
    },
    /// A turn ended well, or idled out, with failures that nobody was told of.
    SilentFailure {
        /// What was claimed; `None`: it idled out.
        outcome: Option<Outcome>,
    },
}
