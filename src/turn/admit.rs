//! Admit: may this call go out? Counts it, and stops what is already hopeless or harmful, without drawing a failure.

use std::sync::Arc;

use crate::domain::{
    Action, Admission, AdmitRequest, Category, Context, Effect, Execution, Family, Reason, Subject,
};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::policy::{Exploratory, Mode, OnExhausted, Profile};
use crate::verdict::Stop;

use super::answer::{Answered, Said};
use super::budgets::{Scope, spent};
use super::compose::Draft;
use super::letters;
use super::operation::Operation;
use super::requests::Method;
use super::state::CauseState;
use super::{CallDigest, Event, Moment, Tool, Turn};

/// A request to let a call out, with what the shell read of it.
struct Gate<'a> {
    moment: &'a Moment<'a>,
    tool: &'a Tool,
    request: &'a AdmitRequest,
    digest: Option<CallDigest>,
    number: u32,
}

/// Why a call is denied.
struct Denial {
    stop: Stop,
    /// The cause, where a spent one closes the tool.
    cause: Option<(crate::domain::Cause, crate::domain::Kind)>,
    lesson: Option<String>,
    result: Option<Arc<str>>,
    draws_reprompt: bool,
}

impl Denial {
    fn new(action: Action, reason: Reason) -> Self {
        Denial {
            stop: Stop {
                action,
                reason,
                spent: None,
            },
            cause: None,
            lesson: None,
            result: None,
            draws_reprompt: false,
        }
    }

    fn of(stop: Stop) -> Self {
        Denial {
            stop,
            ..Denial::new(stop.action, stop.reason)
        }
    }
}

/// What the gate says.
enum Passage {
    /// The same attempt was let out before.
    Again,
    /// It may go out, maybe under the key of another operation with the same effect.
    Open(Option<Arc<str>>),
    Denied(Box<Denial>),
}

impl From<Denial> for Passage {
    fn from(denial: Denial) -> Self {
        Passage::Denied(Box::new(denial))
    }
}

impl Turn {
    /// Decides whether a call may go out.
    pub fn admit(
        &mut self,
        moment: &Moment<'_>,
        tool: &Tool,
        request: &AdmitRequest,
        digest: Option<CallDigest>,
    ) -> Answered<Admission> {
        let call = &request.call;
        let earlier = match self.earlier_attempt(Method::Admit, call) {
            Ok(earlier) => earlier,
            Err(error) => return Answered::refused(error),
        };
        if let Some(denial) = self.earlier_denial(request) {
            if let Some(operation) = self.operations.get_mut(&call.operation_id) {
                operation.tell_key(&denial.idempotency_key);
            }
            return Said::new(moment.seed).answered(denial);
        }
        let mut said = self.begin(moment);
        let (mut operation, fits) = match self.take_operation(call, moment.now) {
            Some(operation) => (operation, true),
            None => (self.passing_operation(call, moment.now), false),
        };
        let number = match (earlier, call.attempt) {
            (Some(number), _) => number,
            (None, 0) => operation.next_to_go_out(),
            (None, number) => number,
        };
        Self::describe(&mut operation, tool, call);
        self.keep_input(&mut operation, call.input.as_ref(), digest);
        if let Some(id) = &call.approval_id {
            operation.approve(id, digest);
        }
        let gate = Gate {
            moment,
            tool,
            request,
            digest,
            number,
        };
        let passage = if fits {
            self.passage(&gate, &mut operation)
        } else {
            bound_reached(self.reached_bound()).into()
        };
        let mut admission = match passage {
            Passage::Again => self.let_out_again(&gate, &operation),
            Passage::Open(key) => {
                said.events.push(Event::Admission {
                    admitted: true,
                    verdict: None,
                });
                self.let_out(&gate, &mut operation, key)
            }
            Passage::Denied(denial) => {
                let denied = self.deny(&gate, &mut operation, *denial, fits, &mut said);
                operation.note_unseen(number, call.idempotency_key.as_ref());
                denied
            }
        };
        if fits {
            let denial = (admission.verdict.is_some()).then(|| Box::new(admission.clone()));
            self.remember_request(Method::Admit, call, number, denial);
            operation.tell_key(&admission.idempotency_key);
            self.put_back(operation);
        }
        admission.attempt = number;
        said.answered(admission)
    }

