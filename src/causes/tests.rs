//! Whom a failure is charged to, by the design's section 4: a table of everything that can be known, and the order.

use std::sync::Arc;

use super::{Charged, classify_cause};
use crate::domain::{
    Classification, EvidenceSource, Execution, Failure, Family, Fingerprint, Kind, Origin, Reading,
    Subject,
};
use crate::policy::{Exploratory, Policy};

const POLICY: &str = "
dependencies:
  crm: {hosts: [\"crm.internal:8443\", \"crm.example.org\"]}
groups: {canvas: {}}
tools:
  dep: {dependency: crm}
  dep_and_group: {dependency: crm, group: canvas}
  grouped: {group: canvas}
  plain: {effect: idempotent}
  shell_like: {exploratory: true}
  shell_group: {exploratory: true, group: canvas}
";

fn charge(
    kind: Kind,
    tool: &str,
    origin: Origin,
    worker: &str,
    text: Option<&str>,
) -> Classification {
    let policy = Policy::parse(POLICY).unwrap_or_else(|faults| panic!("{faults}"));
    let name: Arc<str> = tool.into();
    let entry = policy.tool(&name);
    let exploratory = match origin {
        Origin::Tool => policy.is_exploratory(&entry, &name),
        Origin::Model => Exploratory::No,
    };
    let failure = Failure {
        dependency: worker.to_owned(),
        ..Failure::default()
    };
    let reading = Reading {
        kind,
        execution: Execution::MaybeExecuted,
        vouched: false,
        rule: "test".into(),
        evidence: String::new(),
        source: EvidenceSource::Text,
        confidence: 1.0,
        retry_after: None,
        server_says_no: false,
        dependency: text.map(str::to_owned),
        reference: None,
        fingerprint: Fingerprint(7),
    };
    let charged = Charged {
        name: &name,
        origin,
        policy: &entry,
        exploratory,
    };
    classify_cause(&policy, charged, &failure, reading)
}

fn subject(kind: Kind, tool: &str, worker: &str, text: Option<&str>) -> Subject {
    charge(kind, tool, Origin::Tool, worker, text).cause.subject
}

fn dependency(name: &str) -> Subject {
    Subject::Dependency(name.into())
}

#[test]
fn the_family_of_every_kind() {
    use Kind::*;
    let table: [(&[Kind], Family); 10] = [
        (
            &[
                ConnectFailed,
                Unavailable,
                Overloaded,
                ServerError,
                Timeout,
                ConnectionLost,
                Cancelled,
            ],
            Family::Outage,
        ),
        (&[RateLimited], Family::Throttle),
        (&[Contention], Family::Contention),
        (
            &[Unauthenticated, PermissionDenied, QuotaExhausted],
            Family::Credential,
        ),
        (&[Unsupported, Misconfigured], Family::Setup),
        (&[ToolBug, ResourceExhausted], Family::Bug),
        (
            &[
                MalformedOutput,
                InvalidArguments,
                UnknownTool,
                WrongReference,
                Refusal,
                TruncatedOutput,
                EmptyOutput,
                ContextOverflow,
            ],
            Family::Output,
        ),
        (&[PreconditionUnmet, StaleState], Family::Precondition),
        (&[ContentFiltered, ApprovalRequired], Family::Policy),
        (&[Unknown], Family::Unknown),
    ];
    let mut seen = 0;
    for (kinds, family) in table {
        for kind in kinds {
            assert_eq!(
                charge(*kind, "plain", Origin::Tool, "", None).cause.family,
                family,
                "{kind}"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, Kind::ALL.len());
}

/// The order of section 4, restated: the first that is known.
#[test]
fn the_subject_of_every_kind_tool_and_name() {
    for kind in Kind::ALL {
        for (tool, of_policy, group) in [
            ("dep", Some("crm"), None),
            ("dep_and_group", Some("crm"), Some("canvas")),
            ("grouped", None, Some("canvas")),
            ("plain", None, None),
            ("nobody", None, None),
            ("shell_like", None, None),
            ("shell_group", None, Some("canvas")),
            ("bash", None, None),
        ] {
            for worker in ["", "mail"] {
                for text in [None, Some("db:5432")] {
                    let exploratory = tool.contains("shell") || tool == "bash";
                    let itself = Subject::Tool(tool.into());
                    let group = group.map(|name: &str| Subject::Group(name.into()));
                    let outage = kind.family() == Family::Outage;
                    let expected = match kind.family() {
                        Family::Outage
                        | Family::Throttle
                        | Family::Contention
                        | Family::Credential => {
                            if let Some(name) = of_policy {
                                dependency(name)
                            } else if !worker.is_empty() {
                                dependency(worker)
                            } else if let Some(group) = group {
                                group
                            } else if !outage {
                                itself
                            } else if let Some(name) = text {
                                dependency(name)
                            } else {
                                Subject::Fingerprint(Fingerprint(7))
                            }
                        }
                        Family::Unknown if exploratory => itself,
                        Family::Unknown => Subject::Fingerprint(Fingerprint(7)),
                        _ if *kind == Kind::UnknownTool => Subject::Tools,
                        _ => group.unwrap_or(itself),
                    };
                    assert_eq!(
                        subject(*kind, tool, worker, text),
                        expected,
                        "{kind} {tool} {worker:?} {text:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_models_own_call() {
    let of = |kind| charge(kind, "gpt", Origin::Model, "", None).cause.subject;
    let model = Subject::Model("gpt".into());
    for kind in [
        Kind::InvalidArguments,
        Kind::Refusal,
        Kind::ContextOverflow,
        Kind::RateLimited,
        Kind::QuotaExhausted,
        Kind::Misconfigured,
        Kind::ContentFiltered,
    ] {
        assert_eq!(of(kind), model, "{kind}");
    }
    // A model that takes a tool's name has no part in the tool's group.
    let charged = charge(Kind::Misconfigured, "grouped", Origin::Model, "", None);
    assert_eq!(charged.cause.subject, Subject::Model("grouped".into()));
}

#[test]
fn hosts_stand_for_their_dependency() {
    for (name, expected) in [
        ("crm", "crm"),
        ("crm.internal:8443", "crm"),
        ("crm.internal", "crm"),
        ("CRM.internal", "crm"),
        ("crm.example.org", "crm"),
        ("crm.example.org:443", "crm"),
        ("crm.internal:9999", "crm.internal:9999"),
        ("mail.internal", "mail.internal"),
    ] {
        assert_eq!(
            subject(Kind::Unavailable, "plain", name, None),
            dependency(expected),
            "worker {name}"
        );
        assert_eq!(
            subject(Kind::Unavailable, "plain", "", Some(name)),
            dependency(expected),
            "text {name}"
        );
    }
}

#[test]
fn the_dependency_beside_the_cause_is_the_one_that_the_failure_names() {
    for (tool, worker, text, expected) in [
        ("plain", "", None, None),
        ("dep", "", None, Some("crm")),
        ("plain", "mail", Some("db"), Some("mail")),
        ("plain", "", Some("db"), Some("db")),
    ] {
        let found = charge(Kind::Unavailable, tool, Origin::Tool, worker, text).dependency;
        assert_eq!(found.as_deref(), expected, "{tool} {worker} {text:?}");
    }
}
