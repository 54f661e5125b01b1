//! The turn under test: a small world in which a worker can fail, succeed and ask, in virtual time.

mod admit;
mod budgets;
mod keys;
mod letters;
mod properties;
mod rows;
mod second_word;

use std::time::Duration;

use crate::causes::classify_cause;
use crate::domain::{
    Admission, AdmitRequest, Call, Classification, Effect, EndOfTurn, EndTurnRequest,
    EvidenceSource, Execution, Failure, Fingerprint, JudgeRequest, Judgement, Kind, Origin,
    Outcome, Reading, SuccessReceipt, SuccessReport, Timestamp, Verdict,
};
use crate::letters::Parking;
use crate::policy::Policy;

use super::{Answered, CallDigest, Event, Heard, Moment, Tool, Turn};

/// A turn, a policy, a clock.
pub(super) struct World {
    pub(super) policy: Policy,
    pub(super) turn: Turn,
    pub(super) now: Timestamp,
    pub(super) parkings: Vec<Parking>,
    pub(super) events: Vec<Event>,
    seed: u64,
}

/// One failure to be judged; everything has a default.
#[derive(Clone)]
pub(super) struct Fail {
    pub(super) operation: String,
    pub(super) attempt: u32,
    pub(super) tool: String,
    pub(super) origin: Origin,
    pub(super) effect: Option<Effect>,
    pub(super) input: Option<String>,
    pub(super) kind: Kind,
    /// What the text says of the execution; the kind's usual answer where not set.
    pub(super) read: Option<Execution>,
    /// The worker's own word.
    pub(super) word: Option<Execution>,
    pub(super) text: String,
    pub(super) dependency: Option<String>,
    pub(super) worker_dependency: String,
    pub(super) wait: Option<Duration>,
    pub(super) server_says_no: bool,
    pub(super) lesson: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) key: Option<String>,
    pub(super) deadline: Option<Timestamp>,
    pub(super) tries: u32,
    pub(super) tokens: u64,
    pub(super) request_id: Option<String>,
    pub(super) reference: Option<String>,
}

pub(super) fn fail(operation: &str, attempt: u32, tool: &str, kind: Kind) -> Fail {
    Fail {
        operation: operation.into(),
        attempt,
        tool: tool.into(),
        origin: Origin::Tool,
        effect: None,
        input: None,
        kind,
        read: None,
        word: None,
        text: format!("{kind}"),
        dependency: None,
        worker_dependency: String::new(),
        wait: None,
        server_says_no: false,
        lesson: None,
        approval: None,
        key: None,
        deadline: None,
        tries: 1,
        tokens: 0,
        request_id: None,
        reference: None,
    }
}

macro_rules! setters {
    ($($name:ident: $type:ty => $make:expr),+ $(,)?) => {
        impl Fail { $(
            pub(super) fn $name(mut self, value: $type) -> Self {
                #[allow(clippy::redundant_closure_call)]
                { self.$name = ($make)(value); }
                self
            }
        )+ }
    };
}
setters! {
    effect: Effect => Some,
    input: &str => |v: &str| Some(v.to_owned()),
    read: Execution => Some,
    word: Execution => Some,
    text: &str => str::to_owned,
    dependency: &str => |v: &str| Some(v.to_owned()),
    wait: Duration => Some,
    lesson: &str => |v: &str| Some(v.to_owned()),
    approval: &str => |v: &str| Some(v.to_owned()),
    key: &str => |v: &str| Some(v.to_owned()),
    deadline: Timestamp => Some,
    tries: u32 => |v| v,
    tokens: u64 => |v| v,
    origin: Origin => |v| v,
    request_id: &str => |v: &str| Some(v.to_owned()),
    reference: &str => |v: &str| Some(v.to_owned()),
    server_says_no: bool => |v| v,
    worker_dependency: &str => str::to_owned,
}

