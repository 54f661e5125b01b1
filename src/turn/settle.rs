//! The two steps of a verdict, with the draw between them: what the failure deserves, what it costs, whether the turn
//! can pay.

use std::time::Duration;

use crate::domain::{Action, Call, Category, Execution, Failure, Family, Kind, Reason, Verdict};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::verdict::{CaseFacts, Deserved, PaymentFacts, Stop, WaitFacts, deserved, stop_for};

use super::answer::Said;
use super::budgets::{Scope, draws_attempts, spent, spent_operation};
use super::compose::Draft;
use super::operation::{Judged, Operation};
use super::{Moment, Tool, Turn};

/// One failure to be settled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) call: &'a Call,
    pub(super) number: u32,
    pub(super) failure: &'a Failure,
    pub(super) judged: &'a Judged,
    /// The tries to draw; `None` where the failure was drawn already (a second word).
    pub(super) draw: Option<u32>,
}

/// A verdict, with what it drew.
pub(super) struct Settled {
    pub(super) verdict: Verdict,
    pub(super) drew_reprompt: bool,
    pub(super) spent: Option<SpentBudget>,
}

impl Turn {
    pub(super) fn settle(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        case: &Case<'_>,
        said: &mut Said,
    ) -> Settled {
        let reading = &case.judged.classification.reading;
        let cause = &case.judged.classification.cause;
        let kind = reading.kind;
        let deserved = deserved(&case_facts(moment, tool, operation, case));
        let fresh_finding =
            deserved.reason == Reason::Exploratory && !case.judged.circumstances.old_finding;
        if let Some(tries) = case.draw
            && kind != Kind::ApprovalRequired
            && !fresh_finding
        {
            self.draw(operation, tool, cause, kind, tries);
        }
        let draws_reprompt = deserved.action == Action::Reprompt
            && match deserved.reason {
                Reason::ModelOutput | Reason::PolicyOverride => true,
                Reason::Exploratory => !fresh_finding && kind.category() == Category::ModelOutput,
                _ => false,
            };
        let wait = self.wait(moment, tool, operation, case, said);
        let payment = self.payment(
            moment,
            tool,
            operation,
            case,
            &deserved,
            draws_reprompt,
            wait,
        );
        let payment = if fresh_finding {
            PaymentFacts {
                cause: None,
                operation: None,
                preconditions: None,
                ..payment
            }
        } else {
            payment
        };
        let stop = stop_for(&deserved, &payment);
        let (action, reason, spent) = match stop {
            Some(Stop {
                action,
                reason,
                spent,
            }) => (action, reason, spent),
            None => (deserved.action, deserved.reason, None),
        };
        self.give_out(operation, case, action, stop.is_none() && draws_reprompt);
        if action == Action::Reprompt
            && matches!(reason, Reason::ModelOutput | Reason::PolicyOverride)
        {
            operation.move_key(&self.tenant, &self.turn_id);
        }
        let draft = Draft {
            action,
            reason,
            context: deserved.context,
            spent,
            wait: (deserved.action == Action::Retry).then_some(wait),
            kind: Some(kind),
            cause: Some(cause),
            dependency: case.judged.classification.dependency.as_deref(),
            lesson: case.judged.lesson.as_deref(),
        };
        Settled {
            verdict: self.compose(moment, tool, operation, &draft),
            drew_reprompt: stop.is_none() && draws_reprompt,
            spent,
        }
    }

    /// Draws what a verdict costs, once an attempt.
    fn give_out(
        &mut self,
        operation: &mut Operation,
        case: &Case<'_>,
        action: Action,
        draws_reprompt: bool,
    ) {
        match action {
            Action::Retry if !case.judged.drew_retry => {
                self.counters.retries = self.counters.retries.saturating_add(1);
            }
            Action::Reprompt => {
                // Where a second word leads to a reprompt again, it is the one that was counted.
                if case.judged.verdict.action != Action::Reprompt {
                    self.counters.reprompts_given = self.counters.reprompts_given.saturating_add(1);
                }
                if draws_reprompt && !case.judged.drew_reprompt {
                    self.counters.reprompts = self.counters.reprompts.saturating_add(1);
                    operation.reprompts = operation.reprompts.saturating_add(1);
                }
            }
            _ => {}
        }
    }