    fn earlier_denial(&self, request: &AdmitRequest) -> Option<Admission> {
        let id = request.call.request_id.as_ref()?;
        let mut denial = self.requests.get(id)?.denial.as_deref()?.clone();
        denial.replayed = true;
        Some(denial)
    }

    /// The gate, in the design's order; what may repeat an effect goes before what only wastes a call.
    fn passage(&mut self, gate: &Gate<'_>, operation: &mut Operation) -> Passage {
        if self.ended.is_some() {
            return Denial::new(Action::FailLoud, Reason::TurnEnded).into();
        }
        if let Some(known) = self.known_attempt(gate, operation) {
            return known;
        }
        let denial = self
            .spent_for_all(gate)
            .or_else(|| self.closed_by_cause(gate))
            .or_else(|| self.call_cap(gate, operation))
            .or_else(|| too_deep(gate))
            .or_else(|| further_attempt(gate, operation));
        if let Some(denial) = denial {
            return denial.into();
        }
        let key = match self.same_effect(gate, operation) {
            Ok(key) => key,
            Err(denial) => return denial.into(),
        };
        needs_approval(gate, operation)
            .or_else(|| self.repeated_call(gate, operation))
            .map_or(Passage::Open(key), Passage::from)
    }

    /// An attempt that was seen before: let out again, held by somebody else, or over.
    fn known_attempt(&self, gate: &Gate<'_>, operation: &Operation) -> Option<Passage> {
        let harmless = operation.effect == Effect::Idempotent;
        let is_past = gate.number <= operation.latest();
        if is_past && operation.succeeded && !harmless {
            return Some(already_executed(operation).into());
        }
        let Some(attempt) = operation.attempt(gate.number) else {
            return (gate.number < operation.latest())
                .then(|| Denial::new(Action::Escalate, Reason::Superseded).into());
        };
        if operation.succeeded {
            return Some(Passage::Again);
        }
        if attempt.judged.is_some() || gate.number < operation.latest() {
            return Some(match further_attempt(gate, operation) {
                Some(denial) => denial.into(),
                None => Denial::new(Action::Escalate, Reason::Superseded).into(),
            });
        }
        let asked_by_another = match (&attempt.worker_id, &gate.request.call.worker_id) {
            (Some(holder), Some(asks)) => holder != asks,
            _ => false,
        };
        if asked_by_another && (!harmless || gate.tool.is_expensive()) {
            return Some(Denial::new(Action::Escalate, Reason::InProgress).into());
        }
        Some(Passage::Again)
    }

    /// What is spent of the turn.
    fn spent_for_all(&self, gate: &Gate<'_>) -> Option<Denial> {
        if self.is_full() {
            return Some(bound_reached(self.reached_bound()));
        }
        let spent = self.spent_turn(gate.moment)?;
        let then = gate.moment.policy.budgets.turn_on_exhausted;
        Some(Denial::of(Stop::exhausted(
            Reason::TurnBudgetExhausted,
            spent,
            then,
        )))
    }

    /// A spent cause of the tool: of its dependency, of its group or itself, or one that it was charged to.
    fn closed_by_cause(&self, gate: &Gate<'_>) -> Option<Denial> {
        self.causes.iter().find_map(|state| {
            if !self.closes(gate, state) {
                return None;
            }
            let (spent, then) =
                self.spent_cause(gate.moment, gate.tool, &state.cause, state.kind)?;
            let stop = Stop::exhausted(Reason::CauseBudgetExhausted, spent, then);
            Some(Denial {
                cause: Some((state.cause.clone(), state.kind)),
                ..Denial::of(stop)
            })
        })
    }

