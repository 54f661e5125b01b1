//! Drawing from the budgets: what a failure costs, whatever the verdict will be.

use std::sync::Arc;

use crate::domain::{Category, Cause, Kind};

use super::budgets::draws_attempts;
use super::operation::Operation;
use super::state::CauseState;
use super::{Tool, Turn};

impl Turn {
    /// The cause's state, made where this is its first failure.
    fn charge_mut(
        &mut self,
        cause: &Cause,
        kind: Kind,
        tool: &Arc<str>,
        event: u64,
    ) -> Option<&mut CauseState> {
        let at = match self.causes.iter().position(|state| state.cause == *cause) {
            Some(at) => at,
            None => {
                self.causes.push(CauseState {
                    cause: cause.clone(),
                    failures: 0,
                    preconditions: 0,
                    last_precondition: 0,
                    first_event: event,
                    kind,
                    tools: Vec::new(),
                });
                self.causes.len() - 1
            }
        };
        let state = self.causes.get_mut(at)?;
        state.kind = kind;
        if !state.tools.iter().any(|(known, _)| known == tool) {
            state.tools.push((tool.clone(), event));
        }
        Some(state)
    }

    /// Draws what one failure costs. Findings of exploratory tools and refused approvals cost nothing and never get
    /// here.
    pub(super) fn draw(
        &mut self,
        operation: &mut Operation,
        tool: &Tool,
        cause: &Cause,
        kind: Kind,
        tries: u32,
    ) {
        let event = self.event;
        if kind.category() == Category::Precondition {
            self.draw_precondition(tool, cause, kind);
            return;
        }
        if draws_attempts(kind) {
            let tries = u64::from(tries.max(1));
            operation.drawn_attempts = operation.drawn_attempts.saturating_add(tries);
        }
        self.counters.failures = self.counters.failures.saturating_add(1);
        if let Some(state) = self.charge_mut(cause, kind, &tool.name, event) {
            state.failures = state.failures.saturating_add(1);
        }
    }

    /// A precondition draws from its own counter, which starts anew once the step that satisfies it has succeeded.
    fn draw_precondition(&mut self, tool: &Tool, cause: &Cause, kind: Kind) {
        let event = self.event;
        let satisfied = tool
            .policy
            .requires
            .as_ref()
            .map_or(0, |step| self.tool(step).last_success);
        self.counters.preconditions = self.counters.preconditions.saturating_add(1);
        if let Some(state) = self.charge_mut(cause, kind, &tool.name, event) {
            if satisfied > state.last_precondition {
                state.preconditions = 0;
            }
            state.preconditions = state.preconditions.saturating_add(1);
            state.last_precondition = event;
        }
    }

    /// Counts a call of the turn and of the tool.
    pub(super) fn count_call(&mut self, tool: &Arc<str>) {
        self.counters.calls = self.counters.calls.saturating_add(1);
        self.counters.attempts = self.counters.attempts.saturating_add(1);
        let state = self.tool_mut(tool);
        state.calls = state.calls.saturating_add(1);
        let event = self.event;
        self.memory.remember_run(event, tool);
    }
}
