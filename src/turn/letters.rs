//! Dead letters as the turn writes them: one for each operation, and one for each spent budget of the turn.
//!
//! A letter is written whole each time, with its count as it stands, so that writing it twice does no harm. A stop by
//! a spent budget shares that budget's letter, unless the operation has a letter of its own or may have done work that
//! must not be repeated: that one needs its own input and history.

use crate::domain::{
    Action, AttemptRecord, Budgets, Classification, DeadLetter, Effect, Execution, LetterStatus,
    Outcome, Reason, SilentRecord, Timestamp, Verdict,
};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::letters::Parking;

use super::answer::Said;
use super::budgets::Scope;
use super::operation::{Judged, LetterState, Operation};
use super::{Moment, Tool, Turn};

/// What a letter is written from.
pub(super) struct Stop<'a> {
    pub(super) moment: &'a Moment<'a>,
    pub(super) tool: &'a Tool,
    pub(super) number: u32,
    pub(super) verdict: &'a Verdict,
    pub(super) classification: Option<&'a Classification>,
    /// The stopped attempt, where it is not part of the operation's history yet.
    pub(super) judged: Option<&'a Judged>,
}

impl Turn {
    /// Parks a new stop of Judge; gives the letter's id.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn park_stop(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        number: u32,
        judged: &Judged,
        spent: Option<SpentBudget>,
        said: &mut Said,
    ) -> String {
        let stop = Stop {
            moment,
            tool,
            number,
            verdict: &judged.verdict,
            classification: Some(&judged.classification),
            judged: Some(judged),
        };
        match self.budget_key(&stop, operation, spent) {
            Some(key) => self.park_by_budget(key, &stop, operation, said),
            None => self.park_by_operation(&stop, operation, said),
        }
    }

    /// Parks a stop under its operation's own letter.
    pub(super) fn park_by_operation(
        &mut self,
        stop: &Stop<'_>,
        operation: &mut Operation,
        said: &mut Said,
    ) -> String {
        let now = stop.moment.now;
        let state = operation.letter.get_or_insert_with(|| LetterState {
            id: said.letter_id(now),
            count: 0,
            created_at: now,
            open: true,
        });
        state.count = state.count.saturating_add(1);
        state.open = true;
        let state = state.clone();
        let letter = self.letter(stop, operation, &state);
        said.parkings.push(Parking {
            letter,
            replace: true,
        });
        state.id
    }

    /// Parks a stop under the letter of the budget that is spent.
    fn park_by_budget(
        &mut self,
        key: String,
        stop: &Stop<'_>,
        operation: &Operation,
        said: &mut Said,
    ) -> String {
        let now = stop.moment.now;
        let state = self
            .budget_letters
            .entry(key)
            .or_insert_with(|| LetterState {
                id: said.letter_id(now),
                count: 0,
                created_at: now,
                open: true,
            });
        state.count = state.count.saturating_add(1);
        let state = state.clone();
        let letter = self.letter(stop, operation, &state);
        said.parkings.push(Parking {
            letter,
            replace: false,
        });
        state.id
    }

    /// The spent budget whose letter a stop shares, if it shares one.
    fn budget_key(
        &self,
        stop: &Stop<'_>,
        operation: &Operation,
        spent: Option<SpentBudget>,
    ) -> Option<String> {
        let may_harm =
            operation.effect != Effect::Idempotent && operation.worst() != Execution::NotExecuted;
        if operation.letter.is_some() || may_harm {
            return None;
        }
        let name = spent?.name;
        let cause = stop.classification.map(|read| &read.cause);
        match stop.verdict.reason {
            Reason::TurnBudgetExhausted => Some(name.to_string()),
            _ if name == SpentBudgetName::TurnPreconditions => Some(name.to_string()),
            Reason::CauseBudgetExhausted | Reason::PreconditionLoop => {
                cause.map(|cause| format!("{name} {} {}", cause.family, cause.subject))
            }
            Reason::CallCapReached => Some(format!("{name} {}", stop.tool.name)),
            _ => None,
        }
    }

    /// A second word led to another stop: the letter keeps its id and says what is known now.
    pub(super) fn park_second_word(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        number: u32,
        judged: &Judged,
        said: &mut Said,
    ) -> String {
        if let (Some(state), Some(id)) = (&mut operation.letter, &judged.letter_id)
            && state.id == *id
        {
            // `park_by_operation` counts a stop; this is the same one.
            state.count = state.count.saturating_sub(1);
        }
        let stop = Stop {
            moment,
            tool,
            number,
            verdict: &judged.verdict,
            classification: Some(&judged.classification),
            judged: Some(judged),
        };
        self.park_by_operation(&stop, operation, said)
    }

    /// A second word was granted: the letter is resolved.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn resolve_letter(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        number: u32,
        judged: &Judged,
        id: &str,
        said: &mut Said,
    ) {
        let Some(state) = operation.letter.as_mut().filter(|state| state.id == id) else {
            return;
        };
        state.open = false;
        let state = state.clone();
        let stop = Stop {
            moment,
            tool,
            number,
            verdict: &judged.verdict,
            classification: Some(&judged.classification),
            judged: Some(judged),
        };
        let mut letter = self.letter(&stop, operation, &state);
        letter.resolution = Some(format!(
            "a second word on attempt {number} was granted: {}",
            judged.verdict.reason
        ));
        letter.resolved_by = Some("backstop".to_owned());
        said.parkings.push(Parking {
            letter,
            replace: true,
        });
    }

    /// An operation succeeded after all: its letter, if it has an open one, is resolved.
    pub(super) fn resolve_by_success(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        number: u32,
        said: &mut Said,
    ) {
        let Some(state) = operation.letter.as_mut().filter(|state| state.open) else {
            return;
        };
        state.open = false;
        let state = state.clone();
        let stopped = operation
            .attempts
            .iter()
            .rev()
            .find_map(|attempt| attempt.judged.as_deref())
            .cloned();
        let Some(judged) = stopped else {
            return;
        };
        let stop = Stop {
            moment,
            tool,
            number,
            verdict: &judged.verdict,
            classification: Some(&judged.classification),
            judged: None,
        };
        let mut letter = self.letter(&stop, operation, &state);
        letter.resolution = Some(format!("attempt {number} succeeded later"));
        letter.resolved_by = Some("backstop".to_owned());
        said.parkings.push(Parking {
            letter,
            replace: true,
        });
    }

    /// A letter's id is given out again: it is written again, so that whoever gets the id finds the letter even where
    /// the first writing has not come through yet.
    pub(super) fn park_again(
        &self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &Operation,
        number: u32,
        id: &str,
        said: &mut Said,
    ) {
        let own = operation.letter.as_ref();
        let state = own
            .into_iter()
            .chain(self.budget_letters.values())
            .find(|state| state.id == id);
        if let (Some(state), Some(judged)) = (state, operation.judged(number)) {
            let stop = Stop {
                moment,
                tool,
                number,
                verdict: &judged.verdict,
                classification: Some(&judged.classification),
                judged: None,
            };
            let letter = self.letter(&stop, operation, state);
            said.parkings.push(Parking {
                letter,
                replace: false,
            });
        }
    }

    fn letter(&self, stop: &Stop<'_>, operation: &Operation, state: &LetterState) -> DeadLetter {
        let verdict = stop.verdict;
        let reading = stop.classification.map(|read| &read.reading);
        let scope = Scope {
            tool: stop.tool,
            operation,
            cause: stop
                .classification
                .map(|read| (&read.cause, read.reading.kind)),
        };
        let mut attempts = operation.records();
        if let Some(judged) = stop.judged
            && let Some(record) = attempts
                .iter_mut()
                .find(|record| record.attempt == stop.number)
        {
            judged.write_into(record);
        }
        DeadLetter {
            id: state.id.clone(),
            status: if state.open {
                LetterStatus::Open
            } else {
                LetterStatus::Resolved
            },
            count: state.count,
            created_at: state.created_at,
            updated_at: stop.moment.now,
            tenant: self.tenant.to_string(),
            turn_id: self.turn_id.to_string(),
            operation_id: operation.id.to_string(),
            attempt: stop.number,
            tool: stop.tool.name.to_string(),
            origin: stop.tool.origin,
            effect: operation.effect,
            input: operation.input.as_deref().map(str::to_owned),
            input_cut: operation.input_cut,
            kind: reading.map(|reading| reading.kind),
            execution: (!operation.attempts.is_empty()).then(|| operation.worst()),
            cause: stop.classification.map(|read| read.cause.clone()),
            rule: reading.map(|reading| reading.rule.to_string()),
            evidence: reading.map(|reading| reading.evidence.clone()),
            action: verdict.action,
            reason: verdict.reason,
            explanation: verdict.explanation.clone(),
            guidance: verdict.guidance.clone(),
            user_message: verdict.user_message.clone(),
            context: verdict.context,
            escalate_to: verdict.escalate_to,
            stop_scope: verdict.stop_scope,
            check_status_with: verdict.check_status_with.as_deref().map(str::to_owned),
            idempotency_key: verdict.idempotency_key.clone(),
            budgets: self.budgets(stop.moment, &scope),
            attempts,
            silent: None,
            resolution: None,
            resolved_by: None,
        }
    }

    /// The letter of a silent failure.
    pub(super) fn silent_letter(
        &self,
        now: Timestamp,
        id: String,
        outcome: Option<Outcome>,
        unresolved: &[std::sync::Arc<str>],
        budgets: Budgets,
    ) -> DeadLetter {
        let claimed = match outcome {
            Some(outcome) => format!("the turn was reported as {outcome}"),
            None => "the turn was abandoned: nothing was heard of it until it idled out".to_owned(),
        };
        let newest = unresolved
            .iter()
            .filter_map(|id| self.operations.get(id))
            .max_by_key(|operation| operation.last_word_event());
        DeadLetter {
            id,
            status: LetterStatus::Open,
            count: 1,
            created_at: now,
            updated_at: now,
            tenant: self.tenant.to_string(),
            turn_id: self.turn_id.to_string(),
            operation_id: String::new(),
            attempt: 0,
            tool: newest.map_or_else(String::new, |operation| operation.tool.to_string()),
            origin: newest.map_or(crate::domain::Origin::Tool, |operation| operation.origin),
            effect: newest.map_or(Effect::Unknown, |operation| operation.effect),
            input: None,
            input_cut: false,
            kind: None,
            execution: newest.map(|operation| operation.worst()),
            cause: None,
            rule: None,
            evidence: None,
            action: Action::FailLoud,
            reason: Reason::TurnEnded,
            explanation: format!(
                "silent failure: {claimed} while {} operations were unresolved and the user was not told",
                unresolved.len()
            ),
            guidance: None,
            user_message: None,
            context: None,
            escalate_to: None,
            stop_scope: None,
            check_status_with: None,
            idempotency_key: newest
                .map_or_else(String::new, |operation| operation.key().to_string()),
            budgets,
            attempts: newest.map_or_else(Vec::new, |operation| operation.records()),
            silent: Some(SilentRecord {
                outcome,
                unresolved_operations: unresolved.iter().map(|id| id.to_string()).collect(),
            }),
            resolution: None,
            resolved_by: None,
        }
    }
}

