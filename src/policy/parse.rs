//! From the document to the policy: each section read into its part of the model, every fault collected.
//!
//! Explicit keys win over the profile field by field. Faults between fields are found in `check`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::check;
use super::document::{self, MAX_BYTES, Node, Value};
use super::fault::{PolicyFaults, nearest};
use super::hosts;
use super::model::{
    DependencyPolicy, FleetSettings, GroupPolicy, KindPolicy, Mode, OnExhausted, OperatorRule,
    Overrides, Policy, Profile, RuleExample, ToolEntry, ToolPolicy,
};
use super::section::{Field, Findings, Section, read};
use super::values::{Bound, Wrong, bounded_duration, describe, valid_name, whole_number};
use crate::domain::{Action, Effect, Execution, Kind};

/// Nobody reads more of them.
const MAX_FAULTS: usize = 1_000;
const NO_TIME: Duration = Duration::ZERO;
const SHORTEST: Duration = Duration::from_millis(1);

impl Policy {
    /// The largest document that is read, in bytes.
    pub const MAX_BYTES: usize = MAX_BYTES;

    /// Reads a policy document. An empty one is the built-in policy.
    ///
    /// # Errors
    /// All faults of the document (the first 1,000), in the order of its lines; nothing of a faulty document is used.
    pub fn parse(text: &str) -> Result<Policy, PolicyFaults> {
        Policy::parse_with_warnings(text).map(|(policy, _)| policy)
    }

    /// As [`Policy::parse`], with what is allowed but likely not meant: one sentence each, with its line.
    ///
    /// # Errors
    /// As [`Policy::parse`].
    pub fn parse_with_warnings(text: &str) -> Result<(Policy, Vec<String>), PolicyFaults> {
        let mut findings = Findings::default();
        let (root, faults) = document::read(text);
        findings.faults = faults;
        let mut policy = Policy::builtin();
        policy.source = text.to_owned();
        if let Some(root) = root {
            read_policy(&root, &mut policy, &mut findings);
            check::across_fields(&policy, &mut findings);
            check::declare_implied_names(&mut policy, &mut findings);
        }
        let Findings {
            mut faults,
            mut warnings,
            ..
        } = findings;
        if faults.is_empty() {
            warnings.sort();
            let warnings = warnings.into_iter().map(|(_, warning)| warning);
            return Ok((policy, warnings.collect()));
        }
        faults.sort_by(|a, b| (a.line, a.column, &a.field).cmp(&(b.line, b.column, &b.field)));
        faults.dedup();
        faults.truncate(MAX_FAULTS);
        Err(PolicyFaults { faults })
    }
}

fn read_policy(root: &Node, policy: &mut Policy, findings: &mut Findings) {
    let Some(mut section) = Section::open(root, "", findings) else {
        return;
    };
    set(
        &mut policy.mode,
        section.word("mode", Mode::ALL, Mode::name, findings),
    );
    set(
        &mut policy.profile,
        section.word("profile", Profile::ALL, Profile::name, findings),
    );
    policy.budgets = policy.profile.budgets();
    if let Some(budgets) = section.section("budgets", findings) {
        read_budgets(budgets, policy, findings);
    }
    if let Some(backoff) = section.section("backoff", findings) {
        let [base, cap, max_wait] = read_backoff(backoff, findings);
        set(&mut policy.backoff.base, base);
        set(&mut policy.backoff.cap, cap);
        set(&mut policy.backoff.max_wait, max_wait);
    }
    if let Some(dependencies) = section.section("dependencies", findings) {
        policy.dependencies = named(&dependencies, findings, read_dependency);
    }
    if let Some(groups) = section.section("groups", findings) {
        policy.groups = named(&groups, findings, |section, findings| GroupPolicy {
            overrides: read_overrides(section, findings),
        });
    }
    if let Some(tools) = section.section("tools", findings) {
        for (key, field) in tools.entries() {
            if let Some(tool) = entry(&key.name, &field, findings, read_tool) {
                policy.tools.push(ToolEntry {
                    pattern: key.name.as_str().into(),
                    policy: tool,
                });
            }
        }
    }
    if let Some(kinds) = section.section("kinds", findings) {
        read_kinds(&kinds, policy, findings);
    }
    if let Some(rules) = section.list("rules", findings) {
        policy.rules = rules
            .iter()
            .filter_map(|rule| read_rule(rule, findings))
            .collect();
    }
    if let Some(fleet) = section.section("fleet", findings) {
        read_fleet(fleet, &mut policy.fleet, findings);
    }
    section.close(findings);
}

