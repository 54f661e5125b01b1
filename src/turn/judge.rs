//! Judge: a failed attempt comes in, a verdict goes out.
//!
//! In order: the turn may be over; the attempt may be superseded or its operation done; the request may be a replay or
//! the second word on it (row 1). Otherwise the attempt is fresh, and `settle` finds its verdict.

use crate::domain::{
    Action, Category, Classification, Execution, JudgeRequest, Judgement, Kind, Origin, Reason,
};
use crate::lessons::{self, LessonSource};
use crate::policy::Exploratory;
use crate::secrets;

use super::answer::{Answered, Said};
use super::budgets::Scope;
use super::compose::Draft;
use super::operation::{Circumstances, Judged, LastWord, Operation};
use super::requests::Method;
use super::settle::{Case, Settled};
use super::{CallDigest, Event, Moment, Tool, Turn};

/// What the shell read before it took the turn's lock.
#[derive(Debug, Clone)]
pub struct Heard<'a> {
    /// The request.
    pub request: &'a JudgeRequest,
    /// What was read of the failure, and its cause.
    pub classification: Classification,
    /// The call's digest, where the request has an input.
    pub digest: Option<CallDigest>,
}

/// The parts of one judgement in the making.
struct Bench<'a> {
    moment: &'a Moment<'a>,
    tool: &'a Tool,
    heard: &'a Heard<'a>,
    number: u32,
    /// A request of the same id was answered before.
    same_request: bool,
}

impl Turn {
    /// Judges a failed attempt.
    pub fn judge(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        heard: &Heard<'_>,
    ) -> Answered<Judgement> {
        let call = &heard.request.call;
        let earlier = match self.earlier_attempt(Method::Judge, call) {
            Ok(earlier) => earlier,
            Err(error) => return Answered::refused(error),
        };
        let mut said = self.begin(moment);
        let Some(mut operation) = self.take_operation(call, moment.now) else {
            let mut nobody = self.passing_operation(call, moment.now);
            Self::describe(&mut nobody, tool, call);
            let bench = Bench {
                moment,
                tool,
                heard,
                number: call.attempt.max(1),
                same_request: false,
            };
            let judgement = self.stop_at_bound(&bench, &mut nobody, &mut said);
            return said.answered(judgement);
        };
        let number = match (earlier, call.attempt) {
            (Some(number), _) => number,
            (None, 0) => operation.next_to_come_back(),
            (None, number) => number,
        };
        self.remember_request(Method::Judge, call, number, None);
        let bench = Bench {
            moment,
            tool,
            heard,
            number,
            same_request: earlier.is_some(),
        };
        let judgement = self.judge_attempt(&bench, &mut operation, &mut said);
        operation.tell_key(&judgement.verdict.idempotency_key);
        self.put_back(operation);
        said.answered(judgement)
    }

    fn judge_attempt(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        said: &mut Said,
    ) -> Judgement {
        let number = bench.number;
        if self.ended.is_some() {
            return self.close(bench, operation, Action::FailLoud, Reason::TurnEnded, said);
        }
        let has_succeeded = operation
            .attempt(number)
            .is_some_and(|attempt| attempt.succeeded_at.is_some());
        let judged = operation.judged(number).cloned();
        let is_past = number < operation.latest() || has_succeeded;
        match judged {
            judged
                if is_past
                    || judged
                        .as_ref()
                        .is_some_and(|judged| judged.event < operation.succeeded_event) =>
            {
                let (action, reason) = if operation.succeeded {
                    (Action::FailLoud, Reason::AlreadyExecuted)
                } else {
                    (Action::Escalate, Reason::Superseded)
                };
                self.close(bench, operation, action, reason, said)
            }
            Some(judged) if is_second_word(bench, operation, &judged) => {
                self.judge_again(bench, operation, judged, said)
            }
            Some(judged) => self.replay(bench, operation, judged, said),
            None if self.is_full() => self.stop_at_bound(bench, operation, said),
            None => self.judge_fresh(bench, operation, said),
        }
    }

