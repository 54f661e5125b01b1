//! The contract of a reading: what the scenarios expect, whose word counts, and that nothing can break it.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::domain::Category;

pub(super) fn classifier() -> Classifier {
    Classifier::new(&[]).unwrap()
}

pub(super) const CONTEXT: Context<'static> = Context {
    tool: "tool",
    origin: Origin::Tool,
    tries: 1,
    received_at: Timestamp::from_secs(1_700_000_000),
};

pub(super) fn failure(message: &str, http_status: Option<u16>, code: &str) -> Failure {
    Failure {
        message: message.to_owned(),
        http_status,
        code: code.to_owned(),
        ..Failure::default()
    }
}

pub(super) fn read(failure: &Failure) -> Reading {
    classifier().read(failure, &CONTEXT)
}

#[test]
fn classifiers_are_shared_between_threads() {
    const fn assert_shared<T: Send + Sync + Clone>() {}
    assert_shared::<Classifier>();
}

/// The failures of the scenario files, with what they must read.
#[test]
fn scenarios_read_as_they_expect() {
    use Execution::{MaybeExecuted as Maybe, NotExecuted as Not};
    use Kind::*;
    let cases: &[(&str, Option<u16>, &str, Kind, Execution)] = &[
        (
            "Read timed out. (read timeout=10)",
            None,
            "",
            Timeout,
            Maybe,
        ),
        ("upstream request timeout", Some(504), "", Timeout, Maybe),
        (
            "{\"error\":\"validation failed: field 'date' must be ISO 8601\"}",
            Some(400),
            "",
            InvalidArguments,
            Not,
        ),
        ("Too Many Requests", Some(429), "", RateLimited, Not),
        ("429 Too Many Requests", Some(429), "", RateLimited, Not),
        (
            "rate limited, try again in 20s",
            Some(429),
            "",
            RateLimited,
            Not,
        ),
        (
            "You exceeded your current quota, please check your plan and billing details.",
            Some(429),
            "insufficient_quota",
            QuotaExhausted,
            Not,
        ),
        (
            "insufficient_quota",
            Some(429),
            "insufficient_quota",
            QuotaExhausted,
            Not,
        ),
        ("invalid api key", Some(401), "", Unauthenticated, Not),
        ("Service Unavailable", Some(503), "", Unavailable, Maybe),
        ("503 Service Unavailable", Some(503), "", Unavailable, Maybe),
        ("503", Some(503), "", Unavailable, Maybe),
        ("503", None, "", Unavailable, Maybe),
        ("422", Some(422), "", InvalidArguments, Not),
        ("422", None, "", InvalidArguments, Not),
        (
            "422: field 'nights' must be an integer",
            Some(422),
            "",
            InvalidArguments,
            Not,
        ),
        (
            "422: field 'guests' is required",
            Some(422),
            "",
            InvalidArguments,
            Not,
        ),
        (
            "422: field 'city' must not be empty",
            Some(422),
            "",
            InvalidArguments,
            Not,
        ),
        (
            "bad date: 'next tuesday'",
            Some(400),
            "",
            InvalidArguments,
            Not,
        ),
        (
            "canvas backend returned 503",
            Some(503),
            "",
            Unavailable,
            Maybe,
        ),
        (
            "503 directory backend unavailable (request 4)",
            Some(503),
            "",
            Unavailable,
            Maybe,
        ),
        (
            "connect ECONNREFUSED 127.0.0.1:9222",
            None,
            "ECONNREFUSED",
            ConnectFailed,
            Not,
        ),
        (
            "No dataset loaded. Load a dataset before computing.",
            None,
            "",
            PreconditionUnmet,
            Not,
        ),
        ("Connection reset by peer", None, "", ConnectionLost, Maybe),
        ("request timed out", None, "", Timeout, Maybe),
        (
            "dial tcp 10.1.2.3:5432: connect: connection refused",
            None,
            "",
            ConnectFailed,
            Not,
        ),
        (
            "dial tcp 10.1.2.3:5432: i/o timeout",
            None,
            "",
            ConnectFailed,
            Not,
        ),
        (
            "Widget engine gave up after 31 ms (job 8812)",
            None,
            "",
            Unknown,
            Maybe,
        ),
        (
            "Invalid JSON in tool arguments: Expecting ',' delimiter: line 1 column 18 (char 17)",
            None,
            "",
            MalformedOutput,
            Not,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9125 tokens.",
            Some(400),
            "context_length_exceeded",
            ContextOverflow,
            Not,
        ),
        ("no such table: customer", None, "", WrongReference, Not),
        (
            "Traceback (most recent call last):\nFileNotFoundError: [Errno 2] No such file or directory: 'data_3.csv'",
            None,
            "",
            WrongReference,
            Not,
        ),
        (
            "ModuleNotFoundError: No module named 'flask'",
            None,
            "",
            Misconfigured,
            Not,
        ),
        (
            "Command timed out after 120 seconds",
            None,
            "",
            Timeout,
            Maybe,
        ),
    ];
    for (message, status, code, kind, execution) in cases {
        let reading = read(&failure(message, *status, code));
        assert_eq!(
            (reading.kind, reading.execution),
            (*kind, *execution),
            "{message}: {reading:?}"
        );
    }
}

