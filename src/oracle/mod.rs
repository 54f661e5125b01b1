//! One judgement from end to end: policy, reading, cause, turn, dead letter, count.
//!
//! The oracle wires, it does not decide: what a failure is says the classifier, what it deserves says the turn. It
//! reads as much as it can before the turn's lock is taken, and parks letters after it is let go, before the answer.

mod counting;
mod error;

use std::sync::Arc;

use crate::causes::classify_cause;
use crate::classify::{self, Classifier};
use crate::domain::{
    Admission, AdmitRequest, Classification, DeadLetter, EndOfTurn, EndTurnRequest, Failure,
    JudgeRequest, Judgement, Origin, SuccessReceipt, SuccessReport, Timestamp, TurnView,
};
use crate::letters::{LetterStore, Parked, Parking};
use crate::metrics::Metrics;
use crate::policy::ActivePolicy;
use crate::policy::PolicyHandle;
use crate::store::{MemoryStore, TurnKey, TurnStore, Updated};
use crate::turn::{Answered, CallDigest, Event, Heard, Lifetimes, Moment, Tool, Turn};

pub use error::OracleError;

#[cfg(test)]
mod tests;

/// Where time and randomness come from: the clock and the system's generator in a server, anything in a test.
#[derive(Clone)]
pub struct Sources {
    /// The time now.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// A number that nobody can guess.
    pub seed: Arc<dyn Fn() -> u64 + Send + Sync>,
}

impl Sources {
    /// The system's clock and generator.
    pub fn system() -> Self {
        Sources {
            now: Arc::new(|| std::time::SystemTime::now().into()),
            seed: Arc::new(|| fastrand::u64(..)),
        }
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources").finish_non_exhaustive()
    }
}

/// The oracle: shared by all connections.
#[derive(Debug)]
pub struct Oracle<S = MemoryStore> {
    turns: S,
    letters: LetterStore,
    policy: Arc<PolicyHandle<Classifier>>,
    lifetimes: Lifetimes,
    sources: Sources,
    metrics: Metrics,
}

/// What every answer is made from.
struct Setting {
    active: Arc<ActivePolicy<Classifier>>,
    now: Timestamp,
    seed: u64,
}

impl Setting {
    fn moment(&self) -> Moment<'_> {
        Moment {
            policy: &self.active.policy,
            now: self.now,
            seed: self.seed,
        }
    }
}

impl<S: TurnStore> Oracle<S> {
    /// An oracle over its stores and the policy in force.
    pub fn new(
        turns: S,
        letters: LetterStore,
        policy: Arc<PolicyHandle<Classifier>>,
        lifetimes: Lifetimes,
        sources: Sources,
        metrics: Metrics,
    ) -> Self {
        Oracle {
            turns,
            letters,
            policy,
            lifetimes,
            sources,
            metrics,
        }
    }

    /// The time by which requests are judged.
    pub fn now(&self) -> Timestamp {
        (self.sources.now)()
    }

    fn setting(&self) -> Setting {
        Setting {
            active: self.policy.current(),
            now: self.now(),
            seed: (self.sources.seed)(),
        }
    }

    /// May this call go out?
    pub async fn admit(
        &self,
        tenant: &str,
        turn_id: &str,
        request: AdmitRequest,
    ) -> Result<Admission, OracleError> {
        let (key, request) = (key(tenant, turn_id), &request);
        let setting = self.setting();
        let call = &request.call;
        let tool = Tool::of(&setting.active.policy, call.tool.clone(), call.origin);
        let digest = digest(&call.tool, call.input.as_deref());
        self.ask(&key, &setting, Some(&tool), |turn, moment| {
            turn.admit(moment, &tool, request, digest)
        })
        .await
    }

    /// This call failed; what now?
    pub async fn judge(
        &self,
        tenant: &str,
        turn_id: &str,
        request: JudgeRequest,
    ) -> Result<Judgement, OracleError> {
        let (key, request) = (key(tenant, turn_id), &request);
        let started = std::time::Instant::now();
        let setting = self.setting();
        let call = &request.call;
        let tool = Tool::of(&setting.active.policy, call.tool.clone(), call.origin);
        let heard = Heard {
            request,
            classification: read(&setting, &tool, &request.failure, request.tries),
            digest: digest(&call.tool, call.input.as_deref()),
        };
        let judgement = self
            .ask(&key, &setting, Some(&tool), |turn, moment| {
                turn.judge(moment, &tool, &heard)
            })
            .await;
        self.metrics.record_judge_time(started.elapsed());
        judgement
    }

    /// This call succeeded.
    pub async fn report_success(
        &self,
        tenant: &str,
        turn_id: &str,
        report: SuccessReport,
    ) -> Result<SuccessReceipt, OracleError> {
        let (key, report) = (key(tenant, turn_id), &report);
        let setting = self.setting();
        let call = &report.call;
        let tool = Tool::of(&setting.active.policy, call.tool.clone(), call.origin);
        let digest = digest(&call.tool, call.input.as_deref());
        self.ask(&key, &setting, Some(&tool), |turn, moment| {
            turn.report_success(moment, &tool, report, digest)
        })
        .await
    }

