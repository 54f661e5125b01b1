//! The scenario runner can fail: right stories pass, wrong ones fail with the place, the path and both values, and
//! files that could never fail are refused. Played against a toy server whose every answer is scripted.
#![allow(
    clippy::unwrap_used,
    reason = "all of this is test code, the toy server included"
)]

mod scenarios_runner;
mod support;

use std::convert::Infallible;
use std::future::Future;
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use anyhow::Result;
use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MethodDescriptor};
use prost_types::FileDescriptorSet;
use serde_json::{Value as Json, json};
use tonic::body::Body;
use tonic::codegen::http;
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};

use scenarios_runner::format::Scenario;
use scenarios_runner::plan::Plan;
use scenarios_runner::play::play;
use scenarios_runner::series::Series;
use support::wire::{DynamicCodec, Wire, to_json};

type Script = Arc<dyn Fn(&Json) -> Result<Json, Status> + Send + Sync>;

/// Answers every call of Judge with what the script makes of the request.
#[derive(Clone)]
struct Toy {
    method: MethodDescriptor,
    script: Script,
}

impl NamedService for Toy {
    const NAME: &'static str = "backstop.v1.OracleService";
}

type Boxed<T> = Pin<Box<dyn Future<Output = T> + Send>>;

impl UnaryService<DynamicMessage> for Toy {
    type Response = DynamicMessage;
    type Future = Boxed<Result<Response<DynamicMessage>, Status>>;

    fn call(&mut self, request: Request<DynamicMessage>) -> Self::Future {
        let toy = self.clone();
        Box::pin(async move {
            let request = to_json(request.get_ref()).unwrap();
            let answer = (toy.script)(&request)?;
            let answer = DynamicMessage::deserialize(toy.method.output(), answer).unwrap();
            Ok(Response::new(answer))
        })
    }
}

impl tonic::codegen::Service<http::Request<Body>> for Toy {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Boxed<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let toy = self.clone();
        Box::pin(async move {
            let codec = DynamicCodec {
                incoming: toy.method.input(),
            };
            Ok(tonic::server::Grpc::new(codec).unary(toy, request).await)
        })
    }
}

/// Plays a story against the script. `Err` is a fault of the file, the list what was missed.
fn outcome(
    story: &str,
    page: &str,
    script: impl Fn(&Json) -> Result<Json, Status> + Send + Sync + 'static,
) -> Result<Vec<String>, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let scenario = Scenario::parse(story).map_err(|error| format!("{error:#}"))?;
        let wire = toy_wire(Arc::new(script)).await;
        let plan = Plan::new(&scenario, &wire).map_err(|fault| fault.to_string())?;
        let misses = play(&plan, &wire, || Ok(page.to_owned()), Duration::ZERO)
            .await
            .unwrap();
        Ok(misses.iter().map(ToString::to_string).collect())
    })
}

async fn toy_wire(script: Script) -> Wire {
    static FILES: LazyLock<FileDescriptorSet> = LazyLock::new(|| {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scenarios_runner");
        protox::compile(["toy.proto"], [directory]).unwrap()
    });
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(&FILES.encode_to_vec())
        .build_v1()
        .unwrap();
    let pool = DescriptorPool::from_file_descriptor_set(FILES.clone()).unwrap();
    let service = pool.get_service_by_name(Toy::NAME).unwrap();
    let method = service.methods().next().unwrap();
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap())
        .unwrap()
        .with_nodelay(Some(true));
    let address = incoming.local_addr().unwrap();
    tokio::spawn(
        Server::builder()
            .add_service(reflection)
            .add_service(Toy { method, script })
            .serve_with_incoming(incoming),
    );
    let channel = Endpoint::from_shared(format!("http://{address}"))
        .unwrap()
        .connect_lazy();
    Wire::connect(channel).await.unwrap()
}

fn retry(_: &Json) -> Result<Json, Status> {
    Ok(json!({
        "verdict": {
            "action": "ACTION_RETRY", "retry_after": "1.500s", "guidance": "Use an ISO 8601 date.",
            "forget_operations": ["a", "b"],
        },
        "used": 2, "limit": 0,
    }))
}

