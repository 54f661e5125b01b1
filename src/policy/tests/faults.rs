//! A table of faulty documents, each with the exact texts that the operator gets to read.

use crate::policy::Policy;

fn faults_of(text: &str) -> Vec<String> {
    match Policy::parse(text) {
        Ok(_) => Vec::new(),
        Err(faults) => faults.to_string().lines().map(str::to_owned).collect(),
    }
}

#[track_caller]
fn check(text: &str, expected: &[&str]) {
    assert_eq!(faults_of(text), expected, "in:\n{text}");
}

#[test]
fn names_and_words() {
    check(
        "tools:\n  create_charge:\n    efect: keyed",
        &["line 3, tools.create_charge.efect: unknown field; did you mean `effect`?"],
    );
    check(
        "tool: {}",
        &["line 1, tool: unknown field; did you mean `tools`?"],
    );
    check("colour: red", &["line 1, colour: unknown field"]);
    check(
        "mode: enfroce",
        &["line 1, mode: `enfroce` is not one of enforce, shadow; did you mean `enforce`?"],
    );
    check(
        "tools: {pay: {effect: idempotant}}",
        &[
            "line 1, tools.pay.effect: `idempotant` is not one of idempotent, keyed, unknown, unsafe; did you mean `idempotent`?",
        ],
    );
    check(
        "kinds: {rate_limit: {action: retry}}",
        &["line 1, kinds.rate_limit: is not a kind; did you mean `rate_limited`?"],
    );
    check(
        "kinds: {timeout: {action: stop}}",
        &[
            "line 1, kinds.timeout.action: `stop` is not one of retry, reprompt, escalate, fail_loud",
        ],
    );
    check(
        "tools: {\"a b.c\": {grup: x}}",
        &["line 1, tools.\"a b.c\".grup: unknown field; did you mean `group`?"],
    );
    check(
        "tools:\n  a:\n    <<: {effect: keyed}",
        &[
            "line 3, tools.a.<<: merge keys are not supported; write the fields out"
                .replace(".<<", ".\"<<\"")
                .as_str(),
        ],
    );
}

#[test]
fn types() {
    check(
        "tools: [a, b]",
        &["line 1, tools: is a list, not a mapping of fields"],
    );
    check("rules: {}", &["line 1, rules: is a mapping, not a list"]);
    check("- a", &["line 1: is a list, not a mapping of fields"]);
    check("just text", &["line 1: is text, not a mapping of fields"]);
    check("42", &["line 1: is a number, not a mapping of fields"]);
    check(
        "tools: {a: {effect: }}",
        &["line 1, tools.a.effect: has no value; give it one or leave the field out"],
    );
    check(
        "tools: {a: {expensive: yes}}",
        &["line 1, tools.a.expensive: write `true`"],
    );
    check(
        "tools: {a: {expensive: \"true\"}}",
        &["line 1, tools.a.expensive: is text, not `true` or `false`"],
    );
    check(
        "tools: {a: {dependency: 5}}",
        &["line 1, tools.a.dependency: is a number, not a name; put quotes around it if it is one"],
    );
    check(
        "tools: {a: keyed}",
        &["line 1, tools.a: is text, not a mapping of fields"],
    );
    check(
        "tools: {a: {dependency: [b]}}",
        &["line 1, tools.a.dependency: is a list, not a name"],
    );
}

