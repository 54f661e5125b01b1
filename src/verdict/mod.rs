//! The verdict, in two steps: what the failure deserves (`deserve`), then whether the turn can pay for it (`payment`).
//!
//! Both are plain functions of plain facts. The turn gathers the facts, draws from its budgets between the two steps,
//! and composes the texts (`escalation` says who can help and what not to try again).

mod deserve;
mod escalation;
mod payment;

pub use deserve::{CaseFacts, Deserved, deserved, repeats_harm};
pub use escalation::{EscalationFacts, escalate_to, stop_scope};
pub use payment::{PaymentFacts, Stop, WaitFacts, stop_for};

#[cfg(test)]
mod tests;
