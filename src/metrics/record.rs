//! Recording, in the words of the domain.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, KeyName, Recorder as _, Unit};
use metrics_exporter_prometheus::{
    BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

use super::labels::{BudgetScope, Dispatch, ReloadOutcome, SilentReason, StoreName, TurnEnd};
use super::series::{ByName, ByValue, Registry};
use super::table::{self, ATTEMPT_LABELS, Metric, MetricKind, NO_REASON, TABLE};
use crate::domain::{Action, Category, EvidenceSource, Kind, LetterStatus, Reason};

/// How often `Metrics::upkeep` should run: the exporter keeps raw histogram samples until somebody folds them.
pub const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The exporter cannot be built: a defect of the table.
#[derive(Debug, thiserror::Error)]
#[error("the metrics cannot be set up: {0}")]
pub struct MetricsError(#[from] BuildError);

/// One judgement that is no replay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct JudgementRecord<'a> {
    /// The verdict's action.
    pub action: Action,
    /// The verdict's reason.
    pub reason: Reason,
    /// What failed.
    pub kind: Kind,
    /// Which sort of evidence decided.
    pub source: EvidenceSource,
    /// The matching policy entry's pattern; `other` without one.
    pub tool: &'a str,
    /// The verdict's wait.
    pub retry_after: Option<Duration>,
    /// Tokens that the failed attempt cost.
    pub tokens_spent: u64,
}

/// All metrics. Cheap to clone; clones record into the same series.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    handle: PrometheusHandle,
    registry: Registry,
    tools: ByName<ToolSeries>,
    dependencies: ByName<Gauge>,
    admissions: RwLock<HashMap<(Dispatch, Option<Reason>), Counter>>,
    recoveries: ByValue<Action, [Counter; ATTEMPT_LABELS.len()]>,
    silent_failures: ByValue<SilentReason, Counter>,
    turns: ByValue<TurnEnd, Counter>,
    budget_exhausted: ByValue<BudgetScope, Counter>,
    classified_by: ByValue<EvidenceSource, Counter>,
    dead_letters: ByValue<LetterStatus, Gauge>,
    store_failures: ByValue<StoreName, Counter>,
    policy_reloads: ByValue<ReloadOutcome, Counter>,
    retries: Counter,
    reprompts: Counter,
    retry_wait: Histogram,
    wasted_tokens: Counter,
    dead_letter_oldest: Gauge,
    dead_letters_spooled: Gauge,
    dead_letters_logged: Counter,
    turns_open: Gauge,
    judge_seconds: Histogram,
}

/// The series that carry a tool.
struct ToolSeries {
    name: Arc<str>,
    judgements: RwLock<HashMap<(Action, Reason, Kind), Counter>>,
    attempts_to_success: Histogram,
    preconditions: Counter,
}

impl std::fmt::Debug for Metrics {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    /// Sets the metrics up; the closed label sets are visible with zero from the start, so that a rate over a first
    /// event is not lost.
    ///
    /// # Errors
    /// A histogram without buckets.
    pub fn install() -> Result<Self, MetricsError> {
        let recorder = recorder()?;
        let handle = recorder.handle();
        let registry = Registry(Arc::new(recorder));
        let r = &registry;
        let (for_tools, for_dependencies) = (registry.clone(), registry.clone());
        let inner = Inner {
            tools: ByName::new(move |tool| ToolSeries::register(&for_tools, tool)),
            dependencies: ByName::new(move |name| {
                for_dependencies.gauge(&table::BREAKER_OPEN, [name])
            }),
            admissions: RwLock::default(),
            recoveries: ByValue::new(Action::ALL, |action| {
                ATTEMPT_LABELS
                    .map(|attempt| r.counter(&table::RECOVERIES, [action.name(), attempt]))
            }),
            silent_failures: ByValue::new(SilentReason::ALL, |value| {
                r.counter(&table::SILENT_FAILURES, [value.name()])
            }),
            turns: ByValue::new(TurnEnd::ALL, |value| {
                r.counter(&table::TURNS, [value.name()])
            }),
            budget_exhausted: ByValue::new(BudgetScope::ALL, |value| {
                r.counter(&table::BUDGET_EXHAUSTED, [value.name()])
            }),
            classified_by: ByValue::new(EvidenceSource::ALL, |value| {
                r.counter(&table::CLASSIFIED_BY, [value.name()])
            }),
            dead_letters: ByValue::new(LetterStatus::ALL, |value| {
                r.gauge(&table::DEAD_LETTERS, [value.name()])
            }),
            store_failures: ByValue::new(StoreName::ALL, |value| {
                r.counter(&table::STORE_FAILURES, [value.name()])
            }),
            policy_reloads: ByValue::new(ReloadOutcome::ALL, |value| {
                r.counter(&table::POLICY_RELOADS, [value.name()])
            }),
            retries: r.counter(&table::RETRIES, []),
            reprompts: r.counter(&table::REPROMPTS, []),
            retry_wait: r.histogram(&table::RETRY_WAIT, []),
            wasted_tokens: r.counter(&table::WASTED_TOKENS, []),
            dead_letter_oldest: r.gauge(&table::DEAD_LETTER_OLDEST, []),
            dead_letters_spooled: r.gauge(&table::DEAD_LETTERS_SPOOLED, []),
            dead_letters_logged: r.counter(&table::DEAD_LETTERS_LOGGED, []),
            turns_open: r.gauge(&table::TURNS_OPEN, []),
            judge_seconds: r.histogram(&table::JUDGE_SECONDS, []),
            handle,
            registry,
        };
        Ok(Metrics(Arc::new(inner)))
    }

