//! JSON lines in and out, over a reader that looks at the status alone.

use super::*;
use crate::domain::{EvidenceSource, Execution, Fingerprint, Kind};
use serde_json::{Value, json};

fn status_reader() -> Reader {
    Box::new(|failure, _, _| Reading {
        kind: match failure.http_status {
            Some(429) => Kind::RateLimited,
            _ => Kind::Unknown,
        },
        execution: Execution::NotExecuted,
        vouched: false,
        rule: "status".into(),
        evidence: "http_status = 429".to_owned(),
        source: EvidenceSource::Status,
        confidence: 0.9,
        retry_after: failure
            .header("retry-after-ms")
            .and_then(|wait| wait.parse().ok())
            .map(std::time::Duration::from_millis),
        server_says_no: false,
        dependency: Some("from.the.text".to_owned()),
        reference: None,
        fingerprint: Fingerprint(255),
    })
}

fn read(input: &str) -> (Vec<Value>, Result<(), CliError>) {
    let mut out = Vec::new();
    let result = read_lines(
        input.as_bytes(),
        "x.jsonl",
        &status_reader(),
        &Progress::of_unknown_length(),
        &mut out,
    );
    let out = String::from_utf8(out).unwrap();
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    (lines.collect(), result)
}

#[test]
fn one_line_in_gives_one_line_out() {
    let (lines, result) = read(concat!(
        r#"{"id": "a", "failure": {"http_status": 429, "retry_after_ms": 1500, "dependency": "crm"}}"#,
        "\n\n",
        r#"{"id": "b", "failure": {}}"#,
    ));
    result.unwrap();
    assert_eq!(
        lines[0],
        json!({
            "id": "a", "kind": "rate_limited", "category": "transient", "execution": "not_executed",
            "rule": "status", "retry_after_ms": 1500, "dependency": "crm", "fingerprint": "00000000000000ff",
            "evidence": "http_status = 429", "source": "status", "confidence": 0.9,
        })
    );
    assert_eq!(lines[1]["retry_after_ms"], Value::Null);
    assert_eq!(lines[1]["dependency"], "from.the.text");
    assert_eq!(lines.len(), 2);
}

#[test]
fn bad_lines_do_not_stop_the_good_ones() {
    let (lines, result) =
        read("{\"id\": 1, \"failure\": {}}\nnonsense\n{}\n{\"id\": 4, \"failure\": {}}\n");
    let ids: Vec<&Value> = lines.iter().map(|line| &line["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(4)]);
    let error = result.unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert_eq!(error.to_string(), "x.jsonl: 2 lines could not be read");
}

#[test]
fn bytes_that_are_no_text_are_read_as_well_as_they_can_be() {
    let mut input = br#"{"id": 1, "failure": {"message": ""#.to_vec();
    input.push(0xff);
    input.extend_from_slice(br#""}}"#);
    let mut out = Vec::new();
    read_lines(
        input.as_slice(),
        "x",
        &status_reader(),
        &Progress::of_unknown_length(),
        &mut out,
    )
    .unwrap();
    assert!(!out.is_empty());
}
