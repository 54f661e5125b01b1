//! `1m2.5s`, `634ms`, `53 seconds`: lengths of time as programs print them.

use std::time::Duration;

use super::from_seconds;
use crate::classify::text::is_word;

pub(super) fn bare_number(value: &[u8]) -> Option<f64> {
    let len = number_len(value)?;
    // A date, a time of day, a version or a negative number is no wait.
    let follows = value.get(len).copied();
    let counted = ["attempt", "tries", "retries", "times", "more"]
        .iter()
        .any(|what| {
            let rest = value.get(len..).unwrap_or_default();
            let gap = usize::from(rest.first() == Some(&b' '));
            rest.get(gap..gap + what.len())
                .is_some_and(|head| head.eq_ignore_ascii_case(what.as_bytes()))
        });
    if counted || follows.is_some_and(|b| is_word(b) || matches!(b, b'-' | b':' | b'/')) {
        return None;
    }
    std::str::from_utf8(value.get(..len)?).ok()?.parse().ok()
}

fn number_len(value: &[u8]) -> Option<usize> {
    let whole = value.iter().take_while(|b| b.is_ascii_digit()).count();
    if whole == 0 || whole > 15 {
        return None;
    }
    let fraction = match value.get(whole) {
        Some(b'.') => value
            .iter()
            .skip(whole + 1)
            .take_while(|b| b.is_ascii_digit())
            .count(),
        _ => 0,
    };
    Some(if fraction > 0 {
        whole + 1 + fraction
    } else {
        whole
    })
}

/// Units, longest name first where one starts another.
const UNITS: &[(&str, f64)] = &[
    ("milliseconds", 0.001),
    ("millisecond", 0.001),
    ("microseconds", 1e-6),
    ("minutes", 60.0),
    ("minute", 60.0),
    ("seconds", 1.0),
    ("second", 1.0),
    ("hours", 3600.0),
    ("hour", 3600.0),
    ("days", 86_400.0),
    ("day", 86_400.0),
    ("mins", 60.0),
    ("min", 60.0),
    ("secs", 1.0),
    ("sec", 1.0),
    ("hrs", 3600.0),
    ("hr", 3600.0),
    ("ms", 0.001),
    ("µs", 1e-6),
    ("us", 1e-6),
    ("ns", 1e-9),
    ("d", 86_400.0),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// `1m2.5s`, `634ms`, `53 seconds`, `1 hour 30 minutes`; with how many bytes it takes.
pub(super) fn duration(value: &[u8]) -> Option<(Duration, usize)> {
    let mut total = 0.0;
    let mut at = 0;
    for _ in 0..5 {
        let gap = value
            .get(at..)?
            .iter()
            .take_while(|b| **b == b' ')
            .count()
            .min(1);
        let from = if at == 0 { 0 } else { at + gap };
        let Some((seconds, len)) = value.get(from..).and_then(quantity) else {
            break;
        };
        total += seconds;
        at = from + len;
    }
    (at > 0)
        .then(|| from_seconds(total).map(|wait| (wait, at)))
        .flatten()
}

/// One number with its unit, in seconds.
fn quantity(value: &[u8]) -> Option<(f64, usize)> {
    let len = number_len(value)?;
    let number: f64 = std::str::from_utf8(value.get(..len)?).ok()?.parse().ok()?;
    let rest = value.get(len..)?;
    let gap = rest
        .iter()
        .take_while(|b| matches!(b, b' ' | b'-'))
        .count()
        .min(1);
    let rest = rest.get(gap..)?;
    let (name, seconds) = UNITS.iter().find(|(name, _)| {
        let fits = rest
            .get(..name.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(name.as_bytes()));
        let after = rest.get(name.len()).copied();
        fits && !after.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
    })?;
    Some((number * seconds, len + gap + name.len()))
}