#[test]
fn numbers() {
    let operation = |value: &str| format!("budgets: {{operation: {{max_attempts: {value}}}}}");
    for (value, problem) in [
        (
            "0",
            "0 is too small; write 1 to stop at the first failure, or `none` for no limit",
        ),
        (
            "-1",
            "-1 is negative; write 1 to stop at the first failure, or `none` for no limit",
        ),
        ("3.5", "`3.5` is not a whole number"),
        ("three", "`three` is not a whole number"),
        ("\"3\"", "is text, not a whole number"),
        (
            "1000001",
            "1000001 is more than 1000000; write 1 to stop at the first failure, or `none` for no limit",
        ),
        (
            "99999999999999999999",
            "99999999999999999999 is more than 1000000; write 1 to stop at the first failure, or `none` for no limit",
        ),
        ("{}", "is a mapping, not a whole number"),
    ] {
        let expected = format!("line 1, budgets.operation.max_attempts: {problem}");
        check(&operation(value), &[&expected]);
    }
    check(
        "budgets: {turn: {max_calls: 0}}",
        &[
            "line 1, budgets.turn.max_calls: 0 is too small; write at least 1, or `none` for no limit",
        ],
    );
    check(
        "fleet: {retry_ratio: 1.5, breaker: {failure_ratio: 0, turns: 0}}",
        &[
            "line 1, fleet.retry_ratio: has to be from 0 to 1",
            "line 1, fleet.breaker.failure_ratio: has to be from 0.01 to 1",
            "line 1, fleet.breaker.turns: 0 is too small; write how many different turns must have failed, 1 to 10000",
        ],
    );
    check(
        "fleet: {retry_ratio: .nan}",
        &["line 1, fleet.retry_ratio: is text, not a number"],
    );
    check(
        "fleet: {retry_ratio: 0, retry_floor_per_second: 0}",
        &[
            "line 1, fleet.retry_ratio: with a `retry_ratio` and a `retry_floor_per_second` of 0 no retry is ever given; set `budgets.turn.max_retries: 0` if that is meant",
        ],
    );
}

#[test]
fn zero_is_fine_where_it_means_none_given() {
    for text in [
        "budgets: {turn: {max_retries: 0, max_reprompts: 0, max_depth: 0}, operation: {max_reprompts: 0}}",
        "tools: {a: {max_calls: 0, max_depth: 0, settles_after: 0s}}",
    ] {
        check(text, &[]);
    }
}

#[test]
fn durations() {
    for (value, problem) in [
        ("5", "`5` has no unit; write `5s` or `5ms`"),
        (
            "soon",
            "`soon` is not a duration such as `200ms`, `5s`, `1m30s` or `24h`",
        ),
        ("-5s", "`-5s` is negative; a duration is at least zero"),
        (
            "1.5s",
            "`1.5s` has a fraction; write it in a smaller unit, e.g. `1s500ms`",
        ),
        ("0s", "`0s` is too short; write at least 1ms"),
        ("8d", "`8d` is longer than 7 days"),
        (
            "none",
            "`none` is not a duration such as `200ms`, `5s`, `1m30s` or `24h`",
        ),
    ] {
        let expected = format!("line 1, backoff.max_wait: {problem}");
        check(&format!("backoff: {{max_wait: {value}}}"), &[&expected]);
    }
    check(
        "backoff: {base: 40s}",
        &["line 1, backoff.base: is longer than `cap`, which no wait exceeds"],
    );
    check(
        "dependencies:\n  crm:\n    backoff: {cap: 40s, max_wait: 20s}",
        &[
            "line 3, dependencies.crm.backoff.cap: is longer than `max_wait`, beyond which no wait is given out",
        ],
    );
}

#[test]
fn between_fields() {
    check(
        "tools:\n  a: {exploratory: true, irreversible: true}",
        &[
            "line 2, tools.a.exploratory: a tool cannot be both `exploratory` (failing is part of the work) and `irreversible` (needs an approval); keep one",
        ],
    );
    check(
        "tools:\n  \"db_*\": {irreversible: true}\n  db_shell: {exploratory: true}",
        &[
            "line 3, tools.db_shell.exploratory: a tool cannot be both `exploratory` (failing is part of the work) and `irreversible` (needs an approval); keep one",
        ],
    );
    check(
        "tools: {a: {requires: a, status_tool: a}}",
        &[
            "line 1, tools.a.requires: names the tool itself; name another one",
            "line 1, tools.a.status_tool: names the tool itself; name another one",
        ],
    );
    check(
        "tools: {a: {requires: \"b_*\"}}",
        &["line 1, tools.a.requires: is a glob; name one tool"],
    );
    check(
        "tools:\n  a: {requires: b}\n  b: {requires: c}\n  c: {requires: b}",
        &["line 3, tools.b.requires: goes in a circle: b → c → b"],
    );
    check(
        "dependencies:\n  a: {hosts: [db.internal]}\n  b: {hosts: [DB.internal]}",
        &["line 3, dependencies.b.hosts: `db.internal` belongs to the dependency `a` already"],
    );
    check(
        "dependencies:\n  a: {hosts: [b]}\n  b: {}",
        &["line 2, dependencies.a.hosts: `b` is the name of the dependency `b`"],
    );
    check(
        "dependencies: {a: {hosts: [\"https://db/\"]}}",
        &[
            "line 1, dependencies.a.hosts[0]: `https://db/` is more than a host and a port; write `db`",
        ],
    );
    check(
        "dependencies:\n  crm: {}\n  CRM: {}",
        &["line 3, dependencies.CRM: differs from `crm` only in case; keep one"],
    );
    check(
        "dependencies: {crm: {}}\ntools: {a: {dependency: CRM}}",
        &["line 2, tools.a.dependency: differs from `crm` only in case; write one of them"],
    );
}

