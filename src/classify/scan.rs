//! One pass of the lexicon over the folded text, and over the few short fields that may show which vendor speaks.
//!
//! What was found is kept in a scratch area that a thread uses over and over: a read allocates nothing but its result.

use std::cell::RefCell;

use super::Context;
use super::book::{RuleBook, Use, is_sqlstate};
use super::leads::{Found, MAX_FOUND};
use super::text::{self, ends_word, starts_word};
use super::words::Words;
use crate::domain::Failure;

/// One use of one literal that was found, with the span that it covers in the folded text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hit {
    pub(super) used: Use,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// What a read works on.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    /// The folded message; while it is read, the fields that may show which vendor speaks stand after it, a line each.
    text: String,
    /// How much of the text is the message.
    message: usize,
    pub(super) words: Words,
    pub(super) hits: Vec<Hit>,
    /// Wordings after which a wait may stand.
    pub(super) waits: Vec<Found>,
    /// Wordings by which the name of a dependency may stand.
    pub(super) dependencies: Vec<Found>,
    marks: Vec<u64>,
    /// From here on marks are the operator's.
    operators_marks: u32,
    /// Where the phrases of the operator's marks stand in the message.
    spans: Vec<(u32, usize, usize)>,
}

/// Most hits that are looked at: a text that is made of key words must not be slow.
const MAX_HITS: usize = 512;

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Runs `read` with the thread's scratch area (or a fresh one, were it ever called from within itself).
pub(super) fn with_scratch<T>(read: impl FnOnce(&mut Scratch) -> T) -> T {
    SCRATCH.with(|cell| match cell.try_borrow_mut() {
        Ok(mut scratch) => read(&mut scratch),
        Err(_) => read(&mut Scratch::default()),
    })
}

impl Scratch {
    /// The folded message.
    pub(super) fn message(&self) -> &str {
        self.text.get(..self.message).unwrap_or_default()
    }

    fn reset(&mut self, marks: usize) {
        self.hits.clear();
        self.waits.clear();
        self.dependencies.clear();
        self.spans.clear();
        self.marks.clear();
        self.marks.resize(marks.div_ceil(64), 0);
    }

    fn set_mark(&mut self, mark: u32) {
        if let Some(word) = self.marks.get_mut(mark as usize / 64) {
            *word |= 1 << (mark % 64);
        }
    }

    /// Whether a phrase with this mark occurs.
    pub(super) fn has_mark(&self, mark: u32) -> bool {
        self.marks
            .get(mark as usize / 64)
            .is_some_and(|word| word & (1 << (mark % 64)) != 0)
    }

    /// The text of the phrase with this mark, if it is one of the operator's and stands in the message.
    pub(super) fn span_of(&self, mark: u32) -> Option<&str> {
        let (_, start, end) = self.spans.iter().find(|(of, _, _)| *of == mark)?;
        self.message().get(*start..*end)
    }

    /// Which of the operator's marks are set, counted from the first of them.
    pub(super) fn operators_marks(&self) -> impl Iterator<Item = usize> {
        self.spans
            .iter()
            .filter_map(|(mark, _, _)| mark.checked_sub(self.operators_marks))
            .map(|mark| mark as usize)
    }

    /// Whether one of these occurs.
    pub(super) fn has_any(&self, marks: &[u32]) -> bool {
        marks.iter().any(|mark| self.has_mark(*mark))
    }
}

/// Folds the message and takes in all that the book's literals find.
pub(super) fn scan(
    book: &RuleBook,
    failure: &Failure,
    context: &Context<'_>,
    scratch: &mut Scratch,
) {
    scratch.reset(book.marks);
    scratch.operators_marks = book.operators_marks;
    text::fold(&failure.message, &mut scratch.text);
    scratch.message = scratch.text.len();
    let fields = [
        failure.exception_type.as_str(),
        context.tool,
        &failure.dependency,
    ];
    for field in fields.into_iter().filter(|field| !field.is_empty()) {
        scratch.text.push('\n');
        scratch.text.push_str(text::cut(field, 256));
    }
    let mut words = std::mem::take(&mut scratch.words);
    words.read(&scratch.text);
    let all = std::mem::take(&mut scratch.text);
    let message = Part {
        text: all.as_bytes().get(..scratch.message).unwrap_or_default(),
        lower: words.lower().get(..scratch.message).unwrap_or_default(),
        is_message: true,
    };
    let after = scratch.message + 1;
    let fields = Part {
        text: all.as_bytes().get(after..).unwrap_or_default(),
        lower: words.lower().get(after..).unwrap_or_default(),
        is_message: false,
    };
    book.lexicon.find(&words, |literal, start, end| {
        let (part, span) = match start.checked_sub(after) {
            None => (&message, (start, end)),
            Some(start) => (&fields, (start, end - after)),
        };
        for used in book.uses_of(literal) {
            take_in(book, part, *used, span, scratch);
        }
    });
    scratch.text = all;
    scratch.words = words;
}

