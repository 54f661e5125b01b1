//! Whole documents: what is read, what holds by default, what is odd but allowed.

use std::time::Duration;

use proptest::prelude::*;

use crate::domain::{Action, Effect, Execution, Kind, Limit};
use crate::policy::*;

/// Every field there is, each set to what it is not by default.
const FULL: &str = r#"
mode: shadow
profile: batch
budgets:
  operation: {max_attempts: 4, max_reprompts: 5, on_exhausted: fail_loud}
  cause: {max_failures: 6, on_exhausted: fail_loud}
  tool: {max_calls: 12}
  turn:
    max_failures: 7
    max_retries: 8
    max_reprompts: 9
    max_preconditions: 10
    max_preconditions_total: 11
    max_calls: none
    max_tokens: 13
    max_elapsed: 14m
    max_depth: 15
    on_exhausted: escalate
backoff: {base: 16ms, cap: 17s, max_wait: 18s}
dependencies:
  crm: {max_attempts: 21, max_reprompts: 22, max_failures: 23, max_preconditions: 24, on_exhausted: fail_loud,
        backoff: {base: 25ms, cap: 26s, max_wait: 27s}, hosts: ["crm.internal:8443"]}
groups:
  canvas: {max_attempts: 31, max_reprompts: 32, max_failures: 33, max_preconditions: 34, on_exhausted: fail_loud,
           backoff: {base: 35ms, cap: 36s, max_wait: 37s}}
tools:
  everything:
    effect: keyed
    dependency: crm
    group: canvas
    expensive: true
    max_calls: 41
    max_depth: 42
    irreversible: true
    requires: first
    atomic: true
    repeatable: true
    exploratory: false
    status_tool: status
    settles_after: 43s
    key_ttl: 44h
    max_attempts: 45
    max_reprompts: 46
    max_failures: 47
    max_preconditions: 48
    on_exhausted: fail_loud
    backoff: {base: 49ms, cap: 50s, max_wait: 51s}
kinds:
  timeout: {action: escalate, max_attempts: 61, max_reprompts: 62, max_failures: 63, max_preconditions: 64,
            on_exhausted: fail_loud, backoff: {base: 65ms, cap: 66s, max_wait: 67s}}
rules:
  - {id: ledger-frozen, text: "ledger is frozen", code: 40001, exception: LedgerError, http_status: 409,
     tool: "book_*", kind: precondition_unmet, execution: not_executed, unless: thawed,
     examples: [{message: the ledger is frozen, code: 40001, exception: LedgerError, http_status: 409, tool: book_flight}],
     not: [the ledger is open]}
fleet: {retry_ratio: 0.3, retry_floor_per_second: 11, breaker: {turns: 6, failure_ratio: 0.6, window: 12s, cooldown: 7s}}
"#;

fn overrides(first: u64) -> Overrides {
    Overrides {
        max_attempts: Some(Limit::At(first)),
        max_reprompts: Some(Limit::At(first + 1)),
        max_failures: Some(Limit::At(first + 2)),
        max_preconditions: Some(Limit::At(first + 3)),
        on_exhausted: Some(OnExhausted::FailLoud),
        backoff_base: Some(Duration::from_millis(first + 4)),
        backoff_cap: Some(Duration::from_secs(first + 5)),
        max_wait: Some(Duration::from_secs(first + 6)),
    }
}

