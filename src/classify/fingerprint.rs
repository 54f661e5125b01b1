//! A digest by which the same failure is known again, whatever it happened to.
//!
//! Masked: numbers, hex ids and UUIDs, quoted values, paths, URLs, addresses and times. Letters are lower-cased, blanks
//! folded; of a long text the first [`HEAD`] and the last [`TAIL`] bytes count, since tracebacks name the error last. The digest is XXH3, 64 bits, of the masked bytes: independent of platform,
//! and kept the same over releases (a test pins it), because stored letters carry it.

use std::ops::Range;

use memchr::memmem;
use wide::u8x16;
use xxhash_rust::xxh3::xxh3_64;

use crate::domain::{Failure, Fingerprint};

use super::text::{byte_table, cut, look_up};
use super::words::{between, lanes, mask};

/// How much of the start of a long text counts, in bytes.
const HEAD: usize = 1024;
/// How much of its end, in bytes.
const TAIL: usize = 1024;

/// Digest of a text.
pub fn fingerprint(text: &str) -> Fingerprint {
    let text = text.trim();
    let mut masked = Masked(Vec::with_capacity(text.len().min(HEAD + TAIL) + 1));
    if text.len() <= HEAD + TAIL {
        masked.mask(text);
    } else {
        masked.mask(cut(text, HEAD));
        // No text holds it.
        masked.push(0);
        let tail = text.ceil_char_boundary(text.len() - TAIL);
        masked.mask(text.get(tail..).unwrap_or_default());
    }
    masked.digest()
}

/// Digest of a failure: its text, or, where that is empty, what else it says.
pub(super) fn of_failure(failure: &Failure) -> Fingerprint {
    if !failure.message.trim().is_empty() {
        return fingerprint(&failure.message);
    }
    let mut masked = Masked(Vec::new());
    for (field, value) in [
        (b'c', failure.code.as_str()),
        (b'e', &failure.exception_type),
        (b'g', &failure.grpc_code),
    ] {
        if !value.is_empty() {
            masked.push(field);
            masked.push_lower(cut(value, HEAD).as_bytes());
        }
    }
    let numbers = [
        (b'h', failure.http_status.map(i64::from)),
        (b'x', failure.exit_code.map(i64::from)),
    ];
    for (field, number) in numbers {
        if let Some(number) = number {
            masked.push(field);
            masked.0.extend(number.to_le_bytes());
        }
    }
    masked.digest()
}

/// A text without what happens to differ.
struct Masked(Vec<u8>);

impl Masked {
    fn digest(&self) -> Fingerprint {
        Fingerprint(xxh3_64(&self.0))
    }

    fn push(&mut self, byte: u8) {
        self.0.push(byte);
    }

    fn push_lower(&mut self, bytes: &[u8]) {
        let start = self.0.len();
        self.0.extend_from_slice(bytes);
        if let Some(pushed) = self.0.get_mut(start..) {
            pushed.make_ascii_lowercase();
        }
    }

    fn ends_with(&self, byte: u8) -> bool {
        self.0.last() == Some(&byte)
    }

    /// A mask after a mask says no more than one.
    fn push_mask(&mut self) {
        if !self.ends_with(b'#') {
            self.push(b'#');
        }
    }

    fn push_space(&mut self) {
        if !self.0.is_empty() && !self.ends_with(b' ') {
            self.push(b' ');
        }
    }

    /// Goes from one byte that may have to be masked to the next; what lies between is kept.
    fn mask(&mut self, text: &str) {
        let bytes = text.as_bytes();
        // Up to here all is written.
        let mut done = 0;
        let mut at = 0;
        while let Some(found) = next_telling(bytes, at) {
            let class = bytes.get(found).map_or(0, |byte| class(*byte));
            // A token is masked or kept as a whole, so its start is looked for.
            let before = bytes.get(done..found).unwrap_or_default();
            let start = match class & TOKEN {
                0 => found,
                _ => found - before.iter().rev().take_while(|b| is_token(**b)).count(),
            };
            self.keep(bytes, done..start);
            at = match class {
                QUOTE => match quoted_end(bytes, found) {
                    Some(end) => {
                        self.push_mask();
                        end
                    }
                    None => found + 1,
                },
                BLANK => {
                    self.push_space();
                    found + 1
                }
                _ => self.mask_token(bytes, start),
            };
            done = at;
        }
        self.keep(bytes, done..bytes.len());
        self.0.make_ascii_lowercase();
    }

    fn keep(&mut self, bytes: &[u8], span: Range<usize>) {
        let mut kept = bytes.get(span).unwrap_or_default();
        // The space before it is there already.
        if self.ends_with(b' ') || self.0.is_empty() {
            kept = kept.strip_prefix(b" ").unwrap_or(kept);
        }
        self.0.extend_from_slice(kept);
    }