/// A story of one call to Judge with these expectations.
fn expecting(expectations: &str) -> String {
    format!(
        "{{name: toy, steps: [{{call: Judge, request: {{turn_id: t}}, expect: {{{expectations}}}}}]}}"
    )
}

#[test]
fn every_matcher_holds_where_it_should() {
    for holds in [
        "verdict.action: ACTION_RETRY",
        "verdict.retry_after: 1500ms",
        "verdict.retry_after: {min: 1500ms, max: 1.5s}",
        "verdict.retry_after: {min: 0s, max: 2s}",
        "used: 2",
        "used: {min: 2, max: 2}",
        "limit: 0",
        "limit: {present: true}",
        "verdict.guidance: {contains: ISO 8601, excludes: tuesday, max_words: 5, present: true}",
        "verdict.forget_operations: [a, b]",
        "verdict.forget_operations.1: b",
        "verdict.forget_operations: {contains: b, excludes: c}",
        "replayed: {absent: true}",
        "replayed: false",
        "echo.attempt: {absent: true}",
        "verdict.action: {one_of: [ACTION_ESCALATE, ACTION_RETRY]}",
    ] {
        assert_eq!(outcome(&expecting(holds), "", retry), Ok(vec![]), "{holds}");
    }
}

#[test]
fn every_matcher_fails_where_it_should_and_says_what_it_wanted() {
    for (fails, wanted, got) in [
        (
            "verdict.action: ACTION_ESCALATE",
            "\"ACTION_ESCALATE\"",
            "\"ACTION_RETRY\"",
        ),
        ("verdict.retry_after: 1501ms", "\"1501ms\"", "\"1.500s\""),
        (
            "verdict.retry_after: {min: 1501ms}",
            "at least \"1501ms\"",
            "\"1.500s\"",
        ),
        (
            "verdict.retry_after: {max: 1499ms}",
            "at most \"1499ms\"",
            "\"1.500s\"",
        ),
        ("used: 3", "3", "2"),
        ("used: {min: 3}", "at least 3", "2"),
        ("used: {max: 1}", "at most 1", "2"),
        ("used: {absent: true}", "absent", "2"),
        ("limit: {absent: true}", "absent", "0"),
        ("replayed: true", "true", "absent"),
        ("replayed: {present: true}", "present", "absent"),
        ("echo.deadline: {present: true}", "present", "absent"),
        (
            "verdict.guidance: {contains: iso}",
            "something with \"iso\"",
            "\"Use an ISO 8601 date.\"",
        ),
        (
            "verdict.guidance: {excludes: ISO}",
            "nothing with \"ISO\"",
            "\"Use an ISO 8601 date.\"",
        ),
        (
            "verdict.guidance: {max_words: 4}",
            "a text of at most 4 words",
            "\"Use an ISO 8601 date.\"",
        ),
        ("verdict.forget_operations: [a]", "[\"a\"]", "[\"a\",\"b\"]"),
        (
            "verdict.forget_operations: {contains: c}",
            "something with \"c\"",
            "[\"a\",\"b\"]",
        ),
        ("verdict.forget_operations.2: c", "\"c\"", "absent"),
        (
            "verdict.action: {one_of: [ACTION_ESCALATE]}",
            "one of [\"ACTION_ESCALATE\"]",
            "\"ACTION_RETRY\"",
        ),
    ] {
        let misses = outcome(&expecting(fails), "", retry).unwrap();
        let path = fails.split_once(':').unwrap().0;
        let start = format!("step 1 (Judge), {path}\n  wanted: {wanted}\n  got:    {got}\n");
        assert_eq!(misses.len(), 1, "{fails}: {misses:?}");
        assert!(misses[0].starts_with(&start), "{}\nnot\n{start}", misses[0]);
        assert!(misses[0].contains("answer: {\"verdict\":"), "{}", misses[0]);
    }
}

