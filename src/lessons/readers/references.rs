//! Names of tools and things that do not exist, and the ones that were likely meant.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::lessons::correction::{Correction, nearest};
use crate::lessons::name::Name;

use super::values::{expand, names, thing};
use super::{Make, Reader, Scene, first, table};

/// Most known tools that are looked through.
const MOST_TOOLS: usize = 512;

static INSTEAD: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    table(&[(
        r"(?P<before>[^\n]{0,160})\buse [`'\x22](?P<name>[^\s`'\x22]+)[`'\x22] instead",
        instead,
    )])
});

/// `'a' is not supported. Use 'b' instead.`
pub(super) fn use_instead(scene: &Scene<'_>) -> Option<Correction> {
    first(&INSTEAD, scene)
}

fn instead(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let name = Name::read(captures.name("name")?.as_str())?;
    let before = captures
        .name("before")
        .and_then(|before| last_quoted(before.as_str()));
    Some(Correction::Say(match before {
        Some(wrong) if wrong != name => format!("Use {name} instead of {wrong}."),
        _ => format!("Use {name} instead."),
    }))
}

fn last_quoted(text: &str) -> Option<Name> {
    static QUOTED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"[`'"]([^\s`'"]+)[`'"]"#).ok());
    QUOTED
        .as_ref()?
        .captures_iter(text)
        .filter_map(|quoted| Name::read(quoted.get(1)?.as_str()))
        .last()
}

static KNOWN: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    table(&[(
        r"(?:(?:available|valid|known|existing|supported|allowed) (?:tools?|functions?|actions?|names?|\w+s)(?: are| is)?|must be one of(?: the following(?: options)?)?|try one of|options are|choose from)\s*:? \s*<L>",
        |captures, _| {
            let known = names(captures);
            (!known.is_empty()).then_some(Correction::Replace { wrong: None, known })
        },
    )])
});

static SUGGESTION: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    let one: Make = |captures, _| {
        let known = vec![thing(captures)?];
        Some(Correction::Replace { wrong: None, known })
    };
    table(&[
        (
            r"(?:did you mean|perhaps you meant|do you mean|maybe you meant)(?: to reference)?(?: the)?(?: column| table| function| one of)?:? <F>",
            one,
        ),
        (
            r"(?:most similar|closest|nearest|similar) (?:\w+ )?(?:matches|match|is|are|name|command|names)(?: is| are)?:?\s+<F>",
            one,
        ),
    ])
});

static MISSING: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    [
        r"no such (?:tool|function)(?: name| available)?:? <F>",
        r"(?:tool|function|action) <F> (?:is |was |does |do |don't )?(?:not |isn't |doesn't )?(?:found|exist|a valid|available|defined|recogni[sz]ed)",
        r"unknown (?:tool|function|action):? <F>",
        r"no such file or directory: <Q>",
        r"no such (?:table|column|file|element|key|index|function|module|object|host|file or directory):? <F>",
        r"(?:relation|table|column|database|collection|dataset|skill|file|module|key|index|object|function|schema|view|type|user|team|branch|package|name|bucket|resource|id|path) <Q> (?:\w+ ){0,3}?(?:does not|doesn't|is not|was not|not|could not|cannot)\b",
        r"undefined (?:table|column|function):? <Q>",
        r"<Q> (?:does not exist|doesn't exist|not found|is not defined|was not found|could not be found|is not available)",
        r"(?:directory does not exist|not found|does not exist|cannot find|could not find|couldn't find|no such \w+): <F>",
    ]
    .iter()
    .filter_map(|regex| Regex::new(&format!("(?i){}", expand(regex))).ok())
    .collect()
});

fn missing(text: &str) -> Option<Name> {
    let named = MISSING.iter().find_map(|regex| {
        regex
            .captures_iter(text)
            .take(4)
            .find_map(|captures| thing(&captures))
    });
    // Without quotes or a noun before it, only what cannot be a plain word is a name: "payment method not found".
    named.or_else(|| {
        let captures = BARE.as_ref()?.captures(text)?;
        thing(&captures).filter(|name| !name.as_str().chars().all(char::is_alphabetic))
    })
}

