//! The name of the thing that a wrong reference says is missing: quoted, or after a colon.

use super::text::{cut, find_ignoring_case};
use crate::domain::Kind;

/// Longest reference, in bytes.
const LIMIT: usize = 200;

/// Words that say that something is missing. A name stands close to them.
const MISSING: &[&str] = &[
    "no such file or directory",
    "no such",
    "cannot find",
    "can't find",
    "could not find",
    "couldn't find",
    "not found",
    "doesn't exist",
    "does not exist",
    "do not exist",
    "unknown column",
    "unknown table",
    "unknown database",
    "undefined",
    "is not defined",
    "has no attribute",
    "did not match",
    "did not appear",
    "no rule to make target",
    "not available",
];

/// How far from those words a name may stand, in bytes.
const REACH: usize = 200;

/// The missing thing's name, from the text as the worker sent it.
pub(super) fn read(message: &str, kind: Kind) -> Option<String> {
    if kind != Kind::WrongReference {
        return None;
    }
    let head = cut(message, 4096);
    let bytes = head.as_bytes();
    let (at, phrase) = MISSING
        .iter()
        .find_map(|phrase| find_ignoring_case(bytes, phrase.as_bytes()).map(|at| (at, *phrase)))?;
    let end = at + phrase.len();
    let line_end = head
        .get(end..)?
        .find('\n')
        .map_or(head.len(), |len| end + len);
    let line_start = head.get(..at)?.rfind('\n').map_or(0, |found| found + 1);
    let from = head.ceil_char_boundary(line_start.max(at.saturating_sub(REACH)));
    let to = head.floor_char_boundary(line_end.min(end + REACH));
    let before = head.get(from..at)?;
    let after = head.get(end..to)?;
    let leads = matches!(phrase, "no such file or directory");
    let found = if leads {
        first_quoted(after)
            .or_else(|| last_quoted(before))
            .or_else(|| after_colon(after))
            .or_else(|| before_colon(before))
    } else {
        last_quoted(before)
            .or_else(|| first_quoted(after))
            .or_else(|| after_colon(after))
            .or_else(|| id_after(after))
    };
    found
        .map(|name| cut(name.trim(), LIMIT).to_owned())
        .filter(|name| !name.is_empty())
}

const QUOTES: [char; 3] = ['\'', '"', '`'];

fn first_quoted(text: &str) -> Option<&str> {
    let start = text.find(QUOTES)?;
    let quote = text.get(start..)?.chars().next()?;
    let rest = text.get(start + 1..)?;
    rest.get(..rest.find(quote)?)
        .filter(|name| !name.is_empty())
}

/// The last quoted name before the words; an apostrophe in a word is no quote.
fn last_quoted(text: &str) -> Option<&str> {
    let end = text.rfind(QUOTES)?;
    let quote = text.get(end..)?.chars().next()?;
    let before = text.get(..end)?;
    before
        .get(before.rfind(quote)? + 1..)
        .filter(|name| !name.is_empty() && !name.contains('\n'))
}

/// `Team not found: backend`.
fn after_colon(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix(':')?.trim();
    let end = rest.find(['\n', ',', ';']).unwrap_or(rest.len());
    rest.get(..end)
        .map(|name| name.trim_end_matches(['.', ')', '"', '\'', '}']))
}

/// `ls: /x/y: No such file or directory`.
fn before_colon(text: &str) -> Option<&str> {
    let rest = text.trim_end().strip_suffix(':')?;
    Some(rest.rsplit(": ").next().unwrap_or(rest))
}

/// `no such table customer` or `no such column: x`.
fn id_after(text: &str) -> Option<&str> {
    let rest = text.trim_start();
    let rest = [
        "table", "column", "function", "file", "element", "module", "key",
    ]
    .iter()
    .find_map(|word| rest.strip_prefix(word))?
    .trim_start_matches([':', ' ']);
    let end = rest
        .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/')))
        .unwrap_or(rest.len());
    rest.get(..end).map(|name| name.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_missing_thing_is_named() {
        let cases = [
            (
                "FileNotFoundError: [Errno 2] No such file or directory: 'data_1.csv'",
                Some("data_1.csv"),
            ),
            ("no such table: customer", Some("customer")),
            ("Table 'db.customer' doesn't exist", Some("db.customer")),
            ("Unknown column 'name' in 'field list'", Some("name")),
            (
                "relation \"permissions\" does not exist",
                Some("permissions"),
            ),
            ("Team not found: backend", Some("backend")),
            ("ls: /x/y: No such file or directory", Some("/x/y")),
            ("Error: Skill \"test-skill\" not found.", Some("test-skill")),
            (
                "NameError: name 'computer' is not defined",
                Some("computer"),
            ),
            (
                "make: *** No rule to make target 'all'.  Stop.",
                Some("all"),
            ),
            ("nothing here", None),
        ];
        for (text, want) in cases {
            assert_eq!(read(text, Kind::WrongReference).as_deref(), want, "{text}");
        }
        assert_eq!(read("no such table: customer", Kind::Timeout), None);
    }
}
