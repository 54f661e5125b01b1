//! The failure's text in the one form that all patterns are written against.
//!
//! Workers hold the same words in many wrappings: JSON in JSON, a Python repr, a Go `%q`, curly quotes. Folding undoes
//! the wrapping once, so that a rule is written once: quotes of all sorts become `'`, escapes are undone, runs of blanks
//! become one space and line breaks one `\n`. Letters keep their case, because names such as `SlowDown` need it.
//!
//! Invariant: at most [`HEAD`] + [`TAIL`] bytes of the input are looked at, whatever its length.

use wide::u8x16;

use super::words::{between, lanes, mask};

/// How much of the start of a long text is read, in bytes.
pub(super) const HEAD: usize = 8 * 1024;
/// How much of its end, in bytes: tracebacks name the error last.
pub(super) const TAIL: usize = 8 * 1024;

/// Writes the folded form of `input` to `out`, which is cleared first.
pub(super) fn fold(input: &str, out: &mut String) {
    let mut bytes = std::mem::take(out).into_bytes();
    bytes.clear();
    if input.len() <= HEAD + TAIL {
        fold_span(input, &mut bytes);
    } else {
        let head = input.floor_char_boundary(HEAD);
        let tail = input.ceil_char_boundary(input.len() - TAIL);
        fold_span(input.get(..head).unwrap_or_default(), &mut bytes);
        push_break(&mut bytes);
        fold_span(input.get(tail..).unwrap_or_default(), &mut bytes);
    }
    let kept = bytes.trim_ascii_end().len();
    bytes.truncate(kept);
    // Only whole characters were pushed, so that nothing is ever replaced here.
    *out = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
}

/// A table of what a `const fn` says of each byte, made by the compiler.
macro_rules! byte_table {
    ($name:ident: $type:ty = $says:ident) => {
        #[allow(
            clippy::indexing_slicing,
            reason = "evaluated by the compiler: out of bounds would fail the build"
        )]
        const $name: [$type; 256] = {
            let mut table = [$says(0); 256];
            let mut byte = 0;
            while byte < table.len() {
                table[byte] = $says(byte as u8);
                byte += 1;
            }
            table
        };
    };
}
pub(super) use byte_table;

/// What a table says of a byte.
#[inline]
pub(super) fn look_up<T: Copy + Default>(table: &[T; 256], byte: u8) -> T {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}

/// Copies what needs no folding but of quotes, sixteen bytes at a time; returns how much that was.
fn copy_plain(input: &[u8], out: &mut Vec<u8>) -> usize {
    let mut copied = 0;
    for chunk in input.chunks(16) {
        let bytes = lanes(chunk);
        let quotes = bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'`'));
        let opens = bytes.simd_eq(u8x16::splat(b'\\')) | bytes.simd_eq(u8x16::splat(b'&'));
        let is_plain = between(bytes, b' ', b'~') & !opens;
        let spaces = mask(bytes.simd_eq(u8x16::splat(b' ')));
        // Of several blanks only the first is copied.
        let after_blank = spaces << 1 | u64::from(ends_blank(out));
        let stops = !mask(is_plain) | spaces & after_blank;
        let folded = quotes.bitselect(u8x16::splat(b'\''), bytes).to_array();
        match stops.trailing_zeros() as usize {
            0 => break,
            16.. => out.extend_from_slice(&folded),
            len => {
                out.extend_from_slice(folded.get(..len).unwrap_or_default());
                copied += len;
                break;
            }
        }
        copied += folded.len();
    }
    copied
}

fn fold_span(input: &str, out: &mut Vec<u8>) {
    let mut rest = input;
    while !rest.is_empty() {
        let copied = copy_plain(rest.as_bytes(), out);
        rest = fold_special(rest.get(copied..).unwrap_or_default(), out);
    }
}

/// Folds the one unit that `input` starts with and returns what comes after it.
fn fold_special<'a>(input: &'a str, out: &mut Vec<u8>) -> &'a str {
    let mut chars = input.chars();
    let Some(first) = chars.next() else { return "" };
    match first {
        '\n' | '\r' => push_break(out),
        '\\' => return fold_escape(chars.as_str(), out),
        '&' => return fold_entity(chars.as_str(), out),
        '"' | '`' | '‘' | '’' | '‚' | '“' | '”' | '„' | '«' | '»' | '「' | '」' => {
            out.push(b'\'')
        }
        '：' => out.push(b':'),
        '，' => out.push(b','),
        c if c.is_whitespace() || c.is_control() => push_space(out),
        c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
    chars.as_str()
}

/// `input` follows a backslash. Any number of further ones counts as the same escape, nested deeper.
fn fold_escape<'a>(input: &'a str, out: &mut Vec<u8>) -> &'a str {
    let rest = input.trim_start_matches('\\');
    let mut chars = rest.chars();
    match chars.next() {
        Some('"' | '\'' | '`') => out.push(b'\''),
        Some('/') => out.push(b'/'),
        Some('n' | 'r') => push_break(out),
        Some('t') => push_space(out),
        Some('u') => return fold_unicode(chars.as_str(), out),
        _ => {
            out.push(b'\\');
            return rest;
        }
    }
    chars.as_str()
}

/// The entities in which XML and HTML wrap the signs of other texts.
const ENTITIES: &[(&str, u8)] = &[
    ("quot;", b'\''),
    ("apos;", b'\''),
    ("#39;", b'\''),
    ("#34;", b'\''),
    ("#x27;", b'\''),
    ("#x22;", b'\''),
    ("lt;", b'<'),
    ("gt;", b'>'),
    ("amp;", b'&'),
];

