//! Secrets.
use std::borrow::Cow;
/// Masks.
pub fn mask(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}