    /// The same answer again, counted nowhere.
    fn replay(
        &self,
        bench: &Bench<'_>,
        operation: &Operation,
        judged: Judged,
        said: &mut Said,
    ) -> Judgement {
        if let Some(id) = &judged.letter_id {
            self.park_again(bench.moment, bench.tool, operation, bench.number, id, said);
        }
        self.judgement(bench, operation, judged, true)
    }

    /// A word on an attempt that is over: its execution is heard, nothing is drawn, and the verdict says why.
    fn close(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        action: Action,
        reason: Reason,
        said: &mut Said,
    ) -> Judgement {
        let heard = bench.heard;
        let first_word = operation.judged(bench.number).is_none();
        Self::describe(operation, bench.tool, &heard.request.call);
        self.hear(bench, operation);
        let cause = &heard.classification.cause;
        let kind = heard.classification.reading.kind;
        let draft = Draft::stop(action, reason).cause(cause, kind);
        let mut judged = self.judged(bench, operation, Circumstances::default(), None);
        judged.verdict = self.compose(bench.moment, bench.tool, operation, &draft);
        if first_word {
            said.events
                .push(judged_event(&judged, bench.heard.request.tokens_spent));
            judged.letter_id = Some(self.park_stop(
                bench.moment,
                bench.tool,
                operation,
                bench.number,
                &judged,
                None,
                said,
            ));
            self.record(operation, bench.number, judged.clone());
        } else {
            judged.letter_id = operation.letter.as_ref().map(|letter| letter.id.clone());
        }
        self.judgement(bench, operation, judged, !first_word)
    }

    /// The turn may not grow any further: nothing is remembered of this attempt, and nothing is let through any more.
    fn stop_at_bound(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        said: &mut Said,
    ) -> Judgement {
        let spent = self.reached_bound();
        let cause = &bench.heard.classification.cause;
        let kind = bench.heard.classification.reading.kind;
        let draft = Draft::stop(Action::FailLoud, Reason::TurnBudgetExhausted)
            .cause(cause, kind)
            .spent(Some(spent));
        let mut judged = self.judged(bench, operation, Circumstances::default(), None);
        judged.verdict = self.compose(bench.moment, bench.tool, operation, &draft);
        said.events
            .push(judged_event(&judged, bench.heard.request.tokens_spent));
        judged.letter_id = Some(self.park_stop(
            bench.moment,
            bench.tool,
            operation,
            bench.number,
            &judged,
            Some(spent),
            said,
        ));
        self.judgement(bench, operation, judged, false)
    }

    fn judge_fresh(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        said: &mut Said,
    ) -> Judgement {
        let (request, tool) = (bench.heard.request, bench.tool);
        let call = &request.call;
        let is_retry = operation
            .last_word
            .is_some_and(|word| word.action == Action::Retry);
        let was_admitted = operation.attempt(bench.number).is_some();
        Self::describe(operation, tool, call);
        // Only the same input is retried, so the next attempt of a retry that sends none means the one before.
        let digest = bench
            .heard
            .digest
            .or(operation.input_digest.filter(|_| is_retry));
        if operation.see(bench.number, digest, call.idempotency_key.as_ref()) {
            self.count_call(&tool.name);
        }
        let digest = operation
            .attempt(bench.number)
            .and_then(|attempt| attempt.input);
        self.keep_input(operation, call.input.as_ref(), digest);
        if let Some(id) = &call.approval_id {
            operation.approve(id, bench.heard.digest);
        }
        self.hear(bench, operation);
        self.counters.judged = self.counters.judged.saturating_add(1);
        self.counters.tokens = self.counters.tokens.saturating_add(request.tokens_spent);
        self.counters.tokens_wasted = self
            .counters
            .tokens_wasted
            .saturating_add(request.tokens_spent);

        let reading = &bench.heard.classification.reading;
        let (lesson, lesson_cut) = self.lesson(bench);
        let standing = digest
            .and_then(|digest| self.memory.standing_failure(digest, self.last_success))
            .is_some()
            && !is_retry;
        let is_exploratory = tool.exploratory != Exploratory::No;
        let circumstances = Circumstances {
            failed_before: operation.failures > 0,
            same_fingerprint: operation.last_fingerprint == Some(reading.fingerprint),
            same_call: standing && !was_admitted,
            same_lesson: self.is_same_lesson(operation, bench, lesson.as_deref()),
            old_finding: is_exploratory
                && (self.memory.is_old_finding(
                    &tool.name,
                    reading.fingerprint,
                    self.event,
                    self.last_success,
                ) || standing),
        };
        if reading.kind.category() == Category::ModelOutput {
            operation.last_output_lesson.clone_from(&lesson);
        }
        let mut judged = self.judged(bench, operation, circumstances, lesson);
        judged.lesson_cut = lesson_cut;
        let settled = self.settle(
            bench.moment,
            tool,
            operation,
            &case(bench, &judged, Some(request.tries)),
            said,
        );
        operation.failures = operation.failures.saturating_add(1);
        operation.last_fingerprint = Some(judged.classification.reading.fingerprint);
        self.remember_failure(bench, operation, &judged, digest);
        self.conclude(bench, operation, judged, settled, true, said)
    }

