//! The whole ledger, for people.

use crate::domain::{Budget, CauseView, OperationView, TurnView};
use crate::policy::ToolPolicy;

use super::operation::Operation;
use super::{Moment, Turn};

impl Turn {
    /// The ledger as it stands.
    pub fn view(&self, moment: &Moment<'_>) -> TurnView {
        let ended = self.ended.as_ref();
        let mut operations: Vec<&Operation> = self.operations.values().map(|o| &**o).collect();
        operations.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
        let mut summary = ended.map_or_else(|| self.summary(), |ended| ended.summary.clone());
        if ended.is_none() {
            summary.silent = !summary.unresolved_operations.is_empty();
        }
        TurnView {
            tenant: self.tenant.to_string(),
            turn_id: self.turn_id.to_string(),
            opened_at: self.opened_at,
            last_activity: self.last_activity,
            ended_at: ended.map(|ended| ended.at),
            outcome: ended.and_then(|ended| ended.outcome),
            budgets: self.turn_budgets(moment),
            summary,
            causes: self.cause_views(moment),
            operations: operations.into_iter().map(operation_view).collect(),
        }
    }

    fn cause_views(&self, moment: &Moment<'_>) -> Vec<CauseView> {
        let view = |state: &super::state::CauseState| {
            let entry = match state.tools.first() {
                Some((tool, _)) => moment.policy.tool(tool),
                None => std::sync::Arc::new(ToolPolicy::default()),
            };
            let subject = &state.cause.subject;
            CauseView {
                cause: state.cause.clone(),
                failures: Budget::new(
                    state.failures,
                    moment.policy.limit_cause(subject, &entry, state.kind),
                ),
                preconditions: Budget::new(
                    state.preconditions,
                    moment.policy.limit_preconditions(&entry, subject),
                ),
                tools: state.tools.iter().map(|(tool, _)| tool.clone()).collect(),
            }
        };
        self.causes.iter().map(view).collect()
    }
}

fn operation_view(operation: &Operation) -> OperationView {
    OperationView {
        operation_id: operation.id.clone(),
        tool: operation.tool.clone(),
        origin: operation.origin,
        effect: operation.effect,
        execution: (!operation.attempts.is_empty()).then(|| operation.worst()),
        succeeded: operation.succeeded,
        idempotency_key: operation.key().to_string(),
        revision: operation.revision,
        dead_letter_id: operation.letter.as_ref().map(|letter| letter.id.clone()),
        attempts: operation.records(),
    }
}
