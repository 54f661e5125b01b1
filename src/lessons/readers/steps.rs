//! Steps that have to come first.

use std::sync::LazyLock;

use regex::Captures;

use crate::lessons::correction::Correction;
use crate::lessons::name::Name;

use super::{Reader, Scene, first, table};

static READERS: LazyLock<Vec<Reader>> = LazyLock::new(|| {
    table(&[
        (
            r"(?:use|call|run|invoke|execute)(?: the)? [`'\x22]?(?P<name>[a-z][\w.-]{2,})[`'\x22]?(?: tool| command| function)?(?: first| before| to | \()",
            named_step,
        ),
        (
            r"(?:handled by|must (?:first )?call|requires) [`'\x22]?(?P<name>[a-z][\w.-]{2,})",
            named_step,
        ),
        (
            r"server [`'\x22](?P<name>[^\s`'\x22]+)[`'\x22] is not connected",
            connect,
        ),
        (
            r"before initiali[sz]ation|not (?:been )?initiali[sz]ed|initiali[sz]e first",
            |_, scene| step("Initialize the session first", scene),
        ),
        (
            r"(?:no|invalid|unknown) (?:valid |active )?session|session (?:id )?(?:not found|expired|invalid)",
            |_, scene| step("Start a new session first", scene),
        ),
        (
            r"log ?in first|please log ?in|not logged in|sign in first|must be logged in",
            |_, scene| step("Log in first", scene),
        ),
        (
            r"no (?:\w+ )?(?:data ?set|data|file|model|document)s? (?:is |are |has been |have been )?(?:loaded|open(?:ed)?|selected)|not been loaded|not loaded|load (?:a|the|some) \w+ (?:first|before)",
            |_, scene| step("Load what is needed first", scene),
        ),
        (
            r"not been (?:fully )?read|read (?:it|the file) first|must read",
            |_, scene| step("Read the file first", scene),
        ),
        (r"no active project|select a project", |_, scene| {
            step("Select a project first", scene)
        }),
        (
            r"still being (?:generated|created|processed)|not ready yet|in progress\. try",
            |_, scene| step("Wait until it is ready", scene),
        ),
        (r"commit your changes or stash", |_, scene| {
            step("Commit or stash the local changes first", scene)
        }),
        (r"not concluded your merge|unfinished merge", |_, scene| {
            step("Finish the open merge first", scene)
        }),
        (r"must unarchive|is archived", |_, scene| {
            step("Unarchive it first", scene)
        }),
        (
            r"modal state|dialog is open|handle .{0,20}dialog",
            |_, scene| step("Handle the open dialog first", scene),
        ),
        (
            r"intercepts pointer events|element is not (?:displayed|visible)",
            |_, scene| {
                step(
                    "Bring the element into view and close what covers it",
                    scene,
                )
            },
        ),
        (r"already running", |_, scene| {
            step("Stop or await the one that is running", scene)
        }),
    ])
});

/// The step that the text names.
pub(super) fn read(scene: &Scene<'_>) -> Option<Correction> {
    first(&READERS, scene)
}

/// A tool that the text tells to use. Only what looks like a tool's name, or is known as one.
fn named_step(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let name = Name::read(captures.name("name")?.as_str())?;
    let is_tool = name.as_str().contains('_') || scene.source.known_tools.contains(&name.as_str());
    (is_tool && name.as_str() != scene.source.tool)
        .then(|| then_again(&format!("Call {name} first"), scene))
}

fn connect(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let name = Name::read(captures.name("name")?.as_str())?;
    Some(then_again(&format!("Connect to {name} first"), scene))
}

fn step(words: &str, scene: &Scene<'_>) -> Option<Correction> {
    Some(then_again(words, scene))
}

fn then_again(step: &str, scene: &Scene<'_>) -> Correction {
    let tool = Name::stated(scene.source.tool)
        .map_or_else(|| "this tool".to_owned(), |tool| tool.to_string());
    Correction::Say(format!(
        "{step}, then call {tool} again with the same arguments."
    ))
}

/// Compiles the wordings.
pub(super) fn prepare() {
    LazyLock::force(&READERS);
}

/// Whether every wording compiles.
#[cfg(test)]
pub(super) fn are_sound() -> bool {
    READERS.len() == 16
}
