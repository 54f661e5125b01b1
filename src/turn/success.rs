//! ReportSuccess: closes an operation, and everything that was waiting for a success starts anew.

use std::sync::Arc;

use crate::domain::{Action, Effect, SuccessReceipt, SuccessReport};

use super::answer::{Answered, Said};
use super::bounds::MAX_RESULT_BYTES;
use super::budgets::Scope;
use super::operation::Operation;
use super::requests::Method;
use super::{CallDigest, Event, Moment, Tool, Turn};

impl Turn {
    /// Records a success. On a turn that has ended nothing changes any more.
    pub fn report_success(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        report: &SuccessReport,
        digest: Option<CallDigest>,
    ) -> Answered<SuccessReceipt> {
        let call = &report.call;
        let earlier = match self.earlier_attempt(Method::ReportSuccess, call) {
            Ok(earlier) => earlier,
            Err(error) => return Answered::refused(error),
        };
        let mut said = self.begin(moment);
        let (mut operation, fits) = match self.take_operation(call, moment.now) {
            Some(operation) => (operation, self.ended.is_none()),
            None => (self.passing_operation(call, moment.now), false),
        };
        let number = match (earlier, call.attempt) {
            (Some(number), _) => number,
            (None, 0) => operation.next_to_come_back(),
            (None, number) => number,
        };
        let known = operation
            .attempt(number)
            .is_some_and(|attempt| attempt.succeeded_at.is_some());
        let keeps = fits || !operation.tool.is_empty();
        Self::describe(&mut operation, tool, call);
        if fits && !known {
            self.remember_request(Method::ReportSuccess, call, number, None);
            self.succeed(
                moment,
                tool,
                &mut operation,
                number,
                report,
                digest,
                &mut said,
            );
        }
        let scope = Scope {
            tool,
            operation: &operation,
            cause: None,
        };
        let receipt = SuccessReceipt {
            attempt: number,
            replayed: known,
            budgets: self.budgets(moment, &scope),
        };
        if keeps {
            self.put_back(operation);
        }
        said.answered(receipt)
    }

    #[allow(clippy::too_many_arguments)]
    fn succeed(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        operation: &mut Operation,
        number: u32,
        report: &SuccessReport,
        digest: Option<CallDigest>,
        said: &mut Said,
    ) {
        let call = &report.call;
        let last = operation.last_word.filter(|_| operation.stands_failed());
        let is_retry = last.is_some_and(|word| word.action == Action::Retry);
        let digest = digest.or(operation.input_digest.filter(|_| is_retry));
        // At a bound the success of an attempt that was never seen closes its operation and leaves no more than that.
        let remembers = operation.attempt(number).is_some() || !self.is_full();
        if remembers && operation.see(number, digest, call.idempotency_key.as_ref()) {
            self.count_call(&tool.name);
        }
        if let Some(attempt) = operation.attempt_mut(number) {
            attempt.succeeded_at = Some(moment.now);
            attempt.elapsed = report.elapsed.or(attempt.elapsed);
            attempt.tokens_spent = report.tokens_spent;
        }
        let first_success = !operation.succeeded;
        operation.succeeded = true;
        operation.succeeded_event = self.event;
        self.counters.tokens = self.counters.tokens.saturating_add(report.tokens_spent);
        self.last_success = self.event;
        if remembers {
            self.tool_mut(&tool.name).last_success = self.event;
        }
        if let Some(digest) = operation.attempt(number).and_then(|attempt| attempt.input) {
            self.memory.call_mut(digest).succeeded = Some(operation.id.clone());
        }
        self.keep_result(operation, report.result.as_ref());
        if first_success {
            said.events.push(Event::Succeeded { attempt: number });
        }
        if let Some(word) = last.filter(|word| !word.finding) {
            self.counters.recoveries = self.counters.recoveries.saturating_add(1);
            said.events.push(Event::Recovered {
                action: word.action,
                attempt: number,
            });
        }
        self.resolve_by_success(moment, tool, operation, number, said);
    }

    /// Keeps what came back, where handing it out again spares a second effect.
    fn keep_result(&mut self, operation: &mut Operation, result: Option<&Arc<str>>) {
        let Some(result) = result.filter(|_| operation.effect != Effect::Idempotent) else {
            return;
        };
        let held = operation.result.as_ref().map_or(0, |held| held.len());
        let total = (self.counters.result_bytes - held.min(self.counters.result_bytes))
            .saturating_add(result.len());
        if total <= MAX_RESULT_BYTES {
            self.counters.result_bytes = total;
            operation.result = Some(result.clone());
        }
    }
}
