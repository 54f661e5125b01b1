//! Every metric: its name, kind, unit, meaning and labels. Documentation is generated from this table.

use super::labels::{BudgetScope, Dispatch, ReloadOutcome, SilentReason, StoreName, TurnEnd};
use crate::domain::{Action, EvidenceSource, Family, Kind, LetterStatus, Reason};

/// How a metric behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricKind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Samples, counted into buckets with these upper bounds.
    Histogram(&'static [f64]),
}

impl MetricKind {
    /// As Prometheus calls it.
    pub const fn name(self) -> &'static str {
        match self {
            MetricKind::Counter => "counter",
            MetricKind::Gauge => "gauge",
            MetricKind::Histogram(_) => "histogram",
        }
    }
}

/// What a label may say.
#[derive(Debug, Clone, Copy)]
pub enum LabelValues {
    /// One of these.
    Closed(fn() -> Vec<&'static str>),
    /// The name of an entry of the policy, `other` without one; at most `MAX_POLICY_LABELS` of them.
    Policy,
}

/// One label of a metric.
#[derive(Debug, Clone, Copy)]
pub struct Label {
    /// Its name.
    pub name: &'static str,
    /// What it may say.
    pub values: LabelValues,
}

/// One metric.
#[derive(Debug, Clone, Copy)]
pub struct Metric {
    /// As scraped.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// What is counted or measured.
    pub unit: &'static str,
    /// One sentence.
    pub help: &'static str,
    /// In the order of the design.
    pub labels: &'static [Label],
}

macro_rules! names_of {
    ($type:ty) => {
        LabelValues::Closed(|| <$type>::ALL.iter().map(|value| value.name()).collect())
    };
}

/// The label values of `attempt`.
pub(super) const ATTEMPT_LABELS: [&str; 6] = ["1", "2", "3", "4", "5", "6+"];
/// The label value of `reason` where there is no verdict.
pub(super) const NO_REASON: &str = "none";
/// The label value for whatever the policy does not name.
pub(super) const OTHER: &str = "other";

const ACTION: Label = Label {
    name: "action",
    values: names_of!(Action),
};
const REASON: Label = Label {
    name: "reason",
    values: names_of!(Reason),
};
const TOOL: Label = Label {
    name: "tool",
    values: LabelValues::Policy,
};

/// Upper bounds for counts of attempts.
const ATTEMPT_BUCKETS: &[f64] = &[1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 20.0];
/// Upper bounds for waits: from the backoff's base to the longest wait given out.
const WAIT_BUCKETS: &[f64] = &[0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0];
/// Upper bounds for a judgement: microseconds in memory, milliseconds where a letter is written, a second at worst.
const JUDGE_BUCKETS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
];