#[test]
fn a_missing_make_target_is_model_output() {
    let reading = read(&Failure {
        exit_code: Some(2),
        ..failure("make: *** No rule to make target 'all'.  Stop.", None, "")
    });
    assert_eq!(reading.kind.category(), Category::ModelOutput);
    assert_eq!(reading.reference.as_deref(), Some("all"));
}

#[test]
fn a_deadline_by_its_grpc_code_alone_is_a_timeout() {
    let by_code = Failure {
        grpc_code: "DEADLINE_EXCEEDED".to_owned(),
        ..Failure::default()
    };
    assert_eq!(read(&by_code).kind, Kind::Timeout);
    let with_text = Failure {
        message: "deadline exceeded".to_owned(),
        ..by_code
    };
    assert_eq!(read(&with_text).kind, Kind::Timeout);
}

#[test]
fn waits_and_dependencies_come_with_the_reading() {
    let reading = read(&failure("rate limited, try again in 20s", Some(429), ""));
    assert_eq!(reading.retry_after, Some(Duration::from_secs(20)));
    let header = Failure {
        headers: vec![("retry-after".to_owned(), "7".to_owned())],
        ..failure("Too Many Requests", Some(429), "")
    };
    assert_eq!(read(&header).retry_after, Some(Duration::from_secs(7)));
    let wrapped = "could not list orders: dial tcp 10.1.2.3:5432: connect: connection refused";
    assert_eq!(
        read(&failure(wrapped, None, "")).dependency.as_deref(),
        Some("10.1.2.3:5432")
    );
}

#[test]
fn the_workers_word_on_execution_counts() {
    let claimed = Failure {
        execution: Some(Execution::NotExecuted),
        ..failure("upstream request timeout", Some(504), "")
    };
    let several = Context {
        tries: 3,
        ..CONTEXT
    };
    let reading = classifier().read(&claimed, &several);
    assert_eq!(
        (reading.execution, reading.vouched),
        (Execution::NotExecuted, true)
    );
}

#[test]
fn several_tries_leave_no_certainty_in_evidence() {
    let refused = failure("connect ECONNREFUSED 127.0.0.1:9222", None, "");
    let several = Context {
        tries: 2,
        ..CONTEXT
    };
    assert_eq!(
        classifier().read(&refused, &CONTEXT).execution,
        Execution::NotExecuted
    );
    assert_eq!(
        classifier().read(&refused, &several).execution,
        Execution::MaybeExecuted
    );
}

fn operator_rule(id: &str) -> OperatorRule {
    OperatorRule::new(id, Kind::PreconditionUnmet)
}