    /// Whether a cause, once spent, closes this tool.
    fn closes(&self, gate: &Gate<'_>, state: &CauseState) -> bool {
        let (tool, cause) = (gate.tool, &state.cause);
        let coding = gate.moment.policy.profile == Profile::Coding;
        if cause.family == Family::Precondition || (coding && cause.family == Family::Output) {
            return false;
        }
        let charged = state
            .tools
            .iter()
            .find(|(name, _)| *name == tool.name)
            .map(|(_, first)| *first);
        let is_its_dependency = matches!(&cause.subject, Subject::Dependency(name)
            if tool.policy.dependency.as_ref() == Some(name));
        let is_its_own = match &cause.subject {
            Subject::Group(name) => tool.policy.group.as_ref() == Some(name),
            subject => *subject == crate::causes::itself(tool.charged()),
        };
        if !(is_its_dependency || is_its_own || charged.is_some()) {
            return false;
        }
        if tool.exploratory == Exploratory::No {
            return true;
        }
        let has_a_dependency = matches!(cause.subject, Subject::Dependency(_));
        let since = charged.unwrap_or(state.first_event);
        has_a_dependency && self.tool(&tool.name).last_success < since
    }

    fn call_cap(&self, gate: &Gate<'_>, operation: &Operation) -> Option<Denial> {
        let scope = Scope {
            tool: gate.tool,
            operation,
            cause: None,
        };
        let (spent, then) = self.spent_tool_calls(gate.moment, &scope)?;
        let stop = Stop::exhausted(Reason::CallCapReached, spent, then);
        Some(Denial::of(stop))
    }

    /// The same effect under a new operation: gives the key to carry, or the denial.
    fn same_effect(
        &self,
        gate: &Gate<'_>,
        operation: &Operation,
    ) -> Result<Option<Arc<str>>, Denial> {
        let Some(memory) = gate.digest.and_then(|digest| self.memory.call(digest)) else {
            return Ok(None);
        };
        let mut key = None;
        for (id, number) in &memory.unknown {
            let Some(other) = self.operations.get(id) else {
                continue;
            };
            let effect = other.effect.max(operation.effect);
            if effect == Effect::Idempotent || other.succeeded {
                continue;
            }
            if other.executed {
                if gate.tool.is_repeatable() {
                    continue;
                }
                return Err(already_executed(other));
            }
            if *number <= other.settled_through || !self.still_matters(gate.tool, other, *number) {
                continue;
            }
            let now = gate.moment.now;
            let its_key = other.key();
            // One effect under two keys is two effects.
            let other_key = key
                .as_ref()
                .or(gate.request.call.idempotency_key.as_ref())
                .or(operation.key_that_may_have_executed());
            if effect == Effect::Keyed
                && !other.counts_as_unsafe(now, gate.tool.key_ttl())
                && other_key.is_none_or(|key| *key == its_key)
            {
                key = Some(its_key);
            } else {
                return Err(Denial::new(Action::Escalate, Reason::DuplicateOfUnknown));
            }
        }
        let done = memory
            .succeeded
            .as_ref()
            .filter(|id| **id != operation.id)
            .and_then(|id| self.operations.get(id));
        match done {
            Some(other)
                if (other.effect.is_declared_harmful()
                    || operation.effect.is_declared_harmful())
                    && !gate.tool.is_repeatable() =>
            {
                Err(already_executed(other))
            }
            _ => Ok(key),
        }
    }

    /// For exploratory tools only an ambiguous failure matters, and only while nothing has succeeded since.
    fn still_matters(&self, tool: &Tool, other: &Operation, number: u32) -> bool {
        if tool.exploratory == Exploratory::No {
            return true;
        }
        other.judged(number).is_some_and(|judged| {
            judged.classification.reading.kind.category() == Category::Ambiguous
                && judged.event > self.last_success
        })
    }

    /// The unchanged call of a failure that stands.
    fn repeated_call(&mut self, gate: &Gate<'_>, operation: &Operation) -> Option<Denial> {
        let is_retry = operation
            .last_word
            .is_some_and(|word| word.action == Action::Retry);
        if is_retry {
            return None;
        }
        let last_success = self.last_success;
        let standing = gate.digest.filter(|digest| {
            self.memory
                .standing_failure(*digest, last_success)
                .is_some()
        });
        if let Some(digest) = standing {
            let failed = self.memory.call_mut(digest).failed.as_mut()?;
            if failed.needs_approval && operation.is_approved(gate.digest) {
                return None;
            }
            failed.denials = failed.denials.saturating_add(1);
            let (lesson, denials) = (failed.lesson.clone(), failed.denials);
            return Some(self.deny_repeat(gate, operation, lesson, denials));
        }
        if gate.moment.policy.profile != Profile::Coding {
            return None;
        }
        let input = gate.request.call.input.as_deref()?;
        let missing = self
            .memory
            .names_missing_again(&gate.tool.name, input, last_success)?;
        let (lesson, _) = crate::lessons::cut_to_words(&format!(
            "`{missing}` does not exist; find out what does before naming it again."
        ));
        if let Some(digest) = gate.digest {
            // From here on the call itself is one that failed: its denials are counted.
            let refused = Some(lesson.clone());
            self.memory
                .remember_failed(digest, self.event, refused, false, last_success);
            self.memory.call_mut(digest).failed.as_mut()?.denials = 1;
        }
        Some(self.deny_repeat(gate, operation, Some(lesson), 1))
    }