    /// The wait of a retry: the stated one, else full jitter over base·2^(n−1) with n the operation's drawn attempts.
    fn wait(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &Operation,
        case: &Case<'_>,
        said: &mut Said,
    ) -> Duration {
        let reading = &case.judged.classification.reading;
        if let Some(stated) = reading.retry_after {
            return stated;
        }
        let dependency = case.judged.classification.dependency.as_deref();
        let backoff = moment
            .policy
            .backoff_for(&tool.policy, dependency, reading.kind);
        let doublings =
            u32::try_from(operation.drawn_attempts.saturating_sub(1).min(40)).unwrap_or(40);
        let ceiling = backoff
            .base
            .checked_mul(2u32.saturating_pow(doublings.min(31)))
            .unwrap_or(backoff.cap)
            .min(backoff.cap);
        Duration::from_micros(said.up_to(u64::try_from(ceiling.as_micros()).unwrap_or(u64::MAX)))
    }

    #[allow(clippy::too_many_arguments)]
    fn payment(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &Operation,
        case: &Case<'_>,
        deserved: &Deserved,
        draws_reprompt: bool,
        wait: Duration,
    ) -> PaymentFacts {
        let reading = &case.judged.classification.reading;
        let cause = &case.judged.classification.cause;
        let scope = Scope {
            tool,
            operation,
            cause: Some((cause, reading.kind)),
        };
        let is_precondition = cause.family == Family::Precondition;
        let already_drawn = match deserved.action {
            Action::Retry => case.judged.drew_retry,
            _ => case.judged.drew_reprompt,
        };
        let is_retry = deserved.action == Action::Retry;
        PaymentFacts {
            same_call_again: case.judged.circumstances.same_call,
            repeated_lesson: case.judged.circumstances.same_lesson,
            turn: self
                .spent_turn(moment)
                .or_else(|| {
                    (!already_drawn)
                        .then(|| self.spent_verdicts(moment, is_retry, draws_reprompt))
                        .flatten()
                })
                .map(|spent| (spent, moment.policy.budgets.turn_on_exhausted)),
            cause: (!is_precondition)
                .then(|| self.spent_cause(moment, tool, cause, reading.kind))
                .flatten(),
            preconditions: is_precondition
                .then(|| self.spent_preconditions(moment, tool, cause))
                .flatten(),
            operation: (is_retry || draws_attempts(reading.kind))
                .then(|| spent_operation(moment, &scope, false))
                .flatten()
                .or_else(|| {
                    (draws_reprompt && !already_drawn)
                        .then(|| spent_operation(moment, &scope, true))
                        .flatten()
                }),
            tool_calls: self.spent_tool_calls(moment, &scope),
            wait: WaitFacts {
                wait,
                time_left: case
                    .call
                    .deadline
                    .map(|deadline| deadline.since(moment.now)),
                max_wait: moment
                    .policy
                    .backoff_for(
                        &tool.policy,
                        case.judged.classification.dependency.as_deref(),
                        reading.kind,
                    )
                    .max_wait,
                server_says_no: reading.server_says_no,
            },
        }
    }

    /// The turn's budget of the verdict that is about to be given, where it is spent.
    fn spent_verdicts(
        &self,
        moment: &Moment<'_>,
        is_retry: bool,
        draws_reprompt: bool,
    ) -> Option<SpentBudget> {
        let limits = &moment.policy.budgets;
        if is_retry {
            spent(
                SpentBudgetName::TurnRetries,
                self.counters.retries,
                limits.turn_max_retries,
            )
        } else if draws_reprompt {
            spent(
                SpentBudgetName::TurnReprompts,
                self.counters.reprompts,
                limits.turn_max_reprompts,
            )
        } else {
            None
        }
    }
}

fn case_facts(
    moment: &Moment<'_>,
    tool: &Tool,
    operation: &Operation,
    case: &Case<'_>,
) -> CaseFacts {
    let reading = &case.judged.classification.reading;
    let circumstances = &case.judged.circumstances;
    CaseFacts {
        kind: reading.kind,
        execution: operation.worst(),
        vouched_not_executed: reading.vouched && reading.execution == Execution::NotExecuted,
        effect: operation.effect,
        counts_as_unsafe: operation.counts_as_unsafe(moment.now, tool.key_ttl()),
        irreversible: tool.is_irreversible(),
        approved: operation.is_approved(
            operation
                .attempt(case.number)
                .and_then(|attempt| attempt.input),
        ),
        brings_approval: case.call.approval_id.is_some(),
        exploratory: tool.exploratory,
        names_dependency: !case.failure.dependency.is_empty() || reading.dependency.is_some(),
        expensive: tool.is_expensive(),
        atomic: tool.is_atomic(),
        has_status_tool: tool.policy.status_tool.is_some(),
        failed_before: circumstances.failed_before,
        same_fingerprint_as_before: circumstances.same_fingerprint,
        override_action: moment
            .policy
            .kinds
            .get(&reading.kind)
            .and_then(|kind| kind.action),
    }
}