    /// Everything in Prometheus' text format.
    pub fn render(&self) -> String {
        self.0.handle.render()
    }

    /// Folds the histogram samples since the last time; to be called every `UPKEEP_INTERVAL`.
    pub fn upkeep(&self) {
        self.0.handle.run_upkeep();
    }

    /// Calls `upkeep` for ever; to be spawned.
    pub async fn keep_up(self) {
        let mut interval = tokio::time::interval(UPKEEP_INTERVAL);
        loop {
            interval.tick().await;
            self.upkeep();
        }
    }

    /// A judgement was answered, and it is no replay.
    pub fn record_judgement(&self, judgement: &JudgementRecord<'_>) {
        let tool = self.0.tools.get(judgement.tool);
        tool.count_judgement(&self.0.registry, judgement);
        if judgement.kind.category() == Category::Precondition {
            tool.preconditions.increment(1);
        }
        count(&self.0.classified_by, judgement.source as usize);
        self.0.wasted_tokens.increment(judgement.tokens_spent);
        self.count_verdict(judgement.action, judgement.reason);
        if let (Action::Retry, Some(wait)) = (judgement.action, judgement.retry_after) {
            self.0.retry_wait.record(wait);
        }
    }

    /// A judgement was answered, replay or not, after so long.
    pub fn record_judge_time(&self, took: Duration) {
        self.0.judge_seconds.record(took);
    }

    /// An admission was answered, and it is no replay. `verdict`: the denial's, in shadow mode the would-be one.
    pub fn record_admission(&self, admitted: bool, verdict: Option<(Action, Reason)>) {
        let result = if admitted {
            Dispatch::Admitted
        } else {
            Dispatch::Denied
        };
        let reason = verdict.map(|(_, reason)| reason);
        cached(&self.0.admissions, (result, reason), || {
            let reason = reason.map_or(NO_REASON, Reason::name);
            self.0
                .registry
                .counter(&table::ADMISSIONS, [result.name(), reason])
        })
        .increment(1);
        if let Some((action, reason)) = verdict {
            self.count_verdict(action, reason);
        }
    }

    /// An operation succeeded on this attempt, from 1.
    pub fn record_success(&self, tool: &str, attempt: u32) {
        let series = self.0.tools.get(tool);
        series.attempts_to_success.record(attempt);
    }

    /// An operation succeeded after failing; `action` is that of its last verdict.
    pub fn record_recovery(&self, action: Action, attempt: u32) {
        let position = usize::try_from(attempt.max(1) - 1)
            .unwrap_or(usize::MAX)
            .min(ATTEMPT_LABELS.len() - 1);
        let by_attempt = self.0.recoveries.at(action as usize);
        if let Some(counter) = by_attempt.and_then(|counters| counters.get(position)) {
            counter.increment(1);
        }
    }

    /// A turn was opened; once a turn.
    pub fn record_turn_open(&self) {
        self.0.turns_open.increment(1.0);
    }

    /// A turn ended; once a turn.
    pub fn record_turn_end(&self, end: TurnEnd) {
        self.0.turns_open.decrement(1.0);
        count(&self.0.turns, end as usize);
    }

    /// A turn ended with a failure that nobody was told of; once a turn.
    pub fn record_silent_failure(&self, reason: SilentReason) {
        count(&self.0.silent_failures, reason as usize);
    }

    /// An operation of a store failed.
    pub fn record_store_failure(&self, store: StoreName) {
        count(&self.0.store_failures, store as usize);
    }