    /// A second word: the verdict is made anew from what is now known, and nothing is drawn twice.
    fn judge_again(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        mut judged: Judged,
        said: &mut Said,
    ) -> Judgement {
        let call = &bench.heard.request.call;
        Self::describe(operation, bench.tool, call);
        if let Some(id) = &call.approval_id {
            operation.approve(id, bench.heard.digest);
        }
        self.hear(bench, operation);
        let before = judged.clone();
        if let Some(word) = bench.heard.request.failure.execution {
            judged.classification.reading.execution = word;
            judged.classification.reading.vouched = true;
        }
        let settled = self.settle(
            bench.moment,
            bench.tool,
            operation,
            &case(bench, &judged, None),
            said,
        );
        // An approval that does not fit changes nothing: that is the same answer, and no new word.
        let says_the_same = settled.verdict.action == before.verdict.action
            && settled.verdict.reason == before.verdict.reason
            && before.verdict.reason == Reason::ApprovalRequired
            && judged.classification == before.classification;
        if says_the_same {
            return self.replay(bench, operation, before, said);
        }
        self.conclude(bench, operation, judged, settled, false, said)
    }

    /// Records a verdict with its attempt and the operation, and parks it where it is a stop.
    fn conclude(
        &mut self,
        bench: &Bench<'_>,
        operation: &mut Operation,
        mut judged: Judged,
        settled: Settled,
        fresh: bool,
        said: &mut Said,
    ) -> Judgement {
        judged.drew_retry |= settled.verdict.action == Action::Retry;
        judged.drew_reprompt |= settled.drew_reprompt;
        judged.finding = settled.verdict.reason == Reason::Exploratory;
        let is_stop = matches!(settled.verdict.action, Action::Escalate | Action::FailLoud);
        judged.verdict = settled.verdict;
        operation.last_word = Some(LastWord {
            event: self.event,
            action: judged.verdict.action,
            reason: judged.verdict.reason,
            finding: judged.finding,
        });
        self.memory
            .remember_failed_operation(self.event, &operation.id);
        let tokens_spent = if fresh {
            bench.heard.request.tokens_spent
        } else {
            0
        };
        said.events.push(judged_event(&judged, tokens_spent));
        if is_stop && fresh {
            let spent = settled.spent;
            judged.letter_id = Some(self.park_stop(
                bench.moment,
                bench.tool,
                operation,
                bench.number,
                &judged,
                spent,
                said,
            ));
        } else if is_stop {
            judged.letter_id = Some(self.park_second_word(
                bench.moment,
                bench.tool,
                operation,
                bench.number,
                &judged,
                said,
            ));
        } else if let Some(id) = judged.letter_id.take() {
            self.resolve_letter(
                bench.moment,
                bench.tool,
                operation,
                bench.number,
                &judged,
                &id,
                said,
            );
        }
        self.record(operation, bench.number, judged.clone());
        self.judgement(bench, operation, judged, false)
    }