#[test]
fn every_field_is_read() {
    let (policy, warnings) = Policy::parse_with_warnings(FULL).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let expected = Policy {
        mode: Mode::Shadow,
        profile: Profile::Batch,
        budgets: BudgetLimits {
            max_attempts: Limit::At(4),
            max_reprompts: Limit::At(5),
            operation_on_exhausted: OnExhausted::FailLoud,
            cause_max_failures: Limit::At(6),
            cause_on_exhausted: OnExhausted::FailLoud,
            tool_max_calls: Limit::At(12),
            turn_max_failures: Limit::At(7),
            turn_max_retries: Limit::At(8),
            turn_max_reprompts: Limit::At(9),
            max_preconditions: Limit::At(10),
            max_preconditions_total: Limit::At(11),
            turn_max_calls: Limit::Unlimited,
            turn_max_tokens: Limit::At(13),
            turn_max_elapsed: Some(Duration::from_secs(14 * 60)),
            turn_max_depth: Limit::At(15),
            turn_on_exhausted: OnExhausted::Escalate,
        },
        backoff: Backoff {
            base: Duration::from_millis(16),
            cap: Duration::from_secs(17),
            max_wait: Duration::from_secs(18),
        },
        dependencies: [(
            "crm".into(),
            DependencyPolicy {
                overrides: overrides(21),
                hosts: vec!["crm.internal:8443".into()],
            },
        )]
        .into(),
        groups: [(
            "canvas".into(),
            GroupPolicy {
                overrides: overrides(31),
            },
        )]
        .into(),
        tools: vec![ToolEntry {
            pattern: "everything".into(),
            policy: ToolPolicy {
                entry: None,
                effect: Some(Effect::Keyed),
                dependency: Some("crm".into()),
                group: Some("canvas".into()),
                expensive: Some(true),
                max_calls: Some(Limit::At(41)),
                max_depth: Some(Limit::At(42)),
                irreversible: Some(true),
                requires: Some("first".into()),
                atomic: Some(true),
                repeatable: Some(true),
                exploratory: Some(false),
                status_tool: Some("status".into()),
                settles_after: Some(Duration::from_secs(43)),
                key_ttl: Some(Duration::from_secs(44 * 3600)),
                overrides: overrides(45),
            },
        }],
        kinds: [(
            Kind::Timeout,
            KindPolicy {
                action: Some(Action::Escalate),
                overrides: overrides(61),
            },
        )]
        .into(),
        rules: vec![OperatorRule {
            id: "ledger-frozen".into(),
            text: Some("ledger is frozen".into()),
            code: Some("40001".into()),
            exception: Some("LedgerError".into()),
            http_status: Some(409),
            tool: Some("book_*".into()),
            kind: Kind::PreconditionUnmet,
            execution: Some(Execution::NotExecuted),
            unless: Some("thawed".into()),
            examples: vec![RuleExample {
                message: "the ledger is frozen".into(),
                code: "40001".into(),
                exception: "LedgerError".into(),
                http_status: Some(409),
                tool: "book_flight".into(),
            }],
            not: vec![RuleExample {
                message: "the ledger is open".into(),
                ..RuleExample::default()
            }],
        }],
        fleet: FleetSettings {
            retry_ratio: 0.3,
            retry_floor_per_second: 11.0,
            breaker: BreakerSettings {
                turns: 6,
                failure_ratio: 0.6,
                window: Duration::from_secs(12),
                cooldown: Duration::from_secs(7),
            },
        },
        source: FULL.to_owned(),
        index: PolicyIndex::default(),
    };
    assert_eq!(policy, expected);
}

#[test]
fn the_design_s_example_is_clean() {
    let text = r#"
mode: enforce
profile: assistant
budgets:
  operation: {max_attempts: 3, max_reprompts: 2}
  cause: {max_failures: 3}
  turn: {max_failures: 6, max_retries: 6, max_reprompts: 4, max_preconditions: 3, max_calls: 40}
backoff: {base: 200ms, cap: 30s, max_wait: 60s}
dependencies:
  crm: {max_failures: 1, hosts: ["crm.internal:8443"]}
groups:
  canvas: {max_failures: 3}
tools:
  create_charge: {effect: keyed, dependency: payments}
  send_letter:   {effect: unsafe, status_tool: get_letter_status, settles_after: 5s}
  draw_rect:     {effect: idempotent, group: canvas}
  deep_research: {effect: idempotent, expensive: true, max_calls: 1}
  delete_record: {effect: unsafe, irreversible: true}
  compute:       {effect: idempotent, requires: load_data}
  quick_insert:  {effect: unsafe, atomic: true}
  next_page:     {effect: unsafe, repeatable: true}
  bash:          {exploratory: true}
  "github_*":    {dependency: github}
kinds:
  quota_exhausted: {action: escalate}
rules:
  - {id: ledger-frozen, text: "ledger is frozen", kind: precondition_unmet}
fleet: {retry_ratio: 0.2, retry_floor_per_second: 10, breaker: {turns: 5, failure_ratio: 0.5, window: 10s, cooldown: 5s}}
"#;
    let (policy, warnings) = Policy::parse_with_warnings(text).unwrap_or_else(|e| panic!("{e}"));
    assert!(warnings.is_empty(), "{warnings:?}");
    let builtin = Policy::builtin();
    assert_eq!(policy.budgets, builtin.budgets);
    assert_eq!(policy.backoff, builtin.backoff);
    assert_eq!(policy.fleet, builtin.fleet);
    let names: Vec<&str> = policy.dependencies.keys().map(|name| &**name).collect();
    assert_eq!(names, ["crm", "github", "payments"]);
}

#[test]
fn nothing_said_is_the_built_in_policy() {
    for text in [
        "",
        "\n\n",
        "# nothing\n",
        "---\n",
        "---\n...\n",
        "~",
        "null",
        "{}",
        "\u{feff}",
        "\u{feff}# nothing\r\n",
        "tools:\n",
        "tools: {}\nrules: []\nkinds:\nbudgets:\n  turn:\n",
    ] {
        let policy = Policy::parse(text).unwrap_or_else(|e| panic!("{text:?}: {e}"));
        let builtin = Policy {
            source: text.to_owned(),
            ..Policy::builtin()
        };
        assert_eq!(policy, builtin, "{text:?}");
    }
}

