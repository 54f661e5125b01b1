//! What holds for a tool, a dependency, a cause: precedence in all its orders.

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Effect, Fingerprint, Kind, Limit, Subject};
use crate::policy::*;

fn policy(text: &str) -> Policy {
    Policy::parse(text).unwrap_or_else(|faults| panic!("{faults}"))
}

#[test]
fn entries_merge_field_by_field() {
    let policy = policy(
        r#"
tools:
  github_delete_repo: {irreversible: true}
  "*": {effect: unsafe, max_calls: 9}
  "github_*": {effect: idempotent, dependency: github}
  "github_delete_*": {effect: keyed}
"#,
    );
    let exact = policy.tool("github_delete_repo");
    assert_eq!(exact.entry.as_deref(), Some("github_delete_repo"));
    assert_eq!(exact.effect, Some(Effect::Keyed));
    assert_eq!(exact.irreversible, Some(true));
    assert_eq!(exact.dependency.as_deref(), Some("github"));
    assert_eq!(exact.max_calls, Some(Limit::At(9)));

    let globbed = policy.tool("github_search");
    assert_eq!(globbed.entry.as_deref(), Some("github_*"));
    assert_eq!(globbed.effect, Some(Effect::Idempotent));
    assert_eq!(globbed.irreversible, None);
    assert!(
        Arc::ptr_eq(&globbed, &policy.tool("github_search")),
        "remembered"
    );

    assert_eq!(policy.tool("anything").entry.as_deref(), Some("*"));
}

#[test]
fn an_exact_name_wins_over_a_longer_glob_and_the_later_of_equals_wins() {
    let policy = policy(
        "tools:\n  ab: {effect: keyed}\n  \"ab*\": {effect: unsafe}\n  \"*ab\": {effect: idempotent}\n",
    );
    assert_eq!(policy.tool("ab").effect, Some(Effect::Keyed));
    assert_eq!(policy.tool("abab").effect, Some(Effect::Idempotent));
    assert_eq!(policy.tool("abc").effect, Some(Effect::Unsafe));
}

#[test]
fn nobody_s_tool_says_nothing() {
    let policy = policy("tools: {search: {effect: idempotent}}");
    assert_eq!(*policy.tool("other"), ToolPolicy::default());
    assert_eq!(policy.metric_tool_label(&policy.tool("other")), "other");
    assert_eq!(policy.metric_tool_label(&policy.tool("search")), "search");
}

#[test]
fn a_glob_never_makes_a_tool_wait_for_itself() {
    let policy = policy(
        "tools: {\"draw_*\": {requires: draw_init, status_tool: draw_state}, draw_init: {}}",
    );
    assert_eq!(
        policy.tool("draw_rect").requires.as_deref(),
        Some("draw_init")
    );
    assert_eq!(policy.tool("draw_init").requires, None);
    assert_eq!(policy.tool("draw_state").status_tool, None);
}

#[test]
fn invented_names_do_not_grow_the_memory() {
    let policy = policy("tools: {\"x*\": {effect: idempotent}}");
    for number in 0..10_000 {
        let entry = policy.tool(&format!("x{number}"));
        assert_eq!(entry.effect, Some(Effect::Idempotent));
    }
    let last = policy.tool("x9999");
    assert!(
        !Arc::ptr_eq(&last, &policy.tool("x9999")),
        "no room left, so computed anew"
    );
}

#[test]
fn dependencies_are_found_by_name_host_and_url() {
    let policy = policy(
        r#"
dependencies:
  crm: {hosts: ["crm.internal:8443", "crm-old.internal"]}
  main-db: {hosts: ["db.internal:5432"]}
  cache: {hosts: ["db.internal:6379"]}
tools:
  pay: {dependency: Payments}
"#,
    );
    for (named, expected) in [
        ("crm", "crm"),
        ("CRM", "crm"),
        ("payments", "Payments"),
        ("crm.internal", "crm"),
        ("CRM.Internal:8443", "crm"),
        ("https://crm.internal/api", "crm"),
        ("https://crm.internal:8443/api", "crm"),
        ("crm-old.internal:9999", "crm"),
        ("crm.internal:9999", "crm.internal:9999"),
        ("db.internal:6379", "cache"),
        ("db.internal:5432", "main-db"),
        // Two live there, and nothing tells which.
        ("db.internal", "db.internal"),
        ("Somewhere.Else", "somewhere.else"),
        (" crm ", "crm"),
        ("", ""),
    ] {
        assert_eq!(&*policy.resolve_dependency(named), expected, "{named}");
    }
    assert_eq!(policy.metric_dependency_label(Some("crm")), "crm");
    assert_eq!(policy.metric_dependency_label(Some("Payments")), "Payments");
    assert_eq!(
        policy.metric_dependency_label(Some("somewhere.else")),
        "other"
    );
    assert_eq!(policy.metric_dependency_label(None), "other");
}

/// Each level sets what the levels above it leave open.
const LEVELS: &str = r#"
budgets: {operation: {max_attempts: 50, on_exhausted: fail_loud}, cause: {max_failures: 51}}
kinds: {timeout: {max_attempts: 40, max_failures: 41}}
dependencies: {crm: {max_attempts: 30, max_failures: 31, backoff: {base: 3s}}}
groups: {canvas: {max_attempts: 20, max_failures: 21, on_exhausted: escalate}}
tools:
  all: {max_attempts: 10, group: canvas, dependency: crm}
  grouped: {group: canvas, dependency: crm}
  behind: {dependency: crm}
  plain: {max_failures: 11}
