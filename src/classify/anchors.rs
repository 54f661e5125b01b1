//! Numbers and codes that stand where a status or a code is said to stand.
//!
//! A number in a text is mostly an id, a port, a line or a count of tokens. It counts as a status only after words such
//! as `status` or `HTTP`, in brackets, before a reason phrase, or alone at the start.

use std::ops::Range;

use super::book::Use;
use super::scan::Scratch;
use super::text::{is_word, starts_word};

/// Words that may stand between a key and its value.
const FILLERS: &[&str] = &[
    "code", "error", "status", "http", "of", "was", "is", "response", "a", "an", "number",
];

/// The code that follows a key such as `code` at `at`: `code': 'x'`, `code = X`, `SQLSTATE[42P01]`, `Errno 13`.
pub(super) fn code_after(text: &str, at: usize) -> Option<(usize, usize)> {
    let bytes = text.as_bytes();
    let mut start = at;
    for _ in 0..3 {
        start = skip_separators(bytes, start);
        let end = token_end(bytes, start);
        let token = text.get(start..end)?;
        if token.is_empty() {
            return None;
        }
        if !FILLERS
            .iter()
            .any(|filler| filler.eq_ignore_ascii_case(token))
        {
            return Some((start, end));
        }
        start = end;
    }
    None
}

/// The spans of all codes that the message states behind a key.
pub(super) fn codes(read: &Scratch) -> impl Iterator<Item = (usize, usize)> {
    let keys = read.hits.iter().filter(|hit| hit.used == Use::Key);
    keys.filter_map(|key| code_after(read.message(), key.end))
}

fn skip_separators(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let skipped = rest
        .iter()
        .take(6)
        .take_while(|b| {
            matches!(
                b,
                b' ' | b'\'' | b':' | b'=' | b'[' | b'(' | b'<' | b'>' | b'\n'
            )
        })
        .count();
    from + skipped
}

fn token_end(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    let len = rest
        .iter()
        .take(80)
        .take_while(|b| is_word(**b) || matches!(b, b'-' | b'.'))
        .count();
    let trimmed = rest
        .get(..len)
        .unwrap_or_default()
        .iter()
        .rev()
        .take_while(|b| matches!(b, b'.' | b'-'))
        .count();
    from + len - trimmed
}

/// The HTTP statuses that a failure states: the field, and those in the text, looked for only when asked.
pub(super) struct Statuses {
    field: Option<u16>,
    in_text: Option<Vec<Stated>>,
}

/// A status in the text and its span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stated {
    pub(super) status: u16,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Statuses {
    pub(super) fn new(field: Option<u16>) -> Self {
        Statuses {
            field,
            in_text: None,
        }
    }

    fn in_text(&mut self, read: &Scratch) -> &[Stated] {
        self.in_text
            .get_or_insert_with(|| stated(read.message(), read.words.spans()))
    }

    /// Whether one of `wanted` is stated anywhere.
    pub(super) fn any_of(&mut self, read: &Scratch, wanted: &[u16]) -> bool {
        self.field.is_some_and(|status| wanted.contains(&status))
            || self
                .in_text(read)
                .iter()
                .any(|found| wanted.contains(&found.status))
    }

    /// The status that counts, with its span where it is in the text. What a gateway wraps in a 400 or 500 of its own
    /// says more than the wrapping.
    pub(super) fn deciding(&mut self, read: &Scratch) -> Option<(u16, Option<(usize, usize)>)> {
        let field = self.field;
        let inner = self.in_text(read).last().copied();
        match (field, inner) {
            (Some(status), Some(inner))
                if matches!(status, 100..=399 | 400 | 500) && inner.status >= 400 =>
            {
                Some((inner.status, Some((inner.start, inner.end))))
            }
            (Some(status), _) => Some((status, None)),
            (None, Some(inner)) => Some((inner.status, Some((inner.start, inner.end)))),
            (None, None) => None,
        }
    }
}

/// Most statuses that are read from one text.
const MAX_STATED: usize = 16;

/// Every status that the text with these words states.
fn stated(text: &str, words: impl Iterator<Item = Range<usize>>) -> Vec<Stated> {
    let bytes = text.as_bytes();
    words
        .filter(|word| word.len() == 3)
        .filter_map(|word| {
            let status = error_status(bytes, &word)?;
            is_stated(text, bytes, word.start, word.end).then_some(Stated {
                status,
                start: word.start,
                end: word.end,
            })
        })
        .take(MAX_STATED)
        .collect()
}