#[test]
fn the_operators_rules_come_first() {
    let rules = [
        OperatorRule {
            text: Some("ledger is frozen".to_owned()),
            ..operator_rule("ledger-frozen")
        },
        OperatorRule {
            exception: Some("LedgerError".to_owned()),
            tool: Some("pay_*".to_owned()),
            kind: Kind::ApprovalRequired,
            ..operator_rule("ledger-type")
        },
    ];
    let classifier = Classifier::new(&rules).unwrap();
    let frozen = failure("500: the Ledger  is frozen until month end", Some(500), "");
    let reading = classifier.read(&frozen, &CONTEXT);
    assert_eq!(
        (&*reading.rule, reading.kind, reading.source),
        (
            "ledger-frozen",
            Kind::PreconditionUnmet,
            EvidenceSource::Policy
        )
    );
    assert_eq!(read(&frozen).kind, Kind::ServerError);
    let typed = Failure {
        exception_type: "bank.LedgerError".to_owned(),
        ..Failure::default()
    };
    let pay = Context {
        tool: "pay_rent",
        ..CONTEXT
    };
    assert_eq!(&*classifier.read(&typed, &pay).rule, "ledger-type");
    assert_eq!(&*classifier.read(&typed, &CONTEXT).rule, "unknown");
}

#[test]
fn an_operators_rule_says_what_it_says_in_the_rules_language() {
    let rule = OperatorRule {
        text: Some("quota of # rows*is spent\nthe ledger is full".to_owned()),
        unless: Some("is spent soon".to_owned()),
        code: Some("E77".to_owned()),
        http_status: Some(409),
        kind: Kind::QuotaExhausted,
        ..operator_rule("rows")
    };
    let classifier = Classifier::new(std::slice::from_ref(&rule)).unwrap();
    let cases = [
        (
            "HTTP 409: quota of 500 rows for 'a' is spent, code: E77",
            true,
        ),
        (
            "status 409 {\"code\": \"e77\", \"message\": \"The ledger is  full\"}",
            true,
        ),
        ("HTTP 409: quota of many rows is spent, code: E77", false),
        ("HTTP 409: the ledger is fuller, code: E77", false),
        ("HTTP 408: the ledger is full, code: E77", false),
        ("HTTP 409: the ledger is full, code: E78", false),
        (
            "HTTP 409: the ledger is full, but is spent soon, code: E77",
            false,
        ),
    ];
    for (message, wanted) in cases {
        let reading = classifier.read(&failure(message, None, ""), &CONTEXT);
        assert_eq!(
            &*reading.rule == "rows",
            wanted,
            "{message}: {}",
            reading.rule
        );
    }
    let reading = classifier.read(&failure(cases[0].0, None, ""), &CONTEXT);
    assert_eq!(reading.evidence, "quota of 500 rows for 'a' is spent");
    // What an operator looks for is the failure's text, not the name of the tool.
    let tool = Context {
        tool: "the ledger is full",
        ..CONTEXT
    };
    let reading = classifier.read(&failure("x", Some(409), "E77"), &tool);
    assert_ne!(&*reading.rule, "rows");
}

