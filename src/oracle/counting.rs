//! From events to metrics and logs.

use crate::policy::Policy;
use crate::turn::{Event, Tool};

pub(super) fn count(events: &[Event], policy: &Policy, tool: Option<&Tool>) {
    let _ = (events, policy, tool);
}

pub(super) fn evicted(turns: usize) {
    let _ = turns;
}