impl Operation {
    /// The attempts as letters and the ledger show them: all that did something, the newest 100.
    pub(super) fn records(&self) -> Vec<AttemptRecord> {
        const SHOWN: usize = 100;
        let skipped = self.attempts.len().saturating_sub(SHOWN);
        self.attempts
            .iter()
            .skip(skipped)
            .map(|attempt| {
                let mut record = AttemptRecord {
                    attempt: attempt.number,
                    worker_id: attempt.worker_id.as_deref().map(str::to_owned),
                    admitted_at: attempt.admitted_at,
                    judged_at: None,
                    succeeded_at: attempt.succeeded_at,
                    kind: None,
                    execution: attempt.heard,
                    rule: None,
                    failure: None,
                    fingerprint: None,
                    lesson: None,
                    lesson_cut: false,
                    action: None,
                    reason: None,
                    retry_after: None,
                    elapsed: attempt.elapsed,
                    tries: 1,
                    tokens_spent: attempt.tokens_spent,
                };
                if let Some(judged) = &attempt.judged {
                    judged.write_into(&mut record);
                }
                record
            })
            .collect()
    }
}

impl Judged {
    fn write_into(&self, record: &mut AttemptRecord) {
        let reading = &self.classification.reading;
        record.judged_at = Some(self.at);
        record.kind = Some(reading.kind);
        record.rule = Some(reading.rule.to_string());
        record.failure = Some(self.failure.clone());
        record.fingerprint = Some(reading.fingerprint);
        record.lesson.clone_from(&self.lesson);
        record.lesson_cut = self.lesson_cut;
        record.action = Some(self.verdict.action);
        record.reason = Some(self.verdict.reason);
        record.retry_after = self.verdict.retry_after;
        record.tries = self.tries;
    }
}
