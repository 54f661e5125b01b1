//! Waits that a text states in words.

use std::time::Duration;

use super::duration::{bare_number, duration};
use super::{from_seconds, until};
use crate::classify::leads::Found;
use crate::classify::text::{ends_word, find_ignoring_case, starts_word};
use crate::domain::Timestamp;

/// Phrases before a wait, and the unit of a bare number after them in seconds.
const LEADS: &[(&str, f64)] = &[
    ("try again in", 1.0),
    ("try again after", 1.0),
    ("retry after", 1.0),
    ("retry in", 1.0),
    ("retry the request after", 1.0),
    ("retrying in", 1.0),
    ("retry this request in", 1.0),
    ("retry the request in", 1.0),
    ("retry your request in", 1.0),
    ("retry this request after", 1.0),
    ("break for", 1.0),
    ("waiting", 1.0),
    ("slow down for", 1.0),
    ("retry your request after", 1.0),
    ("retry again in", 1.0),
    ("wait for", 1.0),
    ("please wait", 1.0),
    ("wait", 1.0),
    ("available again in", 1.0),
    ("available in", 1.0),
    ("expected available in", 1.0),
    ("resets in", 1.0),
    ("reset in", 1.0),
    ("reset after", 1.0),
    ("retrydelay", 1.0),
    ("retry_delay", 1.0),
    ("retry-after", 1.0),
    ("retry_after_ms", 0.001),
    ("retryafterms", 0.001),
    ("retry_after_seconds", 1.0),
    ("retry-after-ms", 0.001),
    ("retry_after", 1.0),
    ("retryafter", 1.0),
    ("retryafterseconds", 1.0),
    ("estimated_time", 1.0),
    ("suspended_time", 1.0),
    ("backoff for", 1.0),
    ("back off for", 1.0),
    ("cooldown of", 1.0),
    ("resets at", DATE),
    ("reset at", DATE),
    ("try again at", DATE),
    ("retry at", DATE),
    ("available at", DATE),
    ("resets on", DATE),
];

/// Instead of a unit: a date follows.
const DATE: f64 = f64::NAN;

/// Leads that are followed by prose as often as by a wait: there a bare number is none.
const VAGUE: &[&str] = &[
    "wait",
    "waiting",
    "break for",
    "wait for",
    "please wait",
    "available in",
    "reset in",
];

/// The wordings after which a wait may stand.
pub(in crate::classify) fn leads() -> impl Iterator<Item = &'static str> {
    LEADS.iter().map(|(lead, _)| *lead)
}

pub(super) fn from_text(text: &str, leads: &[Found], now: Timestamp) -> Option<Duration> {
    let mut best: Option<(usize, Duration)> = None;
    let mut dated = None;
    for found in leads.iter().copied() {
        let Some((lead, unit)) = found.of(LEADS) else {
            continue;
        };
        // The longest lead is the most precise one.
        if best.is_some_and(|(len, _)| len >= lead.len()) {
            continue;
        }
        if unit.is_nan() {
            dated = dated.or_else(|| text.get(found.end..).and_then(|rest| date(rest, now)));
        } else if let Some(wait) = after_lead(text.as_bytes(), found, lead, *unit) {
            best = Some((lead.len(), wait));
        }
    }
    best.map(|(_, wait)| wait).or(dated)
}

/// The wait that stands after a lead.
fn after_lead(bytes: &[u8], found: Found, lead: &str, unit: f64) -> Option<Duration> {
    if !starts_word(bytes, found.start) || !ends_word(bytes, found.end) {
        return None;
    }
    let rest = bytes.get(found.end..)?;
    let skipped = rest
        .iter()
        .take(6)
        .take_while(|b| matches!(b, b' ' | b'\'' | b':' | b'=' | b'(' | b'~' | b'['))
        .count();
    let mut value = rest.get(skipped..)?;
    for filler in FILLERS {
        if value
            .get(..filler.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(filler.as_bytes()))
        {
            value = value.get(filler.len()..)?;
        }
    }
    if let Some((wait, _)) = duration(value) {
        return Some(wait);
    }
    if !VAGUE.contains(&lead)
        && let Some(wait) = bare_number(value).and_then(|number| from_seconds(number * unit))
    {
        return Some(wait);
    }
    // RetryInfo as protobuf text: `retry_delay { seconds: 34 }`.
    protobuf_seconds(value)
}

/// Words that may stand between a lead and its wait.
const FILLERS: &[&str] = &[
    "about ",
    "approximately ",
    "at least ",
    "another ",
    "the next ",
    "seconds': ",
    "seconds:",
];

fn protobuf_seconds(value: &[u8]) -> Option<Duration> {
    let head = value.get(..value.len().min(40))?;
    let at = head
        .first()
        .is_some_and(|b| *b == b'{')
        .then(|| find_ignoring_case(head, b"seconds"))??;
    let rest = head.get(at + 7..)?;
    let skipped = rest
        .iter()
        .take_while(|b| matches!(b, b' ' | b':' | b'\''))
        .count();
    let value = rest.get(skipped..)?;
    let nanos = find_ignoring_case(value.get(..value.len().min(40))?, b"nanos: ")
        .and_then(|at| bare_number(value.get(at + 7..)?))
        .unwrap_or_default();
    from_seconds(bare_number(value)? + nanos / 1e9)
}

/// `resets at 2026-05-15T15:00:00Z`, `try again at …`: what follows the lead.
fn date(rest: &str, now: Timestamp) -> Option<Duration> {
    let rest = rest.trim_start_matches([' ', '\'', ':']);
    let len = rest
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b':' | b'.'))
        .count();
    let stamp = rest.get(..len)?.trim_end_matches(['.', ':']);
    until(humantime::parse_rfc3339(stamp).ok()?, now)
}
