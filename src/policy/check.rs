//! Faults between fields: names used twice, settings that contradict each other, entries that wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::document::join;
use super::fault::nearest;
use super::merge::merged;
use super::model::{Overrides, Policy, ToolPolicy};
use super::pattern::is_glob;
use super::section::Findings;
use crate::domain::Effect;

/// More tools than this are a mistake, and would make loading slow.
const MAX_TOOLS: usize = 10_000;
/// Each name that is no exact entry is matched against all of them.
const MAX_GLOBS: usize = 1_000;

/// Reads a rule's id: what stands in answers and logs.
///
/// # Errors
/// What is wrong with it.
pub(super) fn rule_id(id: &str) -> Result<Arc<str>, String> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    if id.is_empty() {
        Err("is empty; it is the rule's name in answers and logs".to_owned())
    } else if id.len() > 64 || !id.chars().all(is_word) {
        Err("has to be at most 64 letters, digits, `-`, `_`, `.` or `/`".to_owned())
    } else if id == "unknown" {
        Err("is taken: it says that no rule decided".to_owned())
    } else {
        Ok(id.into())
    }
}

/// Looks at the policy as a whole. Only entries that could be read are looked at.
pub(super) fn across_fields(policy: &Policy, findings: &mut Findings) {
    rules(policy, findings);
    hosts(policy, findings);
    waits(policy, findings);
    fleet(policy, findings);
    preconditions(policy, findings);
    let globs = policy.tools.iter().filter(|tool| is_glob(&tool.pattern));
    if policy.tools.len() > MAX_TOOLS || globs.count() > MAX_GLOBS {
        let problem = format!("has more than {MAX_TOOLS} entries or {MAX_GLOBS} globs");
        findings.fault_at("tools", problem);
        return;
    }
    for entry in &policy.tools {
        tool_names(&entry.pattern, &entry.policy, findings);
        if is_glob(&entry.pattern) {
            contradictions(&entry.pattern, &entry.policy, findings);
        } else {
            let whole = merged(&policy.tools, &entry.pattern);
            contradictions(&entry.pattern, &whole, findings);
            without_effect(&entry.pattern, &entry.policy, &whole, findings);
        }
    }
    circles(policy, findings);
}

fn rules(policy: &Policy, findings: &mut Findings) {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for rule in &policy.rules {
        if !seen.insert(&rule.id) {
            // Rules that could not be read leave no gap here, so the place is looked up by the id.
            let path = format!("rules.{}", rule.id);
            findings.fault_at(
                &path,
                "two rules have this `id`; answers could not tell them apart",
            );
        }
    }
}

fn hosts(policy: &Policy, findings: &mut Findings) {
    let mut owners: HashMap<&str, &str> = HashMap::new();
    for (name, dependency) in &policy.dependencies {
        let path = join(&join("dependencies", name), "hosts");
        for host in &dependency.hosts {
            if let Some(owner) = owners.insert(host, name) {
                let problem = if owner == &**name {
                    format!("lists `{host}` twice")
                } else {
                    format!("`{host}` belongs to the dependency `{owner}` already")
                };
                findings.fault_at(&path, problem);
            }
            let namesake = policy
                .dependencies
                .keys()
                .find(|other| *other != name && other.to_lowercase() == *host);
            if let Some(other) = namesake {
                let problem = format!("`{host}` is the name of the dependency `{other}`");
                findings.fault_at(&path, problem);
            }
        }
    }
}