#[test]
fn faults_of_the_file_are_found_before_the_first_call() {
    let step = |keys: &str| format!("{{name: toy, steps: [{{{keys}}}]}}");
    for (story, fault) in [
        (
            expecting("verdict.acton: ACTION_RETRY"),
            "step 1 (Judge): path `verdict.acton`: `Verdict` has no field `acton`",
        ),
        (
            expecting("verdict.action: ACTION_RETYR"),
            "`ACTION_RETYR` is no value of Action",
        ),
        (
            expecting("verdict.action: {one_of: [ACTION_RETYR]}"),
            "`ACTION_RETYR` is no value of Action",
        ),
        (
            expecting("verdict.action.x: 1"),
            "nothing lies below `action`",
        ),
        (expecting("verdict.retry_after: soon"), "does not fit"),
        (expecting("verdict.retry_after: {min: 1}"), "does not fit"),
        (
            expecting("verdict.guidance: {min: 1}"),
            "`min` needs a number or a duration",
        ),
        (
            expecting("used: {contains: x}"),
            "`contains` needs a text or a list",
        ),
        (expecting("used: {least: 1}"), "unknown matcher `least`"),
        (expecting("used: {}"), "holds for everything"),
        (
            expecting("used: {absent: false}"),
            "`absent` can only be true",
        ),
        (expecting("used: null"), "null is written"),
        (
            expecting("used: {same_as: one.used}"),
            "no earlier step is named `one`",
        ),
        (step("call: Jugde"), "unknown method `Jugde`"),
        (step("call: Watch"), "`Watch` is a stream"),
        (step("call: Judge, reqest: {}"), "unknown field `reqest`"),
        (
            step("call: Judge, request: {turn: t}"),
            "request path `turn`: `JudgeRequest` has no field `turn`",
        ),
        (
            step("call: Judge, request: {attempt: many}"),
            "`request` is no JudgeRequest",
        ),
        (
            step("call: Judge, request: {time_left: soon}"),
            "request path `time_left`: `soon` is no duration",
        ),
        (
            step("call: Judge, request: {deadline: '{now+x}'}"),
            "is no time",
        ),
        (
            step("call: Judge, expect_each: {used: 1}"),
            "go with `repeat`",
        ),
        (step("call: Judge, concurrent: true"), "go with `repeat`"),
        (step("call: Judge, repeat: 0"), "plays nothing"),
        (
            step("call: Judge, expect_error: INVALID"),
            "`INVALID` is no gRPC error code",
        ),
        (
            step("call: Judge, expect_error: INTERNAL, expect: {used: 1}"),
            "must fail has no answer",
        ),
        (
            step("call: Judge, repeat: 3, expect_counts: {path: used, counts: {1: 2}}"),
            "the counts add up to 2, not to 3",
        ),
        (
            step(
                "call: Judge, repeat: 1, expect_counts: {path: verdict.action, counts: {RETRY: 1}}",
            ),
            "`RETRY` is no value",
        ),
        (step("sleep: long"), "is no duration"),
        (step("sleep: 1ms, repeat: 2"), "nothing but `sleep`"),
        (step(""), "a step has a `call` or a `sleep`"),
        (
            "{name: toy, stepps: []}".to_owned(),
            "unknown field `stepps`",
        ),
        (
            "{name: toy, steps: [], metrics: {'a b': 1}}".to_owned(),
            "`a b` is no series",
        ),
        (
            "{name: toy, steps: [], metrics: {a: {contains: x}}}".to_owned(),
            "needs a text",
        ),
    ] {
        match outcome(&story, "", |_| panic!("called")) {
            Err(found) => assert!(found.contains(fault), "{story}\nsays {found}"),
            Ok(misses) => panic!("{story}\nwas played: {misses:?}"),
        }
    }
}