    /// Takes in what is known of the attempt's execution.
    fn hear(&mut self, bench: &Bench<'_>, operation: &mut Operation) {
        let number = bench.number;
        let reading = &bench.heard.classification.reading;
        let is_asked = operation
            .judged(number)
            .is_some_and(|judged| asks_for_a_second_word(judged.verdict.reason));
        // That it was done is final: no later word settles the attempts of a work that is done.
        let is_done = operation.executed || operation.succeeded;
        match bench.heard.request.failure.execution {
            Some(Execution::Executed) => operation.executed = true,
            Some(Execution::NotExecuted) if is_asked && !is_done => {
                operation.settled_through = operation.settled_through.max(number);
            }
            _ => {}
        }
        let named_key = bench.heard.request.call.idempotency_key.as_ref();
        match operation.attempt(number) {
            None if self.is_full() => return,
            None => {
                operation.see(number, bench.heard.digest, named_key);
                self.counters.attempts = self.counters.attempts.saturating_add(1);
            }
            Some(known) if known.judged.is_none() => {
                operation.see(number, bench.heard.digest, named_key);
            }
            Some(_) => {}
        }
        if let Some(attempt) = operation.attempt_mut(number) {
            attempt.elapsed = bench.heard.request.elapsed.or(attempt.elapsed);
            if attempt.worker_id.is_none() {
                attempt
                    .worker_id
                    .clone_from(&bench.heard.request.call.worker_id);
            }
            // What a text says late does not outweigh what the worker knew for sure.
            let outranked = !reading.vouched
                && (attempt.judged.as_ref())
                    .is_some_and(|judged| judged.classification.reading.vouched);
            match attempt.heard {
                None => {
                    attempt.heard = Some(reading.execution);
                    attempt.tokens_spent = bench.heard.request.tokens_spent;
                }
                Some(_) if outranked => {}
                Some(known) => attempt.heard = Some(known.max(reading.execution)),
            }
        }
        if let Some(digest) = operation.attempt(number).and_then(|attempt| attempt.input)
            && reading.execution != Execution::NotExecuted
        {
            self.memory.remember_unknown(digest, &operation.id, number);
        }
    }

    /// The corrective sentence: the worker's own, cut, else made from the failure where one can help.
    fn lesson(&self, bench: &Bench<'_>) -> (Option<String>, bool) {
        let request = bench.heard.request;
        if let Some(own) = request
            .lesson
            .as_deref()
            .filter(|own| !own.trim().is_empty())
        {
            let (lesson, cut) = lessons::cut_to_words(&secrets::mask(own));
            return (Some(lesson), cut);
        }
        let reading = &bench.heard.classification.reading;
        let helps = matches!(
            reading.kind.category(),
            Category::ModelOutput | Category::Precondition
        ) || bench.tool.exploratory != Exploratory::No;
        if !helps {
            return (None, false);
        }
        let known_tools: Vec<&str> = if reading.kind == Kind::UnknownTool {
            let described = bench
                .moment
                .policy
                .tools
                .iter()
                .map(|entry| &*entry.pattern);
            described
                .filter(|pattern| !pattern.contains(['*', '?']))
                .chain(self.tools.keys().map(|tool| &**tool))
                .filter(|tool| *tool != &*bench.tool.name)
                .collect()
        } else {
            Vec::new()
        };
        let source = LessonSource {
            failure: &request.failure,
            reading,
            tool: &bench.tool.name,
            origin: bench.tool.origin,
            input: request.call.input.as_deref(),
            known_tools: &known_tools,
        };
        (Some(lessons::rule_made(&source)), false)
    }

    /// Whether the correction stopped changing. A rule-made lesson that says nothing particular corrects nothing, so
    /// only the same failure makes it the same.
    fn is_same_lesson(
        &self,
        operation: &Operation,
        bench: &Bench<'_>,
        lesson: Option<&str>,
    ) -> bool {
        let reading = &bench.heard.classification.reading;
        let (Some(before), Some(now)) = (operation.last_output_lesson.as_deref(), lesson) else {
            return false;
        };
        let is_particular = bench.heard.request.lesson.is_some() || !lessons::is_general(now);
        reading.kind.category() == Category::ModelOutput
            && lessons::same_lesson(before, now)
            && (is_particular || operation.last_fingerprint == Some(reading.fingerprint))
    }

