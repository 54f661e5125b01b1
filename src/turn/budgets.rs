//! Budgets as they stand: what the answer shows, and which of them is spent.

use crate::domain::{Budget, Budgets, Category, Cause, Kind, Limit, Subject};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::policy::OnExhausted;

use super::operation::Operation;
use super::state::CauseState;
use super::{Moment, Tool, Turn};

/// Whose budgets a request is about.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) tool: &'a Tool,
    pub(super) operation: &'a Operation,
    /// The cause, with the kind that was charged to it.
    pub(super) cause: Option<(&'a Cause, Kind)>,
}

impl Scope<'_> {
    fn dependency(&self) -> Option<&str> {
        match &self.cause?.0.subject {
            Subject::Dependency(name) => Some(name),
            _ => None,
        }
    }
}

/// A budget that is spent, if it is.
pub(super) fn spent(name: SpentBudgetName, used: u64, limit: Limit) -> Option<SpentBudget> {
    match limit {
        Limit::At(limit) if used >= limit => Some(SpentBudget { name, used, limit }),
        _ => None,
    }
}

impl Turn {
    pub(super) fn cause_state(&self, cause: &Cause) -> Option<&CauseState> {
        self.causes.iter().find(|state| state.cause == *cause)
    }

    /// Every budget as it stands now.
    pub(super) fn budgets(&self, moment: &Moment<'_>, scope: &Scope<'_>) -> Budgets {
        let policy = moment.policy;
        let kind = scope.cause.map_or(Kind::Unknown, |(_, kind)| kind);
        let entry = &scope.tool.policy;
        let cause = scope.cause.map(|(cause, _)| cause);
        let state = cause.and_then(|cause| self.cause_state(cause));
        let mut budgets = self.turn_budgets(moment);
        budgets.operation_attempts = Budget::new(
            scope.operation.drawn_attempts,
            policy.limit_attempts(entry, scope.dependency(), kind),
        );
        budgets.operation_reprompts = Budget::new(
            scope.operation.reprompts,
            policy.limit_reprompts(entry, scope.dependency(), kind),
        );
        if let Some(cause) = cause {
            budgets.cause_failures = Budget::new(
                state.map_or(0, |state| state.failures),
                policy.limit_cause(&cause.subject, entry, kind),
            );
            budgets.preconditions = Budget::new(
                state.map_or(0, |state| state.preconditions),
                policy.limit_preconditions(entry, &cause.subject),
            );
        }
        budgets.tool_calls = Budget::new(
            self.tool(&scope.tool.name).calls,
            policy.tool_max_calls(entry),
        );
        budgets
    }

    /// The budgets of the turn itself; those of an operation, a cause or a tool are left empty.
    pub(super) fn turn_budgets(&self, moment: &Moment<'_>) -> Budgets {
        let limits = &moment.policy.budgets;
        let elapsed = moment.now.since(self.opened_at).as_millis();
        Budgets {
            turn_failures: Budget::new(self.counters.failures, limits.turn_max_failures),
            turn_retries: Budget::new(self.counters.retries, limits.turn_max_retries),
            turn_reprompts: Budget::new(self.counters.reprompts, limits.turn_max_reprompts),
            turn_calls: Budget::new(self.counters.calls, limits.turn_max_calls),
            turn_tokens: Budget::new(self.counters.tokens, limits.turn_max_tokens),
            turn_elapsed_ms: Budget::new(
                u64::try_from(elapsed).unwrap_or(u64::MAX),
                elapsed_limit(moment),
            ),
            ..Budgets::default()
        }
    }