static BARE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(&format!(
        "(?i){}",
        expand(r"<F> (?:does not exist|doesn't exist|not found|is not defined|not available)")
    ))
    .ok()
});

/// The name that a suggestion in the text gives, or those that a list in it gives.
fn suggested(scene: &Scene<'_>) -> Vec<Name> {
    match first(&SUGGESTION, scene).or_else(|| first(&KNOWN, scene)) {
        Some(Correction::Replace { known, .. }) => known,
        _ => Vec::new(),
    }
}

/// A tool that does not exist: the closest one that does.
pub(super) fn unknown_tool(scene: &Scene<'_>) -> Option<Correction> {
    let wrong = missing(scene.text).or_else(|| Name::stated(scene.source.tool))?;
    let known: Vec<Name> = scene
        .source
        .known_tools
        .iter()
        .take(MOST_TOOLS)
        .filter_map(|tool| Name::stated(tool))
        .collect();
    if let Some(meant) = nearest(&wrong, &known) {
        return Some(Correction::Replace {
            wrong: Some(wrong),
            known: vec![meant.clone()],
        });
    }
    let mut offered = suggested(scene);
    offered.retain(|name| *name != wrong);
    if offered.is_empty() {
        offered = known;
    }
    offered.retain(|name| *name != wrong);
    if offered.is_empty() {
        return Some(Correction::Say(format!(
            "There is no tool {wrong}: call only tools that are offered, by their exact names."
        )));
    }
    Some(Correction::Replace {
        wrong: Some(wrong),
        known: offered,
    })
}

static TEXT_NOT_FOUND: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    table(&[
        (
            r"0 occurrences|did not appear verbatim|no replacement was performed|find a matching location|text (?:in old_string|to replace) was not found|string to replace not found|search (?:block|text) not found",
            |_, _| {
                say(
                    "Read the file again and copy the text to replace exactly, white space included.",
                )
            },
        ),
        (r"parent directory does not exist", |_, _| {
            say("Create the parent directory first, or use one that exists.")
        }),
        (
            r"element with index \S+ does not exist|no node found for selector|element not found|unable to locate element",
            |_, _| say("Look at the page as it is now, and name only elements that it shows."),
        ),
        (
            r"could not find a version that satisfies|from versions: <L>",
            |_, _| say("Ask for a version that is in the list of the error."),
        ),
    ])
});

fn say(sentence: &str) -> Option<Correction> {
    Some(Correction::Say(sentence.to_owned()))
}

/// A thing that does not exist: the one that was meant, or how to find it.
pub(super) fn wrong_reference(scene: &Scene<'_>) -> Option<Correction> {
    let wrong = scene
        .source
        .reading
        .reference
        .as_deref()
        .and_then(Name::read)
        .or_else(|| missing(scene.text));
    let mut known = suggested(scene);
    if let Some(wrong) = &wrong {
        known.retain(|name| name != wrong);
    }
    if !known.is_empty() {
        return Some(Correction::Replace { wrong, known });
    }
    first(&TEXT_NOT_FOUND, scene).or_else(|| {
        wrong.map(|wrong| Correction::Replace {
            wrong: Some(wrong),
            known: Vec::new(),
        })
    })
}

/// Compiles the wordings.
pub(super) fn prepare() {
    for readers in [&INSTEAD, &KNOWN, &SUGGESTION, &TEXT_NOT_FOUND] {
        LazyLock::force(readers);
    }
    LazyLock::force(&MISSING);
    LazyLock::force(&BARE);
}

/// How many regexes of each table compiled.
#[cfg(test)]
pub(super) fn compiled() -> [usize; 6] {
    [
        INSTEAD.len(),
        KNOWN.len(),
        SUGGESTION.len(),
        MISSING.len(),
        usize::from(BARE.is_some()),
        TEXT_NOT_FOUND.len(),
    ]
}