fn set<T>(target: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *target = value;
    }
}

fn read_budgets(mut section: Section<'_>, policy: &mut Policy, findings: &mut Findings) {
    let limits = &mut policy.budgets;
    if let Some(mut operation) = section.section("operation", findings) {
        let found = operation.limit("max_attempts", Bound::FAILURES, findings);
        set(&mut limits.max_attempts, found);
        let found = operation.limit("max_reprompts", Bound::VERDICTS, findings);
        set(&mut limits.max_reprompts, found);
        let found = read_on_exhausted(&mut operation, findings);
        set(&mut limits.operation_on_exhausted, found);
        operation.close(findings);
    }
    if let Some(mut cause) = section.section("cause", findings) {
        let found = cause.limit("max_failures", Bound::FAILURES, findings);
        set(&mut limits.cause_max_failures, found);
        let found = read_on_exhausted(&mut cause, findings);
        set(&mut limits.cause_on_exhausted, found);
        cause.close(findings);
    }
    if let Some(mut tool) = section.section("tool", findings) {
        let found = tool.limit("max_calls", Bound::TOOL_CALLS, findings);
        set(&mut limits.tool_max_calls, found);
        tool.close(findings);
    }
    if let Some(mut turn) = section.section("turn", findings) {
        for (name, bound, target) in [
            (
                "max_failures",
                Bound::FAILURES,
                &mut limits.turn_max_failures,
            ),
            ("max_retries", Bound::VERDICTS, &mut limits.turn_max_retries),
            (
                "max_reprompts",
                Bound::VERDICTS,
                &mut limits.turn_max_reprompts,
            ),
            (
                "max_preconditions",
                Bound::FAILURES,
                &mut limits.max_preconditions,
            ),
            (
                "max_preconditions_total",
                Bound::FAILURES,
                &mut limits.max_preconditions_total,
            ),
            ("max_calls", Bound::CALLS, &mut limits.turn_max_calls),
            ("max_tokens", Bound::TOKENS, &mut limits.turn_max_tokens),
            ("max_depth", Bound::DEPTH, &mut limits.turn_max_depth),
        ] {
            set(target, turn.limit(name, bound, findings));
        }
        let found = turn.value("max_elapsed", findings, |value| match value {
            Value::Scalar { text, .. } if text == "none" => Ok(None),
            _ => bounded_duration(value, SHORTEST).map(Some),
        });
        set(&mut limits.turn_max_elapsed, found);
        let found = read_on_exhausted(&mut turn, findings);
        set(&mut limits.turn_on_exhausted, found);
        turn.close(findings);
    }
    section.close(findings);
}

fn read_on_exhausted(section: &mut Section<'_>, findings: &mut Findings) -> Option<OnExhausted> {
    section.word(
        "on_exhausted",
        OnExhausted::ALL,
        OnExhausted::name,
        findings,
    )
}

/// `[base, cap, max_wait]`. The order between the three is checked where they are all known.
fn read_backoff(mut section: Section<'_>, findings: &mut Findings) -> [Option<Duration>; 3] {
    let waits = ["base", "cap", "max_wait"].map(|name| section.duration(name, SHORTEST, findings));
    section.close(findings);
    waits
}

/// Reads the budget fields that a tool, group, dependency or kind may have.
fn read_overrides(section: &mut Section<'_>, findings: &mut Findings) -> Overrides {
    let max_attempts = section.limit("max_attempts", Bound::FAILURES, findings);
    let max_reprompts = section.limit("max_reprompts", Bound::VERDICTS, findings);
    let max_failures = section.limit("max_failures", Bound::FAILURES, findings);
    let max_preconditions = section.limit("max_preconditions", Bound::FAILURES, findings);
    let on_exhausted = read_on_exhausted(section, findings);
    let [backoff_base, backoff_cap, max_wait] = section
        .section("backoff", findings)
        .map(|backoff| read_backoff(backoff, findings))
        .unwrap_or_default();
    Overrides {
        max_attempts,
        max_reprompts,
        max_failures,
        max_preconditions,
        on_exhausted,
        backoff_base,
        backoff_cap,
        max_wait,
    }
}