    fn remember_failure(
        &mut self,
        bench: &Bench<'_>,
        operation: &Operation,
        judged: &Judged,
        digest: Option<CallDigest>,
    ) {
        let reading = &judged.classification.reading;
        let stays_wrong = !matches!(
            reading.kind.category(),
            Category::Transient | Category::Ambiguous | Category::Precondition
        );
        if let Some(digest) = digest
            && stays_wrong
        {
            self.memory.remember_failed(
                digest,
                self.event,
                judged.lesson.clone(),
                reading.kind == Kind::ApprovalRequired,
                self.last_success,
            );
        }
        if reading.kind == Kind::WrongReference
            && operation.origin == Origin::Tool
            && let Some(reference) = &reading.reference
        {
            self.memory.remember_missing(
                &bench.tool.name,
                reference,
                self.event,
                self.last_success,
            );
        }
    }

    /// A judgement to be recorded, without its verdict yet.
    fn judged(
        &mut self,
        bench: &Bench<'_>,
        operation: &Operation,
        circumstances: Circumstances,
        lesson: Option<String>,
    ) -> Judged {
        let request = bench.heard.request;
        Judged {
            at: bench.moment.now,
            event: self.event,
            classification: bench.heard.classification.clone(),
            failure: self.keep_failure(&request.failure),
            lesson,
            lesson_cut: false,
            tries: request.tries.max(1),
            verdict: super::compose::unspoken(operation),
            finding: false,
            drew_retry: false,
            drew_reprompt: false,
            circumstances,
            letter_id: None,
        }
    }

    fn record(&self, operation: &mut Operation, number: u32, judged: Judged) {
        if let Some(attempt) = operation.attempt_mut(number) {
            attempt.judged = Some(Box::new(judged));
        }
    }

    fn judgement(
        &self,
        bench: &Bench<'_>,
        operation: &Operation,
        judged: Judged,
        replayed: bool,
    ) -> Judgement {
        let scope = Scope {
            tool: bench.tool,
            operation,
            cause: Some((
                &judged.classification.cause,
                judged.classification.reading.kind,
            )),
        };
        let is_done = judged.verdict.reason == Reason::AlreadyExecuted;
        Judgement {
            budgets: self.budgets(bench.moment, &scope),
            attempt: bench.number,
            replayed,
            dead_letter_id: judged.letter_id,
            result: operation.result.clone().filter(|_| is_done),
            verdict: judged.verdict,
            classification: judged.classification,
        }
    }
}

fn case<'a>(bench: &'a Bench<'_>, judged: &'a Judged, draw: Option<u32>) -> Case<'a> {
    Case {
        call: &bench.heard.request.call,
        number: bench.number,
        failure: &bench.heard.request.failure,
        judged,
        draw,
    }
}

/// Whether this request is a second word on a judged attempt.
fn is_second_word(bench: &Bench<'_>, operation: &Operation, judged: &Judged) -> bool {
    let request = bench.heard.request;
    let reason = judged.verdict.reason;
    match request.failure.execution {
        Some(Execution::Executed) if !operation.executed => true,
        _ if bench.same_request => false,
        Some(Execution::NotExecuted) if !operation.executed && asks_for_a_second_word(reason) => {
            is_news(request, operation, judged)
        }
        _ => reason == Reason::ApprovalRequired && request.call.approval_id.is_some(),
    }
}

/// A second word settles all attempts before it, the first one only its own. Where the first word said the same, a
/// network that delivers it twice must not settle anything: only a request of its own id does, or one that finds the
/// other attempts settled.
fn is_news(request: &JudgeRequest, operation: &Operation, judged: &Judged) -> bool {
    let said_before = judged.classification.reading.vouched
        && judged.classification.reading.execution == Execution::NotExecuted;
    !said_before || request.call.request_id.is_some() || operation.worst() == Execution::NotExecuted
}

const fn asks_for_a_second_word(reason: Reason) -> bool {
    matches!(
        reason,
        Reason::CheckStatus
            | Reason::OutcomeUnknown
            | Reason::UnsafeToRepeat
            | Reason::MayStillBeRunning
    )
}

fn judged_event(judged: &Judged, tokens_spent: u64) -> Event {
    Event::Judged {
        action: judged.verdict.action,
        reason: judged.verdict.reason,
        kind: judged.classification.reading.kind,
        source: judged.classification.reading.source,
        retry_after: judged.verdict.retry_after,
        tokens_spent,
    }
}
