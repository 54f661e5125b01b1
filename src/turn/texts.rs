//! Which texts a turn keeps: enough for a person to see what happened, never so much that a turn grows without bound.

use std::sync::Arc;

use crate::domain::Failure;

use super::bounds::{
    MAX_INPUT_BYTES, MAX_TEXT_BYTES, MAX_TURN_INPUT_BYTES, MAX_TURN_TEXT_BYTES, SHORT_TEXT_BYTES,
};
use super::operation::Operation;
use super::{CallDigest, Turn};

/// Headers of a failure that are kept.
const MAX_HEADERS: usize = 32;

/// The first bytes of a text, cut at a character.
pub(super) fn head(text: &str, most: usize) -> &str {
    text.get(..text.floor_char_boundary(most)).unwrap_or(text)
}

impl Turn {
    /// The failure as the ledger keeps it: its text cut where it is long, shorter once the turn holds much.
    pub(super) fn keep_failure(&mut self, failure: &Failure) -> Failure {
        let most = if self.counters.text_bytes < MAX_TURN_TEXT_BYTES {
            MAX_TEXT_BYTES
        } else {
            SHORT_TEXT_BYTES
        };
        let short = |text: &String| head(text, SHORT_TEXT_BYTES).to_owned();
        let kept = Failure {
            message: head(&failure.message, most).to_owned(),
            exception_type: short(&failure.exception_type),
            http_status: failure.http_status,
            grpc_code: short(&failure.grpc_code),
            code: short(&failure.code),
            headers: failure
                .headers
                .iter()
                .take(MAX_HEADERS)
                .map(|(name, value)| (short(name), short(value)))
                .collect(),
            exit_code: failure.exit_code,
            execution: failure.execution,
            dependency: short(&failure.dependency),
        };
        self.counters.text_bytes = self.counters.text_bytes.saturating_add(kept.message.len());
        kept
    }

    /// Keeps the newest input of an operation, for letters and for later requests that send none.
    pub(super) fn keep_input(
        &mut self,
        operation: &mut Operation,
        input: Option<&Arc<str>>,
        digest: Option<CallDigest>,
    ) {
        let Some(input) = input else {
            return;
        };
        if operation.input_digest == digest && operation.input.is_some() {
            return;
        }
        let most = if self.counters.input_bytes < MAX_TURN_INPUT_BYTES {
            MAX_INPUT_BYTES
        } else {
            MAX_TEXT_BYTES
        };
        operation.input_cut = input.len() > most;
        let kept: Arc<str> = if operation.input_cut {
            head(input, most).into()
        } else {
            input.clone()
        };
        self.counters.input_bytes = self.counters.input_bytes.saturating_add(kept.len());
        operation.input = Some(kept);
        operation.input_digest = digest;
    }
}