    /// A token runs to the next blank, quote or bracket. This one holds something that may have to be masked.
    fn mask_token(&mut self, bytes: &[u8], start: usize) -> usize {
        let rest = bytes.get(start..).unwrap_or_default();
        let mut len = token(rest).len;
        // A URL's query belongs to it.
        if rest
            .get(..len)
            .is_some_and(|t| memmem::find(t, b"://").is_some())
        {
            let query = |b: &&u8| is_token(**b) || b"?&=#,;!$*".contains(*b);
            len += rest.iter().skip(len).take_while(query).count();
        }
        let whole = rest.get(..len).unwrap_or_default();
        let tail = whole
            .iter()
            .rev()
            .take_while(|b| matches!(b, b'.' | b':' | b'-' | b'/'))
            .count();
        let (body, tail) = whole.split_at(len - tail);
        if token(body).is_masked(body) {
            self.push_mask();
        } else {
            self.push_words(body);
        }
        self.0.extend_from_slice(tail);
        start + len.max(1)
    }

    fn push_words(&mut self, token: &[u8]) {
        for byte in token {
            if byte.is_ascii_digit() {
                self.push_mask();
            } else {
                self.push(*byte);
            }
        }
    }
}

/// What a byte may be part of; 0 is punctuation.
const TOKEN: u8 = 1;
const DIGIT: u8 = 2;
const SLASH: u8 = 4;
const AT: u8 = 8;
/// Of a hexadecimal number or a UUID.
const HEX: u8 = 16;
/// Of an address in numbers, beside digits.
const DOTTED: u8 = 32;
const QUOTE: u8 = 64;
const BLANK: u8 = 128;

const fn classify(byte: u8) -> u8 {
    match byte {
        b'0'..=b'9' => TOKEN | DIGIT | HEX,
        b'/' | b'\\' => TOKEN | SLASH,
        b'@' => TOKEN | AT,
        b'a'..=b'f' | b'A'..=b'F' | b'-' | b'x' => TOKEN | HEX,
        b'.' | b':' => TOKEN | DOTTED,
        b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'~' | b'%' | b'+' => TOKEN,
        b'\'' | b'"' | b'`' => QUOTE,
        b' ' | b'\t' | b'\r' | b'\n' | 0 => BLANK,
        _ => 0,
    }
}

byte_table!(CLASSES: u8 = classify);

#[inline]
fn class(byte: u8) -> u8 {
    look_up(&CLASSES, byte)
}

#[inline]
fn is_token(byte: u8) -> bool {
    class(byte) & TOKEN != 0
}

/// The next byte from `from` on that is a digit, a slash, an `@`, a quote, or a blank that is no single space.
fn next_telling(bytes: &[u8], from: usize) -> Option<usize> {
    let mut base = from;
    // After what was just written a space is taken in as any other byte is.
    let mut after_space = 0;
    for chunk in bytes.get(from..)?.chunks(16) {
        let lanes = lanes(chunk);
        let is = |byte: u8| lanes.simd_eq(u8x16::splat(byte));
        let telling = between(lanes, b'0', b'9')
            | is(b'/')
            | is(b'\\')
            | is(b'@')
            | is(b'\'')
            | is(b'"')
            | is(b'`')
            | is(b'\t')
            | is(b'\r')
            | is(b'\n')
            | is(0);
        let spaces = mask(is(b' '));
        let found = mask(telling) | spaces & (spaces << 1 | after_space);
        let at = found.trailing_zeros() as usize;
        if at < chunk.len() {
            return Some(base + at);
        }
        after_space = spaces >> 15;
        base += chunk.len();
    }
    None
}

/// What a token is made of.
struct Token {
    len: usize,
    digits: usize,
    dots: usize,
    /// The classes of which it has some byte, and those that all its bytes have.
    some: u8,
    all: u8,
}

/// The token that the bytes start with.
fn token(bytes: &[u8]) -> Token {
    let mut token = Token {
        len: 0,
        digits: 0,
        dots: 0,
        some: 0,
        all: u8::MAX,
    };
    for byte in bytes {
        let class = class(*byte);
        if class & TOKEN == 0 {
            break;
        }
        token.some |= class;
        // Digits stand in dotted addresses too.
        token.all &= class | (class & DIGIT) << 4;
        token.digits += usize::from(class & DIGIT != 0);
        token.dots += usize::from(*byte == b'.');
        token.len += 1;
    }
    token
}

impl Token {
    fn is_masked(&self, text: &[u8]) -> bool {
        self.is_place(text) || self.is_id()
    }

