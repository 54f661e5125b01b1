//! Output that cannot be read, and requests that do not fit.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde::de::IgnoredAny;

use crate::lessons::correction::Correction;

use super::Scene;

/// What parsers complain of, and what that asks for.
const COMPLAINTS: &[(&str, &str)] = &[
    (
        r"expecting ',' delimiter|expected `?,`? or|expected comma",
        "a comma is missing",
    ),
    (
        r"expecting ':' delimiter|expected `?:`?",
        "a colon is missing",
    ),
    (
        r"unterminated string|eof while parsing a string|unclosed string",
        "a string is not closed",
    ),
    (
        r"property name enclosed in double quotes|key must be a string|expected property name|single quotes",
        "names need double quotes",
    ),
    (r"trailing comma", "a comma is too many"),
    (
        r"extra data|trailing characters|after json|unexpected non-whitespace|\}\s?\{",
        "there is more than one value",
    ),
    (
        r"invalid control character|control character",
        "line breaks in strings need an escape",
    ),
    (
        r"invalid \\?escape|bad escape|invalid escape",
        "a backslash is not escaped",
    ),
    (
        r"unexpected end|eof while parsing|unexpected eof|end of json input|premature end",
        "it ends too early",
    ),
    (
        r"line 1 column 1 \(char 0\)|unexpected token .{1,3} in json at position 0|expected value at line 1 column 1\b",
        "it does not begin as JSON",
    ),
];

static COMPLAINT_READERS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    COMPLAINTS
        .iter()
        .filter_map(|(regex, words)| Some((Regex::new(&format!("(?i){regex}")).ok()?, *words)))
        .collect()
});

/// JSON (or a tool call) that does not parse: what is wrong and where.
pub(super) fn malformed(scene: &Scene<'_>) -> Option<Correction> {
    let complaint = COMPLAINT_READERS
        .iter()
        .find(|(regex, _)| regex.is_match(scene.text))
        .map(|(_, words)| *words);
    let place = place(scene.text).or_else(|| place_in_input(scene.source.input?));
    let sentence = match (complaint, place) {
        (Some(complaint), Some(place)) => format!("Emit valid JSON: {complaint} near {place}."),
        (Some(complaint), None) => format!("Emit valid JSON: {complaint}."),
        (None, Some(place)) => format!("Emit valid JSON: its syntax is wrong near {place}."),
        (None, None)
            if scene
                .text
                .to_lowercase()
                .contains("malformed_function_call") =>
        {
            "Emit one well-formed tool call, its arguments a single JSON object.".to_owned()
        }
        (None, None) => return None,
    };
    Some(Correction::Say(sentence))
}

fn place(text: &str) -> Option<String> {
    static LINE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)line (\d{1,7})[,:]? ?col(?:umn)? ?(\d{1,7})").ok());
    static OFFSET: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?i)(?:position|offset|char|index) (\d{1,9})").ok());
    let group = |captures: &Captures<'_>, group: usize| {
        captures.get(group).map(|found| found.as_str().to_owned())
    };
    if let Some(captures) = LINE.as_ref()?.captures(text) {
        return Some(format!(
            "line {} column {}",
            group(&captures, 1)?,
            group(&captures, 2)?
        ));
    }
    let captures = OFFSET.as_ref()?.captures(text)?;
    Some(format!("position {}", group(&captures, 1)?))
}

/// Where the arguments themselves stop being JSON, for texts that do not say.
fn place_in_input(input: &str) -> Option<String> {
    /// Larger arguments are not worth the time.
    const MOST_BYTES: usize = 64 * 1024;
    let looks_like_json = input.trim_start().starts_with(['{', '[']);
    if !looks_like_json || input.len() > MOST_BYTES {
        return None;
    }
    let error = serde_json::from_str::<IgnoredAny>(input).err()?;
    Some(format!("line {} column {}", error.line(), error.column()))
}

/// Limits that texts state, with the unit where it is fixed.
const LIMITS: &[(&str, Option<&str>)] = &[
    (
        r"maximum context length (?:is|of) (\d{2,10})",
        Some("tokens"),
    ),
    (
        r"context (?:window|length|size) (?:of|is|limit of)? ?(\d{2,10})",
        Some("tokens"),
    ),
    (r"> (\d{2,10}) maximum", Some("tokens")),
    (r"maximum allowed tokens \((\d{2,10})\)", Some("tokens")),
    (r"\blimit:? (\d{2,10}), requested", Some("tokens")),
    (
        r"(?:token|input) (?:limit|count)[^\n\d]{0,40}?(?:maximum|allowed|limit|of|exceeds)[^\n\d]{0,40}(\d{2,10})",
        Some("tokens"),
    ),
    (r#""?n_ctx"?\s*[:=]\s*(\d{2,10})"#, Some("tokens")),
    (
        r"exceeds the limit:? (?:of )?(\d{2,12}) bytes",
        Some("bytes"),
    ),
    (r"larger than max \(\d+ vs\. (\d{2,12})\)", Some("bytes")),
    (
        r"(?:maximum|max|limit)[^\n\d]{0,30}(\d{2,12}) (tokens|bytes|characters)",
        None,
    ),
];

static LIMIT_READERS: LazyLock<Vec<(Regex, Option<&str>)>> = LazyLock::new(|| {
    LIMITS
        .iter()
        .filter_map(|(regex, unit)| Some((Regex::new(&format!("(?i){regex}")).ok()?, *unit)))
        .collect()
});

/// A request that does not fit: how large it may be.
pub(super) fn overflow(scene: &Scene<'_>) -> Option<Correction> {
    // The answer was too long, not the question.
    let answer = scene.text.contains("response (") || scene.text.contains("reduce the response");
    let (limit, unit) = LIMIT_READERS.iter().find_map(|(regex, unit)| {
        let captures = regex.captures(scene.text)?;
        let unit = unit
            .map(str::to_owned)
            .or_else(|| captures.get(2).map(|unit| unit.as_str().to_lowercase()))?;
        Some((captures.get(1)?.as_str().to_owned(), unit))
    })?;
    Some(Correction::Say(if answer {
        format!("Ask for less at once, by pages or filters, to stay below {limit} {unit}.")
    } else {
        format!(
            "Stay well below {limit} {unit}: keep the task and the facts it needs, drop long outputs."
        )
    }))
}

/// Compiles the wordings.
pub(super) fn prepare() {
    LazyLock::force(&COMPLAINT_READERS);
    LazyLock::force(&LIMIT_READERS);
}

/// Whether every wording compiles.
#[cfg(test)]
pub(super) fn are_sound() -> bool {
    COMPLAINTS
        .iter()
        .chain(&[])
        .all(|(regex, _)| Regex::new(regex).is_ok())
        && LIMITS.iter().all(|(regex, _)| Regex::new(regex).is_ok())
}
