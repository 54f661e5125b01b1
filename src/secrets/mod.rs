//! Masking of secrets, before anything is stored, logged or carried into a text.
//!
//! A failure's text often holds the request that failed: headers, connection strings, keys. What is masked is the
//! secret itself; names of keys, recognisable prefixes of tokens, hosts, statuses, codes, UUIDs and hashes stay, since
//! people and the classifier read them. Masking errs towards masking where a name says that a value is secret, and
//! towards keeping where a sentence merely speaks of one ("password must be at least 8 characters").
//!
//! Invariants: masking twice is masking once; text without secrets is handed back unchanged and uncopied; the time is
//! linear in the text's length.

mod judgement;
mod masker;
mod pairs;
mod tokens;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::domain::Failure;

pub use masker::Masker;

/// What stands in a secret's place.
pub const MASK: &str = "[masked]";

/// The text with every secret known to the built-in patterns replaced by [`MASK`].
pub fn mask(text: &str) -> Cow<'_, str> {
    Masker::builtin().mask(text)
}

/// A copy of the failure that may be stored: its texts masked, and headers that carry credentials masked whole.
pub fn mask_failure(failure: &Failure) -> Failure {
    Masker::builtin().mask_failure(failure)
}
