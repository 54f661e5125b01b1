//! Dead letters: every stop is parked with its full story before the verdict is answered.

use crate::domain::DeadLetter;

/// One thing to be parked.
#[derive(Debug, Clone, PartialEq)]
pub struct Parking {
    /// The letter as it stands now, `count` and `status` included.
    pub letter: DeadLetter,
    /// Whether the content of an already stored letter of this id is replaced (else only its count and time are raised).
    pub replace: bool,
}
