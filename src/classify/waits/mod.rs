//! How long the other side asks to wait: from headers, and from the text.
//!
//! Units: everything becomes a `Duration`. What is negative, past or longer than [`LONGEST`] is dropped, because a wrong
//! clock or a wrong unit is likelier than a day's wait; a stated 0 is a wait of zero.

mod duration;
mod text;

#[cfg(test)]
mod tests;

use std::time::{Duration, SystemTime};

use duration::duration;
use text::from_text;
pub(super) use text::leads;

use super::leads::Found;
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

/// Reads headers first, then the folded text, in which those of the [`leads`] were found.
pub(super) fn read(
    failure: &Failure,
    folded: &str,
    found: &[Found],
    kind: Kind,
    now: Timestamp,
) -> Wait {
    let retry_after = from_headers(failure, kind, now)
        .or_else(|| from_text(folded, found, now))
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
            .filter(|v| v.len() <= 200)
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
        .find_map(|name| seconds(header(failure, name)?, 0.001))
        .or_else(|| retry_after(header(failure, "retry-after")?, now))
        .or_else(|| rate_limit_reset(failure, kind, now))
}

/// The value of a header, if it is of a length that a wait can have.
fn header<'a>(failure: &'a Failure, name: &str) -> Option<&'a str> {
    failure
        .header(name)
        .map(str::trim)
        .filter(|value| value.len() <= 200)
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
        name.len() <= 200
            && value.len() <= 200
            && name.contains("remaining")
            && value.trim().parse::<f64>().is_ok_and(|left| left <= 0.0)
    });
    if !remaining_is_zero && kind != Kind::RateLimited {
        return None;
    }
    let mut longest = None;
    let mut spent = None;
    for (name, value) in &failure.headers {
        if name.len() > 200 || value.len() > 200 {
            continue;
        }
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
        let is_spent = header(failure, &pair)
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
