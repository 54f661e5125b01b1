//! Durations and points in time, between the well-known types and the domain's.
//!
//! The bounds are those of the well-known types' own definition: a duration of at most ±315,576,000,000 s, a time
//! from year 1 to year 9999. Durations below zero are refused as a whole; times before 1970 count as 1970, since the
//! core has no earlier ones and a past deadline stays a past deadline.

use std::time::Duration;

use crate::domain::Timestamp;

const MAX_DURATION_SECS: i64 = 315_576_000_000;
const MIN_TIME_SECS: i64 = -62_135_596_800;
const MAX_TIME_SECS: i64 = 253_402_300_799;

/// A duration as the domain has it, or what is wrong with it.
pub(super) fn parse_duration(wire: prost_types::Duration) -> Result<Duration, &'static str> {
    if !(-999_999_999..=999_999_999).contains(&wire.nanos) {
        return Err("its nanos are not within ±999,999,999");
    }
    if wire.seconds < 0 || wire.nanos < 0 {
        return Err("is negative");
    }
    if wire.seconds > MAX_DURATION_SECS {
        return Err("is longer than 10,000 years");
    }
    Ok(Duration::new(
        wire.seconds.unsigned_abs(),
        wire.nanos.unsigned_abs(),
    ))
}

/// A point in time as the domain has it, or what is wrong with it.
pub(super) fn parse_timestamp(wire: prost_types::Timestamp) -> Result<Timestamp, &'static str> {
    if !(0..=999_999_999).contains(&wire.nanos) {
        return Err("its nanos are not within 0 to 999,999,999");
    }
    if !(MIN_TIME_SECS..=MAX_TIME_SECS).contains(&wire.seconds) {
        return Err("is not within the years 1 to 9999");
    }
    let Ok(seconds) = u64::try_from(wire.seconds) else {
        return Ok(Timestamp(0));
    };
    let micros = u64::from(wire.nanos.unsigned_abs()) / 1_000;
    Ok(Timestamp(
        seconds.saturating_mul(1_000_000).saturating_add(micros),
    ))
}

/// A duration for the wire; the longest possible one where it does not fit.
pub(super) fn duration(duration: Duration) -> prost_types::Duration {
    match i64::try_from(duration.as_secs()) {
        Ok(seconds) if seconds < MAX_DURATION_SECS => prost_types::Duration {
            seconds,
            nanos: i32::try_from(duration.subsec_nanos()).unwrap_or(999_999_999),
        },
        _ => prost_types::Duration {
            seconds: MAX_DURATION_SECS,
            nanos: 0,
        },
    }
}

/// A point in time for the wire; the last possible one where it does not fit.
pub(crate) fn timestamp(time: Timestamp) -> prost_types::Timestamp {
    let micros = i32::try_from(time.0 % 1_000_000).unwrap_or(0);
    match i64::try_from(time.0 / 1_000_000) {
        Ok(seconds) if seconds <= MAX_TIME_SECS => prost_types::Timestamp {
            seconds,
            nanos: micros.saturating_mul(1_000),
        },
        _ => prost_types::Timestamp {
            seconds: MAX_TIME_SECS,
            nanos: 999_999_999,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn durations_survive_the_wire(secs in 0u64..315_576_000_000, nanos in 0u32..1_000_000_000) {
            let before = Duration::new(secs, nanos);
            prop_assert_eq!(parse_duration(duration(before)), Ok(before));
        }

        #[test]
        fn times_survive_the_wire(micros in 0u64..253_402_300_800_000_000) {
            let before = Timestamp(micros);
            prop_assert_eq!(parse_timestamp(timestamp(before)), Ok(before));
        }

        #[test]
        fn whatever_leaves_is_valid(micros: u64, secs: u64, nanos in 0u32..1_000_000_000) {
            prop_assert!(parse_timestamp(timestamp(Timestamp(micros))).is_ok());
            prop_assert!(parse_duration(duration(Duration::new(secs, nanos))).is_ok());
        }
    }

    #[test]
    fn bounds_of_durations() {
        let parse = |seconds, nanos| parse_duration(prost_types::Duration { seconds, nanos });
        assert_eq!(parse(0, 0), Ok(Duration::ZERO));
        assert_eq!(parse(1, 500_000_000), Ok(Duration::from_millis(1_500)));
        assert!(parse(MAX_DURATION_SECS, 0).is_ok());
        for (seconds, nanos) in [
            (-1, 0),
            (0, -1),
            (1, -1),
            (0, 1_000_000_000),
            (0, i32::MIN),
            (MAX_DURATION_SECS + 1, 0),
            (i64::MAX, 0),
            (i64::MIN, 0),
        ] {
            assert!(parse(seconds, nanos).is_err(), "{seconds} s {nanos} ns");
        }
    }

    #[test]
    fn bounds_of_times() {
        let parse = |seconds, nanos| parse_timestamp(prost_types::Timestamp { seconds, nanos });
        assert_eq!(parse(0, 1_000), Ok(Timestamp(1)));
        assert_eq!(parse(-1, 0), Ok(Timestamp(0)));
        assert_eq!(parse(MIN_TIME_SECS, 0), Ok(Timestamp(0)));
        assert!(parse(MAX_TIME_SECS, 999_999_999).is_ok());
        for (seconds, nanos) in [
            (0, -1),
            (0, 1_000_000_000),
            (MAX_TIME_SECS + 1, 0),
            (MIN_TIME_SECS - 1, 0),
        ] {
            assert!(parse(seconds, nanos).is_err(), "{seconds} s {nanos} ns");
        }
    }
}
