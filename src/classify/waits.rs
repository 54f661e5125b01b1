//! How long the other side asks to wait: from headers, and from the text.
//!
//! Units: everything becomes a `Duration`. What is negative, past or longer than [`LONGEST`] is dropped, because a wrong
//! clock or a wrong unit is likelier than a day's wait; a stated 0 is a wait of zero.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use super::leads::{Found, Leads};
use super::text::{find_ignoring_case, is_word};
use crate::domain::{Failure, Kind, Timestamp};

/// Longest wait that is believed.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// What the failure says of waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wait {
    pub(super) retry_after: Option<Duration>,
    /// `x-should-retry: false` and the like.
    pub(super) server_says_no: bool,
}

/// Reads headers first, then the folded text.
pub(super) fn read(failure: &Failure, folded: &str, kind: Kind, now: Timestamp) -> Wait {
    let retry_after = from_headers(failure, kind, now)
        .or_else(|| from_text(folded, now))
        .filter(|wait| *wait <= LONGEST);
    Wait {
        retry_after,
        server_says_no: says_no(failure),
    }
}

fn says_no(failure: &Failure) -> bool {
    ["x-should-retry", "stripe-should-retry"]
        .iter()
        .any(|name| {
            failure
                .header(name)
                .is_some_and(|v| v.trim().eq_ignore_ascii_case("false"))
        })
        || failure
            .header("grpc-retry-pushback-ms")
            .is_some_and(|v| v.trim().parse::<f64>().is_ok_and(|ms| ms < 0.0))
}

fn from_headers(failure: &Failure, kind: Kind, now: Timestamp) -> Option<Duration> {
    if failure.headers.is_empty() {
        return None;
    }
    let millis = [
        "retry-after-ms",
        "x-ms-retry-after-ms",
        "x-amz-retry-after",
        "grpc-retry-pushback-ms",
    ];
    millis
        .iter()
        .find_map(|name| seconds(failure.header(name)?, 0.001))
        .or_else(|| retry_after(failure.header("retry-after")?, now))
        .or_else(|| rate_limit_reset(failure, kind, now))
}

/// Seconds, fractional or not, or an HTTP date.
fn retry_after(value: &str, now: Timestamp) -> Option<Duration> {
    seconds(value, 1.0).or_else(|| {
        let date = httpdate::parse_http_date(value.trim()).ok()?;
        until(date, now)
    })
}

fn seconds(value: &str, unit: f64) -> Option<Duration> {
    let number: f64 = value.trim().parse().ok()?;
    from_seconds(number * unit)
}

fn from_seconds(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0)
        .then(|| Duration::try_from_secs_f64(seconds).ok())
        .flatten()
}

/// How long from `now` to `date`; nothing where it is past.
fn until(date: SystemTime, now: Timestamp) -> Option<Duration> {
    date.duration_since(SystemTime::from(now)).ok()
}

/// Reset headers stand on good answers too: they are a wait only where nothing remains, or the failure is a throttle.
fn rate_limit_reset(failure: &Failure, kind: Kind, now: Timestamp) -> Option<Duration> {
    let remaining_is_zero = failure.headers.iter().any(|(name, value)| {
        name.contains("remaining") && value.trim().parse::<f64>().is_ok_and(|left| left <= 0.0)
    });
    if !remaining_is_zero && kind != Kind::RateLimited {
        return None;
    }
    let mut longest = None;
    let mut spent = None;
    for (name, value) in &failure.headers {
        let is_reset =
            name.contains("ratelimit") && name.contains("reset") || name == "rate-limit-reset";
        let wait = match name.as_str() {
            "ratelimit" => parameter(value, "t").or_else(|| parameter(value, "reset")),
            _ if is_reset => reset(value, now),
            _ => None,
        };
        let Some(wait) = wait.filter(|wait| *wait <= LONGEST) else {
            continue;
        };
        // Of several limits the spent one counts: `…-reset-tokens` beside `…-remaining-tokens: 0`.
        let pair = name.replace("reset", "remaining");
        let is_spent = failure
            .header(&pair)
            .is_some_and(|left| left.trim().parse::<f64>().is_ok_and(|left| left <= 0.0));
        if is_spent {
            spent = spent.max(Some(wait));
        }
        longest = longest.max(Some(wait));
    }
    spent.or(longest)
}

