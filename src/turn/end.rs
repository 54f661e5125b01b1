//! The end of a turn: what it came to, and whether its failures were kept from the user.

use std::sync::Arc;

use crate::domain::{Action, EndOfTurn, EndTurnRequest, Outcome, Timestamp, TurnSummary};
use crate::letters::Parking;

use super::answer::{Answered, Said};
use super::operation::Operation;
use super::state::Ended;
use super::{Event, Moment, Turn};

impl Turn {
    /// Ends the turn, or repeats how it ended.
    pub fn end(&mut self, moment: &Moment<'_>, request: &EndTurnRequest) -> Answered<EndOfTurn> {
        if let Some(ended) = &self.ended {
            let mut said = Said::new(moment.seed);
            let end = EndOfTurn {
                summary: ended.summary.clone(),
                replayed: true,
                dead_letter_id: ended.letter.clone(),
            };
            if let Some(id) = &ended.letter {
                // Written again, so that whoever gets the id finds the letter.
                let letter = self.silent_letter(
                    ended.at,
                    id.clone(),
                    ended.outcome,
                    &ended.summary.unresolved_operations,
                    self.turn_budgets(moment),
                );
                said.parkings.push(Parking {
                    letter,
                    replace: false,
                });
            }
            return said.answered(end);
        }
        let mut said = self.begin(moment);
        self.counters.tokens = self.counters.tokens.saturating_add(request.tokens_spent);
        let claims_well = matches!(request.outcome, Outcome::Succeeded | Outcome::Degraded);
        let silent = claims_well && !request.disclosed;
        let end = self.close_turn(moment, Some(request.outcome), silent, &mut said);
        said.answered(end)
    }

    /// Ends a turn of which nothing was heard for too long, as of `at`.
    pub fn abandon(&mut self, moment: &Moment<'_>, at: Timestamp) -> Answered<()> {
        let mut said = Said::new(moment.seed);
        if self.ended.is_none() {
            self.close_turn(&Moment { now: at, ..*moment }, None, true, &mut said);
        }
        said.answered(())
    }

    fn close_turn(
        &mut self,
        moment: &Moment<'_>,
        outcome: Option<Outcome>,
        may_be_silent: bool,
        said: &mut Said,
    ) -> EndOfTurn {
        let mut summary = self.summary();
        summary.silent = may_be_silent && !summary.unresolved_operations.is_empty();
        said.events.push(Event::TurnEnded { outcome });
        let letter = summary.silent.then(|| {
            said.events.push(Event::SilentFailure { outcome });
            let id = said.letter_id(moment.now);
            let letter = self.silent_letter(
                moment.now,
                id.clone(),
                outcome,
                &summary.unresolved_operations,
                self.turn_budgets(moment),
            );
            said.parkings.push(Parking {
                letter,
                replace: true,
            });
            id
        });
        self.ended = Some(Ended {
            at: moment.now,
            outcome,
            summary: summary.clone(),
            letter: letter.clone(),
        });
        EndOfTurn {
            summary,
            replayed: false,
            dead_letter_id: letter,
        }
    }

    /// What the turn has come to so far; `silent` is left open.
    pub(super) fn summary(&self) -> TurnSummary {
        TurnSummary {
            calls: self.counters.calls,
            failures: self.counters.judged,
            retries: self.counters.retries,
            reprompts: self.counters.reprompts_given,
            recoveries: self.counters.recoveries,
            unresolved_operations: self.unresolved(),
            tokens_wasted: self.counters.tokens_wasted,
            silent: false,
        }
    }

    /// Operations whose failure nobody resolved, in the order in which they were first seen.
    fn unresolved(&self) -> Vec<Arc<str>> {
        let mut open: Vec<&Operation> = self
            .operations
            .values()
            .map(|operation| &**operation)
            .filter(|operation| self.is_unresolved(operation))
            .collect();
        open.sort_by(|a, b| (a.order, &a.id).cmp(&(b.order, &b.id)));
        open.into_iter()
            .map(|operation| operation.id.clone())
            .collect()
    }

    fn is_unresolved(&self, operation: &Operation) -> bool {
        let Some(word) = operation.last_word.filter(|_| operation.stands_failed()) else {
            return false;
        };
        match word.action {
            _ if word.finding => false,
            Action::Escalate | Action::FailLoud | Action::Retry => true,
            // The model may have done it in another way: with another operation of the same tool.
            Action::Reprompt => self.tool(&operation.tool).last_success <= word.event,
        }
    }
}
