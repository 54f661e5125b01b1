//! The groups that readers share, and how names, numbers and lists are taken from them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::lessons::name::Name;

/// Fills in the shared groups: `<F>` a field, quoted or bare; `<Q>` a quoted field; `<T>` a type's name; `<L>` the
/// rest of the line; `<N>` a number.
pub(super) fn expand(regex: &str) -> String {
    regex
        .replace(
            "<F>",
            r#"[`'"“‘]?(?P<field>[\p{L}_$@][\w.$\[\]/-]*)[`'"”’]?"#,
        )
        .replace("<Q>", r#"[`'"“‘](?P<field>[^\s`'"“”‘’]+)[`'"”’]"#)
        .replace(
            "<T>",
            r#"(?:an?\s+)?(?:valid\s+)?(?:<class )?[`'"]?(?P<type>[a-z_]\w*)"#,
        )
        .replace("<L>", r"(?P<list>[^\n]+)")
        .replace("<N>", r"(?P<number>-?\d{1,15}(?:\.\d{1,9})?)")
}

/// Words that stand where a field's name would and are none.
const NO_FIELDS: &[&str] = &[
    "a",
    "all",
    "an",
    "and",
    "any",
    "argument",
    "arguments",
    "array",
    "at",
    "be",
    "body",
    "but",
    "data",
    "either",
    "error",
    "field",
    "fields",
    "input",
    "is",
    "it",
    "item",
    "json",
    "key",
    "message",
    "must",
    "name",
    "not",
    "number",
    "object",
    "of",
    "one",
    "option",
    "or",
    "param",
    "parameter",
    "parameters",
    "properties",
    "property",
    "query",
    "request",
    "required",
    "should",
    "string",
    "that",
    "the",
    "these",
    "they",
    "this",
    "to",
    "tool",
    "type",
    "value",
    "values",
    "which",
    "you",
];

/// The group's text as a field's name. Containers around it (`body.`, `/`, `$.`) are dropped: the model does not see
/// them. A word such as `value` counts only in quotes.
pub(super) fn field(captures: &Captures<'_>) -> Option<Name> {
    let (raw, quoted) = whole_word(captures)?;
    let name = field_name(raw)?;
    (quoted || !is_no_field(&name)).then_some(name)
}

/// The group's text as the name of any thing, containers and all.
pub(super) fn thing(captures: &Captures<'_>) -> Option<Name> {
    let (raw, quoted) = whole_word(captures)?;
    let name = Name::read(raw)?;
    (quoted || !is_no_field(&name)).then_some(name)
}

/// The group `field`, and whether it stands in quotes; `None` if it is only the first word of what is quoted, for
/// then it is no name but the beginning of a sentence.
fn whole_word<'a>(captures: &Captures<'a>) -> Option<(&'a str, bool)> {
    let whole = captures.get(0)?;
    let found = captures.name("field")?;
    let before = whole.as_str().get(..found.start() - whole.start())?;
    let after = whole.as_str().get(found.end() - whole.start()..)?;
    let opened = before.ends_with(QUOTES);
    (opened == after.starts_with(QUOTES)).then_some((found.as_str(), opened))
}

const QUOTES: [char; 7] = ['`', '\'', '"', '“', '‘', '”', '’'];

fn is_no_field(name: &Name) -> bool {
    NO_FIELDS.contains(&name.as_str().to_lowercase().as_str())
}

/// A field's name without the containers around it.
pub(super) fn field_name(raw: &str) -> Option<Name> {
    let mut path = raw.trim_start_matches(['#', '/', '$', '.']);
    for container in [
        "body.",
        "query.",
        "path.",
        "args.",
        "arguments.",
        "params.",
        "input.",
        "properties/",
    ] {
        path = path.strip_prefix(container).unwrap_or(path);
    }
    Name::read(path)
}

/// A path as JSON writes it, `"body", "guests", 0`, in dots: `guests.0`.
pub(super) fn json_path(raw: &str) -> Option<Name> {
    let parts: Vec<&str> = raw
        .split(',')
        .map(|part| part.trim().trim_matches(['"', '\'']))
        .filter(|part| !part.is_empty())
        .collect();
    field_name(&parts.join("."))
}

/// The group's number, as it stands.
pub(super) fn number<'a>(captures: &Captures<'a>) -> Option<&'a str> {
    captures.name("number").map(|number| number.as_str())
}

/// The names in the group `list`.
pub(super) fn names(captures: &Captures<'_>) -> Vec<Name> {
    captures
        .name("list")
        .map_or_else(Vec::new, |list| list_of(list.as_str(), false))
}

/// The values in the group `list`, which may be of two words.
pub(super) fn allowed(captures: &Captures<'_>) -> Vec<Name> {
    captures
        .name("list")
        .map_or_else(Vec::new, |list| list_of(list.as_str(), true))
}

/// Longest enumeration that is read.
const MOST_LIST_BYTES: usize = 600;

/// Most values that are read; more are not shown anyway.
const MOST_VALUES: usize = 40;

/// The items of an enumeration in running text: quoted ones as long as only separators stand between them, else
/// what stands between commas, bars and `or` until the text goes on to what was wrong.
fn list_of(text: &str, values: bool) -> Vec<Name> {
    let text = text
        .get(..text.floor_char_boundary(MOST_LIST_BYTES))
        .unwrap_or("");
    let text = text.trim_start_matches([' ', '[', '(', '{', ':']);
    let read = |item: &str| {
        if values {
            Name::read_value(item)
        } else {
            Name::read(item)
        }
    };
    if text.starts_with(QUOTES) {
        return quoted_items(text).into_iter().filter_map(read).collect();
    }
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)\.\s|\.$|[);}\]](?:[^,|]|$)|,?\s*(?:but\s+)?(?:received|got|found|given|at line|input_value|not )\b|\s\[type=|\n").ok()
    });
    let Some(end) = &*END else {
        return Vec::new();
    };
    let text = end
        .find(text)
        .and_then(|end| text.get(..end.start()))
        .unwrap_or(text);
    text.replace(" or ", ",")
        .replace(" and ", ",")
        .split([',', '|'])
        .map(str::trim)
        .take(MOST_VALUES)
        .map_while(read)
        .filter(|name| !is_no_field(name))
        .collect()
}

/// Quoted items from the start of the text, up to the first gap that is no separator.
fn quoted_items(text: &str) -> Vec<&str> {
    static ITEM: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"^(?:[\s,|/]|\bor\b|\band\b){0,6}[`'"“‘]([^`'"“”‘’\n]+)[`'"”’]"#).ok()
    });
    let mut items = Vec::new();
    let mut rest = text;
    while let Some(captures) = ITEM.as_ref().and_then(|item| item.captures(rest)) {
        let (Some(whole), Some(item)) = (captures.get(0), captures.get(1)) else {
            break;
        };
        items.push(item.as_str());
        rest = rest.get(whole.end()..).unwrap_or("");
        if items.len() == MOST_VALUES {
            break;
        }
    }
    items
}
