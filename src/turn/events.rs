//! What happened, for whoever counts: the core names it, the shell turns it into metrics and logs.

use std::time::Duration;

use crate::domain::{Action, Family, Kind, Outcome, Reason};

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
        /// What it is charged under.
        family: Family,
    },
    /// A call was let through.
    Admitted,
    /// A call was denied.
    Denied {
        /// Why.
        reason: Reason,
    },
    /// A retry was given out.
    Retry {
        /// After how long.
        wait: Duration,
    },
    /// A reprompt was given out.
    Reprompt,
    /// A precondition was found unmet.
    Precondition,
    /// A spent budget stopped a verdict or a call.
    BudgetExhausted {
        /// Which budget's reason.
        reason: Reason,
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
    /// Tokens of a failed attempt.
    WastedTokens(u64),
    /// A turn ended.
    TurnEnded {
        /// How; `None`: it idled out.
        outcome: Option<Outcome>,
    },
    /// A turn ended well, or idled out, with failures that nobody was told of.
    SilentFailure {
        /// Whether it idled out.
        abandoned: bool,
    },
}
