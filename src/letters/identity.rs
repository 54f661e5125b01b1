//! A letter's id and the bound on its input: both pure, time and randomness are passed in.

use uuid::Builder;

use crate::domain::Timestamp;

/// Longest input that a letter keeps, in bytes.
pub const MAX_INPUT_BYTES: usize = 64 * 1024;

/// A new letter id: a UUID version 7 (RFC 9562), 36 characters. `rand_a` carries the microseconds within the
/// millisecond (method 3 of section 6.2), so that ids sort by time to the microsecond; 62 bits of `random` follow.
pub fn new_id(now: Timestamp, random: u64) -> String {
    let millis = now.0 / 1_000;
    // Below 1,000 · 4,096 / 1,000, so it fits the 12 bits of `rand_a`.
    let fraction = (now.0 % 1_000) * 4_096 / 1_000;
    let [.., high, low] = fraction.to_be_bytes();
    let [a, b, c, d, e, f, g, h] = random.to_be_bytes();
    Builder::from_unix_timestamp_millis(millis, &[high, low, a, b, c, d, e, f, g, h])
        .into_uuid()
        .to_string()
}

/// Cuts an input to at most 64 KiB, never inside a character. Returns it and whether it was cut.
pub fn cut_input(mut input: String) -> (String, bool) {
    if input.len() <= MAX_INPUT_BYTES {
        return (input, false);
    }
    input.truncate(input.floor_char_boundary(MAX_INPUT_BYTES));
    (input, true)
}
