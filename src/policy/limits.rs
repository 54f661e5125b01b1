//! Which limit, wait and stop hold for a failure: the most specific place that says so.
//!
//! Precedence, field by field: tool > group > dependency > kind > `budgets` (and `backoff`). A cause's failures are
//! counted for its subject, so there only the subject's own entry counts, then the kind's, then `budgets.cause`.
//! The dependency is the one that the failure is charged to, where it has one, else the tool's.

use crate::domain::{Kind, Limit, Subject};

use super::model::{Backoff, OnExhausted, Overrides, Policy, ToolPolicy};

impl Policy {
    /// The first of tool, group, dependency and kind that sets what `pick` looks at.
    fn most_specific<T>(
        &self,
        tool: &ToolPolicy,
        dependency: Option<&str>,
        kind: Option<Kind>,
        pick: impl Fn(&Overrides) -> Option<T>,
    ) -> Option<T> {
        let dependency = dependency.or(tool.dependency.as_deref());
        pick(&tool.overrides)
            .or_else(|| pick(&self.groups.get(tool.group.as_ref()?)?.overrides))
            .or_else(|| pick(&self.dependencies.get(dependency?)?.overrides))
            .or_else(|| pick(&self.kinds.get(&kind?)?.overrides))
    }

    /// What the entry of a cause's subject sets, then the kind's.
    fn of_subject<T>(
        &self,
        subject: &Subject,
        tool: &ToolPolicy,
        kind: Kind,
        pick: impl Fn(&Overrides) -> Option<T>,
    ) -> Option<T> {
        let own = match subject {
            Subject::Dependency(name) => self.dependencies.get(name).map(|entry| &entry.overrides),
            Subject::Group(name) => self.groups.get(name).map(|entry| &entry.overrides),
            Subject::Tool(_) | Subject::Model(_) => Some(&tool.overrides),
            Subject::Fingerprint(_) | Subject::Tools => None,
        };
        own.and_then(&pick)
            .or_else(|| pick(&self.kinds.get(&kind)?.overrides))
    }

    /// Attempts of an operation.
    pub fn limit_attempts(&self, tool: &ToolPolicy, dependency: Option<&str>, kind: Kind) -> Limit {
        self.most_specific(tool, dependency, Some(kind), |own| own.max_attempts)
            .unwrap_or(self.budgets.max_attempts)
    }

    /// Reprompts of an operation for model output.
    pub fn limit_reprompts(
        &self,
        tool: &ToolPolicy,
        dependency: Option<&str>,
        kind: Kind,
    ) -> Limit {
        self.most_specific(tool, dependency, Some(kind), |own| own.max_reprompts)
            .unwrap_or(self.budgets.max_reprompts)
    }

    /// Failures of a cause. `tool` is the failing tool's entry and counts only where it is the subject itself.
    pub fn limit_cause(&self, subject: &Subject, tool: &ToolPolicy, kind: Kind) -> Limit {
        self.of_subject(subject, tool, kind, |own| own.max_failures)
            .unwrap_or(self.budgets.cause_max_failures)
    }

    /// Unmet preconditions of a cause, whose subject is a group or a tool: the subject's entry, then that of the
    /// tool's dependency, then the stricter of the two precondition kinds' entries, then `budgets.turn`.
    pub fn limit_preconditions(&self, tool: &ToolPolicy, subject: &Subject) -> Limit {
        let pick = |own: &Overrides| own.max_preconditions;
        let of_kind = |kind| {
            self.kinds
                .get(&kind)
                .and_then(|entry| pick(&entry.overrides))
        };
        let of_kinds = || {
            // Both kinds draw from one counter of the cause, so one limit has to hold for it.
            let (unmet, stale) = (of_kind(Kind::PreconditionUnmet), of_kind(Kind::StaleState));
            [unmet, stale]
                .into_iter()
                .flatten()
                .min_by_key(|limit| limit.get().unwrap_or(u64::MAX))
        };
        let own = match subject {
            Subject::Group(name) => self
                .groups
                .get(name)
                .and_then(|entry| pick(&entry.overrides)),
            Subject::Dependency(name) => {
                (self.dependencies.get(name)).and_then(|entry| pick(&entry.overrides))
            }
            _ => pick(&tool.overrides),
        };
        own.or_else(|| pick(&self.dependencies.get(tool.dependency.as_ref()?)?.overrides))
            .or_else(of_kinds)
            .unwrap_or(self.budgets.max_preconditions)
    }

    /// What a stop by the operation's budgets or the tool's call cap is.
    pub fn on_exhausted_operation(
        &self,
        tool: &ToolPolicy,
        dependency: Option<&str>,
        kind: Kind,
    ) -> OnExhausted {
        self.most_specific(tool, dependency, Some(kind), |own| own.on_exhausted)
            .unwrap_or(self.budgets.operation_on_exhausted)
    }

    /// What a stop by a cause's failures is.
    pub fn on_exhausted_cause(
        &self,
        subject: &Subject,
        tool: &ToolPolicy,
        kind: Kind,
    ) -> OnExhausted {
        self.of_subject(subject, tool, kind, |own| own.on_exhausted)
            .unwrap_or(self.budgets.cause_on_exhausted)
    }

    /// What a stop by the turn's budgets is.
    pub fn on_exhausted_turn(&self) -> OnExhausted {
        self.budgets.turn_on_exhausted
    }

    /// The waits. Fields can come from different places; where they then contradict each other the shorter one
    /// stands: `base` ≤ `cap` ≤ `max_wait`.
    pub fn backoff_for(&self, tool: &ToolPolicy, dependency: Option<&str>, kind: Kind) -> Backoff {
        let pick = |pick: fn(&Overrides) -> Option<std::time::Duration>| {
            self.most_specific(tool, dependency, Some(kind), pick)
        };
        let max_wait = pick(|own| own.max_wait).unwrap_or(self.backoff.max_wait);
        let cap = pick(|own| own.backoff_cap)
            .unwrap_or(self.backoff.cap)
            .min(max_wait);
        let base = pick(|own| own.backoff_base)
            .unwrap_or(self.backoff.base)
            .min(cap);
        Backoff {
            base,
            cap,
            max_wait,
        }
    }

    /// Calls of the tool in a turn: as set, else 1 where it is expensive, else no limit.
    pub fn tool_max_calls(&self, tool: &ToolPolicy) -> Limit {
        match (tool.max_calls, tool.expensive) {
            (Some(limit), _) => limit,
            (None, Some(true)) => Limit::At(1),
            (None, _) => self.budgets.tool_max_calls,
        }
    }

    /// How many sub-agents deep the tool may be called: as set, else 0 where it is expensive, else the turn's.
    pub fn tool_max_depth(&self, tool: &ToolPolicy) -> Limit {
        match (tool.max_depth, tool.expensive) {
            (Some(limit), _) => limit,
            (None, Some(true)) => Limit::At(0),
            (None, _) => self.budgets.turn_max_depth,
        }
    }

    /// The metric label of a tool: the name of the entry that matches it best, `other` without one.
    pub fn metric_tool_label<'t>(&self, tool: &'t ToolPolicy) -> &'t str {
        tool.entry.as_deref().unwrap_or("other")
    }

    /// The metric label of a dependency: its name where the policy knows it, else `other`.
    pub fn metric_dependency_label<'d>(&self, dependency: Option<&'d str>) -> &'d str {
        dependency
            .filter(|name| self.knows_dependency(name))
            .unwrap_or("other")
    }
}