/// `t=12` in `"default";r=0;t=12` or `limit=100, remaining=0, reset=50`.
fn parameter(value: &str, name: &str) -> Option<Duration> {
    value
        .split([';', ','])
        .filter_map(|part| part.trim().split_once('='))
        .find(|(key, _)| key.trim().eq_ignore_ascii_case(name))
        .and_then(|(_, value)| seconds(value, 1.0))
}

/// Epoch seconds, epoch milliseconds, delta seconds, a Go duration or RFC 3339: the magnitude tells which.
fn reset(value: &str, now: Timestamp) -> Option<Duration> {
    let value = value.trim().trim_matches('"');
    if let Ok(number) = value.parse::<f64>() {
        let now = Duration::from_micros(now.0).as_secs_f64();
        return match number {
            n if n > 1e11 => from_seconds(n / 1000.0 - now),
            n if n > 1e9 => from_seconds(n - now),
            n => from_seconds(n),
        };
    }
    let whole = duration(value.as_bytes())
        .filter(|(_, len)| *len == value.len())
        .map(|(wait, _)| wait);
    whole.or_else(|| until(humantime::parse_rfc3339_weak(value).ok()?, now))
}

/// Phrases before a wait, and the unit of a bare number after them in seconds.
const LEADS: &[(&str, f64)] = &[
    ("try again in", 1.0),
    ("try again after", 1.0),
    ("retry after", 1.0),
    ("retry in", 1.0),
    ("retry the request after", 1.0),
    ("retrying in", 1.0),
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
    "wait for",
    "please wait",
    "available in",
    "reset in",
];

static FOUND: LazyLock<Leads> = LazyLock::new(|| Leads::new(LEADS.iter().map(|(lead, _)| *lead)));

