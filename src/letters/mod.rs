//! Dead letters: every stop is parked with its full story before the verdict is answered.
//!
//! A letter's way: [`LetterStore::park`] masks it ([`masking`]), puts it into the [`backlog`], and waits. One
//! [`writer`] thread takes what has gathered and commits it as one transaction ([`rows`], over the [`schema`]).
//! If that fails or is late, the caller goes on and the letter stays in the backlog, which is then the spool: bounded,
//! drained as soon as the file can be written again. What a second parking of the same letter changes is decided in
//! one place, [`standing`].
//!
//! Invariants: [`Parked::Stored`] is said only after a commit that survives `kill -9` and, with `synchronous=FULL`,
//! a power cut; nothing unmasked reaches the file, the spool or the log; a verdict never waits longer than
//! [`LetterOptions::patience`]. Times are microseconds since the epoch, sizes are bytes.

mod backlog;
pub(crate) mod columns;
mod error;
mod identity;
mod masking;
mod options;
mod reader;
mod render;
mod rows;
mod schema;
mod standing;
mod store;
#[cfg(test)]
mod tests;
mod writer;

use crate::domain::DeadLetter;

pub use error::LetterStoreError;
pub use identity::{MAX_INPUT_BYTES, cut_input, new_id};
pub use masking::{Masking, masked};
pub use options::{LetterEvents, LetterOptions, NoEvents};
pub use reader::{LetterReader, read_only};
pub use render::render_letter;
pub use store::{LetterStats, LetterStore, Parked};

/// The file inside the data directory.
pub const FILE_NAME: &str = "dead-letters.sqlite3";

/// One thing to be parked.
#[derive(Debug, Clone, PartialEq)]
pub struct Parking {
    /// The letter as it stands now, `count` and `status` included.
    pub letter: DeadLetter,
    /// Whether the content of an already stored letter of this id is replaced (else only its count and time are raised).
    pub replace: bool,
}
