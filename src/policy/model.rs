//! The policy as the core uses it: every default filled in, every name resolved.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::names::named_enum;
use crate::domain::{Action, Effect, Execution, Kind, Limit};

named_enum! {
    /// Whether verdicts bind.
    Mode, "mode" {
        /// Verdicts bind.
        Enforce = "enforce",
        /// Everything is counted and answered, Admit admits, every verdict says so.
        Shadow = "shadow",
    }
}

named_enum! {
    /// A set of budget defaults.
    Profile, "profile" {
        /// A person waits for an answer.
        Assistant = "assistant",
        /// Failing is part of the work.
        Coding = "coding",
        /// Long unattended runs.
        Batch = "batch",
    }
}

named_enum! {
    /// What a spent budget's stop is.
    OnExhausted, "on_exhausted" {
        /// Hand over.
        Escalate = "escalate",
        /// Stop and say so.
        FailLoud = "fail_loud",
    }
}

/// Limits of a turn, its operations and causes, with the profile's defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLimits {
    /// `operation.max_attempts`.
    pub max_attempts: Limit,
    /// `operation.max_reprompts`.
    pub max_reprompts: Limit,
    /// `operation.on_exhausted`; escalate by default.
    pub operation_on_exhausted: OnExhausted,
    /// `cause.max_failures`.
    pub cause_max_failures: Limit,
    /// `cause.on_exhausted`; escalate by default.
    pub cause_on_exhausted: OnExhausted,
    /// `tool.max_calls`, of every tool that is not expensive and has none of its own; none by default.
    pub tool_max_calls: Limit,
    /// `turn.max_failures`.
    pub turn_max_failures: Limit,
    /// `turn.max_retries`.
    pub turn_max_retries: Limit,
    /// `turn.max_reprompts`.
    pub turn_max_reprompts: Limit,
    /// `turn.max_preconditions`, per cause.
    pub max_preconditions: Limit,
    /// `turn.max_preconditions_total`; 12.
    pub max_preconditions_total: Limit,
    /// `turn.max_calls`.
    pub turn_max_calls: Limit,
    /// `turn.max_tokens`.
    pub turn_max_tokens: Limit,
    /// `turn.max_elapsed`; `None` is no limit.
    pub turn_max_elapsed: Option<Duration>,
    /// `turn.max_depth`.
    pub turn_max_depth: Limit,
    /// `turn.on_exhausted`; fail_loud by default.
    pub turn_on_exhausted: OnExhausted,
}

/// Waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backoff {
    /// First step of the full jitter; 200 ms.
    pub base: Duration,
    /// Longest computed wait; 30 s.
    pub cap: Duration,
    /// Longest wait that is given out at all; 60 s.
    pub max_wait: Duration,
}

/// Budget settings that a tool, group, dependency or kind may set for itself. `None` is: not said here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Of each operation.
    pub max_attempts: Option<Limit>,
    /// Of each operation.
    pub max_reprompts: Option<Limit>,
    /// Of the cause whose subject this is (for a kind: of causes met through it).
    pub max_failures: Option<Limit>,
    /// Of the cause's preconditions.
    pub max_preconditions: Option<Limit>,
    /// What its spent budgets' stop is.
    pub on_exhausted: Option<OnExhausted>,
    /// First step of the jitter.
    pub backoff_base: Option<Duration>,
    /// Longest computed wait.
    pub backoff_cap: Option<Duration>,
    /// Longest wait given out.
    pub max_wait: Option<Duration>,
}

/// One entry of `dependencies`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DependencyPolicy {
    /// Its budgets.
    pub overrides: Overrides,
    /// Names under which workers and texts know it: `host` or `host:port`, lower case.
    pub hosts: Vec<String>,
}

/// One entry of `groups`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GroupPolicy {
    /// Its budgets.
    pub overrides: Overrides,
}

/// One entry of `kinds`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KindPolicy {
    /// Replaces rows 4 to 7 and 12 to 14 of the verdict table.
    pub action: Option<Action>,
    /// Its budgets.
    pub overrides: Overrides,
}

/// A classification rule of the operator's own; looked at before all others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperatorRule {
    /// Its name in answers and logs.
    pub id: Arc<str>,
    /// Phrases, one a line, of which one must stand in the message; the language is that of the built-in rules
    /// (`rules/README.md`). At least one of `text`, `code`, `exception`, `http_status` is set; all that are set must
    /// match.
    pub text: Option<String>,
    /// Phrases, one a line, of which none may stand in the message.
    pub unless: Option<String>,
    /// Vendor code, any case: the failure's, or one that the message states (`code: X`).
    pub code: Option<String>,
    /// Exception type; matches the whole name or its last segment.
    pub exception: Option<String>,
    /// HTTP status: the failure's, or one that the message states.
    pub http_status: Option<u16>,
    /// Only for this tool (a glob), where set.
    pub tool: Option<String>,
    /// What it is.
    pub kind: Kind,
    /// Whether the work happened; the kind's usual answer where not set.
    pub execution: Option<Execution>,
    /// Failures that this rule must decide; `policy check` reads them.
    pub examples: Vec<RuleExample>,
    /// Failures that this rule must not decide.
    pub not: Vec<RuleExample>,
}