    /// A repeat is reprompted while there are reprompts left, and escalated at the third denial.
    fn deny_repeat(
        &self,
        gate: &Gate<'_>,
        operation: &Operation,
        lesson: Option<String>,
        denials: u32,
    ) -> Denial {
        const DENIALS: u32 = 3;
        let policy = gate.moment.policy;
        let none_left = spent(
            SpentBudgetName::TurnReprompts,
            self.counters.reprompts,
            policy.budgets.turn_max_reprompts,
        )
        .or_else(|| {
            let limit =
                policy.limit_reprompts(&gate.tool.policy, None, crate::domain::Kind::Unknown);
            spent(
                SpentBudgetName::OperationReprompts,
                operation.reprompts,
                limit,
            )
        });
        let escalates = denials >= DENIALS || none_left.is_some();
        let action = if escalates {
            Action::Escalate
        } else {
            Action::Reprompt
        };
        Denial {
            stop: Stop {
                action,
                reason: Reason::RepeatedCall,
                spent: none_left,
            },
            lesson,
            draws_reprompt: !escalates,
            ..Denial::new(action, Reason::RepeatedCall)
        }
    }

    fn let_out(
        &mut self,
        gate: &Gate<'_>,
        operation: &mut Operation,
        key: Option<Arc<str>>,
    ) -> Admission {
        let call = &gate.request.call;
        if let Some(key) = key {
            operation.adopt_key(key);
        }
        let is_retry = operation
            .last_word
            .is_some_and(|word| word.action == Action::Retry);
        let digest = gate.digest.or(operation.input_digest.filter(|_| is_retry));
        let carried = (call.idempotency_key.clone()).unwrap_or_else(|| operation.key());
        let is_new = operation.see(gate.number, digest, call.idempotency_key.as_ref());
        if is_new {
            self.count_call(&gate.tool.name);
        }
        if let Some(attempt) = operation.attempt_mut(gate.number) {
            if is_new {
                attempt.key = carried;
            }
            attempt.admitted_at = Some(gate.moment.now);
            attempt.worker_id.clone_from(&call.worker_id);
        }
        let mut admission = self.admission(gate, operation);
        admission.admitted = true;
        admission
    }

    fn let_out_again(&self, gate: &Gate<'_>, operation: &Operation) -> Admission {
        let mut admission = self.admission(gate, operation);
        admission.admitted = true;
        admission.replayed = true;
        admission
    }

    fn deny(
        &mut self,
        gate: &Gate<'_>,
        operation: &mut Operation,
        denial: Denial,
        fits: bool,
        said: &mut Said,
    ) -> Admission {
        let Stop {
            action,
            reason,
            spent,
        } = denial.stop;
        if denial.draws_reprompt {
            self.counters.reprompts = self.counters.reprompts.saturating_add(1);
            self.counters.reprompts_given = self.counters.reprompts_given.saturating_add(1);
            operation.reprompts = operation.reprompts.saturating_add(1);
        }
        let mut draft = Draft::stop(action, reason)
            .spent(spent)
            .lesson(denial.lesson.as_deref());
        if let Some((cause, kind)) = &denial.cause {
            draft = draft.cause(cause, *kind);
        }
        if action == Action::Reprompt {
            draft.context = Some(Context::Same);
        }
        let verdict = self.compose(gate.moment, gate.tool, operation, &draft);
        let parks = matches!(
            reason,
            Reason::ApprovalRequired | Reason::DuplicateOfUnknown | Reason::RecursionLimit
        );
        let letter = (parks && fits).then(|| {
            let stop = letters::Stop {
                moment: gate.moment,
                tool: gate.tool,
                number: gate.number,
                verdict: &verdict,
                classification: None,
                judged: None,
            };
            self.park_by_operation(&stop, operation, said)
        });
        let in_shadow = gate.moment.policy.mode == Mode::Shadow;
        let counts = in_shadow && fits && !self.is_full() && reason != Reason::TurnEnded;
        let mut admission = if counts {
            self.let_out(gate, operation, None)
        } else {
            let mut admission = self.admission(gate, operation);
            admission.admitted = in_shadow;
            admission
        };
        said.events.push(Event::Admission {
            admitted: admission.admitted,
            verdict: Some((action, reason)),
        });
        admission.verdict = Some(verdict);
        admission.result = denial.result;
        admission.dead_letter_id = letter;
        admission
    }

