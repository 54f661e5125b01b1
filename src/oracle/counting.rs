//! From what happened in a turn to what is counted and logged.

use crate::domain::Outcome;
use crate::metrics::{JudgementRecord, Metrics, SilentReason, TurnEnd};
use crate::turn::{Event, Tool};

/// The label of a tool that no entry of the policy matches.
const OTHER: &str = "other";

/// Counts events; `tool` is the one that the request was about.
pub(super) fn count(metrics: &Metrics, events: &[Event], tool: Option<&Tool>) {
    let label = tool
        .and_then(|tool| tool.policy.entry.as_deref())
        .unwrap_or(OTHER);
    for event in events {
        count_one(metrics, *event, label);
    }
}

fn count_one(metrics: &Metrics, event: Event, tool: &str) {
    match event {
        Event::Judged {
            action,
            reason,
            kind,
            source,
            retry_after,
            tokens_spent,
        } => metrics.record_judgement(&JudgementRecord {
            action,
            reason,
            kind,
            source,
            tool,
            retry_after,
            tokens_spent,
        }),
        Event::Admission { admitted, verdict } => metrics.record_admission(admitted, verdict),
        Event::Recovered { action, attempt } => metrics.record_recovery(action, attempt),
        Event::Succeeded { attempt } => metrics.record_success(tool, attempt),
        Event::TurnOpened => metrics.record_turn_open(),
        Event::TurnEnded { outcome } => {
            metrics.record_turn_end(outcome.map_or(TurnEnd::Abandoned, TurnEnd::from));
        }
        Event::SilentFailure { outcome } => metrics.record_silent_failure(match outcome {
            Some(Outcome::Degraded) => SilentReason::Degraded,
            Some(_) => SilentReason::Succeeded,
            None => SilentReason::Abandoned,
        }),
    }
}
