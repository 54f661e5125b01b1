//! What is shown to people, from the domain to messages: whole turns and dead letters.

use super::answers::{names, text};
use super::enums::{WireEnum, or_unspecified};
use super::time::{duration, timestamp};
use crate::domain::{AttemptRecord, CauseView, DeadLetter, OperationView, SilentRecord, TurnView};
use crate::server::proto;

impl From<AttemptRecord> for proto::AttemptRecord {
    fn from(record: AttemptRecord) -> Self {
        proto::AttemptRecord {
            attempt: record.attempt,
            worker_id: record.worker_id.unwrap_or_default(),
            admitted_at: record.admitted_at.map(timestamp),
            judged_at: record.judged_at.map(timestamp),
            succeeded_at: record.succeeded_at.map(timestamp),
            kind: or_unspecified(record.kind),
            execution: or_unspecified(record.execution),
            rule: record.rule.unwrap_or_default(),
            failure: record.failure.map(Into::into),
            fingerprint: record
                .fingerprint
                .map(|fingerprint| fingerprint.to_string())
                .unwrap_or_default(),
            lesson: record.lesson.unwrap_or_default(),
            lesson_cut: record.lesson_cut,
            action: or_unspecified(record.action),
            reason: or_unspecified(record.reason),
            retry_after: record.retry_after.map(duration),
            elapsed: record.elapsed.map(duration),
            tries: record.tries,
            tokens_spent: record.tokens_spent,
        }
    }
}

impl From<CauseView> for proto::CauseLedger {
    fn from(view: CauseView) -> Self {
        proto::CauseLedger {
            cause: Some((&view.cause).into()),
            failures: Some(view.failures.into()),
            preconditions: Some(view.preconditions.into()),
            tools: names(&view.tools),
        }
    }
}

impl From<OperationView> for proto::OperationLedger {
    fn from(view: OperationView) -> Self {
        proto::OperationLedger {
            operation_id: view.operation_id.to_string(),
            tool: view.tool.to_string(),
            origin: view.origin.to_wire(),
            effect: view.effect.to_wire(),
            execution: or_unspecified(view.execution),
            succeeded: view.succeeded,
            idempotency_key: view.idempotency_key,
            revision: view.revision,
            dead_letter_id: text(view.dead_letter_id),
            attempts: view.attempts.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<TurnView> for proto::Turn {
    fn from(view: TurnView) -> Self {
        proto::Turn {
            tenant: view.tenant,
            turn_id: view.turn_id,
            opened_at: Some(timestamp(view.opened_at)),
            last_activity: Some(timestamp(view.last_activity)),
            ended_at: view.ended_at.map(timestamp),
            outcome: or_unspecified(view.outcome),
            budgets: Some((&view.budgets).into()),
            summary: Some(view.summary.into()),
            causes: view.causes.into_iter().map(Into::into).collect(),
            operations: view.operations.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<SilentRecord> for proto::SilentFailure {
    fn from(record: SilentRecord) -> Self {
        proto::SilentFailure {
            outcome: or_unspecified(record.outcome),
            unresolved_operations: record.unresolved_operations,
        }
    }
}

impl From<DeadLetter> for proto::DeadLetter {
    fn from(letter: DeadLetter) -> Self {
        proto::DeadLetter {
            verdict: Some(kept_verdict(&letter)),
            id: letter.id,
            status: letter.status.to_wire(),
            count: letter.count,
            created_at: Some(timestamp(letter.created_at)),
            updated_at: Some(timestamp(letter.updated_at)),
            tenant: letter.tenant,
            turn_id: letter.turn_id,
            operation_id: letter.operation_id,
            attempt: letter.attempt,
            tool: letter.tool,
            origin: letter.origin.to_wire(),
            effect: letter.effect.to_wire(),
            input: letter.input,
            input_cut: letter.input_cut,
            kind: or_unspecified(letter.kind),
            execution: or_unspecified(letter.execution),
            cause: letter.cause.as_ref().map(Into::into),
            rule: letter.rule.unwrap_or_default(),
            evidence: letter.evidence.unwrap_or_default(),
            idempotency_key: letter.idempotency_key,
            budgets: Some((&letter.budgets).into()),
            attempts: letter.attempts.into_iter().map(Into::into).collect(),
            silent: letter.silent.map(Into::into),
            resolution: letter.resolution.unwrap_or_default(),
            resolved_by: letter.resolved_by.unwrap_or_default(),
        }
    }
}

/// The verdict, as far as a letter keeps it.
fn kept_verdict(letter: &DeadLetter) -> proto::Verdict {
    proto::Verdict {
        action: letter.action.to_wire(),
        reason: letter.reason.to_wire(),
        explanation: letter.explanation.clone(),
        guidance: text(letter.guidance.as_ref()),
        user_message: text(letter.user_message.as_ref()),
        context: or_unspecified(letter.context),
        idempotency_key: letter.idempotency_key.clone(),
        check_status_with: text(letter.check_status_with.as_ref()),
        escalate_to: or_unspecified(letter.escalate_to),
        stop_scope: or_unspecified(letter.stop_scope),
        ..proto::Verdict::default()
    }
}

#[cfg(test)]
#[path = "ledger_tests.rs"]
mod tests;
