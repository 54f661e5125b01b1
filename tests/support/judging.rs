//! The one call that most tests need: an unsafe or idempotent step that timed out, in a turn of its own.

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};

use super::wire::Wire;

/// Judges a timed-out `send_letter` as the first attempt of a new turn.
pub(crate) async fn letter_timed_out(wire: &Wire, turn: &str) -> Result<Json> {
    wire.call_json(
        "Judge",
        json!({
            "turn_id": turn, "operation_id": "letter", "attempt": 1, "tool": "send_letter",
            "input": "{\"to\": \"x\"}",
            "failure": {"message": "Read timed out. (read timeout=10)"},
        }),
    )
    .await
}

/// A text at a JSON pointer.
pub(crate) fn text_at(answer: &Json, pointer: &str) -> Result<String> {
    answer
        .pointer(pointer)
        .and_then(Json::as_str)
        .map(str::to_owned)
        .with_context(|| format!("no {pointer} in {answer}"))
}