/// Reads one entry under a name that the operator gave.
fn entry<T>(
    name: &str,
    field: &Field<'_>,
    findings: &mut Findings,
    read: impl FnOnce(&mut Section<'_>, &mut Findings) -> T,
) -> Option<T> {
    if let Err(problem) = valid_name(name) {
        findings.faults.push(field.fault(problem));
    }
    let mut section = Section::open(field.node, &field.path, findings)?;
    let value = read(&mut section, findings);
    section.close(findings);
    Some(value)
}

/// Reads a mapping from names to entries; names that differ only in case are one name to a reader.
fn named<T>(
    section: &Section<'_>,
    findings: &mut Findings,
    read: impl Fn(&mut Section<'_>, &mut Findings) -> T,
) -> BTreeMap<Arc<str>, T> {
    let mut entries: BTreeMap<Arc<str>, T> = BTreeMap::new();
    let mut seen: BTreeMap<String, &str> = BTreeMap::new();
    for (key, field) in section.entries() {
        if let Some(first) = seen.insert(key.name.to_lowercase(), &key.name) {
            let problem = format!("differs from `{first}` only in case; keep one");
            findings.faults.push(key.place.fault(&*field.path, problem));
        }
        if let Some(value) = entry(&key.name, &field, findings, &read) {
            entries.insert(key.name.as_str().into(), value);
        }
    }
    entries
}

fn read_dependency(section: &mut Section<'_>, findings: &mut Findings) -> DependencyPolicy {
    let overrides = read_overrides(section, findings);
    let hosts = section.list("hosts", findings).unwrap_or_default();
    let hosts = hosts.iter().filter_map(|host| {
        findings.remember(&host.path, host.node.place);
        read(host, findings, |value| match value {
            Value::Scalar { text, .. } => hosts::parse(text).map_err(Wrong::plain),
            other => Err(Wrong::plain(format!(
                "is {}, not a `host` or `host:port`",
                describe(other)
            ))),
        })
    });
    DependencyPolicy {
        hosts: hosts.collect(),
        overrides,
    }
}

fn read_tool(section: &mut Section<'_>, findings: &mut Findings) -> ToolPolicy {
    let mut name = |field, findings: &mut Findings| -> Option<Arc<str>> {
        section.name(field, findings).map(Into::into)
    };
    let dependency = name("dependency", findings);
    let group = name("group", findings);
    let requires = name("requires", findings);
    let status_tool = name("status_tool", findings);
    ToolPolicy {
        entry: None,
        dependency,
        group,
        requires,
        status_tool,
        effect: section.word("effect", Effect::ALL, Effect::name, findings),
        expensive: section.boolean("expensive", findings),
        irreversible: section.boolean("irreversible", findings),
        atomic: section.boolean("atomic", findings),
        repeatable: section.boolean("repeatable", findings),
        exploratory: section.boolean("exploratory", findings),
        max_calls: section.limit("max_calls", Bound::TOOL_CALLS, findings),
        max_depth: section.limit("max_depth", Bound::DEPTH, findings),
        settles_after: section.duration("settles_after", NO_TIME, findings),
        key_ttl: section.duration("key_ttl", SHORTEST, findings),
        overrides: read_overrides(section, findings),
    }
}

fn read_kinds(section: &Section<'_>, policy: &mut Policy, findings: &mut Findings) {
    for (key, field) in section.entries() {
        let kind = key.name.parse::<Kind>();
        if kind.is_err() {
            let mut fault = key.place.fault(&*field.path, "is not a kind");
            fault.suggestion =
                nearest(&key.name, Kind::ALL.iter().map(|kind| kind.name())).map(str::to_owned);
            findings.faults.push(fault);
        }
        let read = |section: &mut Section<'_>, findings: &mut Findings| KindPolicy {
            action: section.word("action", Action::ALL, Action::name, findings),
            overrides: read_overrides(section, findings),
        };
        if let (Some(entry), Ok(kind)) = (entry(&key.name, &field, findings, read), kind) {
            policy.kinds.insert(kind, entry);
        }
    }
}

fn read_rule(field: &Field<'_>, findings: &mut Findings) -> Option<OperatorRule> {
    let mut section = Section::open(field.node, &field.path, findings)?;
    let id = section.value("id", findings, |value| match value {
        Value::Scalar { text, .. } => check::rule_id(text).map_err(Wrong::plain),
        other => Err(Wrong::plain(format!("is {}, not an id", describe(other)))),
    });
    let text = section.text("text", findings);
    let code = section.text("code", findings);
    let exception = section.name("exception", findings);
    let unless = section.text("unless", findings);
    let http_status = section.value("http_status", findings, http_status);
    let tool = section.name("tool", findings);
    let examples = read_examples("examples", &mut section, findings);
    let not = read_examples("not", &mut section, findings);
    let kind = section.word("kind", Kind::ALL, Kind::name, findings);
    let execution = section.word("execution", Execution::ALL, Execution::name, findings);
    let says = |names: &[&str]| section.says_any(names);
    let has_matcher = says(&["text", "code", "exception", "http_status"]);
    let (has_id, has_kind) = (says(&["id"]), says(&["kind"]));
    section.close(findings);
    for (is_there, problem) in [
        (
            has_id,
            "has no `id`; give it one, it is the rule's name in answers and logs",
        ),
        (has_kind, "has no `kind`; say what such a failure is"),
        (
            has_matcher,
            "matches everything; give it `text`, `code`, `exception` or `http_status`",
        ),
    ] {
        if !is_there {
            findings.faults.push(field.fault(problem));
        }
    }
    if let Some(text) = &text
        && text.trim().chars().count() < 3
    {
        let path = document::join(&field.path, "text");
        findings.fault_at(
            &path,
            "is shorter than 3 characters; it would match nearly everything",
        );
    }
    let id = id?;
    // Known by its id too: faults between rules are found by id.
    findings.remember(&format!("rules.{id}"), field.node.place);
    Some(OperatorRule {
        id,
        text,
        code,
        exception,
        http_status,
        tool,
        kind: kind?,
        execution,
        unless,
        examples,
        not,
    })
}

fn http_status(value: &Value) -> Result<u16, Wrong> {
    let bound = Bound {
        min: 100,
        max: 599,
        advice: "an HTTP status is from 100 to 599",
    };
    narrow(value, bound)
}

/// A whole number within bounds that are those of a smaller type.
fn narrow<T: TryFrom<u64>>(value: &Value, bound: Bound) -> Result<T, Wrong> {
    T::try_from(whole_number(value, bound)?).map_err(|_| Wrong::plain(bound.advice))
}

/// Messages, or failures with fields.
fn read_examples(
    name: &'static str,
    section: &mut Section<'_>,
    findings: &mut Findings,
) -> Vec<RuleExample> {
    let examples = section.list(name, findings).unwrap_or_default();
    examples
        .iter()
        .filter_map(|example| match &example.node.value {
            Value::Scalar { text, .. } => Some(RuleExample {
                message: text.clone(),
                ..RuleExample::default()
            }),
            _ => {
                let mut fields = Section::open(example.node, &example.path, findings)?;
                let mut text =
                    |name, findings: &mut Findings| fields.text(name, findings).unwrap_or_default();
                let message = text("message", findings);
                let code = text("code", findings);
                let exception = text("exception", findings);
                let tool = text("tool", findings);
                let http_status = fields.value("http_status", findings, http_status);
                fields.close(findings);
                Some(RuleExample {
                    message,
                    code,
                    exception,
                    http_status,
                    tool,
                })
            }
        })
        .collect()
}

fn read_fleet(mut section: Section<'_>, fleet: &mut FleetSettings, findings: &mut Findings) {
    let found = section.number("retry_ratio", 0.0, 1.0, findings);
    set(&mut fleet.retry_ratio, found);
    let found = section.number("retry_floor_per_second", 0.0, 1_000_000.0, findings);
    set(&mut fleet.retry_floor_per_second, found);
    if let Some(mut breaker) = section.section("breaker", findings) {
        let turns = breaker.value("turns", findings, |value| {
            let bound = Bound {
                min: 1,
                max: 10_000,
                advice: "write how many different turns must have failed, 1 to 10000",
            };
            narrow(value, bound)
        });
        set(&mut fleet.breaker.turns, turns);
        // At 0 the breaker would open without a failure.
        let ratio = breaker.number("failure_ratio", 0.01, 1.0, findings);
        set(&mut fleet.breaker.failure_ratio, ratio);
        let second = Duration::from_secs(1);
        set(
            &mut fleet.breaker.window,
            breaker.duration("window", second, findings),
        );
        set(
            &mut fleet.breaker.cooldown,
            breaker.duration("cooldown", SHORTEST, findings),
        );
        breaker.close(findings);
    }
    section.close(findings);
}
