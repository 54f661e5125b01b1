//! Tables of waits in texts and headers.

use super::*;

const NOW: Timestamp = Timestamp::from_secs(1_700_000_000);

fn text(message: &str) -> Option<u64> {
    let found = crate::classify::leads::find(leads(), message);
    from_text(message, &found, NOW)
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
        (
            "retry_delay { seconds: 254 nanos: 433000000 }",
            Some(254_433),
        ),
        ("Too Many Requests: retry after 34", Some(34_000)),
        ("you may retry this request in 30 seconds", Some(30_000)),
        (
            "Take a break for 3 seconds before trying again",
            Some(3_000),
        ),
        ("Waiting 60 seconds before retrying", Some(60_000)),
        ("waiting 3 for locks", None),
        ("waiting for locator", None),
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
    read(&failure, "", &[], kind, NOW)
        .retry_after
        .map(|w| u64::try_from(w.as_millis()).unwrap())
}

#[test]
fn headers_state_waits() {
    let throttle = Kind::RateLimited;
    type Case = (Kind, &'static [(&'static str, &'static str)], Option<u64>);
    let cases: &[Case] = &[
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