#[test]
fn rules() {
    check(
        "rules:\n  - {id: a, kind: timeout}",
        &[
            "line 2, rules[0]: matches everything; give it `text`, `code`, `exception` or `http_status`",
        ],
    );
    check(
        "rules:\n  - {text: frozen}",
        &[
            "line 2, rules[0]: has no `id`; give it one, it is the rule's name in answers and logs",
            "line 2, rules[0]: has no `kind`; say what such a failure is",
        ],
    );
    check(
        "rules:\n  - {id: a, text: abc, kind: timeout}\n  - {id: a, text: def, kind: timeout}",
        &["line 3, rules.a: two rules have this `id`; answers could not tell them apart"],
    );
    check(
        "rules: [{id: \"\", text: \" \", kind: time_out, http_status: 99}]",
        &[
            "line 1, rules[0].id: is empty; it is the rule's name in answers and logs",
            "line 1, rules[0].text: is empty; it would match everything",
            "line 1, rules[0].kind: `time_out` is not a kind; did you mean `timeout`?",
            "line 1, rules[0].http_status: 99 is too small; an HTTP status is from 100 to 599",
        ],
    );
    check(
        "rules: [{id: a, text: e, kind: timeout}]",
        &["line 1, rules[0].text: is shorter than 3 characters; it would match nearly everything"],
    );
    check(
        "rules: [frozen]",
        &["line 1, rules[0]: is text, not a mapping of fields"],
    );
}

#[test]
fn form() {
    check(
        "mode: shadow\ntools: {}\nmode: enforce",
        &["line 3, mode: appears twice, first on line 1; keep one"],
    );
    check(
        "tools:\n  a: {}\n  a: {}",
        &["line 3, tools.a: appears twice, first on line 2; keep one"],
    );
    check(
        "mode: shadow\n---\nmode: enforce",
        &["line 2: a second document starts here; only one is read"],
    );
    check("{[a]: b}", &["line 1, \"?\": a key has to be a name"]);
    check(
        "mode: !secret shadow",
        &["line 1, mode: the tag `!secret` has no meaning here; leave it out"],
    );
    check(
        "tools: &a {b: *a}",
        &["line 1, tools.b: an alias inside of its own anchor"],
    );
    for (text, line, part) in [
        ("tools:\n\ta: {}", "line 2", "spaces, not with tabs"),
        ("tools: {a: {}", "line ", "not YAML"),
        ("tools: *nobody", "line 1", "not YAML"),
        ("a: b: c", "line 1", "not YAML"),
    ] {
        let faults = faults_of(text);
        assert_eq!(faults.len(), 1, "{text:?}: {faults:?}");
        assert!(
            faults[0].starts_with(line) && faults[0].contains(part),
            "{text:?}: {faults:?}"
        );
    }
}

#[test]
fn all_faults_at_once_in_the_order_of_the_lines() {
    check(
        "mode: on\nbackoff: {base: 5}\ntools:\n  a: {efect: keyed}\n  a: {}\n  b: {max_attempts: 0}\nprofil: coding",
        &[
            "line 1, mode: `on` is not one of enforce, shadow",
            "line 2, backoff.base: `5` has no unit; write `5s` or `5ms`",
            "line 4, tools.a.efect: unknown field; did you mean `effect`?",
            "line 5, tools.a: appears twice, first on line 4; keep one",
            "line 6, tools.b.max_attempts: 0 is too small; write 1 to stop at the first failure, or `none` for no limit",
            "line 7, profil: unknown field; did you mean `profile`?",
        ],
    );
    let faults = Policy::parse("tools:\n  a: {effect: x}")
        .unwrap_err()
        .faults;
    assert_eq!((faults[0].line, faults[0].column), (2, 15));
}
