//! How large a turn may grow. At a bound it stops (FAIL_LOUD, TURN_BUDGET_EXHAUSTED); it never forgets.

/// Operations in a turn.
pub const MAX_OPERATIONS: usize = 10_000;
/// Causes in a turn.
pub const MAX_CAUSES: usize = 256;
/// Remembered calls, findings, references, attempts and request ids in a turn.
pub const MAX_REMEMBERED: usize = 50_000;
/// Bytes of results kept in a turn.
pub const MAX_RESULT_BYTES: usize = 256 * 1024;
/// Bytes of one failure's text kept for letters and the ledger.
pub(super) const MAX_TEXT_BYTES: usize = 4 * 1024;
/// Bytes of texts kept in a turn; past it only the first bytes of each are.
pub(super) const MAX_TURN_TEXT_BYTES: usize = 1024 * 1024;
/// Bytes of one failure's text once the turn keeps `MAX_TURN_TEXT_BYTES`.
pub(super) const SHORT_TEXT_BYTES: usize = 256;
/// Bytes of one input kept for letters.
pub(super) const MAX_INPUT_BYTES: usize = 64 * 1024;
/// Bytes of inputs kept in a turn; past it, inputs are cut to `MAX_TEXT_BYTES`.
pub(super) const MAX_TURN_INPUT_BYTES: usize = 1024 * 1024;