/// `input` follows an ampersand.
fn fold_entity<'a>(input: &'a str, out: &mut Vec<u8>) -> &'a str {
    if let Some(rest) = input.strip_prefix("nbsp;") {
        push_space(out);
        return rest;
    }
    let found = ENTITIES
        .iter()
        .find_map(|(name, sign)| Some((input.strip_prefix(name)?, *sign)));
    let (rest, sign) = found.unwrap_or((input, b'&'));
    out.push(sign);
    rest
}

fn fold_unicode<'a>(input: &'a str, out: &mut Vec<u8>) -> &'a str {
    let decoded = input
        .get(..4)
        .and_then(|hex| u32::from_str_radix(hex, 16).ok())
        .and_then(char::from_u32);
    match (decoded, input.get(4..)) {
        (Some(c), Some(rest)) => {
            let mut buffer = [0; 4];
            fold_special(c.encode_utf8(&mut buffer), out);
            rest
        }
        _ => {
            out.extend_from_slice(b"\\u");
            input
        }
    }
}

/// Whether a further blank would say no more.
fn ends_blank(out: &[u8]) -> bool {
    matches!(out.last(), None | Some(b' ' | b'\n'))
}

fn push_space(out: &mut Vec<u8>) {
    if !ends_blank(out) {
        out.push(b' ');
    }
}

fn push_break(out: &mut Vec<u8>) {
    if out.ends_with(b" ") {
        out.pop();
    }
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.push(b'\n');
    }
}

/// Whether a byte belongs to a word; only ASCII ones do, so that scripts without spaces have no boundaries to miss.
pub(super) const fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether no word runs over the position `at` on its left.
pub(super) fn starts_word(text: &[u8], at: usize) -> bool {
    at == 0
        || !text.get(at).copied().is_some_and(is_word)
        || !at
            .checked_sub(1)
            .and_then(|before| text.get(before).copied())
            .is_some_and(is_word)
}

/// Whether no word runs over the position `at` on its right.
pub(super) fn ends_word(text: &[u8], at: usize) -> bool {
    !text.get(at).copied().is_some_and(is_word)
        || !at
            .checked_sub(1)
            .and_then(|last| text.get(last).copied())
            .is_some_and(is_word)
}

/// The part of `text` around nothing but its head: at most `limit` bytes, cut between characters.
pub(super) fn cut(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        text
    } else {
        text.get(..text.floor_char_boundary(limit))
            .unwrap_or_default()
    }
}

/// A letter in lower case, where that takes as many bytes: positions in both are the same then.
pub(super) fn lower_case(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(one), None) if one.len_utf8() == letter.len_utf8() => one,
        _ => letter,
    }
}

/// Longest name that is looked up.
const LONGEST_NAME: usize = 256;

/// A short text in lower case, without an allocation.
pub(super) struct LowerCase {
    bytes: [u8; LONGEST_NAME],
    len: usize,
}

impl LowerCase {
    /// Nothing where the text is empty or too long to be a name.
    pub(super) fn of(text: &str) -> Option<Self> {
        let mut bytes = [0; LONGEST_NAME];
        let target = bytes.get_mut(..text.len())?;
        target.copy_from_slice(text.as_bytes());
        target.make_ascii_lowercase();
        let len = text.len();
        (len > 0).then_some(LowerCase { bytes, len })
    }

    pub(super) fn as_str(&self) -> &str {
        let bytes = self.bytes.get(..self.len).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// Position of `needle` in `hay`, ASCII case ignored.
pub(super) fn find_ignoring_case(hay: &[u8], needle: &[u8]) -> Option<usize> {
    let Some(first) = needle.first() else {
        return Some(0);
    };
    hay.windows(needle.len())
        .position(|window| stands_there(window, first, needle))
}

/// The first byte alone settles nearly every place.
fn stands_there(window: &[u8], first: &u8, needle: &[u8]) -> bool {
    window
        .first()
        .is_some_and(|byte| byte.eq_ignore_ascii_case(first))
        && window.eq_ignore_ascii_case(needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(input: &str) -> String {
        let mut out = String::new();
        fold(input, &mut out);
        out
    }

    #[test]
    fn unwraps_quotes_escapes_and_blanks() {
        let cases = [
            (r#"{"a": "b"}"#, "{'a': 'b'}"),
            (r#"{\"a\": \\\"b\\\"}"#, "{'a': 'b'}"),
            ("can’t  “do” `it`", "can't 'do' 'it'"),
            ("a \r\n\n  b\t c", "a\nb c"),
            (r"CEP INV\u00c1LIDO", "CEP INVÁLIDO"),
            (r"a\nb", "a\nb"),
            ("a\0b", "a b"),
            (r"\u12", r"\u12"),
            (
                "&lt;a b=&quot;c&quot;&gt; it&#39;s&nbsp;&nbsp;1 &amp; 2&amp3",
                "<a b='c'> it's 1 & 2&amp3",
            ),
            ("认证失败，请检查：Error", "认证失败,请检查:Error"),
            ("  x  ", "x"),
            ("", ""),
        ];
        for (input, want) in cases {
            assert_eq!(folded(input), want, "{input:?}");
        }
    }

    #[test]
    fn long_texts_keep_head_and_tail() {
        let text = format!("first{}last", "é".repeat(1 << 20));
        let out = folded(&text);
        assert!(out.len() <= HEAD + TAIL + 1);
        assert!(out.starts_with("first") && out.ends_with("last"));
    }
}