macro_rules! metrics {
    ($($(#[doc = $doc:literal])+ $constant:ident = $name:literal, $kind:expr, $unit:literal, [$($label:expr),* $(,)?];)+) => {
        $(
            $(#[doc = $doc])+
            pub(super) const $constant: Metric = Metric {
                name: $name,
                kind: $kind,
                unit: $unit,
                help: concat!($($doc),+).trim_ascii(),
                labels: &[$($label),*],
            };
        )+
        /// Every metric there is.
        pub const TABLE: &[Metric] = &[$($constant),+];
    };
}

metrics! {
    /// Judgements by what was decided and why; replays are not counted.
    JUDGEMENTS = "backstop_judgements_total", MetricKind::Counter, "judgements", [
        ACTION,
        REASON,
        Label { name: "kind", values: names_of!(Kind) },
        Label { name: "family", values: names_of!(Family) },
        TOOL,
    ];
    /// Admissions by result, with the reason of the denial (in shadow mode of the would-be one) or `none`.
    ADMISSIONS = "backstop_admissions_total", MetricKind::Counter, "admissions", [
        Label { name: "result", values: names_of!(Dispatch) },
        Label {
            name: "reason",
            values: LabelValues::Closed(|| {
                std::iter::once(NO_REASON).chain(Reason::ALL.iter().map(|reason| reason.name())).collect()
            }),
        },
    ];
    /// Retries given out.
    RETRIES = "backstop_retries_total", MetricKind::Counter, "verdicts", [];
    /// Reprompts given out.
    REPROMPTS = "backstop_reprompts_total", MetricKind::Counter, "verdicts", [];
    /// Operations that succeeded after failing, by the last verdict's action and the attempt that succeeded.
    RECOVERIES = "backstop_recoveries_total", MetricKind::Counter, "operations", [
        ACTION,
        Label { name: "attempt", values: LabelValues::Closed(|| ATTEMPT_LABELS.to_vec()) },
    ];
    /// The attempt on which operations succeeded.
    ATTEMPTS_TO_SUCCESS = "backstop_attempts_to_success", MetricKind::Histogram(ATTEMPT_BUCKETS), "attempts", [TOOL];
    /// Waits given out with retries.
    RETRY_WAIT = "backstop_retry_wait_seconds", MetricKind::Histogram(WAIT_BUCKETS), "seconds", [];
    /// Turns that ended with an unresolved failure that nobody was told of, by how they ended.
    SILENT_FAILURES = "backstop_silent_failures_total", MetricKind::Counter, "turns", [
        Label { name: "reason", values: names_of!(SilentReason) },
    ];
    /// Turns that ended, by outcome.
    TURNS = "backstop_turns_total", MetricKind::Counter, "turns", [
        Label { name: "outcome", values: names_of!(TurnEnd) },
    ];
    /// Verdicts that a spent budget turned into a stop, by whose budget it was.
    BUDGET_EXHAUSTED = "backstop_budget_exhausted_total", MetricKind::Counter, "verdicts", [
        Label { name: "scope", values: names_of!(BudgetScope) },
    ];
    /// Failures that were unmet preconditions: they draw from nothing else.
    PRECONDITIONS = "backstop_preconditions_total", MetricKind::Counter, "failures", [TOOL];
    /// Tokens that failed attempts cost.
    WASTED_TOKENS = "backstop_wasted_tokens_total", MetricKind::Counter, "tokens", [];
    /// Failures by the sort of evidence that decided their kind.
    CLASSIFIED_BY = "backstop_classified_by_total", MetricKind::Counter, "failures", [
        Label { name: "source", values: names_of!(EvidenceSource) },
    ];
    /// Stored dead letters by status.
    DEAD_LETTERS = "backstop_dead_letters", MetricKind::Gauge, "letters", [
        Label { name: "status", values: names_of!(LetterStatus) },
    ];
    /// Age of the oldest dead letter that is still open; 0 without one.
    DEAD_LETTER_OLDEST = "backstop_dead_letter_oldest_seconds", MetricKind::Gauge, "seconds", [];
    /// Dead letters that wait in memory because their store fails.
    DEAD_LETTERS_SPOOLED = "backstop_dead_letters_spooled", MetricKind::Gauge, "letters", [];
    /// Dead letters that could neither be stored nor spooled and stand in the log alone.
    DEAD_LETTERS_LOGGED = "backstop_dead_letters_logged_total", MetricKind::Counter, "letters", [];
    /// Turns that are open now.
    TURNS_OPEN = "backstop_turns_open", MetricKind::Gauge, "turns", [];
    /// Whether calls behind a dependency are stopped: 1 or 0.
    BREAKER_OPEN = "backstop_breaker_open", MetricKind::Gauge, "boolean", [
        Label { name: "dependency", values: LabelValues::Policy },
    ];
    /// Operations of a store that failed.
    STORE_FAILURES = "backstop_store_failures_total", MetricKind::Counter, "failures", [
        Label { name: "store", values: names_of!(StoreName) },
    ];
    /// Changed policy files by what came of them.
    POLICY_RELOADS = "backstop_policy_reloads_total", MetricKind::Counter, "reloads", [
        Label { name: "result", values: names_of!(ReloadOutcome) },
    ];
    /// Time from a judgement's receipt to its answer, replays included.
    JUDGE_SECONDS = "backstop_judge_seconds", MetricKind::Histogram(JUDGE_BUCKETS), "seconds", [];
}
