//! Recorded failures as JSON lines: `{"id": …, "failure": {…}}` in, one reading a line out.
//!
//! Unknown keys are left alone, so that labelled corpora can be read as they are. `failure.retry_after_ms` stands for
//! a `retry-after-ms` header.

use serde_json::{Map, Value, json};

use crate::domain::{Execution, Failure, Origin, Reading};

/// One line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Record {
    /// Whatever it was, given back as it is.
    pub(super) id: Value,
    /// What failed.
    pub(super) failure: Failure,
    /// Empty where the line does not say.
    pub(super) tool: String,
    /// A tool call where the line does not say.
    pub(super) origin: Origin,
}

/// Reads one line; the error says what is wrong with it.
pub(super) fn parse(line: &str) -> Result<Record, String> {
    let value: Value =
        serde_json::from_str(line).map_err(|error| format!("is no JSON: {error}"))?;
    let Value::Object(record) = value else {
        return Err(r#"is no object; expected {"id": …, "failure": {…}}"#.to_owned());
    };
    let failure = match record.get("failure") {
        Some(Value::Object(failure)) => failure,
        Some(_) => return Err("`failure` is no object".to_owned()),
        None => return Err(r#"has no `failure`; expected {"id": …, "failure": {…}}"#.to_owned()),
    };
    Ok(Record {
        id: record.get("id").cloned().unwrap_or(Value::Null),
        failure: parse_failure(failure)?,
        tool: text(&record, "tool")?,
        origin: word(&record, "origin")?.unwrap_or(Origin::Tool),
    })
}

fn parse_failure(fields: &Map<String, Value>) -> Result<Failure, String> {
    let mut headers = headers(fields.get("headers"))?;
    if let Some(wait) = scalar("failure.retry_after_ms", fields.get("retry_after_ms"))? {
        headers.push(("retry-after-ms".to_owned(), wait));
    }
    Ok(Failure {
        message: text(fields, "message")?,
        exception_type: text(fields, "exception_type")?,
        http_status: http_status(fields.get("http_status"))?,
        grpc_code: text(fields, "grpc_code")?,
        code: text(fields, "code")?,
        headers,
        exit_code: exit_code(fields.get("exit_code"))?,
        execution: word::<Execution>(fields, "execution")?,
        dependency: text(fields, "dependency")?,
    })
}

/// A text; numbers are taken as they are written, `null` is absent.
fn scalar(field: &str, value: Option<&Value>) -> Result<Option<String>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(format!("`{field}` is {other}; expected a text")),
    }
}

fn text(fields: &Map<String, Value>, field: &str) -> Result<String, String> {
    Ok(scalar(field, fields.get(field))?.unwrap_or_default())
}

/// A word of a closed list, with or without its enum's prefix and in any case.
fn word<T: std::str::FromStr<Err = crate::domain::ParseNameError>>(
    fields: &Map<String, Value>,
    field: &str,
) -> Result<Option<T>, String> {
    let word = text(fields, field)?.to_lowercase();
    let word = word.strip_prefix(&format!("{field}_")).unwrap_or(&word);
    if word.is_empty() || word == "unspecified" {
        return Ok(None);
    }
    word.parse()
        .map(Some)
        .map_err(|error| format!("`{field}`: {error}"))
}

fn http_status(value: Option<&Value>) -> Result<Option<u16>, String> {
    let Some(text) = scalar("http_status", value)? else {
        return Ok(None);
    };
    match text.parse() {
        Ok(0) => Ok(None),
        Ok(status @ 100..=599) => Ok(Some(status)),
        _ => Err(format!(
            "`http_status` is {text}; 100 to 599 are HTTP statuses"
        )),
    }
}

/// Windows gives its codes without a sign: 3221225781 is -1073741515.
fn exit_code(value: Option<&Value>) -> Result<Option<i32>, String> {
    scalar("exit_code", value)?
        .map(|text| {
            text.parse()
                .or_else(|_| text.parse::<u32>().map(u32::cast_signed))
        })
        .transpose()
        .map_err(|_| "`exit_code` is no whole number of 32 bits".to_owned())
}