fn waits(policy: &Policy, findings: &mut Findings) {
    let backoff = &policy.backoff;
    // Only a field that is written can be wrong; a default gives way (see `backoff_for`).
    if findings.has("backoff.base") && backoff.base > backoff.cap {
        findings.fault_at(
            "backoff.base",
            "is longer than `cap`, which no wait exceeds",
        );
    }
    if findings.has("backoff.cap") && backoff.cap > backoff.max_wait {
        let problem = "is longer than `max_wait`, beyond which no wait is given out";
        findings.fault_at("backoff.cap", problem);
    }
    let tools = policy.tools.iter();
    let all = tools
        .map(|tool| (join("tools", &tool.pattern), &tool.policy.overrides))
        .chain(
            policy
                .groups
                .iter()
                .map(|(name, group)| (join("groups", name), &group.overrides)),
        )
        .chain(
            (policy.dependencies.iter())
                .map(|(name, entry)| (join("dependencies", name), &entry.overrides)),
        )
        .chain(
            policy
                .kinds
                .iter()
                .map(|(kind, entry)| (join("kinds", kind.name()), &entry.overrides)),
        );
    for (path, overrides) in all {
        let Overrides {
            backoff_base: base,
            backoff_cap: cap,
            max_wait,
            ..
        } = overrides;
        if let (Some(base), Some(cap)) = (base, cap)
            && base > cap
        {
            let problem = "is longer than `cap`, which no wait exceeds";
            findings.fault_at(&format!("{path}.backoff.base"), problem);
        }
        if let (Some(cap), Some(max_wait)) = (cap, max_wait)
            && cap > max_wait
        {
            let problem = "is longer than `max_wait`, beyond which no wait is given out";
            findings.fault_at(&format!("{path}.backoff.cap"), problem);
        }
    }
}

fn fleet(policy: &Policy, findings: &mut Findings) {
    if policy.fleet.retry_ratio == 0.0 && policy.fleet.retry_floor_per_second == 0.0 {
        let problem = "with a `retry_ratio` and a `retry_floor_per_second` of 0 no retry is ever given; \
                       set `budgets.turn.max_retries: 0` if that is meant";
        findings.fault_at("fleet.retry_ratio", problem);
    }
}

fn preconditions(policy: &Policy, findings: &mut Findings) {
    let (each, total) = (
        policy.budgets.max_preconditions.get(),
        policy.budgets.max_preconditions_total.get(),
    );
    if let Some(total) = total
        && each.is_none_or(|each| each > total)
        && (findings.has("budgets.turn.max_preconditions")
            || findings.has("budgets.turn.max_preconditions_total"))
    {
        let remark = "is never reached: `max_preconditions_total` is lower";
        findings.warn_at("budgets.turn.max_preconditions", remark);
    }
}

/// Names of other tools in an entry: one tool each, and never the tool itself.
fn tool_names(pattern: &str, entry: &ToolPolicy, findings: &mut Findings) {
    let path = join("tools", pattern);
    for (field, named) in [
        ("requires", &entry.requires),
        ("status_tool", &entry.status_tool),
    ] {
        let Some(named) = named else { continue };
        let path = join(&path, field);
        if &**named == pattern {
            findings.fault_at(&path, "names the tool itself; name another one");
        } else if is_glob(named) {
            findings.fault_at(&path, "is a glob; name one tool");
        }
    }
    for (field, named) in [("dependency", &entry.dependency), ("group", &entry.group)] {
        if named.as_deref().is_some_and(is_glob) {
            findings.fault_at(&join(&path, field), "is a glob; give it one name");
        }
    }
}

/// `entry` is what holds for the tool: for an exact name everything that matches it.
fn contradictions(pattern: &str, entry: &ToolPolicy, findings: &mut Findings) {
    if entry.exploratory == Some(true) && entry.irreversible == Some(true) {
        let path = join("tools", pattern);
        let field = join(&path, "exploratory");
        let place = if findings.has(&field) { &field } else { &path };
        let problem = "a tool cannot be both `exploratory` (failing is part of the work) and `irreversible` \
                       (needs an approval); keep one";
        findings.fault_at(place, problem);
    }
}

