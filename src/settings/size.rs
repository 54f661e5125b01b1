//! Sizes as operators write them: bytes, or a whole number of KiB, MiB or GiB.

const UNITS: [(&str, u64); 4] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
];

/// Reads `8388608`, `8MiB` or `8 MiB`.
///
/// # Errors
/// What to write instead.
pub(super) fn parse(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = text.strip_prefix(digits).unwrap_or_default().trim_start();
    let factor = match unit {
        "" => Some(1),
        unit => (UNITS.iter()).find_map(|(name, factor)| (*name == unit).then_some(*factor)),
    };
    let number = Some(digits)
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|digits| digits.parse::<u64>().ok());
    match (number, factor) {
        (Some(number), Some(factor)) => number
            .checked_mul(factor)
            .ok_or_else(|| format!("`{text}` is too large")),
        _ => Err(format!(
            "`{text}` is not a size such as `8 MiB` or `8388608`"
        )),
    }
}

/// Prints a size in the largest unit that keeps it whole.
pub(super) fn print(bytes: u64) -> String {
    UNITS
        .iter()
        .find(|(name, factor)| *name != "B" && bytes >= *factor && bytes.is_multiple_of(*factor))
        .map_or_else(
            || bytes.to_string(),
            |(name, factor)| format!("{} {name}", bytes / factor),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_sizes() {
        for (text, bytes, printed) in [
            ("0", 0, "0"),
            ("1000", 1_000, "1000"),
            ("8388608", 8 << 20, "8 MiB"),
            ("8MiB", 8 << 20, "8 MiB"),
            ("3 GiB", 3 << 30, "3 GiB"),
            ("1536 KiB", 1536 << 10, "1536 KiB"),
            ("5 B", 5, "5"),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
            assert_eq!(print(bytes), printed);
            assert_eq!(parse(&print(bytes)), Ok(bytes));
        }
        for text in [
            "",
            "MiB",
            "8 MB",
            "8 mib",
            "-8",
            "1.5 GiB",
            "8 8",
            "99999999999999999 GiB",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
