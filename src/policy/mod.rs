//! What the operator says: read from a file, validated whole, and asked per tool, group, dependency and kind.
//!
//! A document becomes a located tree (`document`), is read field by field (`section`, `parse`), checked across its
//! fields (`check`), and is then the `model` that the core asks: `index` for tools and dependencies, `limits` for
//! budgets and waits, `exploratory` for tools in which failing is part of the work. `reload` keeps the one in force
//! and swaps it when its file changes. A faulty document is refused whole.

mod check;
mod defaults;
pub(crate) mod document;
pub(crate) mod duration;
mod exploratory;
pub(crate) mod fault;
mod hosts;
mod index;
mod limits;
mod merge;
mod model;
mod parse;
mod pattern;
mod reload;
mod section;
mod values;

#[cfg(test)]
mod tests;

pub use exploratory::Exploratory;
pub use fault::{PolicyFault, PolicyFaults};
pub use index::PolicyIndex;
pub use model::{
    Backoff, BreakerSettings, BudgetLimits, DependencyPolicy, FleetSettings, GroupPolicy,
    KindPolicy, Mode, OnExhausted, OperatorRule, Overrides, Policy, Profile, RuleExample,
    ToolEntry, ToolPolicy,
};
pub use pattern::matches as glob_matches;
pub use reload::{ActivePolicy, PolicyHandle, PolicyLoadError, ReloadResult};