/// The word as a status of an error, if it is a number of its own.
fn error_status(bytes: &[u8], word: &Range<usize>) -> Option<u16> {
    let [
        first @ b'4'..=b'5',
        second @ b'0'..=b'9',
        third @ b'0'..=b'9',
    ] = *bytes.get(word.clone())?
    else {
        return None;
    };
    let [first, second, third] = [first, second, third].map(|digit| u16::from(digit - b'0'));
    let before = word.start.checked_sub(1).and_then(|at| bytes.get(at));
    let after = bytes.get(word.end);
    let joined_before = matches!(before, Some(b'.' | b'-' | b'#' | b'$' | b'+'));
    let joined_after = matches!(after, Some(b'%' | b'/' | b'-'))
        || after == Some(&b'.') && bytes.get(word.end + 1).is_some_and(u8::is_ascii_digit);
    (!joined_before && !joined_after).then_some(first * 100 + second * 10 + third)
}

/// Words before a number that make it a status.
const BEFORE: &[&str] = &[
    "status",
    "code",
    "http",
    "error",
    "response",
    "returned",
    "received",
    "got",
    "httperror",
    "statuscode",
    "status_code",
    "responded",
    "http_status",
    "httpstatus",
    "httpcode",
    "errorcode",
    "error_code",
    "with",
    "a",
    "clienterror",
    "apierror",
    "servererror",
    "http_code",
    "responsecode",
    "failed",
    "refused",
];

/// Words after a number that make it a status.
const AFTER: &[&str] = &[
    " bad request",
    " unauthorized",
    " payment required",
    " forbidden",
    " not found",
    " method not allowed",
    " not acceptable",
    " request timeout",
    " conflict",
    " gone",
    " precondition failed",
    " payload too large",
    " request entity too large",
    " unsupported media",
    " unprocessable",
    " locked",
    " too many requests",
    " internal server error",
    " not implemented",
    " bad gateway",
    " service unavailable",
    " service temporarily",
    " gateway time",
    " client error",
    " server error",
    " status",
    " {",
    " <",
    ":",
    " -",
    " (",
];

/// Whether a text ends so, in any case.
fn ends_with_ignoring_case(text: &str, end: &str) -> bool {
    text.len()
        .checked_sub(end.len())
        .and_then(|from| text.as_bytes().get(from..))
        .is_some_and(|tail| tail.eq_ignore_ascii_case(end.as_bytes()))
}

fn is_stated(text: &str, bytes: &[u8], start: usize, end: usize) -> bool {
    let before = text.get(..start).unwrap_or_default();
    let after = text.get(end..).unwrap_or_default();
    let opened = before.ends_with(['(', '[']) && (after.starts_with([')', ']', ' ']));
    let line = before.rsplit('\n').next().unwrap_or_default();
    let bare = line
        .trim_matches([' ', '\'', '[', '(', '{', '<'])
        .is_empty()
        && (after.is_empty() || after.starts_with([' ', ':', '\n', '\'', ',', '.']));
    // A port or a line of a file: `host:404`, `app.py:500`.
    let glued = before.ends_with(':') && !before.ends_with("::") && !is_key_colon(bytes, start);
    if glued && !line.ends_with(": ") {
        return false;
    }
    let trimmed = before.trim_end_matches([' ', '\'', ':', '=', '(', '[', '{']);
    let word_start = trimmed.bytes().rev().take_while(|b| is_word(*b)).count();
    let word = trimmed
        .get(trimmed.len() - word_start..)
        .unwrap_or_default();
    let versioned = ["http/1.1", "http/1.0", "http/2", "http/2.0"];
    let after_word = BEFORE.iter().any(|w| w.eq_ignore_ascii_case(word))
        || versioned
            .iter()
            .any(|version| ends_with_ignoring_case(trimmed, version));
    let reason = after.as_bytes();
    let before_reason = AFTER
        .iter()
        .take(20)
        .any(|w| starts_with_ignoring_case(reason, w.as_bytes()));
    let starts = bare
        && (start == 0 && !counts_something(after)
            || AFTER
                .iter()
                .any(|w| starts_with_ignoring_case(reason, w.as_bytes())));
    opened || after_word || before_reason || starts
}

/// Whether a number stands for how many there are: `500 rows`, `404 ms`, `403 of 500`.
fn counts_something(after: &str) -> bool {
    let word = after.strip_prefix(' ').unwrap_or_default();
    let len = word.bytes().take_while(u8::is_ascii_alphabetic).count();
    let word = word.get(..len).unwrap_or_default();
    let is_plural = len > 3 && word.ends_with('s') && !word.ends_with("ss");
    is_plural || ["ms", "s", "kb", "mb", "gb", "of", "out", "more", "x"].contains(&word)
}