impl OperatorRule {
    /// A rule that looks for nothing yet.
    pub fn new(id: &str, kind: Kind) -> Self {
        OperatorRule {
            id: id.into(),
            text: None,
            unless: None,
            code: None,
            exception: None,
            http_status: None,
            tool: None,
            kind,
            execution: None,
            examples: Vec::new(),
            not: Vec::new(),
        }
    }
}

/// A failure that an operator's rule is tried on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleExample {
    /// The message; alone, it may stand for the whole example.
    pub message: String,
    /// Vendor code.
    pub code: String,
    /// Exception type.
    pub exception: String,
    /// HTTP status.
    pub http_status: Option<u16>,
    /// The tool that failed.
    pub tool: String,
}

/// The breaker's settings (used by the fleet part).
#[derive(Debug, Clone, PartialEq)]
pub struct BreakerSettings {
    /// Different turns that must have failed; 5.
    pub turns: u32,
    /// Share of failed outcomes, 0 to 1; 0.5.
    pub failure_ratio: f64,
    /// Over which time; 10 s.
    pub window: Duration,
    /// How long it stays open before a probe; 5 s.
    pub cooldown: Duration,
}

/// Settings across turns (used by the fleet part).
#[derive(Debug, Clone, PartialEq)]
pub struct FleetSettings {
    /// Retries per first attempt; 0.2.
    pub retry_ratio: f64,
    /// Retries a second that are always there; 10.
    pub retry_floor_per_second: f64,
    /// The breaker.
    pub breaker: BreakerSettings,
}

/// One entry of `tools`, as written: `None` is not said here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEntry {
    /// A name or a glob (`*` any characters, `?` one).
    pub pattern: Arc<str>,
    /// What is said of the tools that it matches. `entry` and `matched` are not set here.
    pub policy: ToolPolicy,
}

/// What the policy says of one tool: all matching entries merged field by field, the more literal pattern winning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolPolicy {
    /// The most specific matching entry's pattern: the metric label. `None`: no entry matches.
    pub entry: Option<Arc<str>>,
    /// What repeating does.
    pub effect: Option<Effect>,
    /// What it depends on.
    pub dependency: Option<Arc<str>>,
    /// Which tools it shares a fate with.
    pub group: Option<Arc<str>>,
    /// Slow or metered: capped by count, never repeated while it may run, never nested.
    pub expensive: Option<bool>,
    /// Calls in a turn; 1 for an expensive one where not set.
    pub max_calls: Option<Limit>,
    /// Sub-agents deep; 0 for an expensive one where not set.
    pub max_depth: Option<Limit>,
    /// Cannot be undone: needs an approval.
    pub irreversible: Option<bool>,
    /// Tool whose success satisfies this one's precondition.
    pub requires: Option<Arc<str>>,
    /// One request only: a refusal means that nothing happened.
    pub atomic: Option<bool>,
    /// The same input again is meant as a new effect.
    pub repeatable: Option<bool>,
    /// Failing is part of the work.
    pub exploratory: Option<bool>,
    /// Tool that tells whether the work happened.
    pub status_tool: Option<Arc<str>>,
    /// How long to let it settle before asking; 5 s where not set.
    pub settles_after: Option<Duration>,
    /// How long the other side remembers a key; 24 h where not set.
    pub key_ttl: Option<Duration>,
    /// Its budgets.
    pub overrides: Overrides,
}

/// The whole policy, ready for use.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Whether verdicts bind.
    pub mode: Mode,
    /// Which defaults.
    pub profile: Profile,
    /// Limits.
    pub budgets: BudgetLimits,
    /// Waits.
    pub backoff: Backoff,
    /// By name.
    pub dependencies: BTreeMap<Arc<str>, DependencyPolicy>,
    /// By name.
    pub groups: BTreeMap<Arc<str>, GroupPolicy>,
    /// As written, in order.
    pub tools: Vec<ToolEntry>,
    /// By kind.
    pub kinds: BTreeMap<Kind, KindPolicy>,
    /// In order.
    pub rules: Vec<OperatorRule>,
    /// Across turns.
    pub fleet: FleetSettings,
    /// The document as it was read; empty for the built-in policy.
    pub source: String,
    /// Look-ups, built on first use: the fields above must not be changed after it. `Default::default()` in a
    /// literal; a clone starts with a fresh one.
    pub index: super::index::PolicyIndex,
}