/// A call to be admitted or reported.
#[derive(Clone)]
pub(super) struct Ask {
    pub(super) call: Call,
    pub(super) depth: u32,
}

pub(super) fn ask(operation: &str, attempt: u32, tool: &str) -> Ask {
    Ask {
        call: Call {
            operation_id: operation.into(),
            attempt,
            tool: tool.into(),
            origin: Origin::Tool,
            effect: None,
            input: None,
            approval_id: None,
            idempotency_key: None,
            worker_id: None,
            deadline: None,
            request_id: None,
        },
        depth: 0,
    }
}

impl Ask {
    pub(super) fn input(mut self, input: &str) -> Self {
        self.call.input = Some(input.into());
        self
    }
    pub(super) fn worker(mut self, worker: &str) -> Self {
        self.call.worker_id = Some(worker.into());
        self
    }
    pub(super) fn approval(mut self, id: &str) -> Self {
        self.call.approval_id = Some(id.into());
        self
    }
    pub(super) fn key(mut self, key: &str) -> Self {
        self.call.idempotency_key = Some(key.into());
        self
    }
    pub(super) fn effect(mut self, effect: Effect) -> Self {
        self.call.effect = Some(effect);
        self
    }
    pub(super) fn depth(mut self, depth: u32) -> Self {
        self.depth = depth;
        self
    }
    pub(super) fn request_id(mut self, id: &str) -> Self {
        self.call.request_id = Some(id.into());
        self
    }
}

impl World {
    pub(super) fn new(policy: &str) -> Self {
        World {
            policy: Policy::parse(policy).unwrap_or_else(|faults| panic!("{faults}")),
            turn: Turn::open("default".into(), "t1".into(), Timestamp::from_secs(1_000)),
            now: Timestamp::from_secs(1_000),
            parkings: Vec::new(),
            events: Vec::new(),
            seed: 1,
        }
    }

    pub(super) fn pass(&mut self, time: Duration) {
        self.now = self.now.plus(time);
    }

    fn take<T>(&mut self, answered: Answered<T>) -> T {
        self.parkings.extend(answered.parkings);
        self.events.extend(answered.events);
        answered.answer.unwrap()
    }

    fn tool(&self, name: &str, origin: Origin) -> Tool {
        Tool::of(&self.policy, name.into(), origin)
    }

    pub(super) fn classification(&self, fail: &Fail) -> (JudgeRequest, Classification) {
        let failure = Failure {
            message: fail.text.clone(),
            execution: fail.word,
            dependency: fail.worker_dependency.clone(),
            ..Failure::default()
        };
        let read = fail.read.unwrap_or(fail.kind.usual_execution());
        let read = if fail.tries > 1 {
            read.max(Execution::MaybeExecuted)
        } else {
            read
        };
        let hash = fail.text.bytes().fold(7u64, |h, b| {
            if b.is_ascii_digit() {
                h
            } else {
                h.wrapping_mul(31).wrapping_add(u64::from(b))
            }
        });
        let reading = Reading {
            kind: fail.kind,
            execution: fail.word.unwrap_or(read),
            vouched: fail.word.is_some(),
            rule: "test".into(),
            evidence: String::new(),
            source: EvidenceSource::Text,
            confidence: 1.0,
            retry_after: fail.wait,
            server_says_no: fail.server_says_no,
            dependency: fail.dependency.clone(),
            reference: fail.reference.clone(),
            fingerprint: Fingerprint(hash),
        };
        let request = JudgeRequest {
            call: Call {
                operation_id: fail.operation.as_str().into(),
                attempt: fail.attempt,
                tool: fail.tool.as_str().into(),
                origin: fail.origin,
                effect: fail.effect,
                input: fail.input.as_deref().map(Into::into),
                approval_id: fail.approval.as_deref().map(Into::into),
                idempotency_key: fail.key.as_deref().map(Into::into),
                worker_id: None,
                deadline: fail.deadline,
                request_id: fail.request_id.as_deref().map(Into::into),
            },
            failure,
            lesson: fail.lesson.clone(),
            distill: false,
            elapsed: None,
            tries: fail.tries,
            tokens_spent: fail.tokens,
        };
        let tool = self.tool(&fail.tool, fail.origin);
        let classification =
            classify_cause(&self.policy, tool.charged(), &request.failure, reading);
        (request, classification)
    }

