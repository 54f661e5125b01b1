//! What one judgement costs, part by part and as a whole, without the transport.
//!
//! `cargo bench --bench core`. Texts are of the sizes that workers send: a structured failure, some 300 bytes, 4 KiB.

#![allow(
    missing_docs,
    clippy::panic,
    reason = "a benchmark is no library, and one that cannot be set up has nothing else to do"
)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use backstop::classify::{Classifier, Context, fingerprint};
use backstop::domain::{Call, Failure, JudgeRequest, Kind, Origin, Timestamp};
use backstop::lessons::{LessonSource, rule_made};
use backstop::letters::{LetterOptions, LetterStore};
use backstop::metrics::Metrics;
use backstop::oracle::{Oracle, Sources};
use backstop::policy::{OperatorRule, Policy, PolicyHandle};
use backstop::store::{MemoryStore, MemoryStoreOptions};
use backstop::turn::Lifetimes;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};

/// The service's own.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// A failure with code and status: the text need not decide.
fn structured() -> Failure {
    Failure {
        message: "Rate limit reached for requests".to_owned(),
        exception_type: "openai.RateLimitError".to_owned(),
        http_status: Some(429),
        code: "rate_limit_exceeded".to_owned(),
        headers: vec![("retry-after".to_owned(), "7".to_owned())],
        ..Failure::default()
    }
}

/// Only text, about 300 bytes, with a dependency in it.
fn medium() -> Failure {
    Failure {
        message: "Traceback (most recent call last): File \"/srv/app/orders.py\", line 88, in list_orders: \
            psycopg2.OperationalError: could not connect to server: Connection refused. Is the server running on host \
            \"db.internal\" (10.1.2.3) and accepting TCP/IP connections on port 5432? (attempt 3, took 2017 ms)"
            .to_owned(),
        ..Failure::default()
    }
}

/// 4 KiB of log with the telling line last.
fn long() -> Failure {
    let mut message = String::new();
    while message.len() < 4_000 {
        message.push_str(
            "2024-05-01T10:00:00Z INFO worker-7 step finished in 31 ms, rows=42, cache=warm\n",
        );
    }
    message.push_str("ValueError: field 'date' must be an ISO 8601 date, got 'next tuesday'");
    Failure {
        message,
        ..Failure::default()
    }
}