    /// What is spent of the turn whatever is asked next: failures, calls, tokens, time. Retries and reprompts aside.
    pub(super) fn spent_turn(&self, moment: &Moment<'_>) -> Option<SpentBudget> {
        let limits = &moment.policy.budgets;
        let counters = &self.counters;
        let elapsed = moment.now.since(self.opened_at).as_millis();
        let elapsed = u64::try_from(elapsed).unwrap_or(u64::MAX);
        spent(
            SpentBudgetName::TurnFailures,
            counters.failures,
            limits.turn_max_failures,
        )
        .or_else(|| {
            spent(
                SpentBudgetName::TurnCalls,
                counters.calls,
                limits.turn_max_calls,
            )
        })
        .or_else(|| {
            spent(
                SpentBudgetName::TurnTokens,
                counters.tokens,
                limits.turn_max_tokens,
            )
        })
        .or_else(|| spent(SpentBudgetName::TurnElapsed, elapsed, elapsed_limit(moment)))
    }

    /// The cause's failures, where they are spent.
    pub(super) fn spent_cause(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        cause: &Cause,
        kind: Kind,
    ) -> Option<(SpentBudget, OnExhausted)> {
        let used = self.cause_state(cause)?.failures;
        let limit = moment
            .policy
            .limit_cause(&cause.subject, &tool.policy, kind);
        let spent = spent(SpentBudgetName::CauseFailures, used, limit)?;
        let then = moment
            .policy
            .on_exhausted_cause(&cause.subject, &tool.policy, kind);
        Some((spent, then))
    }

    /// The cause's or the turn's preconditions, where they are spent.
    pub(super) fn spent_preconditions(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        cause: &Cause,
    ) -> Option<SpentBudget> {
        let used = self.cause_state(cause)?.preconditions;
        let limit = moment
            .policy
            .limit_preconditions(&tool.policy, &cause.subject);
        spent(SpentBudgetName::Preconditions, used, limit).or_else(|| {
            spent(
                SpentBudgetName::TurnPreconditions,
                self.counters.preconditions,
                moment.policy.budgets.max_preconditions_total,
            )
        })
    }

    /// The tool's calls, where they are spent.
    pub(super) fn spent_tool_calls(
        &self,
        moment: &Moment<'_>,
        scope: &Scope<'_>,
    ) -> Option<(SpentBudget, OnExhausted)> {
        let kind = scope.cause.map_or(Kind::Unknown, |(_, kind)| kind);
        let entry = &scope.tool.policy;
        let spent = spent(
            SpentBudgetName::ToolCalls,
            self.tool(&scope.tool.name).calls,
            moment.policy.tool_max_calls(entry),
        )?;
        Some((
            spent,
            moment
                .policy
                .on_exhausted_operation(entry, scope.dependency(), kind),
        ))
    }
}

/// Which of the operation's budgets a verdict draws on, where it is spent.
pub(super) fn spent_operation(
    moment: &Moment<'_>,
    scope: &Scope<'_>,
    reprompt: bool,
) -> Option<(SpentBudget, OnExhausted)> {
    let kind = scope.cause.map_or(Kind::Unknown, |(_, kind)| kind);
    let entry = &scope.tool.policy;
    let spent = if reprompt {
        let limit = moment
            .policy
            .limit_reprompts(entry, scope.dependency(), kind);
        spent(
            SpentBudgetName::OperationReprompts,
            scope.operation.reprompts,
            limit,
        )
    } else {
        let limit = moment
            .policy
            .limit_attempts(entry, scope.dependency(), kind);
        spent(
            SpentBudgetName::OperationAttempts,
            scope.operation.drawn_attempts,
            limit,
        )
    }?;
    Some((
        spent,
        moment
            .policy
            .on_exhausted_operation(entry, scope.dependency(), kind),
    ))
}

/// Whether failures of this kind draw operation attempts.
pub(super) fn draws_attempts(kind: Kind) -> bool {
    !matches!(
        kind.category(),
        Category::ModelOutput | Category::Precondition
    ) && kind != Kind::ApprovalRequired
}

fn elapsed_limit(moment: &Moment<'_>) -> Limit {
    match moment.policy.budgets.turn_max_elapsed {
        Some(limit) => Limit::At(u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        None => Limit::Unlimited,
    }
}
