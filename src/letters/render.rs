//! A letter for people, at 80 columns.

use crate::domain::DeadLetter;

/// A letter as `dead-letters show` prints it.
pub fn render_letter(letter: &DeadLetter) -> String {
    letter.id.clone()
}