fn failures() -> [(&'static str, Failure); 3] {
    [
        ("structured", structured()),
        ("300 bytes", medium()),
        ("4 KiB", long()),
    ]
}

/// A rule of an operator's with a text of its own.
fn operator_rule(number: u32) -> OperatorRule {
    OperatorRule {
        text: Some(format!(
            "ledger {number} is frozen\nno more rows in section{number}"
        )),
        unless: Some(format!("thaws at {number}")),
        ..OperatorRule::new(&format!("own-{number}"), Kind::PreconditionUnmet)
    }
}

/// Texts that are made to be slow: what leads to most, over and over.
fn hostile() -> [(&'static str, String); 4] {
    [
        ("key words", "rate limit code error status "),
        ("waits", "try again in "),
        ("starts of words", "connect mysqlx postgresx "),
        ("quotes", "host '"),
    ]
    .map(|(name, unit)| (name, unit.repeat((1 << 20) / unit.len())))
}

fn reading(criterion: &mut Criterion) -> Fallible<()> {
    let classifier = Classifier::new(&[])?;
    let context = Context {
        tool: "list_orders",
        origin: Origin::Tool,
        tries: 1,
        received_at: Timestamp::from(std::time::UNIX_EPOCH + Duration::from_secs(1_700_000_000)),
    };
    for (name, failure) in failures() {
        criterion.bench_function(&format!("read/{name}"), |bencher| {
            bencher.iter(|| classifier.read(black_box(&failure), &context));
        });
        criterion.bench_function(&format!("fingerprint/{name}"), |bencher| {
            bencher.iter(|| fingerprint(black_box(&failure.message)));
        });
        let reading = classifier.read(&failure, &context);
        let source = LessonSource {
            failure: &failure,
            reading: &reading,
            tool: "list_orders",
            origin: Origin::Tool,
            input: Some("{\"date\": \"next tuesday\"}"),
            known_tools: &["list_orders", "get_order"],
        };
        criterion.bench_function(&format!("lesson/{name}"), |bencher| {
            bencher.iter(|| rule_made(black_box(&source)));
        });
    }
    let many: Vec<OperatorRule> = (0..4_000).map(operator_rule).collect();
    let with_many = Classifier::new(&many)?;
    for (name, failure) in failures() {
        criterion.bench_function(&format!("read/{name}, 4,000 more rules"), |bencher| {
            bencher.iter(|| with_many.read(black_box(&failure), &context));
        });
    }
    for (name, text) in hostile() {
        let failure = Failure {
            message: text,
            ..Failure::default()
        };
        criterion.bench_function(&format!("read/1 MiB of {name}"), |bencher| {
            bencher.iter(|| classifier.read(black_box(&failure), &context));
        });
    }
    criterion.bench_function("rules/compile", |bencher| {
        // Other rules each time, or the last book would be handed out again.
        let mut number = 0;
        bencher.iter(|| {
            number += 1;
            Classifier::new(&[operator_rule(number)]).map(|_| ())
        });
    });
    Ok(())
}

/// The first attempt of an operation, in whichever turn it is asked.
fn request(failure: Failure) -> JudgeRequest {
    JudgeRequest {
        call: Call {
            operation_id: "step".into(),
            attempt: 1,
            tool: "list_orders".into(),
            origin: Origin::Tool,
            effect: None,
            input: Some("{\"date\": \"2024-05-01\"}".into()),
            approval_id: None,
            idempotency_key: None,
            worker_id: None,
            deadline: None,
            request_id: None,
        },
        failure,
        lesson: None,
        distill: false,
        elapsed: None,
        tries: 1,
        tokens_spent: 0,
    }
}

/// A whole judgement, the core's part of a call: a new turn each time, and verdicts that park nothing.
fn judging(criterion: &mut Criterion) -> Fallible<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let directory = tempfile::tempdir()?;
    let policy = Policy::parse("tools: {list_orders: {effect: idempotent}}")?;
    let now = Timestamp::from(std::time::SystemTime::now());
    let handle = PolicyHandle::with_policy(policy, None, now, |policy| {
        Classifier::new(&policy.rules).map_err(|error| error.to_string())
    })?;
    let oracle = Oracle::new(
        MemoryStore::new(MemoryStoreOptions {
            // Room for every turn of the run: eviction has a price of its own.
            max_turns: 10_000_000,
            ..MemoryStoreOptions::default()
        }),
        LetterStore::open(directory.path(), LetterOptions::default())?,
        Arc::new(handle),
        Lifetimes::default(),
        Sources::system(),
        Metrics::install()?,
    );
    let mut turns = 0_u64;
    let mut next_turn = || {
        turns += 1;
        turns.to_string()
    };
    for (name, failure) in [
        ("retry", structured()),
        ("300 bytes", medium()),
        ("reprompt", long()),
    ] {
        let request = request(failure);
        criterion.bench_function(&format!("judge/new turn, {name}"), |bencher| {
            bencher.iter_batched(
                || (next_turn(), request.clone()),
                |(turn, request)| runtime.block_on(oracle.judge("default", &turn, request)),
                BatchSize::SmallInput,
            );
        });
        let turn = next_turn();
        // The first is drawn here; what is measured is the answer to a repeated question.
        runtime.block_on(oracle.judge("default", &turn, request.clone()))?;
        criterion.bench_function(&format!("judge/replay, {name}"), |bencher| {
            bencher.iter_batched(
                || request.clone(),
                |request| runtime.block_on(oracle.judge("default", &turn, black_box(request))),
                BatchSize::SmallInput,
            );
        });
    }
    Ok(())
}

fn core(criterion: &mut Criterion) {
    for part in [reading, judging] {
        if let Err(error) = part(criterion) {
            panic!("{error}");
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().measurement_time(Duration::from_secs(2)).warm_up_time(Duration::from_millis(500));
    targets = core
}
criterion_main!(benches);
