//! The turn: one user request with all its operations, as a state machine that is a plain value.
//!
//! A request is applied by one method (`admit`, `judge`, `report_success`, `end`) with everything that it needs passed
//! in: the policy, the time, a seed for jitter and ids. The method changes the value and answers; it does no I/O and
//! reads no clock, so a store may run it under a lock or run it again after a lost compare-and-set. What has to be
//! parked and counted comes back beside the answer.
//!
//! Invariants: counters only grow; nothing that decides about safety is ever forgotten (at a bound the turn stops
//! instead); a replay draws nothing.

mod admit;
mod answer;
mod bounds;
mod budgets;
mod call_digest;
mod compose;
mod draw;
mod end;
mod events;
mod judge;
pub mod key;
mod letters;
mod lifetime;
mod memory;
mod operation;
mod pairs;
mod requests;
mod settle;
mod state;
mod success;
mod texts;
mod view;

pub use answer::{Answered, RequestIdReused};
pub use bounds::{MAX_CAUSES, MAX_OPERATIONS, MAX_REMEMBERED, MAX_RESULT_BYTES};
pub use call_digest::CallDigest;
pub use events::Event;
pub use judge::Heard;
pub use lifetime::Lifetimes;
pub use state::{Moment, Tool, Turn};

#[cfg(test)]
mod tests;
