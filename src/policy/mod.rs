//! What the operator says: read from a file, validated whole, and asked per tool, group, dependency and kind.
//!
//! `model` holds the policy as the core uses it.

mod model;

pub use model::{
    Backoff, BreakerSettings, BudgetLimits, DependencyPolicy, FleetSettings, GroupPolicy,
    KindPolicy, Mode, OnExhausted, OperatorRule, Overrides, Policy, Profile, ToolEntry, ToolPolicy,
};
