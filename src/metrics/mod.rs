//! What operators watch: every metric's name, meaning and labels in one table, and typed functions that record them.
//!
//! Invariants: no metric exists outside of `TABLE`; label values are closed lists or names out of the policy, and the
//! latter are bounded (`MAX_POLICY_LABELS`), so that no request can grow the set of series. Handles are registered
//! once; recording a judgement formats nothing.

mod labels;
mod record;
mod series;
mod table;

#[cfg(test)]
mod tests;

pub use labels::{BudgetScope, Dispatch, ReloadOutcome, SilentReason, StoreName, TurnEnd};
pub use record::{JudgementRecord, Metrics, MetricsError, UPKEEP_INTERVAL};
pub use series::MAX_POLICY_LABELS;
pub use table::{Label, LabelValues, Metric, MetricKind, TABLE};
