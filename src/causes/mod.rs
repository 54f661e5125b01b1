//! Whom a failure is charged to (design, section 4): its cause, never a tool's name alone.
//!
//! Family by kind; subject by the first of these that is known: the policy's dependency of the tool, the dependency
//! that the worker names, the tool's group, the dependency that the text names, the text's fingerprint, the tool. The
//! last three only where one outage speaks through several tools.

use std::sync::Arc;

use crate::domain::{Cause, Classification, Failure, Family, Kind, Origin, Reading, Subject};
use crate::policy::{Exploratory, Policy, ToolPolicy};

/// What is known of the failing tool.
#[derive(Debug, Clone, Copy)]
pub struct Charged<'a> {
    /// The name that the worker used.
    pub name: &'a Arc<str>,
    /// Tool or model.
    pub origin: Origin,
    /// What the policy says of it.
    pub policy: &'a ToolPolicy,
    /// Whether failing is part of its work.
    pub exploratory: Exploratory,
}

/// Finds the cause of a failure and puts it beside the reading.
pub fn classify_cause(
    policy: &Policy,
    tool: Charged<'_>,
    failure: &Failure,
    reading: Reading,
) -> Classification {
    let named = dependency_named(policy, failure, &reading);
    let family = reading.kind.family();
    let subject = subject(policy, tool, family, failure, &reading);
    let dependency = named.or_else(|| tool.policy.dependency.clone());
    Classification {
        reading,
        cause: Cause { family, subject },
        dependency,
    }
}

/// The dependency that the failure itself names: the worker's word, else the text's.
fn dependency_named(policy: &Policy, failure: &Failure, reading: &Reading) -> Option<Arc<str>> {
    if failure.dependency.is_empty() {
        reading
            .dependency
            .as_deref()
            .map(|name| policy.resolve_dependency(name))
    } else {
        Some(policy.resolve_dependency(&failure.dependency))
    }
}

fn subject(
    policy: &Policy,
    tool: Charged<'_>,
    family: Family,
    failure: &Failure,
    reading: &Reading,
) -> Subject {
    if family.is_about_a_dependency() {
        return dependency_subject(policy, tool, family, failure, reading);
    }
    match family {
        Family::Unknown if tool.exploratory == Exploratory::No => {
            Subject::Fingerprint(reading.fingerprint)
        }
        Family::Output if reading.kind == Kind::UnknownTool && tool.origin == Origin::Tool => {
            Subject::Tools
        }
        Family::Unknown => itself(tool),
        _ => group_of(tool).unwrap_or_else(|| itself(tool)),
    }
}

fn dependency_subject(
    policy: &Policy,
    tool: Charged<'_>,
    family: Family,
    failure: &Failure,
    reading: &Reading,
) -> Subject {
    if let Some(name) = &tool.policy.dependency {
        return Subject::Dependency(name.clone());
    }
    if !failure.dependency.is_empty() {
        return Subject::Dependency(policy.resolve_dependency(&failure.dependency));
    }
    if let Some(group) = group_of(tool) {
        return group;
    }
    if family != Family::Outage {
        return itself(tool);
    }
    match &reading.dependency {
        Some(name) => Subject::Dependency(policy.resolve_dependency(name)),
        None => Subject::Fingerprint(reading.fingerprint),
    }
}

fn group_of(tool: Charged<'_>) -> Option<Subject> {
    match tool.origin {
        Origin::Tool => tool.policy.group.clone().map(Subject::Group),
        Origin::Model => None,
    }
}

/// The tool's own subject: what it is charged to where nothing is shared.
pub fn itself(tool: Charged<'_>) -> Subject {
    match tool.origin {
        Origin::Tool => Subject::Tool(tool.name.clone()),
        Origin::Model => Subject::Model(tool.name.clone()),
    }
}

#[cfg(test)]
mod tests;