fn headers(value: Option<&Value>) -> Result<Vec<(String, String)>, String> {
    let headers = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(headers)) => headers,
        Some(_) => return Err("`headers` is no object of names and values".to_owned()),
    };
    headers
        .iter()
        .map(|(name, value)| {
            let text = scalar(&format!("headers.{name}"), Some(value))?;
            Ok((name.to_ascii_lowercase(), text.unwrap_or_default()))
        })
        .collect()
}

/// A reading as one JSON object; what is not known is `null`. `dependency`: the worker's word, else the text's.
pub(super) fn reading_as_json(id: Value, failure: &Failure, reading: &Reading) -> Value {
    json!({
        "id": id,
        "kind": reading.kind.name(),
        "category": reading.kind.category().name(),
        "execution": reading.execution.name(),
        "rule": &*reading.rule,
        "retry_after_ms": reading.retry_after.map(|wait| wait.as_millis().min(u128::from(u64::MAX)) as u64),
        "dependency": dependency(failure, reading),
        "fingerprint": reading.fingerprint.to_string(),
        "evidence": reading.evidence,
        "source": reading.source.name(),
        "confidence": f64::from((reading.confidence * 1_000.0).round()) / 1_000.0,
    })
}

/// The worker's word for the dependency, else the text's.
pub(super) fn dependency<'a>(failure: &'a Failure, reading: &'a Reading) -> Option<&'a str> {
    Some(failure.dependency.as_str())
        .filter(|named| !named.is_empty())
        .or(reading.dependency.as_deref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_line() {
        let line = r#"{"id": 7, "surface": "http", "label": {}, "tool": "pay", "origin": "ORIGIN_MODEL", "failure": {
            "message": "slow down", "exception_type": "E", "http_status": 429, "grpc_code": 14, "code": "40001",
            "headers": {"Retry-After": 2}, "retry_after_ms": 1500, "exit_code": -9, "execution": "not_executed",
            "dependency": "crm"}}"#;
        let record = parse(line).unwrap();
        assert_eq!(
            (record.id, record.tool, record.origin),
            (json!(7), "pay".into(), Origin::Model)
        );
        let failure = record.failure;
        assert_eq!(
            (failure.message.as_str(), failure.http_status),
            ("slow down", Some(429))
        );
        assert_eq!(
            (failure.grpc_code.as_str(), failure.code.as_str()),
            ("14", "40001")
        );
        assert_eq!(failure.header("retry-after"), Some("2"));
        assert_eq!(failure.header("retry-after-ms"), Some("1500"));
        assert_eq!(
            (failure.exit_code, failure.execution),
            (Some(-9), Some(Execution::NotExecuted))
        );
        assert_eq!(failure.dependency, "crm");
    }

    #[test]
    fn exit_codes_are_taken_with_or_without_a_sign() {
        for code in ["-1073741515", "3221225781", "\"3221225781\""] {
            let record = parse(&format!("{{\"failure\": {{\"exit_code\": {code}}}}}")).unwrap();
            assert_eq!(record.failure.exit_code, Some(-1_073_741_515));
        }
    }

    #[test]
    fn nothing_but_a_failure_is_needed() {
        let record = parse(r#"{"failure": {"http_status": null, "headers": null}}"#).unwrap();
        assert_eq!(
            (record.id, record.failure),
            (Value::Null, Failure::default())
        );
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        for (line, expected) in [
            ("nonsense", "is no JSON"),
            ("[]", "is no object"),
            ("{}", "has no `failure`"),
            (r#"{"failure": "x"}"#, "`failure` is no object"),
            (r#"{"failure": {"message": ["x"]}}"#, "`message`"),
            (r#"{"failure": {"http_status": 42}}"#, "`http_status`"),
            (r#"{"failure": {"http_status": 429.5}}"#, "`http_status`"),
            (r#"{"failure": {"exit_code": "one"}}"#, "`exit_code`"),
            (r#"{"failure": {"execution": "perhaps"}}"#, "`execution`"),
            (r#"{"failure": {"headers": []}}"#, "`headers`"),
            (r#"{"failure": {"headers": {"a": {}}}}"#, "`headers.a`"),
            (r#"{"origin": "dice", "failure": {}}"#, "`origin`"),
        ] {
            let problem = parse(line).unwrap_err();
            assert!(problem.contains(expected), "{line}: {problem}");
        }
    }
}