/// Fields that are written in an exact entry and change nothing.
fn without_effect(pattern: &str, entry: &ToolPolicy, whole: &ToolPolicy, findings: &mut Findings) {
    let path = join("tools", pattern);
    let harmful = whole.effect.is_some_and(Effect::is_declared_harmful);
    for (is_written, field, is_idle, remark) in [
        (
            entry.settles_after.is_some(),
            "settles_after",
            whole.status_tool.is_none(),
            "has no effect without a `status_tool`",
        ),
        (
            entry.key_ttl.is_some(),
            "key_ttl",
            whole.effect != Some(Effect::Keyed),
            "has no effect without `effect: keyed`",
        ),
        (
            entry.exploratory == Some(true),
            "exploratory",
            harmful,
            "does not make its errors findings, since its effect is unsafe or keyed",
        ),
        (
            entry.overrides.max_failures.is_some(),
            "max_failures",
            whole.group.is_some(),
            "has no effect on a tool of a group: the group's failures are counted together, set it there",
        ),
    ] {
        if is_written && is_idle {
            findings.warn_at(&join(&path, field), remark);
        }
    }
}

/// Tools that require each other can never be called.
fn circles(policy: &Policy, findings: &mut Findings) {
    let requires: BTreeMap<&str, &str> = (policy.tools.iter())
        .filter_map(|tool| Some((&*tool.pattern, tool.policy.requires.as_deref()?)))
        .filter(|(tool, required)| tool != required)
        .collect();
    let mut settled: BTreeSet<&str> = BTreeSet::new();
    for start in requires.keys().copied() {
        let mut walked: Vec<&str> = Vec::new();
        let mut tool = start;
        while settled.insert(tool) {
            walked.push(tool);
            match requires.get(tool) {
                Some(required) => tool = required,
                None => break,
            }
        }
        if let Some(first) = walked.iter().position(|walked| *walked == tool)
            && requires.contains_key(tool)
        {
            let circle: Vec<&str> = walked.iter().skip(first).copied().collect();
            let path = join(&join("tools", tool), "requires");
            let problem = format!("goes in a circle: {} → {tool}", circle.join(" → "));
            findings.fault_at(&path, problem);
        }
    }
}

/// A dependency or group that only a tool names is declared by that.
pub(super) fn declare_implied_names(policy: &mut Policy, findings: &mut Findings) {
    let Policy {
        tools,
        dependencies,
        groups,
        ..
    } = policy;
    let mut names = Implied::new("dependency", "dependencies");
    for tool in tools.iter() {
        names.look_at(
            &tool.pattern,
            &tool.policy.dependency,
            dependencies,
            findings,
        );
    }
    names.declare(dependencies);
    let mut names = Implied::new("group", "groups");
    for tool in tools.iter() {
        names.look_at(&tool.pattern, &tool.policy.group, groups, findings);
    }
    names.declare(groups);
}

struct Implied {
    field: &'static str,
    section: &'static str,
    names: BTreeMap<String, Arc<str>>,
}

impl Implied {
    fn new(field: &'static str, section: &'static str) -> Self {
        Implied {
            field,
            section,
            names: BTreeMap::new(),
        }
    }

    fn look_at<T>(
        &mut self,
        pattern: &str,
        name: &Option<Arc<str>>,
        declared: &BTreeMap<Arc<str>, T>,
        findings: &mut Findings,
    ) {
        let Some(name) = name else { return };
        if declared.contains_key(name) {
            return;
        }
        let path = join(&join("tools", pattern), self.field);
        let lower = name.to_lowercase();
        let mut known = declared.keys().chain(self.names.values());
        if let Some(other) = known.find(|other| *other != name && other.to_lowercase() == lower) {
            let problem = format!("differs from `{other}` only in case; write one of them");
            findings.fault_at(&path, problem);
            return;
        }
        let is_new = self.names.insert(lower, name.clone()).is_none();
        if is_new && let Some(near) = nearest(name, declared.keys().map(|key| &**key)) {
            let remark = format!(
                "`{name}` is not declared in `{}`; if `{near}` is meant, write that",
                self.section
            );
            findings.warn_at(&path, &remark);
        }
    }

    fn declare<T: Default>(self, declared: &mut BTreeMap<Arc<str>, T>) {
        for name in self.names.into_values() {
            declared.entry(name).or_default();
        }
    }
}
