//! The letters' tests, by what could go wrong; the letters that they all use.

mod backlog;
mod concurrency;
mod durability;
mod faults;
mod pure;
mod render;
mod schema;
mod upsert;

use std::path::Path;
use std::time::Duration;

use super::{LetterOptions, LetterStore, Parking};
use crate::domain::*;

/// A letter of tenant `acme` with every searchable field set.
pub(super) fn letter(id: &str) -> DeadLetter {
    DeadLetter {
        id: id.to_owned(),
        status: LetterStatus::Open,
        count: 1,
        created_at: Timestamp::from_secs(1_000),
        updated_at: Timestamp::from_secs(1_000),
        tenant: "acme".to_owned(),
        turn_id: "turn-1".to_owned(),
        operation_id: "charge".to_owned(),
        attempt: 2,
        tool: "create_charge".to_owned(),
        origin: Origin::Tool,
        effect: Effect::Unsafe,
        input: Some(r#"{"amount":4200,"currency":"eur"}"#.to_owned()),
        input_cut: false,
        kind: Some(Kind::Timeout),
        execution: Some(Execution::MaybeExecuted),
        cause: Some(Cause {
            family: Family::Outage,
            subject: Subject::Dependency("payments".into()),
        }),
        rule: Some("python/read-timeout".to_owned()),
        evidence: Some("Read timed out".to_owned()),
        action: Action::Escalate,
        reason: Reason::OutcomeUnknown,
        explanation: "the answer was lost and the charge may have been made".to_owned(),
        guidance: None,
        user_message: Some("Check with the payment provider before paying again.".to_owned()),
        context: None,
        escalate_to: Some(EscalateTo::Person),
        stop_scope: Some(StopScope::Operation),
        check_status_with: None,
        idempotency_key: "9f".repeat(32),
        budgets: Budgets {
            turn_failures: Budget::new(1, Limit::At(6)),
            ..Budgets::default()
        },
        attempts: vec![attempt(1)],
        silent: None,
        resolution: None,
        resolved_by: None,
    }
}

/// A judged attempt that timed out.
pub(super) fn attempt(number: u32) -> AttemptRecord {
    AttemptRecord {
        attempt: number,
        worker_id: Some("worker-7".to_owned()),
        admitted_at: Some(Timestamp::from_secs(990)),
        judged_at: Some(Timestamp::from_secs(1_000)),
        succeeded_at: None,
        kind: Some(Kind::Timeout),
        execution: Some(Execution::MaybeExecuted),
        rule: Some("python/read-timeout".to_owned()),
        failure: Some(Failure {
            message: "Read timed out. (read timeout=10)".to_owned(),
            ..Failure::default()
        }),
        fingerprint: Some(Fingerprint(7)),
        lesson: None,
        lesson_cut: false,
        action: Some(Action::Escalate),
        reason: Some(Reason::OutcomeUnknown),
        retry_after: None,
        elapsed: Some(Duration::from_secs(10)),
        tries: 1,
        tokens_spent: 120,
    }
}

pub(super) fn parking(letter: DeadLetter) -> Parking {
    Parking {
        letter,
        replace: true,
    }
}

/// Short pauses, so that a test of recovery is over soon; more patience than usual, for a busy machine.
pub(super) fn quick() -> LetterOptions {
    LetterOptions {
        patience: Duration::from_secs(1),
        close_patience: Duration::from_millis(500),
        first_pause: Duration::from_millis(5),
        longest_pause: Duration::from_millis(20),
        ..LetterOptions::default()
    }
}

/// A store whose tests are not about the deadline: a busy machine must not turn them red.
pub(super) fn patient() -> LetterOptions {
    LetterOptions {
        patience: Duration::from_secs(60),
        ..quick()
    }
}

pub(super) fn open(dir: &Path, options: LetterOptions) -> LetterStore {
    LetterStore::open(dir, options).expect("opens")
}
