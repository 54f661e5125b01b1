//! Phrases: the small language in which rules say what a text contains.
//!
//! A phrase is literal text, any case, matched on word boundaries, with these signs: `*` any text within the line (at
//! most [`GAP`] bytes), `**` the same over line breaks, `#` a number, `~` at either end lifts the word boundary there,
//! `^` at the start and `$` at the end bind it to a line's. A backslash makes a sign literal.
//!
//! The longest literal of a phrase that holds a whole word is its anchor: it is looked for, and only where it stands is
//! the rest looked at.

use memchr::memmem::{self, Finder};

use super::lexicon::{Edge, Literal};
use super::text::{ends_word, is_word, lower_case, starts_word};

/// Longest text that `*` and `**` stand for, in bytes.
const GAP: usize = 200;

/// One part of a phrase.
#[derive(Debug, Clone)]
enum Part {
    /// In lower case.
    Literal(Box<Finder<'static>>),
    /// Whether it may run over line breaks.
    Gap(bool),
    Number,
}

/// What is wrong with a phrase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PhraseError {
    /// Nothing to look for.
    #[error("the phrase `{0}` has no literal of two bytes or more; add a word")]
    NoLiteral(String),
}

/// A compiled phrase.
#[derive(Debug, Clone)]
pub(super) struct Phrase {
    parts: Vec<Part>,
    anchor: usize,
    starts_line: bool,
    ends_line: bool,
    free_start: bool,
    free_end: bool,
}

impl Phrase {
    pub(super) fn parse(source: &str) -> Result<Self, PhraseError> {
        let mut body = source.trim();
        let starts_line = strip_start(&mut body, '^');
        let free_start = strip_start(&mut body, '~');
        let ends_line = strip_end(&mut body, '$');
        let free_end = strip_end(&mut body, '~');
        let parts = parse_parts(body);
        let mut phrase = Phrase {
            parts,
            anchor: 0,
            starts_line,
            ends_line,
            free_start,
            free_end,
        };
        phrase.anchor = (0..phrase.parts.len())
            .filter_map(|at| Some((at, phrase.literal(at)?)))
            .filter(|(_, literal)| literal.text.len() >= 2)
            .max_by_key(|(at, literal)| (literal.has_word(), literal.text.len(), usize::MAX - at))
            .map(|(at, _)| at)
            .ok_or_else(|| PhraseError::NoLiteral(source.to_owned()))?;
        Ok(phrase)
    }

    /// Text without signs, wherever it stands; nothing where it is shorter than two bytes.
    pub(super) fn exactly(text: &str) -> Option<Self> {
        let mut parts = Vec::new();
        flush(&mut text.to_owned(), &mut parts);
        (text.len() >= 2).then_some(Phrase {
            parts,
            anchor: 0,
            starts_line: false,
            ends_line: false,
            free_start: true,
            free_end: true,
        })
    }

    /// The literal that is looked for.
    pub(super) fn anchor(&self) -> Option<Literal> {
        self.literal(self.anchor)
    }

    /// The part at this place, if it is literal text.
    fn literal(&self, at: usize) -> Option<Literal> {
        let Some(Part::Literal(finder)) = self.parts.get(at) else {
            return None;
        };
        let edge = |is_outer: bool, is_free: bool| match is_outer && !is_free {
            true => Edge::Word,
            false => Edge::Free,
        };
        Some(Literal {
            text: finder.needle().into(),
            start: edge(at == 0, self.free_start),
            end: edge(at + 1 == self.parts.len(), self.free_end),
        })
    }