    fn admission(&self, gate: &Gate<'_>, operation: &Operation) -> Admission {
        let scope = Scope {
            tool: gate.tool,
            operation,
            cause: None,
        };
        Admission {
            admitted: false,
            replayed: false,
            verdict: None,
            idempotency_key: operation.key().to_string(),
            result: None,
            budgets: self.budgets(gate.moment, &scope),
            attempt: gate.number,
            dead_letter_id: None,
        }
    }
}

/// The turn may not grow any further.
fn bound_reached(spent: SpentBudget) -> Denial {
    // At a bound the turn fails loud whatever the policy says of spent budgets: it can no longer remember.
    Denial::of(Stop::exhausted(
        Reason::TurnBudgetExhausted,
        spent,
        OnExhausted::FailLoud,
    ))
}

fn too_deep(gate: &Gate<'_>) -> Option<Denial> {
    let limit = gate.moment.policy.tool_max_depth(&gate.tool.policy);
    let limit = limit.get()?;
    let depth = u64::from(gate.request.depth);
    (depth > limit).then(|| {
        Denial::of(Stop {
            action: Action::Escalate,
            reason: Reason::RecursionLimit,
            spent: Some(SpentBudget {
                name: SpentBudgetName::Depth,
                used: depth,
                limit,
            }),
        })
    })
}

fn already_executed(operation: &Operation) -> Denial {
    Denial {
        result: operation.result.clone(),
        ..Denial::new(Action::FailLoud, Reason::AlreadyExecuted)
    }
}

/// A further attempt of an operation whose work is done, may have been done, or was stopped by rows 8 to 11.
fn further_attempt(gate: &Gate<'_>, operation: &Operation) -> Option<Denial> {
    if operation.effect != Effect::Idempotent && operation.succeeded {
        return Some(already_executed(operation));
    }
    let named_key = gate.request.call.idempotency_key.is_some();
    let unsafe_now = operation.counts_as_unsafe(gate.moment.now, gate.tool.key_ttl())
        || operation.would_lose_its_key(gate.number, named_key)
        || operation.would_change_its_key(gate.request.call.idempotency_key.as_ref());
    if unsafe_now && operation.worst_but_findings() == Execution::Executed {
        return Some(already_executed(operation));
    }
    let stop = operation
        .last_word
        .map(|word| word.reason)
        .filter(|reason| {
            matches!(
                reason,
                Reason::AlreadyExecuted
                    | Reason::MayStillBeRunning
                    | Reason::CheckStatus
                    | Reason::OutcomeUnknown
                    | Reason::UnsafeToRepeat
            )
        });
    let may_have_executed = operation.worst_but_findings() == Execution::MaybeExecuted
        || operation.skips_attempts(gate.number);
    if unsafe_now && may_have_executed {
        let last = operation
            .last_word
            .filter(|word| matches!(word.action, Action::Escalate | Action::FailLoud));
        return Some(match last {
            Some(word) => Denial::new(word.action, word.reason),
            None => Denial::new(Action::Escalate, Reason::OutcomeUnknown),
        });
    }
    match (stop, operation.last_word) {
        (Some(reason), Some(word)) if operation.stands_failed() => {
            Some(Denial::new(word.action, reason))
        }
        _ => None,
    }
}

fn needs_approval(gate: &Gate<'_>, operation: &Operation) -> Option<Denial> {
    (gate.tool.is_irreversible() && !operation.is_approved(gate.digest))
        .then(|| Denial::new(Action::Escalate, Reason::ApprovalRequired))
}
