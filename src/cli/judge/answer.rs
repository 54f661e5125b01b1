//! A judgement for people and as JSON.

use std::io::Write;
use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::cli::CliError;
use crate::domain::{
    Action, Category, Context, EscalateTo, Execution, Family, Kind, Reason, StopScope,
};
use crate::server::proto;
use crate::server::wire::WireEnum;

/// A value's name; `unknown_<number>` for one that this version does not know, `None` for an unspecified one.
macro_rules! name {
    ($domain:ty, $number:expr) => {
        match <$domain>::from_wire($number) {
            Ok(value) => value.map(|value| value.name().to_owned()),
            Err(unknown) => Some(format!("unknown_{}", unknown.0)),
        }
    };
}

fn said(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

fn millis(duration: Option<prost_types::Duration>) -> Option<u64> {
    let duration = Duration::try_from(duration?).ok()?;
    u64::try_from(duration.as_millis()).ok()
}

/// The whole answer; what is absent is `null`.
pub(super) fn as_json(answer: &proto::JudgeResponse) -> Value {
    json!({
        "verdict": answer.verdict.as_ref().map(verdict_as_json),
        "classification": answer.classification.as_ref().map(classification_as_json),
        "budgets": answer.budgets.as_ref().map(budgets_as_json),
        "attempt": answer.attempt,
        "replayed": answer.replayed,
        "dead_letter_id": said(&answer.dead_letter_id),
        "result": answer.result,
    })
}

fn verdict_as_json(verdict: &proto::Verdict) -> Value {
    json!({
        "action": name!(Action, verdict.action),
        "reason": name!(Reason, verdict.reason),
        "explanation": verdict.explanation,
        "guidance": said(&verdict.guidance),
        "user_message": said(&verdict.user_message),
        "retry_after_ms": millis(verdict.retry_after),
        "context": name!(Context, verdict.context),
        "idempotency_key": verdict.idempotency_key,
        "satisfy_with": said(&verdict.satisfy_with),
        "check_status_with": said(&verdict.check_status_with),
        "forget_operations": verdict.forget_operations,
        "escalate_to": name!(EscalateTo, verdict.escalate_to),
        "stop_scope": name!(StopScope, verdict.stop_scope),
        "closed_tools": verdict.closed_tools,
        "shadow": verdict.shadow,
        "degraded": verdict.degraded,
    })
}

fn classification_as_json(read: &proto::Classification) -> Value {
    json!({
        "kind": name!(Kind, read.kind),
        "category": name!(Category, read.category),
        "execution": name!(Execution, read.execution),
        "rule": read.rule,
        "evidence": read.evidence,
        "confidence": read.confidence,
        "retry_after_ms": millis(read.retry_after),
        "dependency": said(&read.dependency),
        "cause": read.cause.as_ref().map(|cause| json!({
            "family": name!(Family, cause.family),
            "subject": cause.subject,
        })),
        "fingerprint": read.fingerprint,
    })
}

/// The budgets by name, in the order of the contract.
fn budgets(all: &proto::Budgets) -> [(&'static str, Option<proto::Budget>); 11] {
    [
        ("operation_attempts", all.operation_attempts),
        ("operation_reprompts", all.operation_reprompts),
        ("cause_failures", all.cause_failures),
        ("turn_failures", all.turn_failures),
        ("turn_retries", all.turn_retries),
        ("turn_reprompts", all.turn_reprompts),
        ("preconditions", all.preconditions),
        ("tool_calls", all.tool_calls),
        ("turn_calls", all.turn_calls),
        ("turn_tokens", all.turn_tokens),
        ("turn_elapsed", all.turn_elapsed),
    ]
}

fn budgets_as_json(all: &proto::Budgets) -> Value {
    let fields: Map<String, Value> = budgets(all)
        .into_iter()
        .map(|(name, budget)| {
            let budget = budget.unwrap_or_default();
            let value = json!({"used": budget.used, "limit": budget.limit});
            (name.to_owned(), value)
        })
        .collect();
    Value::Object(fields)
}

/// A readable block: the verdict first, then what it rests on.
pub(super) fn print(answer: &proto::JudgeResponse, out: &mut impl Write) -> Result<(), CliError> {
    let verdict = answer.verdict.clone().unwrap_or_default();
    // A client treats what it does not know as escalate, and so does this one.
    let action = name!(Action, verdict.action).unwrap_or_else(|| "escalate".to_owned());
    let reason = name!(Reason, verdict.reason).unwrap_or_default();
    writeln!(out, "{}: {reason}", action.to_uppercase().replace('_', " "))?;
    let retry_after = millis(verdict.retry_after)
        .map(|wait| humantime::format_duration(Duration::from_millis(wait)).to_string());
    let closed = verdict.closed_tools.join(", ");
    let forget = verdict.forget_operations.join(", ");
    let rows = [
        ("explanation", said(&verdict.explanation).map(str::to_owned)),
        ("guidance", said(&verdict.guidance).map(str::to_owned)),
        (
            "for the user",
            said(&verdict.user_message).map(str::to_owned),
        ),
        ("retry after", retry_after),
        ("context", name!(Context, verdict.context)),
        ("forget", said(&forget).map(str::to_owned)),
        (
            "satisfy with",
            said(&verdict.satisfy_with).map(str::to_owned),
        ),
        (
            "check with",
            said(&verdict.check_status_with).map(str::to_owned),
        ),
        ("escalate to", name!(EscalateTo, verdict.escalate_to)),
        ("do not retry", name!(StopScope, verdict.stop_scope)),
        ("closed tools", said(&closed).map(str::to_owned)),
        ("key", said(&verdict.idempotency_key).map(str::to_owned)),
        (
            "shadow",
            verdict
                .shadow
                .then(|| "yes: the policy only watches".to_owned()),
        ),
        (
            "degraded",
            verdict
                .degraded
                .then(|| "yes: the turn store is away".to_owned()),
        ),
        ("read as", answer.classification.as_ref().map(read_as)),
        (
            "charged to",
            answer.classification.as_ref().and_then(charged_to),
        ),
        ("budgets", answer.budgets.as_ref().map(spent)),
        ("attempt", Some(answer.attempt.to_string())),
        (
            "replayed",
            answer.replayed.then(|| "yes: nothing was drawn".to_owned()),
        ),
        (
            "dead letter",
            said(&answer.dead_letter_id).map(str::to_owned),
        ),
        ("result", answer.result.clone()),
    ];
    for (label, text) in rows {
        if let Some(text) = text {
            writeln!(out, "  {label:<13} {text}")?;
        }
    }
    Ok(())
}

fn read_as(read: &proto::Classification) -> String {
    format!(
        "{} ({}), {}, by {}: {}",
        name!(Kind, read.kind).unwrap_or_default(),
        name!(Category, read.category).unwrap_or_default(),
        name!(Execution, read.execution).unwrap_or_default(),
        read.rule,
        read.evidence
    )
}

fn charged_to(read: &proto::Classification) -> Option<String> {
    let cause = read.cause.as_ref()?;
    let family = name!(Family, cause.family).unwrap_or_default();
    Some(format!("{family} of {}", cause.subject))
}

/// Every budget that something was drawn from, as `used/limit`.
fn spent(all: &proto::Budgets) -> String {
    let drawn = budgets(all).into_iter().filter_map(|(name, budget)| {
        let budget = budget.filter(|budget| budget.used > 0)?;
        Some(match budget.limit {
            Some(limit) => format!("{name} {}/{limit}", budget.used),
            None => format!("{name} {}", budget.used),
        })
    });
    let drawn: Vec<String> = drawn.collect();
    if drawn.is_empty() {
        "nothing drawn".to_owned()
    } else {
        drawn.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> proto::JudgeResponse {
        proto::JudgeResponse {
            verdict: Some(proto::Verdict {
                action: proto::Action::FailLoud as i32,
                reason: 9_999,
                explanation: "because".into(),
                retry_after: Some(prost_types::Duration {
                    seconds: 1,
                    nanos: 500_000_000,
                }),
                idempotency_key: "k".into(),
                ..proto::Verdict::default()
            }),
            classification: Some(proto::Classification {
                kind: proto::Kind::Timeout as i32,
                cause: Some(proto::Cause {
                    family: proto::Family::Outage as i32,
                    subject: "payments".into(),
                }),
                ..proto::Classification::default()
            }),
            budgets: Some(proto::Budgets {
                turn_failures: Some(proto::Budget {
                    used: 2,
                    limit: Some(6),
                }),
                ..proto::Budgets::default()
            }),
            attempt: 3,
            ..proto::JudgeResponse::default()
        }
    }

    #[test]
    fn people_see_the_verdict_first() {
        let mut out = Vec::new();
        print(&answer(), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("FAIL LOUD: unknown_9999\n"), "{text}");
        assert!(
            text.contains("charged to    outage of payments\n"),
            "{text}"
        );
        assert!(text.contains("budgets       turn_failures 2/6\n"), "{text}");
        assert!(text.contains("retry after   1s 500ms\n"), "{text}");
        assert!(!text.contains("guidance"), "{text}");
    }

    #[test]
    fn an_action_that_is_not_known_reads_as_escalate() {
        let mut out = Vec::new();
        print(&proto::JudgeResponse::default(), &mut out).unwrap();
        assert!(out.starts_with(b"ESCALATE: "));
    }

    #[test]
    fn machines_see_everything() {
        let json = as_json(&answer());
        assert_eq!(json["verdict"]["action"], "fail_loud");
        assert_eq!(json["verdict"]["reason"], "unknown_9999");
        assert_eq!(json["verdict"]["retry_after_ms"], 1500);
        assert_eq!(json["verdict"]["guidance"], Value::Null);
        assert_eq!(json["classification"]["cause"]["subject"], "payments");
        assert_eq!(
            json["budgets"]["turn_failures"],
            json!({"used": 2, "limit": 6})
        );
        assert_eq!(
            json["budgets"]["turn_elapsed"],
            json!({"used": 0, "limit": null})
        );
        assert_eq!(json["attempt"], 3);
    }
}
