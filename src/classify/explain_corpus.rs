//! Scratch: answers for the corpus.
use super::*;
#[test]
#[ignore]
fn explain_corpus() {
    let classifier = Classifier::new(&[]).unwrap();
    let mut out = String::new();
    for file in [
        "tests/corpus/llm.jsonl",
        "tests/corpus/infra.jsonl",
        "tests/corpus/tools.jsonl",
        "tests/corpus/traces.jsonl",
        "/tmp/cl/own.jsonl",
        "/tmp/cl/traces.jsonl",
    ] {
        let text = std::fs::read_to_string(file).unwrap();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let case: serde_json::Value = serde_json::from_str(line).unwrap();
            let f = &case["failure"];
            let s = |k: &str| f[k].as_str().unwrap_or_default().to_owned();
            let failure = Failure {
                message: s("message"),
                exception_type: s("exception_type"),
                code: s("code"),
                grpc_code: s("grpc_code"),
                http_status: f["http_status"].as_u64().map(|v| v as u16),
                exit_code: f["exit_code"].as_i64().map(|v| v as i32),
                headers: f["retry_after_ms"]
                    .as_u64()
                    .map(|v| ("retry-after-ms".to_owned(), v.to_string()))
                    .into_iter()
                    .collect(),
                ..Failure::default()
            };
            let r = classifier.read(
                &failure,
                &Context {
                    tool: "",
                    origin: Origin::Tool,
                    tries: 1,
                    received_at: Timestamp::from_secs(1_700_000_000),
                },
            );
            out += &serde_json::json!({"id": case["id"], "kind": r.kind.name(), "category": r.kind.category().name(), "execution": r.execution.name(), "rule": &*r.rule, "evidence": r.evidence, "strength_source": r.source.name(), "retry_after_ms": r.retry_after.map(|d| d.as_millis() as u64), "dependency": r.dependency, "reference": r.reference, "fingerprint": r.fingerprint.to_string()}).to_string();
            out.push('\n');
        }
    }
    std::fs::write("/tmp/cl/answers.jsonl", out).unwrap();
}