    /// A path, URL, address or host with a port: anything with a slash, an `@`, dotted numbers, or a port.
    fn is_place(&self, text: &[u8]) -> bool {
        let slashed = self.some & SLASH != 0 && text.len() > 1;
        let dotted_numbers = self.all & DOTTED != 0 && self.dots == 3;
        let has_port = || {
            let port = text.iter().rev().take_while(|b| b.is_ascii_digit()).count();
            port > 0 && text.len().checked_sub(port + 1).and_then(|at| text.get(at)) == Some(&b':')
        };
        slashed || self.some & AT != 0 || dotted_numbers || self.some & DOTTED != 0 && has_port()
    }

    /// A number with its unit, a hex id, a UUID, or a long token with digits in it.
    const fn is_id(&self) -> bool {
        let hex = self.len >= 6 && self.all & HEX != 0;
        self.digits > 0
            && (hex || self.len >= 12 && self.digits >= 2 || self.digits * 2 >= self.len)
    }
}

/// Where the quoted value that starts at `start` ends; an apostrophe within a word starts none.
fn quoted_end(bytes: &[u8], start: usize) -> Option<usize> {
    let quote = bytes.get(start).copied()?;
    let before = start.checked_sub(1).and_then(|at| bytes.get(at)).copied();
    if quote == b'\'' && before.is_some_and(|b| b.is_ascii_alphanumeric()) {
        return None;
    }
    let rest = bytes.get(start + 1..)?;
    let mut at = 0;
    while let Some(offset) = rest.get(at..)?.iter().take(200).position(|b| *b == quote) {
        let end = at + offset;
        let inside = quote == b'\'' && rest.get(end + 1).is_some_and(u8::is_ascii_alphanumeric);
        let escaped = end.checked_sub(1).and_then(|i| rest.get(i)) == Some(&b'\\');
        if !inside && !escaped {
            return Some(start + 1 + end + 1);
        }
        at = end + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_failure_has_one_fingerprint() {
        let pairs = [
            (
                "Widget engine gave up after 31 ms (job 8812)",
                "Widget engine gave up after 7 ms (job 9137)",
            ),
            (
                "No such file or directory: 'data_1.csv'",
                "No such file or directory: 'data_2.csv'",
            ),
            (
                "No such file or directory: 'data_1.csv'",
                "No such file or directory: \"it\"  ",
            ),
            ("cannot open /tmp/a/b.txt", "cannot open /home/x/y.rs"),
            (
                "job 550e8400-e29b-41d4-a716-446655440000 failed",
                "job 123e4567-e89b-12d3-a456-426614174000 failed",
            ),
            (
                "GET https://a.example/x?y=1 failed",
                "GET http://b.example/z failed",
            ),
            (
                "dial tcp 10.1.2.3:5432: refused",
                "dial tcp 10.9.9.9:80: refused",
            ),
            (
                "at 2024-01-02T03:04:05Z: boom",
                "at 2025-11-12T13:14:15.123Z: boom",
            ),
            ("commit deadbeef12 gone", "commit 0123abcdef gone"),
            ("Timed  out\nafter 3s", "timed out after 45s"),
            ("HAT030 not available", "HAT123 not available"),
            (
                "503 directory backend unavailable (request 1)",
                "503 directory backend unavailable (request 12)",
            ),
        ];
        for (a, b) in pairs {
            assert_eq!(fingerprint(a), fingerprint(b), "{a} / {b}");
        }
    }

    #[test]
    fn different_failures_differ() {
        let texts = [
            "connection refused",
            "connection reset",
            "no such table: customer",
            "No such file: 'x'",
            "timed out",
            "can't do it",
            "can't do that",
            "Widget engine gave up",
            "",
        ];
        for (i, a) in texts.iter().enumerate() {
            for b in texts.iter().skip(i + 1) {
                assert_ne!(fingerprint(a), fingerprint(b), "{a} / {b}");
            }
        }
    }

    #[test]
    fn without_a_text_the_fields_count() {
        let bare = |status, code: &str| {
            of_failure(&Failure {
                http_status: status,
                code: code.to_owned(),
                ..Failure::default()
            })
        };
        assert_ne!(bare(Some(500), ""), bare(Some(503), ""));
        assert_ne!(bare(None, "a"), bare(None, "b"));
        assert_ne!(bare(None, ""), bare(Some(500), ""));
    }

    #[test]
    fn the_digest_stays_the_same_over_releases() {
        for (text, digest) in [
            ("", "2d06800538d394c2"),
            ("Connection  refused", "f96385ca1b435464"),
            ("\0 connection refused ", "f96385ca1b435464"),
            (
                "job 550e8400-e29b-41d4-a716-446655440000 on 'db': GET https://a.example/x?y=1 gave 503 (ü)",
                "37465c3f983123c3",
            ),
        ] {
            assert_eq!(fingerprint(text).to_string(), digest, "{text}");
        }
        let bare = Failure {
            code: "rate_limit_exceeded".to_owned(),
            http_status: Some(429),
            ..Failure::default()
        };
        assert_eq!(of_failure(&bare).to_string(), "8b42a0fdc6c37c66");
    }
}