/// Takes in one use of a literal that stands at `span`.
fn take_in(
    book: &RuleBook,
    part: &Part<'_>,
    used: Use,
    (start, end): (usize, usize),
    scratch: &mut Scratch,
) {
    match used {
        Use::Mark { mark, phrase } => {
            // What the operator's rules look for is the failure's text alone.
            let is_operators = mark >= book.operators_marks;
            let phrase = book.phrases.get(phrase as usize);
            if !scratch.has_mark(mark)
                && (part.is_message || !is_operators)
                && let Some((start, end)) =
                    phrase.and_then(|phrase| phrase.span(part.lower, start, end))
            {
                scratch.set_mark(mark);
                if is_operators {
                    scratch.spans.push((mark, start, end));
                }
            }
        }
        _ if !part.is_message => {}
        Use::Wait { lead } => note(&mut scratch.waits, Found { lead, start, end }),
        Use::Dependency { lead } => {
            note(&mut scratch.dependencies, Found { lead, start, end });
        }
        _ if scratch.hits.len() >= MAX_HITS => {}
        used => {
            if let Some((start, end)) = check(book, part, used, start, end) {
                scratch.hits.push(Hit { used, start, end });
            }
        }
    }
}

/// What is scanned, as it is and in lower case: positions are the same in both.
struct Part<'a> {
    text: &'a [u8],
    lower: &'a [u8],
    /// The other fields only tell which vendor speaks.
    is_message: bool,
}

fn note(leads: &mut Vec<Found>, found: Found) {
    if leads.len() < MAX_FOUND {
        leads.push(found);
    }
}

/// Whether the literal stands there as its use demands; the span that it then covers.
fn check(
    book: &RuleBook,
    part: &Part<'_>,
    used: Use,
    start: usize,
    end: usize,
) -> Option<(usize, usize)> {
    let text = part.text;
    match used {
        Use::Phrase { phrase, .. } => {
            let phrase = book.phrases.get(phrase as usize)?;
            phrase.span(part.lower, start, end)
        }
        Use::Key => (starts_key(text, start) && ends_word(text, end)).then_some((start, end)),
        Use::Code { word, .. } => {
            let word = book.words.get(word as usize)?;
            let stands = is_same_code(text.get(start..end)?, word.as_bytes())
                && starts_word(text, start)
                && ends_word(text, end);
            (stands && (!is_sqlstate(word) || is_framed(text, start, end))).then_some((start, end))
        }
        Use::Exception { suffix, .. } => {
            let starts = suffix || starts_word(text, start);
            (starts && ends_word(text, end) && is_named(text, start, end)).then_some((start, end))
        }
        Use::Mark { .. } | Use::Wait { .. } | Use::Dependency { .. } => None,
    }
}

/// In the very same case, but for the first letter: `ThrottlingException` is `throttlingException` in some SDKs.
fn is_same_code(found: &[u8], code: &[u8]) -> bool {
    match (found.split_first(), code.split_first()) {
        (Some((first, rest)), Some((wanted, others))) => {
            first.eq_ignore_ascii_case(wanted) && rest == others
        }
        _ => false,
    }
}

/// `('08S01', '[08S01] …')`, `ERROR: 42P01: relation …`: set apart from the text around it.
fn is_framed(text: &[u8], start: usize, end: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let opens = before.is_empty()
        || [b"'".as_slice(), b"(", b"[", b": "]
            .iter()
            .any(|sign| before.ends_with(sign));
    opens
        && matches!(
            text.get(end),
            None | Some(b'\'' | b')' | b']' | b':' | b',')
        )
}

/// `errorCode` counts as `code`: keys are written in every style.
fn starts_key(text: &[u8], start: usize) -> bool {
    let first_is_upper = text.get(start).is_some_and(u8::is_ascii_uppercase);
    let before = start.checked_sub(1).and_then(|at| text.get(at)).copied();
    starts_word(text, start)
        || before == Some(b'_')
        || first_is_upper && before.is_some_and(|b| b.is_ascii_lowercase())
}

/// A type's name starts with a capital; the short ones that are also words must stand like a name.
fn is_named(text: &[u8], start: usize, end: usize) -> bool {
    let Some(name) = text.get(start..end) else {
        return false;
    };
    let telling = [b"Error".as_slice(), b"Exception", b"Fault", b"Interrupt"]
        .iter()
        .any(|end| name.ends_with(end) && name.len() > end.len());
    let capital = name.first().is_some_and(u8::is_ascii_uppercase)
        || start
            .checked_sub(1)
            .and_then(|at| text.get(at))
            .is_some_and(|b| *b == b'.');
    let followed = matches!(
        text.get(end),
        None | Some(b':' | b'(' | b')' | b'\n' | b'\'' | b'{' | b'[' | b'>')
    );
    let before = text.get(..start).unwrap_or_default();
    let dotted = before.ends_with(b".") || before.ends_with(b"::");
    capital && (telling || followed && (dotted || is_line_start(text, start)))
}

/// At the start of the text or of a line, or after `: ` as in nested types.
fn is_line_start(text: &[u8], start: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    before.is_empty()
        || before.ends_with(b"\n")
        || before.ends_with(b": ")
        || before.ends_with(b"'")
        || before.ends_with(b"(")
}