"#;

#[test]
fn attempts_take_the_most_specific_word() {
    let policy = policy(LEVELS);
    for (tool, dependency, kind, expected) in [
        ("all", None, Kind::Timeout, 10),
        ("grouped", None, Kind::Timeout, 20),
        ("behind", None, Kind::Timeout, 30),
        ("plain", Some("crm"), Kind::Timeout, 30),
        ("plain", None, Kind::Timeout, 40),
        ("behind", Some("elsewhere"), Kind::Timeout, 40),
        ("plain", None, Kind::RateLimited, 50),
        ("nobody", None, Kind::RateLimited, 50),
    ] {
        let found = policy.limit_attempts(&policy.tool(tool), dependency, kind);
        assert_eq!(found, Limit::At(expected), "{tool} {dependency:?} {kind}");
    }
    let stop = |tool| policy.on_exhausted_operation(&policy.tool(tool), None, Kind::Timeout);
    assert_eq!(stop("grouped"), OnExhausted::Escalate);
    assert_eq!(stop("plain"), OnExhausted::FailLoud);
    assert_eq!(policy.on_exhausted_turn(), OnExhausted::FailLoud);
}

#[test]
fn a_cause_is_limited_by_its_subject() {
    let policy = policy(LEVELS);
    let name = |name: &str| Arc::<str>::from(name);
    for (subject, tool, kind, expected) in [
        (Subject::Dependency(name("crm")), "all", Kind::Timeout, 31),
        (
            Subject::Dependency(name("elsewhere")),
            "all",
            Kind::Timeout,
            41,
        ),
        (Subject::Group(name("canvas")), "all", Kind::Timeout, 21),
        (Subject::Tool(name("plain")), "plain", Kind::Timeout, 11),
        (Subject::Tool(name("behind")), "behind", Kind::Timeout, 41),
        (Subject::Tools, "plain", Kind::UnknownTool, 51),
        (
            Subject::Fingerprint(Fingerprint(1)),
            "plain",
            Kind::Unknown,
            51,
        ),
    ] {
        let found = policy.limit_cause(&subject, &policy.tool(tool), kind);
        assert_eq!(found, Limit::At(expected), "{subject} {tool} {kind}");
    }
}

#[test]
fn preconditions_are_limited_by_subject_dependency_and_kind() {
    let policy = policy(
        r#"
dependencies: {crm: {max_preconditions: 7}}
groups: {canvas: {max_preconditions: 8}}
kinds: {stale_state: {max_preconditions: 5}, precondition_unmet: {max_preconditions: none}}
tools: {a: {dependency: crm}, b: {group: canvas, max_preconditions: 9}, c: {max_preconditions: 9}, d: {}}
"#,
    );
    let tool = |tool: &str| Subject::Tool(tool.into());
    for (name, subject, expected) in [
        ("a", tool("a"), 7),
        ("b", Subject::Group("canvas".into()), 8),
        ("c", tool("c"), 9),
        ("d", tool("d"), 5),
    ] {
        let found = policy.limit_preconditions(&policy.tool(name), &subject);
        assert_eq!(found, Limit::At(expected), "{name}");
    }
    let builtin = Policy::builtin();
    let found = builtin.limit_preconditions(&ToolPolicy::default(), &tool("x"));
    assert_eq!(found, Limit::At(3));
}

#[test]
fn waits_from_different_places_never_contradict_each_other() {
    let policy = policy(
        "backoff: {max_wait: 10s}\ndependencies: {slow: {backoff: {base: 40s}}}\ntools: {a: {backoff: {max_wait: 100ms}}}",
    );
    let waits = |tool: &str, dependency| {
        let backoff = policy.backoff_for(&policy.tool(tool), dependency, Kind::Timeout);
        [backoff.base, backoff.cap, backoff.max_wait].map(|wait| wait.as_millis())
    };
    assert_eq!(waits("b", None), [200, 10_000, 10_000]);
    assert_eq!(waits("b", Some("slow")), [10_000, 10_000, 10_000]);
    assert_eq!(waits("a", Some("slow")), [100, 100, 100]);
    assert_eq!(Policy::builtin().backoff.cap, Duration::from_secs(30));
}

#[test]
fn expensive_tools_are_called_once_and_never_nested() {
    let policy = policy(
        "tools: {a: {expensive: true}, b: {expensive: true, max_calls: none, max_depth: 2}, c: {}}",
    );
    for (tool, calls, depth) in [
        ("a", Limit::At(1), Limit::At(0)),
        ("b", Limit::Unlimited, Limit::At(2)),
        ("c", Limit::Unlimited, Limit::At(3)),
    ] {
        assert_eq!(policy.tool_max_calls(&policy.tool(tool)), calls, "{tool}");
        assert_eq!(policy.tool_max_depth(&policy.tool(tool)), depth, "{tool}");
    }
}

#[test]
fn tools_that_share_a_fate_are_known() {
    let policy = policy(
        "tools: {a: {group: canvas}, b: {dependency: crm}, \"c_*\": {dependency: crm}, c_d: {group: canvas}}",
    );
    let sharing = |subject| policy.tools_sharing(&subject).join(" ");
    assert_eq!(sharing(Subject::Group("canvas".into())), "a c_d");
    assert_eq!(sharing(Subject::Dependency("crm".into())), "b c_d");
    assert_eq!(sharing(Subject::Dependency("canvas".into())), "");
    assert_eq!(sharing(Subject::Tool("a".into())), "a");
    assert_eq!(sharing(Subject::Tools), "");
}
