//! A worker that asks the oracle before a call and after a failure, and does what it says.

use std::sync::Arc;

use super::models::{Model, Prompt};
use super::stories::Story;
use super::worlds::{Counted, ToolCall};
use super::{OracleClient, Run};
use crate::domain::{
    Action, AdmitRequest, Call, EndTurnRequest, Failure, JudgeRequest, Origin, Outcome, StopScope,
    SuccessReport, Verdict,
};

/// Calls and denials after which the worker gives up whatever the oracle says: a demo has to end.
const MOST_STEPS: u32 = 100;

/// Plays a story with the oracle.
pub(super) async fn play<O: OracleClient>(
    oracle: &O,
    turn_id: &str,
    story: &Story,
) -> Result<Run, O::Error> {
    let (world, model) = story.begin();
    let mut worker = Worker {
        oracle,
        turn_id,
        world,
        model,
        shown: 0,
        last: None,
        stopped: None,
    };
    let done = worker.work().await?;
    worker.end(done).await?;
    Ok(Run {
        calls: worker.world.calls,
        duplicates: worker.world.duplicates(),
        failures: worker.world.failures,
        shown: worker.shown,
        done,
        last: worker.last,
    })
}

struct Worker<'a, O> {
    oracle: &'a O,
    turn_id: &'a str,
    world: Counted,
    model: Box<dyn Model>,
    shown: u64,
    last: Option<Verdict>,
    /// The latest action that was a stop.
    stopped: Option<Action>,
}

/// One attempt of one operation.
#[derive(Clone)]
struct Step {
    operation: u32,
    attempt: u32,
    call: ToolCall,
}

impl<O: OracleClient> Worker<'_, O> {
    /// Whether the task was done in the end.
    async fn work(&mut self) -> Result<bool, O::Error> {
        let Some(call) = self.model.ask(&Prompt::Task) else {
            return Ok(false);
        };
        let mut step = Step {
            operation: 1,
            attempt: 1,
            call,
        };
        for _ in 0..MOST_STEPS {
            let Some(verdict) = self.attempt(&step).await? else {
                return Ok(true);
            };
            let next = self.next(&step, &verdict);
            self.last = Some(verdict);
            match next {
                Some(next) => step = next,
                None => break,
            }
        }
        Ok(false)
    }

    /// Makes one attempt; the verdict if it failed or may not be made.
    async fn attempt(&mut self, step: &Step) -> Result<Option<Verdict>, O::Error> {
        let request = AdmitRequest {
            call: ask(step, None),
            depth: 0,
        };
        let admission = self.oracle.admit(self.turn_id, request).await?;
        if !admission.admitted {
            return Ok(admission.verdict);
        }
        let key = admission.idempotency_key;
        match self.world.call(&step.call, &key) {
            Ok(result) => {
                let report = success(step, key, result);
                self.oracle.report_success(self.turn_id, report).await?;
                Ok(None)
            }
            Err(failure) => {
                let request = failed(step, key, *failure);
                let judged = self.oracle.judge(self.turn_id, request).await?;
                self.shown += 1;
                Ok(Some(judged.verdict))
            }
        }
    }

    /// What follows from a verdict; nothing if the turn is over or the model has no more ideas.
    fn next(&mut self, step: &Step, verdict: &Verdict) -> Option<Step> {
        let attempt = step.attempt + 1;
        match verdict.action {
            // `retry_after` is not waited out.
            Action::Retry => Some(Step {
                attempt,
                ..step.clone()
            }),
            Action::Reprompt => {
                let guidance = verdict.guidance.clone().unwrap_or_default();
                let call = self.model.ask(&Prompt::Guided(guidance))?;
                Some(Step {
                    attempt,
                    call,
                    ..step.clone()
                })
            }
            Action::Escalate | Action::FailLoud => {
                self.stopped = Some(verdict.action);
                if verdict.stop_scope == Some(StopScope::Turn) {
                    return None;
                }
                // The rest of the turn goes on: the model may try what is not closed.
                let call = self.model.ask(&Prompt::Stopped)?;
                Some(Step {
                    operation: step.operation + 1,
                    attempt: 1,
                    call,
                })
            }
        }
    }

    async fn end(&mut self, done: bool) -> Result<(), O::Error> {
        let outcome = match self.stopped {
            None if done => Outcome::Succeeded,
            Some(_) if done => Outcome::Degraded,
            Some(Action::Escalate) => Outcome::Escalated,
            _ => Outcome::Failed,
        };
        let request = EndTurnRequest {
            outcome,
            disclosed: true,
            tokens_spent: 0,
            request_id: None,
        };
        self.oracle.end_turn(self.turn_id, request).await?;
        Ok(())
    }
}

fn ask(step: &Step, key: Option<String>) -> Call {
    Call {
        operation_id: format!("step-{}", step.operation).into(),
        attempt: step.attempt,
        tool: step.call.tool.into(),
        origin: Origin::Tool,
        // The policy knows.
        effect: None,
        input: Some(Arc::from(step.call.input.as_str())),
        approval_id: None,
        idempotency_key: key.map(Arc::from),
        worker_id: None,
        deadline: None,
        request_id: None,
    }
}

fn failed(step: &Step, key: String, failure: Failure) -> JudgeRequest {
    JudgeRequest {
        call: ask(step, Some(key)),
        failure,
        lesson: None,
        distill: false,
        elapsed: None,
        tries: 1,
        tokens_spent: 0,
    }
}

fn success(step: &Step, key: String, result: String) -> SuccessReport {
    SuccessReport {
        call: ask(step, Some(key)),
        elapsed: None,
        tokens_spent: 0,
        result: Some(result.into()),
    }
}
