//! From a decision to a verdict: who can help, what not to try again, what to leave behind, and the texts.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    Action, Category, Cause, Context, Effect, Execution, Kind, Reason, StopScope, Verdict,
};
use crate::lessons::{self, SpentBudget, TextFacts};
use crate::policy::Mode;
use crate::verdict::{EscalationFacts, escalate_to, stop_scope};

use super::operation::Operation;
use super::{Moment, Tool, Turn};

/// How many operations a verdict names as stale.
const FORGOTTEN: usize = 32;

/// A decision that still lacks its words.
#[derive(Debug, Clone, Copy)]
pub(super) struct Draft<'a> {
    pub(super) action: Action,
    pub(super) reason: Reason,
    pub(super) context: Option<Context>,
    pub(super) spent: Option<SpentBudget>,
    /// The wait of a retry, also of one that was stopped because of it.
    pub(super) wait: Option<Duration>,
    pub(super) kind: Option<Kind>,
    pub(super) cause: Option<&'a Cause>,
    pub(super) dependency: Option<&'a str>,
    pub(super) lesson: Option<&'a str>,
}

impl<'a> Draft<'a> {
    /// A stop that no failure's reading is needed for.
    pub(super) fn stop(action: Action, reason: Reason) -> Self {
        Draft {
            action,
            reason,
            context: None,
            spent: None,
            wait: None,
            kind: None,
            cause: None,
            dependency: None,
            lesson: None,
        }
    }

    pub(super) fn spent(mut self, spent: Option<SpentBudget>) -> Self {
        self.spent = spent;
        self
    }

    pub(super) fn lesson(mut self, lesson: Option<&'a str>) -> Self {
        self.lesson = lesson;
        self
    }

    pub(super) fn cause(mut self, cause: &'a Cause, kind: Kind) -> Self {
        self.cause = Some(cause);
        self.kind = Some(kind);
        self
    }
}

impl Turn {
    /// Gives a decision its words.
    pub(super) fn compose(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &Operation,
        draft: &Draft<'_>,
    ) -> Verdict {
        let worst = operation.worst();
        let is_stop = matches!(draft.action, Action::Escalate | Action::FailLoud);
        let is_precondition = draft
            .kind
            .is_some_and(|kind| kind.category() == Category::Precondition);
        let satisfy_with = tool.policy.requires.clone().filter(|_| is_precondition);
        let undone_by = satisfy_with
            .as_ref()
            .and_then(|step| self.may_have_undone(tool, step));
        let check_status_with = tool.policy.status_tool.clone().filter(|_| {
            matches!(
                draft.reason,
                Reason::CheckStatus | Reason::MayStillBeRunning | Reason::DuplicateOfUnknown
            )
        });
        let scope = is_stop.then(|| stop_scope(draft.reason));
        let subject = draft.cause.map(|cause| cause.subject.to_string());
        let facts = TextFacts {
            action: draft.action,
            reason: draft.reason,
            kind: draft.kind,
            tool: &tool.name,
            origin: tool.origin,
            dependency: draft.dependency,
            cause_subject: subject.as_deref(),
            lesson: draft.lesson,
            satisfy_with: satisfy_with.as_deref(),
            undone_by: undone_by.as_deref(),
            check_status_with: check_status_with.as_deref(),
            spent: draft.spent,
            wait: draft.wait,
            may_have_executed: worst == Execution::MaybeExecuted,
            executed: worst == Execution::Executed,
            effect: operation.effect,
        };
        let escalation = EscalationFacts {
            reason: draft.reason,
            kind: draft.kind,
            origin: tool.origin,
            has_status_tool: tool.policy.status_tool.is_some(),
            only_who_can_look: operation.effect != Effect::Idempotent
                && worst != Execution::NotExecuted,
        };
        Verdict {
            action: draft.action,
            reason: draft.reason,
            explanation: lessons::explanation(&facts),
            guidance: (draft.action == Action::Reprompt
                || (draft.action == Action::Escalate && draft.lesson.is_some()))
            .then(|| lessons::guidance(&facts))
            .flatten(),
            user_message: is_stop.then(|| lessons::user_message(&facts)).flatten(),
            retry_after: match (draft.action, draft.reason) {
                (Action::Retry, _) => draft.wait,
                (_, Reason::CheckStatus) => Some(tool.settles_after()),
                _ => None,
            },
            context: draft.context.filter(|_| !is_stop),
            idempotency_key: operation.key().to_string(),
            satisfy_with,
            check_status_with,
            forget_operations: self.stale_operations(operation, draft),
            escalate_to: (draft.action == Action::Escalate).then(|| escalate_to(&escalation)),
            stop_scope: scope,
            closed_tools: match (scope, draft.cause) {
                (Some(StopScope::Cause), Some(cause)) => self.closed_tools(moment, cause),
                _ => Vec::new(),
            },
            shadow: moment.policy.mode == Mode::Shadow,
            degraded: false,
        }
    }

    /// The tool that ran since the step was satisfied, and so may have undone it.
    fn may_have_undone(&self, tool: &Tool, step: &Arc<str>) -> Option<Arc<str>> {
        match self.tool(step).last_success {
            0 => None,
            success => self.memory.ran_since(success, [&tool.name, step]),
        }
    }

    /// What the next context should not carry: operations whose last word was a failure, this one first.
    fn stale_operations(&self, operation: &Operation, draft: &Draft<'_>) -> Vec<Arc<str>> {
        if draft.action != Action::Reprompt || draft.context != Some(Context::Clean) {
            return Vec::new();
        }
        let others = self.memory.failed_operations().filter(|(event, id)| {
            self.operations
                .get(id)
                .is_some_and(|other| other.stands_failed() && other.last_word_event() == *event)
        });
        std::iter::once(&operation.id)
            .chain(others.map(|(_, id)| id))
            .take(FORGOTTEN)
            .cloned()
            .collect()
    }

    /// The tools that share a cause, as far as the policy or this turn knows them.
    fn closed_tools(&self, moment: &Moment<'_>, cause: &Cause) -> Vec<Arc<str>> {
        let mut tools = moment.policy.tools_sharing(&cause.subject);
        if let Some(state) = self.cause_state(cause) {
            tools.extend(state.tools.iter().map(|(tool, _)| tool.clone()));
        }
        tools.sort_unstable();
        tools.dedup();
        tools
    }
}

/// A verdict before anything was decided: replaced before anybody sees it, and safe if it were not.
pub(super) fn unspoken(operation: &Operation) -> Verdict {
    Verdict {
        action: Action::Escalate,
        reason: Reason::OutcomeUnknown,
        explanation: String::new(),
        guidance: None,
        user_message: None,
        retry_after: None,
        context: None,
        idempotency_key: operation.key().to_string(),
        satisfy_with: None,
        check_status_with: None,
        forget_operations: Vec::new(),
        escalate_to: None,
        stop_scope: None,
        closed_tools: Vec::new(),
        shadow: false,
        degraded: false,
    }
}
