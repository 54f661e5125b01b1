//! The one place where letters lose their secrets, before anything else sees them.

use std::borrow::Cow;
use std::fmt;

use super::identity::cut_input;
use crate::domain::{DeadLetter, Failure};

/// How secrets are taken out of texts and failures. The default changes nothing; the program passes its masks in.
#[derive(Clone, Copy)]
pub struct Masking {
    /// Of a plain text.
    pub text: fn(&str) -> Cow<'_, str>,
    /// Of a failure: its message and headers.
    pub failure: fn(&Failure) -> Failure,
}

impl Default for Masking {
    fn default() -> Self {
        Masking {
            text: |text| Cow::Borrowed(text),
            failure: Failure::clone,
        }
    }
}

impl fmt::Debug for Masking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Masking")
    }
}

/// The letter without secrets, its input at most 64 KiB. Masked before it is cut: half a secret at the cut would no
/// longer look like one. Ids and the idempotency key stay as they are: a claim goes on under them.
pub fn masked(mut letter: DeadLetter, masking: &Masking) -> DeadLetter {
    if let Some(input) = letter.input.take() {
        let (input, cut) = cut_input(mask_owned(input, masking));
        letter.input = Some(input);
        letter.input_cut |= cut;
    }
    for text in [
        &mut letter.evidence,
        &mut letter.guidance,
        &mut letter.user_message,
        &mut letter.resolution,
    ] {
        *text = text.take().map(|text| mask_owned(text, masking));
    }
    letter.explanation = mask_owned(letter.explanation, masking);
    for attempt in &mut letter.attempts {
        attempt.lesson = attempt.lesson.take().map(|text| mask_owned(text, masking));
        attempt.failure = attempt.failure.as_ref().map(masking.failure);
    }
    letter
}

fn mask_owned(text: String, masking: &Masking) -> String {
    match (masking.text)(&text) {
        Cow::Owned(masked) => masked,
        Cow::Borrowed(same) if same.len() == text.len() => text,
        Cow::Borrowed(part) => part.to_owned(),
    }
}
