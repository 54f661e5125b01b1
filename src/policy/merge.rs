//! What holds for one tool: all matching entries laid over each other, field by field.
//!
//! Order: more literal characters win, of equally many the later entry, and an exact name wins over every glob.

use super::model::{Overrides, ToolEntry, ToolPolicy};
use super::pattern::{is_glob, literal_characters, matches};

/// Globs in the order in which they are laid over each other: the most specific last.
pub(super) fn globs_in_order(tools: &[ToolEntry]) -> Vec<&ToolEntry> {
    let mut globs: Vec<&ToolEntry> = (tools.iter())
        .filter(|entry| is_glob(&entry.pattern))
        .collect();
    // A stable sort keeps the later of two equals behind the earlier.
    globs.sort_by_key(|entry| literal_characters(&entry.pattern));
    globs
}

/// What the entries say of `name`; without `entry` where none matches.
pub(super) fn merged(tools: &[ToolEntry], name: &str) -> ToolPolicy {
    let exact = (tools.iter()).find(|entry| !is_glob(&entry.pattern) && &*entry.pattern == name);
    lay_over(globs_in_order(tools).into_iter(), exact, name)
}

/// As [`merged`], over globs that are in order already.
pub(super) fn lay_over<'t>(
    globs: impl Iterator<Item = &'t ToolEntry>,
    exact: Option<&'t ToolEntry>,
    name: &str,
) -> ToolPolicy {
    let mut whole = ToolPolicy::default();
    for entry in globs
        .filter(|entry| matches(&entry.pattern, name))
        .chain(exact)
    {
        overlay(&mut whole, &entry.policy);
        whole.entry = Some(entry.pattern.clone());
    }
    // A glob may match the very tool that it names for the others.
    for named in [&mut whole.requires, &mut whole.status_tool] {
        if named.as_deref() == Some(name) {
            *named = None;
        }
    }
    whole
}

/// Every field that `over` sets replaces the one below. Taken apart whole, so that a new field cannot be forgotten.
fn overlay(below: &mut ToolPolicy, over: &ToolPolicy) {
    let ToolPolicy {
        entry: _,
        effect,
        dependency,
        group,
        expensive,
        max_calls,
        max_depth,
        irreversible,
        requires,
        atomic,
        repeatable,
        exploratory,
        status_tool,
        settles_after,
        key_ttl,
        overrides,
    } = over;
    lay(&mut below.effect, effect);
    lay(&mut below.dependency, dependency);
    lay(&mut below.group, group);
    lay(&mut below.expensive, expensive);
    lay(&mut below.max_calls, max_calls);
    lay(&mut below.max_depth, max_depth);
    lay(&mut below.irreversible, irreversible);
    lay(&mut below.requires, requires);
    lay(&mut below.atomic, atomic);
    lay(&mut below.repeatable, repeatable);
    lay(&mut below.exploratory, exploratory);
    lay(&mut below.status_tool, status_tool);
    lay(&mut below.settles_after, settles_after);
    lay(&mut below.key_ttl, key_ttl);
    let Overrides {
        max_attempts,
        max_reprompts,
        max_failures,
        max_preconditions,
        on_exhausted,
        backoff_base,
        backoff_cap,
        max_wait,
    } = overrides;
    let below = &mut below.overrides;
    lay(&mut below.max_attempts, max_attempts);
    lay(&mut below.max_reprompts, max_reprompts);
    lay(&mut below.max_failures, max_failures);
    lay(&mut below.max_preconditions, max_preconditions);
    lay(&mut below.on_exhausted, on_exhausted);
    lay(&mut below.backoff_base, backoff_base);
    lay(&mut below.backoff_cap, backoff_cap);
    lay(&mut below.max_wait, max_wait);
}

fn lay<T: Clone>(below: &mut Option<T>, over: &Option<T>) {
    if over.is_some() {
        below.clone_from(over);
    }
}