#[test]
fn later_steps_compare_with_named_answers() {
    let story = |matcher: &str| {
        format!(
            "{{name: toy, steps: [{{call: Judge, as: one, request: {{turn_id: a}}}},
              {{call: Judge, request: {{turn_id: b}}, expect: {{echo.turn_id: {{{matcher}}}}}}}]}}"
        )
    };
    let echo = |request: &Json| Ok(json!({"echo": request}));
    let differs = story("differs_from: one.echo.turn_id");
    assert_eq!(outcome(&differs, "", echo), Ok(vec![]));
    let same = outcome(&story("same_as: one.echo.turn_id"), "", echo).unwrap();
    assert!(
        same[0].contains("step 2 (Judge)") && same[0].contains("one.echo.turn_id, \"a\""),
        "{same:?}"
    );
    // Neither holds where the earlier answer does not have the field.
    for matcher in ["same_as: one.limit", "differs_from: one.limit"] {
        let story = format!(
            "{{name: toy, steps: [{{call: Judge, as: one}},
              {{call: Judge, expect: {{limit: {{{matcher}}}}}}}]}}"
        );
        assert_eq!(outcome(&story, "", echo).unwrap().len(), 1, "{matcher}");
    }
}

#[test]
fn requests_are_filled_in() {
    let story = "
name: toy
steps:
  - call: Judge
    repeat: 3
    concurrent: true
    request: {turn_id: t, operation_id: 'op-{i}', attempt: 1, headers: {x: '{i}'}, time_left: 250ms}
    expect_counts: {path: echo.operation_id, counts: {op-1: 1, op-2: 1, op-3: 1}}
    expect_each: {echo.time_left: 250ms}
    expect_last: {echo.headers.x: '3'}
  - call: Judge
    request: {deadline: '{now+5s}', operation_id: '{\"a\": {\"b\": 1}}'}
    expect: {echo.operation_id: '{\"a\": {\"b\": 1}}'}
";
    let echo = |request: &Json| Ok(json!({"echo": request}));
    assert_eq!(outcome(story, "", echo), Ok(vec![]));
    let within = |request: &Json| {
        let deadline = humantime::parse_rfc3339(request["deadline"].as_str().unwrap()).unwrap();
        let left = deadline
            .duration_since(std::time::SystemTime::now())
            .unwrap();
        assert!((3..=5).contains(&left.as_secs()), "{left:?}");
        Ok(json!({}))
    };
    let story = "{name: toy, steps: [{call: Judge, request: {deadline: '{now+5s}'}}]}";
    assert_eq!(outcome(story, "", within), Ok(vec![]));
}

#[test]
fn requests_can_quote_earlier_answers() {
    let story = |quote: &str| {
        format!(
            "{{name: toy, steps: [{{call: Judge, as: one, request: {{turn_id: a}}}},
              {{call: Judge, request: {{turn_id: '{quote}'}}, expect: {{echo.turn_id: 'see a {{two.x}}'}}}}]}}"
        )
    };
    let echo = |request: &Json| Ok(json!({"echo": request}));
    let right = story("see {one.echo.turn_id} {two.x}");
    assert_eq!(outcome(&right, "", echo), Ok(vec![]));
    let fault = outcome(&story("{one.ecko}"), "", echo).unwrap_err();
    assert!(
        fault.contains("step 2 (Judge): request path `turn_id`"),
        "{fault}"
    );
    assert!(
        fault.contains("`JudgeResponse` has no field `ecko`"),
        "{fault}"
    );
}

#[test]
fn counts_and_last_answers_can_fail() {
    let story = "
name: toy
steps:
  - call: Judge
    repeat: 2
    request: {operation_id: '{i}'}
    expect_counts: {path: verdict.action, counts: {ACTION_RETRY: 1, null: 1}}
    expect_last: {echo.operation_id: '1'}
";
    let misses = outcome(story, "", |request| Ok(json!({"echo": request}))).unwrap();
    assert_eq!(misses.len(), 2, "{misses:?}");
    assert!(misses[0].contains("counts of verdict.action"), "{misses:?}");
    assert!(misses[0].contains("got:    {\"absent\": 2}"), "{misses:?}");
    assert!(
        misses[1].contains("last answer, echo.operation_id"),
        "{misses:?}"
    );
}