    /// How many bytes of literal text it takes: the measure of how specific it is.
    pub(super) fn weight(&self) -> u32 {
        let literals = self.parts.iter().map(|part| match part {
            Part::Literal(finder) => finder.needle().len(),
            _ => 0,
        });
        u32::try_from(literals.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// The span that the phrase covers in a text in lower case, given where its anchor was found.
    pub(super) fn span(&self, text: &[u8], start: usize, end: usize) -> Option<(usize, usize)> {
        let from = self.walk_back(text, start)?;
        let to = self.walk_on(text, end)?;
        let start_fits = self.free_start || starts_word(text, from);
        let end_fits = self.free_end || ends_word(text, to);
        let line_fits = (!self.starts_line || is_line_start(text, from))
            && (!self.ends_line || is_line_end(text, to));
        (start_fits && end_fits && line_fits).then_some((from, to))
    }

    fn walk_back(&self, text: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        let mut gap = None;
        for part in self.parts.get(..self.anchor)?.iter().rev() {
            match part {
                Part::Gap(over_lines) => gap = Some(*over_lines),
                Part::Number => at = skip_number_back(text, at)?,
                Part::Literal(finder) => {
                    let bytes = finder.needle();
                    let from = at.saturating_sub(match gap.take() {
                        Some(_) => GAP + bytes.len(),
                        None => bytes.len(),
                    });
                    let window = text.get(from..at)?;
                    let found = from + memmem::rfind(window, bytes)?;
                    self.check_gap(text, found + bytes.len(), at)?;
                    at = found;
                }
            }
        }
        Some(at)
    }

    fn walk_on(&self, text: &[u8], end: usize) -> Option<usize> {
        let mut at = end;
        let mut gap = None;
        for part in self.parts.get(self.anchor + 1..)? {
            match part {
                Part::Gap(over_lines) => gap = Some(*over_lines),
                Part::Number => at = skip_number(text, at)?,
                Part::Literal(finder) => {
                    let len = finder.needle().len();
                    let reach = match gap.take() {
                        Some(_) => GAP + len,
                        None => len,
                    };
                    let window = text.get(at..text.len().min(at.saturating_add(reach)))?;
                    let found = at + finder.find(window)?;
                    self.check_gap(text, at, found)?;
                    at = found + len;
                }
            }
        }
        Some(at)
    }

    /// A gap may hold a line break only where the phrase says so.
    fn check_gap(&self, text: &[u8], from: usize, to: usize) -> Option<()> {
        let over_lines = self
            .parts
            .iter()
            .any(|part| matches!(part, Part::Gap(true)));
        let gap = text.get(from..to)?;
        (over_lines || !gap.contains(&b'\n')).then_some(())
    }
}

fn strip_start(body: &mut &str, sign: char) -> bool {
    body.strip_prefix(sign)
        .map(|rest| *body = rest.trim_start())
        .is_some()
}

fn strip_end(body: &mut &str, sign: char) -> bool {
    if body.ends_with(&format!("\\{sign}")) {
        return false;
    }
    body.strip_suffix(sign)
        .map(|rest| *body = rest.trim_end())
        .is_some()
}

fn parse_parts(body: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut chars = body.chars().peekable();
    while let Some(c) = chars.next() {
        let part = match c {
            '*' if chars.next_if_eq(&'*').is_some() => {
                // A line break is no blank: `a ** b` means what `a**b` does.
                literal.truncate(literal.trim_end().len());
                while chars.next_if_eq(&' ').is_some() {}
                Part::Gap(true)
            }
            '*' => Part::Gap(false),
            '#' => Part::Number,
            '\\' => {
                literal.extend(chars.next());
                continue;
            }
            // Patterns are written as texts are read: one sort of quote.
            '"' | '`' => {
                literal.push('\'');
                continue;
            }
            c => {
                literal.push(c);
                continue;
            }
        };
        flush(&mut literal, &mut parts);
        parts.push(part);
    }
    flush(&mut literal, &mut parts);
    parts
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        let lower: String = literal.chars().map(lower_case).collect();
        let finder = Finder::new(lower.as_bytes()).into_owned();
        literal.clear();
        parts.push(Part::Literal(Box::new(finder)));
    }
}

fn is_number_byte(byte: u8) -> bool {
    byte.is_ascii_digit() || matches!(byte, b'.' | b',')
}

/// A number starts and ends with a digit; points and commas stand within it.
fn skip_number(text: &[u8], at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let len = rest.iter().take_while(|b| is_number_byte(**b)).count();
    let number = rest.get(..len)?;
    let digits = number.iter().rposition(u8::is_ascii_digit)? + 1;
    number.first()?.is_ascii_digit().then_some(at + digits)
}

fn skip_number_back(text: &[u8], at: usize) -> Option<usize> {
    let before = text.get(..at)?;
    let bytes = before.iter().rev().take_while(|b| is_number_byte(**b));
    let number = before.get(at - bytes.count()..)?;
    let digits = number.len() - number.iter().position(u8::is_ascii_digit)?;
    number.last()?.is_ascii_digit().then_some(at - digits)
}

/// A line starts after a break; what opens a quoted text or names its level does not count.
fn is_line_start(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let line = before.rsplit(|b| *b == b'\n').next().unwrap_or_default();
    let opening = |b: &u8| matches!(b, b' ' | b'\'' | b'(' | b'[' | b'{' | b'<' | b'-' | b'>');
    if line.iter().all(opening) {
        return true;
    }
    // `Error: `, `fatal: `, `AnthropicError: TypeError: `: levels and types, not a sentence.
    let trimmed = line.trim_ascii_end();
    trimmed.len() <= 80
        && trimmed.split(|b| *b == b' ').all(|level| {
            level.strip_suffix(b":").is_some_and(|name| {
                name.iter()
                    .all(|b| is_word(*b) || matches!(b, b'.' | b':' | b'\'' | b'[' | b']'))
            })
        })
}

fn is_line_end(text: &[u8], at: usize) -> bool {
    let after = text.get(at..).unwrap_or_default();
    let line = after.split(|b| *b == b'\n').next().unwrap_or_default();
    line.iter().all(|b| {
        matches!(
            b,
            b' ' | b'\'' | b'.' | b'!' | b')' | b']' | b'}' | b'>' | b':' | b',' | b';'
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(phrase: &str, text: &str) -> bool {
        let phrase = Phrase::parse(phrase).unwrap();
        let text: String = text.chars().map(lower_case).collect();
        let bytes = text.as_bytes();
        let anchor = phrase.anchor().unwrap().text;
        (0..bytes.len()).any(|at| {
            bytes
                .get(at..at + anchor.len())
                .is_some_and(|w| *w == *anchor)
                && phrase.span(bytes, at, at + anchor.len()).is_some()
        })
    }

    #[test]
    fn phrases_match_as_documented() {
        let cases = [
            ("rate limit", "Rate Limit reached", true),
            ("rate", "separate", false),
            ("rate~", "rates", true),
            ("tool * not found", "Tool 'x' not found in agent", true),
            ("tool * not found", "tool\nnot found", false),
            ("tool ** not found", "tool \n not found", true),
            ("waited # seconds", "we waited 12.5 seconds", true),
            ("waited # seconds", "we waited long seconds", false),
            ("tool ** not found", "tool\nnot found", true),
            ("py:#, in main", "a.py:12, in main", true),
            ("line # at 2", "line 1,234 at 2", true),
            ("# rows", "it is .5 rows, 1.5 rows", true),
            ("превышена~", "Превышена квота", true),
            ("^timeout$", "Timeout", true),
            ("^timeout$", "Error: timeout.", true),
            ("^timeout$", "a timeout", false),
            ("^timeout$", "timeout setting", false),
            (r"\* bad", "* bad", true),
            (r#"the "x" key"#, "the 'x' key", true),
            ("请求过于频繁", "您的请求过于频繁了", true),
        ];
        for (phrase, text, want) in cases {
            assert_eq!(matches(phrase, text), want, "{phrase} in {text:?}");
        }
    }

    #[test]
    fn a_phrase_needs_a_literal() {
        assert!(Phrase::parse("* # *").is_err());
    }
}