#[test]
fn an_operators_rule_that_matches_nothing_is_refused() {
    let error = Classifier::new(&[operator_rule("empty")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("policy") && error.contains("empty") && error.contains("text"),
        "{error}"
    );
}

#[test]
fn a_verdict_that_comes_back_is_no_new_failure() {
    let reading = read(&failure(
        "tool said: backstop verdict escalate/outcome_unknown: Connection reset by peer",
        Some(500),
        "",
    ));
    assert_eq!(
        (reading.kind, &*reading.rule),
        (Kind::ApprovalRequired, "backstop/own-verdict")
    );
    let classifier = Classifier::with_own_texts(&[], &["Nothing is left to try here."]).unwrap();
    let reading = classifier.read(
        &failure("NOTHING is left  to try here.", None, ""),
        &CONTEXT,
    );
    assert_eq!(&*reading.rule, "backstop/own-verdict");
}

#[test]
fn one_vendors_code_is_not_anothers() {
    let code = |message| read(&failure(message, Some(429), "insufficient_quota")).kind;
    assert_eq!(code("OpenAI: see your plan"), Kind::QuotaExhausted);
    assert_eq!(
        code("dashscope: allocated quota exceeded"),
        Kind::RateLimited
    );
    // A number is a code only where its vendor speaks.
    assert_eq!(
        read(&failure("mysql: x", None, "1213")).kind,
        Kind::Contention
    );
    assert_eq!(
        read(&failure("order 1213", None, "1213")).kind,
        Kind::Unknown
    );
}

#[test]
fn words_and_numbers_in_passing_are_no_evidence() {
    let texts = [
        "separate moderate corporate",
        "job req_500503429 on port 8503",
        "saved 429 rows",
        "see line 504",
        "Error",
        "failed",
        "Something went wrong",
        "",
        "\0\0\0",
    ];
    for text in texts {
        let reading = read(&failure(text, None, ""));
        assert_eq!(reading.kind, Kind::Unknown, "{text}: {reading:?}");
        assert_eq!(reading.execution, Execution::MaybeExecuted);
    }
}

#[test]
fn what_is_partly_done_is_never_undone() {
    let texts = [
        "Partial failure: 3 of 5 messages sent, then recipient not found",
        "partially applied: permission denied for table users",
        "429 Too Many Requests; 2 of 9 succeeded",
    ];
    for text in texts {
        let reading = read(&failure(text, None, ""));
        assert_eq!(reading.execution, Execution::MaybeExecuted, "{reading:?}");
        assert_ne!(reading.kind, Kind::Unknown, "{reading:?}");
    }
}

#[test]
fn evidence_is_short_and_cut_between_characters() {
    let long = format!("invalid api key {}", "é".repeat(500));
    let own = format!("backstop verdict {}", "é".repeat(500));
    for message in [long, own] {
        assert!(read(&failure(&message, None, "")).evidence.len() <= EVIDENCE_LIMIT);
    }
    let code = failure("", None, &"é".repeat(60));
    assert!(read(&code).evidence.len() <= EVIDENCE_LIMIT);
}

#[test]
fn hostile_texts_are_read_in_time() {
    let classifier = classifier();
    let nested = format!("{}{}", "[{\"error\":".repeat(50_000), "\\\"".repeat(50_000));
    let texts = [
        "a".repeat(4 << 20),
        "try again in ".repeat(300_000),
        "rate limit code error status ".repeat(150_000),
        "\"".repeat(1 << 20),
        "4".repeat(1 << 20),
        "host '".repeat(200_000),
        "\0".repeat(1 << 20),
        nested,
    ];
    for text in texts {
        let mut failure = failure(&text, Some(500), &text);
        failure.exception_type = text.clone();
        failure.grpc_code = text.clone();
        failure.headers = vec![
            ("retry-after".to_owned(), text.clone()),
            (text.clone(), text),
        ];
        let started = Instant::now();
        let reading = classifier.read(&failure, &CONTEXT);
        assert!(reading.evidence.len() <= EVIDENCE_LIMIT);
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "{:?}",
            started.elapsed()
        );
    }
}

/// Cases of the corpus, where it is at hand.
fn corpus() -> Vec<serde_json::Value> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let files = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut cases = Vec::new();
    for path in files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|e| e == "jsonl"))
    {
        let text = std::fs::read_to_string(path).unwrap();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        cases.extend(lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()));
    }
    cases
}

fn corpus_failure(case: &serde_json::Value) -> Failure {
    let failure = &case["failure"];
    let text = |key: &str| failure[key].as_str().unwrap_or_default().to_owned();
    Failure {
        message: text("message"),
        exception_type: text("exception_type"),
        code: text("code"),
        grpc_code: text("grpc_code"),
        http_status: failure["http_status"]
            .as_u64()
            .and_then(|status| u16::try_from(status).ok()),
        exit_code: failure["exit_code"]
            .as_i64()
            .and_then(|code| i32::try_from(code).ok()),
        ..Failure::default()
    }
}

