//! Lessons and texts: what the next attempt is told, what a person is told, what the log says.
//!
//! Raw errors are noisy and mostly restate the failed approach; a lesson is the smallest accurate instruction that
//! would change the next attempt (at most [`MAX_WORDS`] words, [`MAX_BYTES`] bytes, one line). It is written from the
//! failure by rules, so it cannot invent a correction, and it never quotes more of a foreign text than single names,
//! numbers and formats from a known list: a tool's output is data, and must not be able to give orders to the model
//! by way of the oracle.
//!
//! Everything here is a pure function. Every text is free of control characters and of secrets known to
//! [`crate::secrets`].

mod correction;
mod name;
mod readers;
mod rule_made;
mod same;
mod texts;
mod words;

pub use rule_made::{LessonSource, is_general, prepare, rule_made};
pub use same::same_lesson;
pub use texts::{
    SpentBudget, SpentBudgetName, TextFacts, explanation, guidance, own_text_fragments,
    user_message,
};
pub use words::{MAX_BYTES, MAX_WORDS, cut_to_words};