    pub(super) fn judge(&mut self, fail: &Fail) -> Judgement {
        let answered = self.try_judge(fail);
        self.take(answered)
    }

    pub(super) fn try_judge(&mut self, fail: &Fail) -> Answered<Judgement> {
        let (request, classification) = self.classification(fail);
        let tool = self.tool(&fail.tool, fail.origin);
        let digest = fail
            .input
            .as_deref()
            .map(|input| CallDigest::of(&fail.tool, input));
        self.seed += 1;
        let moment = Moment {
            policy: &self.policy,
            now: self.now,
            seed: self.seed,
        };
        let heard = Heard {
            request: &request,
            classification,
            digest,
        };
        self.turn.judge(&moment, &tool, &heard)
    }

    pub(super) fn verdict(&mut self, fail: &Fail) -> Verdict {
        self.judge(fail).verdict
    }

    pub(super) fn admit(&mut self, ask: &Ask) -> Admission {
        let tool = self.tool(&ask.call.tool, ask.call.origin);
        let digest = digest(&ask.call);
        self.seed += 1;
        let moment = Moment {
            policy: &self.policy,
            now: self.now,
            seed: self.seed,
        };
        let request = AdmitRequest {
            call: ask.call.clone(),
            depth: ask.depth,
        };
        let answered = self.turn.admit(&moment, &tool, &request, digest);
        self.take(answered)
    }

    pub(super) fn succeed(&mut self, ask: &Ask) -> SuccessReceipt {
        self.succeed_with(ask, None)
    }

    pub(super) fn succeed_with(&mut self, ask: &Ask, result: Option<&str>) -> SuccessReceipt {
        let tool = self.tool(&ask.call.tool, ask.call.origin);
        let digest = digest(&ask.call);
        let report = SuccessReport {
            call: ask.call.clone(),
            elapsed: None,
            tokens_spent: 0,
            result: result.map(Into::into),
        };
        let moment = Moment {
            policy: &self.policy,
            now: self.now,
            seed: self.seed,
        };
        let answered = self.turn.report_success(&moment, &tool, &report, digest);
        self.take(answered)
    }

    pub(super) fn end(&mut self, outcome: Outcome, disclosed: bool) -> EndOfTurn {
        let moment = Moment {
            policy: &self.policy,
            now: self.now,
            seed: self.seed,
        };
        let request = EndTurnRequest {
            outcome,
            disclosed,
            tokens_spent: 0,
            request_id: None,
        };
        let answered = self.turn.end(&moment, &request);
        self.take(answered)
    }
}

fn digest(call: &Call) -> Option<CallDigest> {
    call.input
        .as_deref()
        .map(|input| CallDigest::of(&call.tool, input))
}

/// The usual tools of the stories.
pub(super) const TOOLS: &str = "
groups: {canvas: {}}
tools:
  read: {effect: idempotent, dependency: files}
  charge: {effect: keyed, dependency: payments}
  send: {effect: unsafe}
  send_checked: {effect: unsafe, status_tool: get_status, settles_after: 7s}
  insert: {effect: unsafe, atomic: true}
  research: {effect: idempotent, expensive: true}
  erase: {effect: keyed, irreversible: true}
  compute: {effect: idempotent, requires: load}
  bash: {exploratory: true}
  next_page: {effect: unsafe, repeatable: true}
  draw_a: {effect: idempotent, group: canvas}
  draw_b: {effect: idempotent, group: canvas}
";
