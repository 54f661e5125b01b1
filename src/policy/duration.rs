//! Durations as operators write them: whole numbers with a unit, the larger unit first (`200ms`, `5s`, `1m30s`, `24h`).

use std::time::Duration;

/// The longest that any setting may be: nothing about a turn lasts longer.
pub(crate) const LONGEST: Duration = Duration::from_secs(7 * 86_400);

/// Name and milliseconds of each unit, largest first.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Why a text is no duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DurationFault {
    #[error("`{0}` has no unit; write `{0}s` or `{0}ms`")]
    NoUnit(String),
    #[error("`{0}` is negative; a duration is at least zero")]
    Negative(String),
    #[error("`{0}` has a fraction; write it in a smaller unit, e.g. `1s500ms`")]
    Fraction(String),
    #[error("`{0}` is not a duration such as `200ms`, `5s`, `1m30s` or `24h`")]
    Other(String),
}

/// Reads a duration; the caller bounds it.
pub(crate) fn parse(text: &str) -> Result<Duration, DurationFault> {
    let other = || DurationFault::Other(text.to_owned());
    if text.starts_with('-') {
        return Err(DurationFault::Negative(text.to_owned()));
    }
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(DurationFault::NoUnit(text.to_owned()));
    }
    if text.contains('.') {
        return Err(DurationFault::Fraction(text.to_owned()));
    }
    let mut millis: u64 = 0;
    let mut rest = text;
    let mut units = UNITS.iter();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, tail) = rest.split_at_checked(digits).ok_or_else(other)?;
        let letters = tail.len()
            - tail
                .trim_start_matches(|c: char| c.is_ascii_alphabetic())
                .len();
        let (unit, tail) = tail.split_at_checked(letters).ok_or_else(other)?;
        // The iterator goes on where it stopped: a unit comes once, and after the larger ones.
        let (_, factor) = units.find(|(name, _)| *name == unit).ok_or_else(other)?;
        let number: u64 = number.parse().map_err(|_| other())?;
        millis = number
            .checked_mul(*factor)
            .and_then(|part| millis.checked_add(part))
            .ok_or_else(other)?;
        rest = tail;
    }
    if text.is_empty() {
        return Err(other());
    }
    Ok(Duration::from_millis(millis))
}

/// Prints a duration so that [`parse`] reads it back, whole milliseconds.
pub(crate) fn print(duration: Duration) -> String {
    let mut millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 {
        return "0s".to_owned();
    }
    let mut text = String::new();
    for (name, factor) in UNITS {
        let number = millis / factor;
        millis %= factor;
        if number > 0 {
            text.push_str(&format!("{number}{name}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_what_operators_write() {
        for (text, millis) in [
            ("200ms", 200),
            ("5s", 5_000),
            ("1m30s", 90_000),
            ("24h", 86_400_000),
            ("7d", 604_800_000),
            ("1s500ms", 1_500),
            ("0s", 0),
        ] {
            assert_eq!(parse(text), Ok(Duration::from_millis(millis)), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_ambiguous() {
        for text in [
            "",
            "5",
            "5 s",
            "s",
            "5x",
            "-5s",
            "1.5s",
            "30s1m",
            "1s1s",
            "5S",
            "99999999999999999999s",
            "١s",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(
            parse("5").unwrap_err().to_string(),
            "`5` has no unit; write `5s` or `5ms`"
        );
    }

    proptest! {
        #[test]
        fn prints_what_it_reads(millis in 0u64..700_000_000) {
            let duration = Duration::from_millis(millis);
            prop_assert_eq!(parse(&print(duration)), Ok(duration));
        }

        #[test]
        fn never_panics(text in "\\PC{0,20}|[0-9dhms.-]{0,12}") {
            let _ = parse(&text);
        }
    }
}
