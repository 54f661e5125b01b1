//! Which field a message is about, where the message itself does not say: validators put it beside the message.

use std::sync::LazyLock;

use regex::Regex;

use crate::lessons::name::Name;

use super::values::{expand, field_name, json_path};

/// Where a field stands, the surest first. `path` groups are JSON arrays, `field` groups are names.
const PLACES: &[&str] = &[
    // zod, FastAPI
    r#""(?:path|loc)"\s*:\s*\[(?P<path>[^\]\[]+)\]"#,
    r"'loc'\s*:\s*[\[(](?P<path>[^\])]+)[\])]",
    // ajv
    r#""(?:instancePath|dataPath)"\s*:\s*"(?P<field>[^"\s]+)""#,
    // Jackson
    r#"through reference chain:[^\n]*\["(?P<field>[^"\s]+)"\]"#,
    // Go
    r"into Go struct field (?:\w+\.)*?(?P<field>\w[\w.]*) of type",
    r"Field validation for '(?P<field>[^']+)' failed",
    // Python's jsonschema
    r"On instance(?P<path>(?:\[[^\]\n]+\])+):",
    // AWS, Google
    r"(?:Invalid (?:type|length|range|value) for parameter|Value .{0,80} at|Invalid value at) [`'\x22]?(?P<field>[\w.\[\]-]+)",
    // OpenAI, Stripe
    r#"["']param["']\s*:\s*["'](?P<field>[^"'\s]+)["']"#,
    r"(?m)^Parameter: (?P<field>\S+)$",
    r"Invalid (?:type for |value for )?[`'](?P<field>[\w.\[\]-]+)[`']",
    r"(?m)^[`'](?P<field>[\w.\[\]-]+)[`']: ",
    // pydantic: the field on a line of its own, the message below
    r"(?m)^(?P<field>[\w.\[\]-]+)\r?\n[ \t]+\S",
    // Anthropic: messages.1.content: Input should be …
    r"(?:^|[\s'\x22{])(?P<field>[a-z_][\w.-]*): (?:input should|field required|extra inputs|invalid type|invalid value|string should|list should|value error)",
    r"argument (?P<field>[\w/-]+): invalid",
    r#""field"\s*:\s*"(?P<field>[^"\s]+)""#,
    r"\b(?:field|parameter|param|argument|property|column|key) <Q>",
];

static READERS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    PLACES
        .iter()
        .filter_map(|place| Regex::new(&format!("(?i){}", expand(place))).ok())
        .collect()
});

/// Compiles the places.
pub(super) fn prepare() {
    LazyLock::force(&READERS);
}

/// The field that the text is about, as far as its surroundings say.
pub(super) fn beside(text: &str) -> Option<Name> {
    READERS.iter().find_map(|regex| {
        let captures = regex.captures(text)?;
        match captures.name("path") {
            Some(path) => json_path(&path.as_str().replace("][", ",").replace(['[', ']'], "")),
            None => field_name(captures.name("field")?.as_str()),
        }
    })
}

/// How many places there should be, were none of them broken.
#[cfg(test)]
pub(super) fn are_sound() -> bool {
    PLACES
        .iter()
        .all(|place| Regex::new(&expand(place)).is_ok())
}
