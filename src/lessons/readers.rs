//! What can be read out of a failure's text, by kind.

use super::rule_made::LessonSource;

/// The lesson that the text gives, if it gives one.
pub(super) fn read(_source: &LessonSource<'_>, _text: &str) -> Option<String> {
    None
}