#[test]
fn errors_are_expected_or_missed() {
    let refuse = |_: &Json| Err(Status::invalid_argument("no turn"));
    let story = |code: &str| format!("{{name: toy, steps: [{{call: Judge{code}}}]}}");
    let wanted = story(", expect_error: INVALID_ARGUMENT");
    assert_eq!(outcome(&wanted, "", refuse), Ok(vec![]));
    for (code, got) in [(", expect_error: INTERNAL", "Internal"), ("", "Ok")] {
        let misses = outcome(&story(code), "", refuse).unwrap();
        assert!(misses[0].contains(&format!("wanted: {got}")), "{misses:?}");
        assert!(misses[0].contains("InvalidArgument: no turn"), "{misses:?}");
    }
    let misses = outcome(&wanted, "", retry).unwrap();
    assert!(misses[0].contains("got:    an answer"), "{misses:?}");
}

#[test]
fn series_are_summed_over_the_labels_that_are_not_named() {
    const PAGE: &str = "# TYPE a_total counter\n\
        a_total{x=\"1\",y=\"p \\\"q\\\"\"} 2\na_total{x=\"2\",y=\"r\"} 3\na_total_more 9\nb 0.5\n";
    let story = |metrics: &str| format!("{{name: toy, steps: [], metrics: {{{metrics}}}}}");
    for holds in [
        "a_total: 5",
        "'a_total{x=\"1\"}': 2",
        "'a_total{y=\"p \\\"q\\\"\"}': 2",
        "a_total: {min: 5, max: 5}",
        "b: 0.5",
        "c_total: 0",
        "c_total: {absent: true}",
    ] {
        assert_eq!(outcome(&story(holds), PAGE, retry), Ok(vec![]), "{holds}");
    }
    for (fails, got) in [
        ("a_total: 4", "5"),
        ("'a_total{x=\"3\"}': 1", "no such series"),
        ("b: {present: true, min: 1}", "0.5"),
        ("b: {absent: true}", "0.5"),
    ] {
        let misses = outcome(&story(fails), PAGE, retry).unwrap();
        assert!(misses[0].contains(&format!("got:    {got}")), "{misses:?}");
    }
}

#[test]
fn every_scenario_file_fits_the_protos() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protos = ["oracle", "dead_letter", "admin"].map(|name| format!("backstop/v1/{name}.proto"));
    let includes = ["proto", "third_party"].map(|folder| root.join(folder));
    let files = protox::compile(protos, includes).unwrap();
    let pool = DescriptorPool::from_file_descriptor_set(files).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    // Never connects: planning only looks at descriptors.
    let channel =
        runtime.block_on(async { Endpoint::from_static("http://127.0.0.1:9").connect_lazy() });
    let wire = Wire::with_pool(channel, pool);
    let mut seen = 0;
    for folder in ["tests/scenarios", "tests/scenarios/extra"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let file = entry.unwrap().path();
            if file
                .extension()
                .is_some_and(|extension| extension == "yaml")
            {
                let scenario = Scenario::read(&file).unwrap();
                let plan = Plan::new(&scenario, &wire).and_then(|plan| plan.check_series());
                assert!(plan.is_ok(), "{}: {plan:?}", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 50, "{seen} files");
}

#[test]
fn metrics_that_the_program_does_not_have_are_refused() {
    for (series, fault) in [
        ("backstop_retries_total", None),
        ("backstop_judge_seconds_count", None),
        ("backstop_judgements_total{action=\"retry\"}", None),
        (
            "backstop_retrys_total",
            Some("no metric `backstop_retrys_total`"),
        ),
        (
            "backstop_retries_total{tool=\"x\"}",
            Some("no label `tool`"),
        ),
    ] {
        let checked = Series::parse(series).unwrap().check_known();
        match fault {
            None => assert_eq!(checked, Ok(()), "{series}"),
            Some(fault) => assert!(checked.unwrap_err().contains(fault), "{series}"),
        }
    }
}