fn starts_with_ignoring_case(text: &[u8], prefix: &[u8]) -> bool {
    text.get(..prefix.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(prefix))
}

/// Whether the colon before `start` ends a key (`'code':404`, `status:404`).
fn is_key_colon(bytes: &[u8], start: usize) -> bool {
    let Some(colon) = start.checked_sub(1) else {
        return false;
    };
    let before = bytes.get(..colon).unwrap_or_default();
    if before.ends_with(b"'") {
        return true;
    }
    let len = before.iter().rev().take_while(|b| is_word(**b)).count();
    let word = before.get(before.len() - len..).unwrap_or_default();
    starts_word(bytes, colon - len)
        && BEFORE
            .iter()
            .any(|w| w.as_bytes().eq_ignore_ascii_case(word))
}

const GRPC: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown",
    "invalidargument",
    "deadlineexceeded",
    "notfound",
    "alreadyexists",
    "permissiondenied",
    "resourceexhausted",
    "failedprecondition",
    "aborted",
    "outofrange",
    "unimplemented",
    "internal",
    "unavailable",
    "dataloss",
    "unauthenticated",
];

/// A gRPC code, by name in any style or by number, as the rules know it.
pub(super) fn grpc_name(code: &str) -> String {
    let code = super::text::cut(code.trim(), 64);
    if let Some(name) = code
        .parse::<usize>()
        .ok()
        .and_then(|number| GRPC.get(number))
    {
        return (*name).to_owned();
    }
    let last = code.rsplit(['.', ':']).next().unwrap_or(code);
    let name = last.replace(['_', ' '], "").to_ascii_lowercase();
    if name == "canceled" {
        "cancelled".to_owned()
    } else {
        name
    }
}

#[cfg(test)]
mod tests {
    use super::super::words::Words;
    use super::*;

    #[test]
    fn statuses_count_only_where_they_are_said_to_stand() {
        let cases: &[(&str, &[u16])] = &[
            ("Error code: 429 - {'error': {}}", &[429]),
            ("HTTP 503", &[503]),
            ("HTTP/1.1 503 Service Unavailable", &[503]),
            ("request failed with status code 502", &[502]),
            ("{'status': 404}", &[404]),
            ("{'status':404}", &[404]),
            ("503", &[503]),
            ("422: field 'x' is required", &[422]),
            ("500: the ledger is frozen until month end", &[500]),
            ("429 Client Error: Too Many Requests for url", &[429]),
            ("APIError: [429]: Quota exceeded", &[429]),
            ("[Status: 422]", &[422]),
            ("status_code=500", &[500]),
            ("received status 403 so", &[403]),
            ("Error: 400 {", &[400]),
            ("at index.js:500:3", &[]),
            ("file app.py, line 404", &[]),
            ("localhost:503 refused", &[]),
            ("req_500", &[]),
            ("500ms", &[]),
            ("used 429 tokens", &[]),
            ("took 500 of 503 items", &[]),
            ("10.0.0.500", &[]),
            ("job 404", &[]),
            ("500 rows copied", &[]),
            ("403 of 500 files", &[]),
            ("404 page not found", &[404]),
            ("403 access denied", &[403]),
            ("503 upstream connect error", &[503]),
        ];
        for (text, want) in cases {
            let mut words = Words::default();
            words.read(text);
            let got: Vec<u16> = stated(text, words.spans())
                .iter()
                .map(|found| found.status)
                .collect();
            assert_eq!(&got, want, "{text}");
        }
    }

    #[test]
    fn codes_stand_after_their_key() {
        let cases = [
            ("code': 'insufficient_quota'", "insufficient_quota"),
            ("code = Unavailable desc", "Unavailable"),
            ("sqlstate[42P01]: x", "42P01"),
            ("errno 111]", "111"),
            ("error code: 1213", "1213"),
            ("code>SlowDown</Code>", "SlowDown"),
        ];
        for (text, want) in cases {
            let key = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap();
            let (start, end) = code_after(text, key).unwrap();
            assert_eq!(&text[start..end], want);
        }
    }

    #[test]
    fn grpc_codes_have_many_spellings() {
        for code in ["14", "UNAVAILABLE", "StatusCode.UNAVAILABLE", "Unavailable"] {
            assert_eq!(grpc_name(code), "unavailable");
        }
        assert_eq!(grpc_name("CANCELED"), "cancelled");
    }
}
