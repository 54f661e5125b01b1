//! Where words go that are no answer.

use std::io::Write as _;

/// Says on standard error what went wrong. Nothing is left to do if even that fails.
pub(super) fn complain(error: &dyn std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "backstop: {error}");
}