#[test]
fn confidence_is_the_share_of_the_corpus_that_was_read_right() {
    let classifier = classifier();
    let mut right = std::collections::BTreeMap::<(EvidenceSource, u32), (u32, u32)>::new();
    for case in corpus() {
        let label = &case["label"];
        let also = label["also"].as_array().into_iter().flatten();
        let wanted: Vec<&str> = also
            .chain([&label["kind"]])
            .filter_map(|kind| kind.as_str())
            .collect();
        let reading = classifier.read(&corpus_failure(&case), &CONTEXT);
        let level = (reading.source, (reading.confidence * 100.0).round() as u32);
        let entry = right.entry(level).or_default();
        entry.0 += u32::from(wanted.contains(&reading.kind.name()));
        entry.1 += 1;
    }
    for ((source, confidence), (hits, all)) in right {
        // A level that the corpus hardly touches says nothing.
        if all >= 10 {
            assert!(
                hits * 100 >= confidence * all,
                "{source} at {confidence}%: {hits} of {all}"
            );
        }
    }
}

/// Messages in the words of many programs, with what they mean: written apart from the rules and before them.
#[test]
fn the_wordings_of_many_programs_are_understood() {
    let classifier = classifier();
    let (mut right, mut unsafe_readings, mut all) = (0, 0, 0);
    for line in include_str!("testdata/wordings.jsonl").lines() {
        let case: serde_json::Value = serde_json::from_str(line).unwrap();
        let label = &case["label"];
        let also = label["also"].as_array().into_iter().flatten();
        let wanted: Vec<&str> = also
            .chain([&label["kind"]])
            .filter_map(|kind| kind.as_str())
            .collect();
        let reading = classifier.read(&corpus_failure(&case), &CONTEXT);
        right += usize::from(wanted.contains(&reading.kind.name()));
        let refused = reading.execution == Execution::NotExecuted;
        unsafe_readings += usize::from(refused && label["execution"] != "not_executed");
        all += 1;
    }
    assert!(right * 100 >= all * 98, "{right} of {all}");
    assert!(
        unsafe_readings <= 8,
        "{unsafe_readings} read as not executed"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_failure_is_read(
        message in ".{0,300}",
        exception in ".{0,40}",
        code in ".{0,40}",
        grpc in ".{0,10}",
        status in proptest::option::of(100u16..600),
        exit in proptest::option::of(any::<i32>()),
        header in ("(retry-after|x-ratelimit-reset|ratelimit)", ".{0,30}"),
        tries in 0u32..5,
    ) {
        let failure = Failure {
            message, exception_type: exception, code, grpc_code: grpc, http_status: status, exit_code: exit,
            headers: vec![header], ..Failure::default()
        };
        let context = Context { tries, ..CONTEXT };
        let classifier = classifier();
        let reading = classifier.read(&failure, &context);
        prop_assert!(reading.evidence.len() <= EVIDENCE_LIMIT);
        prop_assert!(reading.retry_after.is_none_or(|wait| wait <= Duration::from_secs(86_400)));
        prop_assert!(tries < 2 || reading.execution != Execution::NotExecuted);
        // A pure function.
        prop_assert_eq!(reading, classifier.read(&failure, &context));
    }

    #[test]
    fn pieces_of_real_words_in_any_order_are_read(words in proptest::collection::vec(
        "(timeout|error code: |429|\"|'|\\\\n|host=|dial tcp |retry after |10s|://|:80|é|\n|code|status|try again in )", 0..40
    )) {
        let text = words.concat();
        let reading = read(&failure(&text, None, ""));
        prop_assert!(reading.evidence.len() <= EVIDENCE_LIMIT);
        prop_assert_eq!(fingerprint(&text), fingerprint(&text));
    }
}
