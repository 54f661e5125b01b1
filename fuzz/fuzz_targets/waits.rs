//! Waits in headers and in words.
#![no_main]

mod reading;

use backstop::domain::Failure;
use libfuzzer_sys::fuzz_target;

const HEADERS: [&str; 8] = [
    "retry-after",
    "retry-after-ms",
    "x-ms-retry-after-ms",
    "grpc-retry-pushback-ms",
    "x-ratelimit-reset",
    "x-ratelimit-remaining",
    "ratelimit",
    "anthropic-ratelimit-tokens-reset",
];

const LEADS: [&str; 8] = [
    "try again in ",
    "Please retry after ",
    "\"retryDelay\": \"",
    "retry_delay { seconds: ",
    "resets at ",
    "wait ",
    "retry_after_ms=",
    "available in about ",
];

fuzz_target!(|input: (Vec<(u8, &str)>, Vec<(u8, &str)>)| {
    let (headers, words) = input;
    let pick = |list: &[&'static str; 8], at: u8| list[usize::from(at) % 8];
    reading::read(&Failure {
        message: words
            .iter()
            .map(|(lead, value)| format!("rate limited, {}{value} ", pick(&LEADS, *lead)))
            .collect(),
        headers: headers
            .iter()
            .map(|(name, value)| (pick(&HEADERS, *name).to_owned(), (*value).to_owned()))
            .collect(),
        http_status: Some(429),
        ..Failure::default()
    });
});