#[test]
fn profiles_are_those_of_the_design() {
    // max_failures, max_retries, max_reprompts, max_calls of the turn; max_failures of the cause.
    let none = Limit::Unlimited;
    let at = Limit::At;
    for (profile, expected) in [
        ("assistant", [at(6), at(6), at(4), at(40), at(3)]),
        ("coding", [none, at(30), none, at(500), at(3)]),
        ("batch", [at(30), at(60), at(20), at(5_000), at(5)]),
    ] {
        let limits = Policy::parse(&format!("profile: {profile}"))
            .unwrap()
            .budgets;
        let found = [
            limits.turn_max_failures,
            limits.turn_max_retries,
            limits.turn_max_reprompts,
            limits.turn_max_calls,
            limits.cause_max_failures,
        ];
        assert_eq!(found, expected, "{profile}");
        assert_eq!(limits.max_attempts, at(3), "{profile}");
        assert_eq!(limits.max_reprompts, at(2), "{profile}");
        assert_eq!(limits.turn_max_depth, at(3), "{profile}");
        assert_eq!(limits.max_preconditions_total, at(12), "{profile}");
    }
}

#[test]
fn explicit_keys_win_over_the_profile_wherever_it_stands() {
    for text in [
        "profile: coding\nbudgets: {turn: {max_failures: 2, max_retries: none}}",
        "budgets: {turn: {max_failures: 2, max_retries: none}}\nprofile: coding",
    ] {
        let limits = Policy::parse(text).unwrap().budgets;
        assert_eq!(limits.turn_max_failures, Limit::At(2));
        assert_eq!(limits.turn_max_retries, Limit::Unlimited);
        assert_eq!(limits.turn_max_calls, Limit::At(500));
    }
}

#[test]
fn line_ends_and_byte_order_marks_change_nothing() {
    let plain = "tools:\n  search: {effect: idempotent}\n";
    let expected = Policy::parse(plain).unwrap();
    for text in [
        plain.replace('\n', "\r\n"),
        format!("\u{feff}{plain}"),
        format!("---\n{plain}...\n"),
    ] {
        assert_eq!(
            Policy::parse(&text).unwrap().tools,
            expected.tools,
            "{text:?}"
        );
    }
}

#[test]
fn anchors_are_copied_and_bounded() {
    let text = "tools:\n  a: &safe {effect: idempotent, max_attempts: 5}\n  b: *safe\n";
    let policy = Policy::parse(text).unwrap();
    assert_eq!(policy.tools[0].policy, policy.tools[1].policy);

    let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let before = format!("*a{}", level - 1);
        laughs.push_str(&format!(
            "a{level}: &a{level} [{}]\n",
            [before.as_str(); 10].join(", ")
        ));
    }
    let faults = Policy::parse(&laughs).unwrap_err();
    assert!(
        faults.to_string().contains("expand to more than"),
        "{faults}"
    );
}

#[test]
fn warns_of_what_is_likely_not_meant() {
    for (text, expected) in [
        (
            "dependencies: {payments: {}}\ntools:\n  pay: {dependency: payment}",
            "line 3, tools.pay.dependency: `payment` is not declared in `dependencies`; if `payments` is meant, write that",
        ),
        (
            "tools: {pay: {settles_after: 5s}}",
            "line 1, tools.pay.settles_after: has no effect without a `status_tool`",
        ),
        (
            "tools: {pay: {effect: unsafe, key_ttl: 5h}}",
            "line 1, tools.pay.key_ttl: has no effect without `effect: keyed`",
        ),
        (
            "tools: {draw: {group: canvas, max_failures: 2}}",
            "line 1, tools.draw.max_failures: has no effect on a tool of a group: the group's failures are counted together, set it there",
        ),
    ] {
        let (_, warnings) = Policy::parse_with_warnings(text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(warnings, [expected], "{text}");
    }
}

#[test]
fn deep_nesting_and_large_documents_are_refused() {
    for text in [
        "[".repeat(1 << 20),
        "{a: ".repeat(1 << 18),
        "- ".repeat(1 << 19),
        "a: \n".repeat(1 << 18),
    ] {
        assert!(Policy::parse(&text).is_err());
    }
    let faults = Policy::parse(&" ".repeat(Policy::MAX_BYTES + 1)).unwrap_err();
    assert!(
        faults.to_string().contains("more than a document may have"),
        "{faults}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn never_panics_on_any_text(text in "\\PC{0,200}|[ \t\r\n:,{}\\[\\]&*!|>'\"%@`#a-c0-9<?~.-]{0,80}") {
        let _ = Policy::parse(&text);
    }

    #[test]
    fn never_panics_on_a_damaged_policy(cut in 0..FULL.len(), at in 0..FULL.len(), insert in "[ \t\n:,{}\\[\\]&*!|>'\"-]{0,4}") {
        let head = FULL.get(..at).unwrap_or_default();
        let _ = Policy::parse(&format!("{head}{insert}{}", FULL.get(cut..).unwrap_or_default()));
    }
}
