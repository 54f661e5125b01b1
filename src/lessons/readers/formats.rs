//! Types and formats that lessons may name: a closed list, so that a tool's text cannot smuggle words in as one.

use std::sync::LazyLock;

use regex::Regex;

/// Spellings of types, and how a lesson calls them.
const SHAPES: &[(&str, &[&str])] = &[
    (
        "an integer",
        &[
            "integer",
            "int",
            "long",
            "int32",
            "int64",
            "i8",
            "i16",
            "i32",
            "i64",
            "u8",
            "u16",
            "u32",
            "u64",
            "uint",
            "usize",
            "isize",
            "bigint",
            "smallint",
            "int_type",
            "type_int32",
            "type_int64",
            "biginteger",
        ],
    ),
    (
        "a number",
        &[
            "number",
            "numeric",
            "float",
            "double",
            "decimal",
            "f32",
            "f64",
            "float64",
            "float32",
            "real",
            "type_float",
            "type_double",
            "bigdecimal",
        ],
    ),
    (
        "a string",
        &["string", "str", "text", "varchar", "type_string"],
    ),
    ("a boolean", &["boolean", "bool", "type_bool"]),
    (
        "an array",
        &[
            "array",
            "list",
            "sequence",
            "slice",
            "vec",
            "tuple",
            "arraylist",
            "collection",
        ],
    ),
    (
        "an object",
        &[
            "object",
            "dict",
            "dictionary",
            "map",
            "mapping",
            "struct",
            "hash",
            "hashmap",
            "record",
            "linkedhashmap",
        ],
    ),
    ("a date", &["date", "localdate"]),
    (
        "a date and time",
        &["datetime", "timestamp", "localdatetime", "timestamptz"],
    ),
    ("a UUID", &["uuid", "guid"]),
    ("an email address", &["email"]),
    ("a URL", &["url", "uri"]),
];

/// How a lesson calls a type.
pub(super) fn shape(name: &str) -> Option<&'static str> {
    let name = name.to_lowercase();
    SHAPES
        .iter()
        .find(|(_, spellings)| spellings.contains(&name.as_str()))
        .map(|(shape, _)| *shape)
}

/// Formats by the regex that finds them and the words for them.
const FORMATS: &[(&str, &str)] = &[
    (r"\biso[\s_-]?8601\b|isoformat|\bisodate", "ISO 8601"),
    (r"\brfc[\s_-]?3339\b", "RFC 3339"),
    (r"\brfc[\s_-]?2822\b", "RFC 2822"),
    (r"\be\.?164\b", "E.164"),
    (r"\biso[\s_-]?4217\b", "ISO 4217"),
    (r"\biso[\s_-]?3166\b", "ISO 3166"),
    (r"\biso[\s_-]?639\b", "ISO 639"),
    (r"\bdate-time\b", "an RFC 3339 date and time"),
    (r"\b(?:uuid|guid)\b", "a UUID"),
    (r"\be-?mail(?: address)?\b", "an email address"),
    (r"\bipv4\b", "an IPv4 address"),
    (r"\bipv6\b", "an IPv6 address"),
    (r"\b(?:uri|url)\b", "a URL"),
    (r"\bbase64\b", "base64"),
    (r"\bhex(?:adecimal)?\b", "hexadecimal"),
    (r"\bcron\b", "a cron expression"),
    (r"\bsemver\b|\bsemantic version", "a semantic version"),
    (r"\bunix (?:time|timestamp|epoch)", "a Unix timestamp"),
    (r"\bvalid date\b|\bdate format\b", "an ISO 8601 date"),
];

/// Date layouts: `YYYY-MM-DD`, `%Y-%m-%d`, `2006-01-02`.
const LAYOUT: &str = r"(?-i:\b[YMDHhmsSyd]{1,4}(?:[-/.: T'][YMDHhmsSyd]{1,4}){1,6}Z?\b|%[YmdHMSfzjyIp](?:[-/.: T]?%[YmdHMSfzjyIp]){1,8}Z?|\b2006-01-02(?:[T ]15:04(?::05)?(?:Z07:00)?)?)";

static KNOWN: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    FORMATS
        .iter()
        .filter_map(|(regex, words)| Some((Regex::new(&format!("(?i){regex}")).ok()?, *words)))
        .collect()
});

static DATES: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(LAYOUT).ok());

/// Compiles the formats.
pub(super) fn prepare() {
    LazyLock::force(&KNOWN);
    LazyLock::force(&DATES);
}

/// The format that a text asks for, in words of the closed list.
pub(super) fn format(text: &str) -> Option<String> {
    let earliest = KNOWN
        .iter()
        .filter_map(|(regex, words)| Some((regex.find(text)?.start(), (*words).to_owned())))
        .min_by_key(|(at, _)| *at);
    let layout = DATES.as_ref().and_then(|regex| regex.find(text));
    match (earliest, layout) {
        (Some((at, words)), Some(layout)) if at <= layout.start() && words.starts_with("ISO") => {
            Some(format!("{words}, as in {}", layout_words(layout.as_str())))
        }
        (_, Some(layout)) => Some(format!("a date as in {}", layout_words(layout.as_str()))),
        (Some((_, words)), None) => Some(words),
        (None, None) => None,
    }
}

fn layout_words(layout: &str) -> String {
    format!("`{}`", layout.replace(['\'', '`'], ""))
}