    /// The turn is over.
    pub async fn end_turn(
        &self,
        tenant: &str,
        turn_id: &str,
        request: EndTurnRequest,
    ) -> Result<EndOfTurn, OracleError> {
        let (key, request) = (key(tenant, turn_id), &request);
        let setting = self.setting();
        self.ask(&key, &setting, None, |turn, moment| {
            turn.end(moment, request)
        })
        .await
    }

    /// What is read of a failure, and what it would be charged to. Draws nothing, needs no turn.
    pub fn explain(&self, failure: &Failure, tool: &str, origin: Origin) -> Classification {
        let setting = self.setting();
        let tool = Tool::of(&setting.active.policy, tool.into(), origin);
        read(&setting, &tool, failure, 1)
    }

    /// The whole ledger of a turn.
    pub async fn turn(&self, tenant: &str, turn_id: &str) -> Result<TurnView, OracleError> {
        let key = key(tenant, turn_id);
        let setting = self.setting();
        let moment = setting.moment();
        self.turns
            .read(&key, setting.now, |turn| turn.view(&moment))
            .await?
            .ok_or_else(|| OracleError::TurnNotFound {
                turn_id: key.turn_id.to_string(),
            })
    }

    /// A parked stop.
    pub async fn dead_letter(&self, tenant: &str, id: &str) -> Result<DeadLetter, OracleError> {
        self.letters
            .get(tenant, id)
            .await?
            .ok_or_else(|| OracleError::LetterNotFound { id: id.to_owned() })
    }

    /// The policy in force.
    pub fn policy(&self) -> Arc<ActivePolicy<Classifier>> {
        self.policy.current()
    }

    /// The dead-letter store, for gauges and the end.
    pub fn letters(&self) -> &LetterStore {
        &self.letters
    }

    /// How many turns are kept.
    pub fn turns_kept(&self) -> usize {
        self.turns.len()
    }

    /// Lets time pass: ends turns that have idled out, at most `most` at once. Answers how many were looked at.
    pub async fn sweep(&self, most: usize) -> Result<usize, OracleError> {
        let setting = self.setting();
        let moment = setting.moment();
        let swept = self
            .turns
            .sweep(setting.now, most, |turn| self.abandon(turn, &moment))
            .await?;
        let mut parkings = Vec::new();
        let mut passed: Vec<Event> = Vec::new();
        for mut other in swept.abandoned {
            parkings.append(&mut other.parkings);
            passed.append(&mut other.events);
        }
        // All at once: a sweep that is dropped while it waits for the disk has handed in every letter.
        self.conclude(parkings, &passed, None).await;
        Ok(swept.looked)
    }

    fn abandon(&self, turn: &mut Turn, moment: &Moment<'_>) -> Answered<()> {
        let at = turn.due(&self.lifetimes).min(moment.now);
        // Many turns may be let go in one sweep: each gets its own letter id.
        let seed = moment.seed ^ turn.name_hash();
        turn.abandon(&Moment { seed, ..*moment }, at)
    }

    /// Asks the turn, parks what has to be parked, counts, and only then answers.
    async fn ask<T: Send>(
        &self,
        key: &TurnKey,
        setting: &Setting,
        tool: Option<&Tool>,
        mut change: impl FnMut(&mut Turn, &Moment<'_>) -> Answered<T> + Send,
    ) -> Result<T, OracleError> {
        let moment = setting.moment();
        let Updated {
            value: (lapsed, answered),
            mut evicted,
            lapsed: mut gone,
        } = self
            .turns
            .update(key, setting.now, |turn| {
                let lapsed = turn
                    .has_idled_out(setting.now, &self.lifetimes)
                    .then(|| self.abandon(turn, &moment));
                (lapsed, change(turn, &moment))
            })
            .await?;
        let mut parkings = answered.parkings;
        let mut passed: Vec<Event> = Vec::new();
        let ended = evicted
            .iter_mut()
            .chain(gone.as_mut())
            .map(|turn| self.abandon(turn, &moment));
        for mut other in lapsed.into_iter().chain(ended) {
            parkings.append(&mut other.parkings);
            passed.append(&mut other.events);
        }
        counting::count(&self.metrics, &passed, None);
        if !evicted.is_empty() {
            tracing::warn!(tenant = %key.tenant, "a turn was evicted: its tenant has as many as it may (store.max_turns)");
        }
        self.conclude(parkings, &answered.events, tool).await;
        Ok(answered.answer?)
    }

    async fn conclude(&self, parkings: Vec<Parking>, events: &[Event], tool: Option<&Tool>) {
        counting::count(&self.metrics, events, tool);
        if parkings.is_empty() {
            return;
        }
        let letters = parkings.len();
        match self.letters.park(parkings).await {
            Parked::Stored => {}
            parked => tracing::warn!(letters, ?parked, "dead letters are not on disk yet"),
        }
    }
}

fn key(tenant: &str, turn_id: &str) -> TurnKey {
    TurnKey {
        tenant: tenant.into(),
        turn_id: turn_id.into(),
    }
}

fn digest(tool: &str, input: Option<&str>) -> Option<CallDigest> {
    input.map(|input| CallDigest::of(tool, input))
}

fn read(setting: &Setting, tool: &Tool, failure: &Failure, tries: u32) -> Classification {
    let context = classify::Context {
        tool: &tool.name,
        origin: tool.origin,
        tries,
        received_at: setting.now,
    };
    let reading = setting.active.built.read(failure, &context);
    classify_cause(&setting.active.policy, tool.charged(), failure, reading)
}