fn from_text(text: &str, now: Timestamp) -> Option<Duration> {
    let mut best: Option<(usize, Duration)> = None;
    let mut dated = None;
    for found in FOUND.find(text) {
        let Some((lead, unit)) = LEADS.get(found.lead) else {
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
    let inside_word = found
        .start
        .checked_sub(1)
        .and_then(|i| bytes.get(i))
        .copied()
        .is_some_and(is_word)
        || bytes.get(found.end).copied().is_some_and(is_word);
    if inside_word {
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
    from_seconds(bare_number(rest.get(skipped..)?)?)
}

fn bare_number(value: &[u8]) -> Option<f64> {
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
fn duration(value: &[u8]) -> Option<(Duration, usize)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn text(message: &str) -> Option<u64> {
        from_text(message, NOW)
            .filter(|w| *w <= LONGEST)
            .map(|w| u64::try_from(w.as_millis()).unwrap())
    }

    #[test]
    fn texts_state_waits() {
        let cases = [
            ("Please try again in 1m2.5s. Visit", Some(62_500)),
            ("try again in 634ms", Some(634)),
            ("Please retry after 53 seconds.", Some(53_000)),
            ("Please retry in 36.4s", Some(36_400)),
            ("'retryDelay': '34s'", Some(34_000)),
            ("'retry_after': 34}", Some(34_000)),
            ("'retry_after': 0", Some(0)),
            ("retry_delay { seconds: 34 }", Some(34_000)),
            ("Too Many Requests: retry after 34", Some(34_000)),
            ("try again in 7m12s", Some(432_000)),
            ("Retry the request after 10 seconds", Some(10_000)),
            ("'estimated_time': 35.6677", Some(35_667)),
            ("suspended_time=3600", Some(3_600_000)),
            ("try again in 1 hour 30 minutes", Some(5_400_000)),
            ("resets at 2023-11-14T22:13:30Z (2056)", Some(10_000)),
            ("try again later", None),
            ("try again in a few minutes", None),
            ("retry after 3 attempts", None),
            ("retry after 1700 days", None),
            ("wait 5 for it", None),
            ("please wait 5 seconds", Some(5_000)),
            ("retry_after_ms: 1500", Some(1_500)),
            ("retry after -5", None),
            ("", None),
        ];
        for (message, want) in cases {
            assert_eq!(text(message), want, "{message}");
        }
    }

    fn headers(kind: Kind, list: &[(&str, &str)]) -> Option<u64> {
        let failure = Failure {
            headers: list
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect(),
            ..Failure::default()
        };
        read(&failure, "", kind, NOW)
            .retry_after
            .map(|w| u64::try_from(w.as_millis()).unwrap())
    }

    #[test]
    fn headers_state_waits() {
        let throttle = Kind::RateLimited;
        let cases: &[(Kind, &[(&str, &str)], Option<u64>)] = &[
            (throttle, &[("retry-after", "7")], Some(7_000)),
            (throttle, &[("retry-after", "0.5")], Some(500)),
            (throttle, &[("retry-after", "0")], Some(0)),
            (throttle, &[("retry-after", "-1")], None),
            (throttle, &[("retry-after", "99999999")], None),
            (
                throttle,
                &[("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT")],
                Some(30_000),
            ),
            (
                throttle,
                &[("retry-after", "Tue, 14 Nov 2023 22:13:00 GMT")],
                None,
            ),
            (
                throttle,
                &[("retry-after-ms", "250"), ("retry-after", "7")],
                Some(250),
            ),
            (throttle, &[("x-ms-retry-after-ms", "20")], Some(20)),
            (throttle, &[("x-amz-retry-after", "1500")], Some(1_500)),
            (throttle, &[("grpc-retry-pushback-ms", "100")], Some(100)),
            (
                throttle,
                &[("x-ratelimit-reset-requests", "6m0s")],
                Some(360_000),
            ),
            (
                throttle,
                &[("x-ratelimit-reset", "1700000060")],
                Some(60_000),
            ),
            (
                throttle,
                &[("x-ratelimit-reset", "1700000060000")],
                Some(60_000),
            ),
            (throttle, &[("x-ratelimit-reset", "12")], Some(12_000)),
            (throttle, &[("x-ratelimit-reset", "1600000000")], None),
            (
                throttle,
                &[("anthropic-ratelimit-tokens-reset", "2023-11-14T22:13:30Z")],
                Some(10_000),
            ),
            (
                throttle,
                &[("ratelimit", "\"default\";r=0;t=12")],
                Some(12_000),
            ),
            (Kind::ServerError, &[("x-ratelimit-reset", "12")], None),
            (
                Kind::ServerError,
                &[("x-ratelimit-reset", "12"), ("x-ratelimit-remaining", "0")],
                Some(12_000),
            ),
            (
                throttle,
                &[
                    ("x-ratelimit-reset-requests", "1s"),
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-tokens", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "99"),
                ],
                Some(1_000),
            ),
        ];
        for (kind, list, want) in cases {
            assert_eq!(headers(*kind, list), *want, "{list:?}");
        }
    }

    #[test]
    fn servers_can_say_no() {
        for (name, value, want) in [
            ("x-should-retry", "false", true),
            ("x-should-retry", "true", false),
            ("stripe-should-retry", "false", true),
            ("grpc-retry-pushback-ms", "-1", true),
            ("grpc-retry-pushback-ms", "5", false),
        ] {
            let failure = Failure {
                headers: vec![(name.to_owned(), value.to_owned())],
                ..Failure::default()
            };
            assert_eq!(says_no(&failure), want, "{name}: {value}");
        }
    }
}
