//! Answers, from the domain to messages. An absent text is an empty one on the wire.

use super::enums::{WireEnum, or_unspecified};
use super::time::duration;
use crate::domain::{
    Admission, Budget, Budgets, Cause, Classification, EndOfTurn, Failure, Judgement,
    SuccessReceipt, TurnSummary, Verdict,
};
use crate::server::proto;

/// A list of names.
pub(super) fn names<T: AsRef<str>>(names: &[T]) -> Vec<String> {
    names.iter().map(|name| name.as_ref().to_owned()).collect()
}

/// A text that may be absent.
pub(super) fn text<T: AsRef<str>>(text: Option<T>) -> String {
    text.map(|text| text.as_ref().to_owned())
        .unwrap_or_default()
}

impl From<Budget> for proto::Budget {
    fn from(budget: Budget) -> Self {
        proto::Budget {
            used: budget.used,
            limit: budget.limit,
        }
    }
}

impl From<&Budgets> for proto::Budgets {
    fn from(budgets: &Budgets) -> Self {
        proto::Budgets {
            operation_attempts: Some(budgets.operation_attempts.into()),
            operation_reprompts: Some(budgets.operation_reprompts.into()),
            cause_failures: Some(budgets.cause_failures.into()),
            turn_failures: Some(budgets.turn_failures.into()),
            turn_retries: Some(budgets.turn_retries.into()),
            turn_reprompts: Some(budgets.turn_reprompts.into()),
            preconditions: Some(budgets.preconditions.into()),
            tool_calls: Some(budgets.tool_calls.into()),
            turn_calls: Some(budgets.turn_calls.into()),
            turn_tokens: Some(budgets.turn_tokens.into()),
            turn_elapsed: Some(budgets.turn_elapsed_ms.into()),
        }
    }
}

impl From<Verdict> for proto::Verdict {
    fn from(verdict: Verdict) -> Self {
        proto::Verdict {
            action: verdict.action.to_wire(),
            reason: verdict.reason.to_wire(),
            explanation: verdict.explanation,
            guidance: verdict.guidance.unwrap_or_default(),
            user_message: verdict.user_message.unwrap_or_default(),
            retry_after: verdict.retry_after.map(duration),
            context: or_unspecified(verdict.context),
            idempotency_key: verdict.idempotency_key,
            satisfy_with: text(verdict.satisfy_with),
            check_status_with: text(verdict.check_status_with),
            forget_operations: names(&verdict.forget_operations),
            escalate_to: or_unspecified(verdict.escalate_to),
            stop_scope: or_unspecified(verdict.stop_scope),
            closed_tools: names(&verdict.closed_tools),
            shadow: verdict.shadow,
            degraded: verdict.degraded,
        }
    }
}

impl From<&Cause> for proto::Cause {
    fn from(cause: &Cause) -> Self {
        proto::Cause {
            family: cause.family.to_wire(),
            subject: cause.subject.to_string(),
        }
    }
}

impl From<Classification> for proto::Classification {
    fn from(classification: Classification) -> Self {
        let reading = classification.reading;
        proto::Classification {
            kind: reading.kind.to_wire(),
            category: reading.kind.category().to_wire(),
            execution: reading.execution.to_wire(),
            rule: reading.rule.to_string(),
            evidence: reading.evidence,
            confidence: reading.confidence,
            retry_after: reading.retry_after.map(duration),
            dependency: text(classification.dependency),
            cause: Some((&classification.cause).into()),
            fingerprint: reading.fingerprint.to_string(),
            source: reading.source.to_wire(),
        }
    }
}

impl From<Failure> for proto::Failure {
    fn from(failure: Failure) -> Self {
        proto::Failure {
            message: failure.message,
            exception_type: failure.exception_type,
            http_status: failure.http_status.map_or(0, u32::from),
            grpc_code: failure.grpc_code,
            code: failure.code,
            headers: failure.headers.into_iter().collect(),
            exit_code: failure.exit_code,
            execution: or_unspecified(failure.execution),
            dependency: failure.dependency,
        }
    }
}

impl From<TurnSummary> for proto::TurnSummary {
    fn from(summary: TurnSummary) -> Self {
        proto::TurnSummary {
            calls: summary.calls,
            failures: summary.failures,
            retries: summary.retries,
            reprompts: summary.reprompts,
            recoveries: summary.recoveries,
            unresolved_operations: names(&summary.unresolved_operations),
            tokens_wasted: summary.tokens_wasted,
            silent: summary.silent,
        }
    }
}

impl From<Admission> for proto::AdmitResponse {
    fn from(admission: Admission) -> Self {
        proto::AdmitResponse {
            admitted: admission.admitted,
            replayed: admission.replayed,
            verdict: admission.verdict.map(Into::into),
            idempotency_key: admission.idempotency_key,
            result: admission.result.map(|result| result.to_string()),
            budgets: Some((&admission.budgets).into()),
            attempt: admission.attempt,
            dead_letter_id: admission.dead_letter_id.unwrap_or_default(),
        }
    }
}

impl From<Judgement> for proto::JudgeResponse {
    fn from(judgement: Judgement) -> Self {
        proto::JudgeResponse {
            verdict: Some(judgement.verdict.into()),
            classification: Some(judgement.classification.into()),
            budgets: Some((&judgement.budgets).into()),
            attempt: judgement.attempt,
            replayed: judgement.replayed,
            dead_letter_id: judgement.dead_letter_id.unwrap_or_default(),
            result: judgement.result.map(|result| result.to_string()),
        }
    }
}

impl From<SuccessReceipt> for proto::ReportSuccessResponse {
    fn from(receipt: SuccessReceipt) -> Self {
        proto::ReportSuccessResponse {
            attempt: receipt.attempt,
            replayed: receipt.replayed,
            budgets: Some((&receipt.budgets).into()),
        }
    }
}

impl From<EndOfTurn> for proto::EndTurnResponse {
    fn from(end: EndOfTurn) -> Self {
        proto::EndTurnResponse {
            summary: Some(end.summary.into()),
            replayed: end.replayed,
            dead_letter_id: end.dead_letter_id.unwrap_or_default(),
        }
    }
}

#[cfg(test)]
#[path = "answers_tests.rs"]
mod tests;