    /// A changed policy file was looked at.
    pub fn record_policy_reload(&self, outcome: ReloadOutcome) {
        count(&self.0.policy_reloads, outcome as usize);
    }

    /// Letters that could neither be stored nor spooled.
    pub fn record_letters_logged(&self, letters: u64) {
        self.0.dead_letters_logged.increment(letters);
    }

    /// Stored letters by status (a missing status is zero), how old the oldest open one is, how many are spooled.
    pub fn set_dead_letters(
        &self,
        by_status: &BTreeMap<LetterStatus, u64>,
        oldest_open: Option<Duration>,
        spooled: u64,
    ) {
        for status in LetterStatus::ALL {
            if let Some(gauge) = self.0.dead_letters.at(*status as usize) {
                gauge.set(approximately(by_status.get(status).copied().unwrap_or(0)));
            }
        }
        let oldest = oldest_open.unwrap_or_default();
        self.0.dead_letter_oldest.set(oldest.as_secs_f64());
        self.0.dead_letters_spooled.set(approximately(spooled));
    }

    /// Whether calls behind a dependency (a name of the policy, or `other`) are stopped.
    pub fn set_breaker_open(&self, dependency: &str, open: bool) {
        let gauge = self.0.dependencies.get(dependency);
        gauge.set(if open { 1.0 } else { 0.0 });
    }

    fn count_verdict(&self, action: Action, reason: Reason) {
        match action {
            Action::Retry => self.0.retries.increment(1),
            Action::Reprompt => self.0.reprompts.increment(1),
            Action::Escalate | Action::FailLoud => {}
        }
        if let Some(scope) = BudgetScope::of(reason) {
            count(&self.0.budget_exhausted, scope as usize);
        }
    }
}

impl ToolSeries {
    fn register(registry: &Registry, tool: &str) -> Self {
        ToolSeries {
            name: tool.into(),
            judgements: RwLock::default(),
            attempts_to_success: registry.histogram(&table::ATTEMPTS_TO_SUCCESS, [tool]),
            preconditions: registry.counter(&table::PRECONDITIONS, [tool]),
        }
    }

    fn count_judgement(&self, registry: &Registry, judgement: &JudgementRecord<'_>) {
        let (action, reason, kind) = (judgement.action, judgement.reason, judgement.kind);
        cached(&self.judgements, (action, reason, kind), || {
            let family = kind.family().name();
            let values = [
                action.name(),
                reason.name(),
                kind.name(),
                family,
                &self.name,
            ];
            registry.counter(&table::JUDGEMENTS, values)
        })
        .increment(1);
    }
}

fn recorder() -> Result<PrometheusRecorder, MetricsError> {
    let mut builder = PrometheusBuilder::new();
    for metric in TABLE {
        if let MetricKind::Histogram(buckets) = metric.kind {
            let matcher = Matcher::Full(metric.name.to_owned());
            builder = builder.set_buckets_for_metric(matcher, buckets)?;
        }
    }
    let recorder = builder.build_recorder();
    for metric in TABLE {
        describe(&recorder, metric);
    }
    Ok(recorder)
}

fn describe(recorder: &PrometheusRecorder, metric: &Metric) {
    let name = KeyName::from(metric.name);
    let unit = (metric.unit == "seconds").then_some(Unit::Seconds);
    match metric.kind {
        MetricKind::Counter => recorder.describe_counter(name, unit, metric.help.into()),
        MetricKind::Gauge => recorder.describe_gauge(name, unit, metric.help.into()),
        MetricKind::Histogram(_) => recorder.describe_histogram(name, unit, metric.help.into()),
    }
}

fn count<V: Copy>(counters: &ByValue<V, Counter>, position: usize) {
    if let Some(counter) = counters.at(position) {
        counter.increment(1);
    }
}

/// The handle of a combination that is too many to register up front.
fn cached<K: Eq + std::hash::Hash>(
    handles: &RwLock<HashMap<K, Counter>>,
    key: K,
    register: impl FnOnce() -> Counter,
) -> Counter {
    // A poisoned lock only says that another thread panicked; the map is whole.
    let known = handles.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(counter) = known.get(&key) {
        return counter.clone();
    }
    drop(known);
    let mut known = handles.write().unwrap_or_else(PoisonError::into_inner);
    known.entry(key).or_insert_with(register).clone()
}

/// A count as a gauge's number: exact up to 2^53.
#[allow(
    clippy::cast_precision_loss,
    reason = "gauges are floating-point numbers"
)]
fn approximately(count: u64) -> f64 {
    count as f64
}
