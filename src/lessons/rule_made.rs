//! The rule-made lesson: one corrective sentence read out of the failure.

use crate::domain::{Failure, Kind, Origin, Reading};
use crate::secrets;

use super::name::Name;
use super::readers;
use super::words::{MAX_BYTES, cut, cut_to_words};

/// Words that rule-made lessons keep to, so that guidance has room for a few of its own before them.
const RULE_MADE_WORDS: usize = 20;

/// Most bytes of a failure's text that are read, from its head and from its tail.
const HEAD_BYTES: usize = 8 * 1024;
const TAIL_BYTES: usize = 4 * 1024;

/// What a rule-made lesson is made from.
#[derive(Debug, Clone, Copy)]
pub struct LessonSource<'a> {
    /// The failure as the worker holds it; not masked yet.
    pub failure: &'a Failure,
    /// What the classifier read.
    pub reading: &'a Reading,
    /// The tool's or model's name.
    pub tool: &'a str,
    /// Which of the two.
    pub origin: Origin,
    /// The arguments of the failed call, where the worker sent them.
    pub input: Option<&'a str>,
    /// Tools that are known to exist, for `unknown_tool`.
    pub known_tools: &'a [&'a str],
}

/// One corrective sentence, at most 25 words: what to do differently. Never empty, never a replay of the failed call,
/// never a secret; of the failure's text it holds at most single names, numbers and known formats.
pub fn rule_made(source: &LessonSource<'_>) -> String {
    let text = readable(&source.failure.message);
    let lesson = readers::read(source, &text)
        .map(|lesson| cut(&secrets::mask(&lesson), RULE_MADE_WORDS, MAX_BYTES).0)
        .filter(|lesson| !lesson.is_empty());
    lesson.unwrap_or_else(|| {
        let subject = subject(source.origin, source.tool);
        cut_to_words(&general_lesson(Some(source.reading.kind), &subject)).0
    })
}

/// Compiles what lessons and masking need. Without it the first failures after a start pay for that, about a tenth of
/// a second in all.
pub fn prepare() {
    secrets::Masker::builtin();
    readers::prepare();
}

/// Whether a lesson is only the general one of its kind: the text said nothing that could be read. Two failures with
/// such lessons need not have failed for the same reason.
pub fn is_general(lesson: &str) -> bool {
    GENERAL_OPENINGS
        .iter()
        .any(|opening| lesson.starts_with(opening))
}

fn subject(origin: Origin, tool: &str) -> String {
    match (origin, Name::stated(tool)) {
        (Origin::Tool, Some(name)) => name.to_string(),
        (Origin::Tool, None) => "the tool".to_owned(),
        (Origin::Model, _) => "the model".to_owned(),
    }
}

/// Head and tail of the text, masked before the cut so that no half of a secret is left, with the escapes of JSON
/// inside JSON undone.
fn readable(message: &str) -> String {
    let masked = secrets::mask(message);
    let text = if masked.len() <= HEAD_BYTES + TAIL_BYTES {
        masked.into_owned()
    } else {
        let head = masked.floor_char_boundary(HEAD_BYTES);
        let tail = masked.ceil_char_boundary(masked.len() - TAIL_BYTES);
        let (head, tail) = (
            masked.get(..head).unwrap_or(""),
            masked.get(tail..).unwrap_or(""),
        );
        format!("{head}\n{tail}")
    };
    if text.contains('\\') {
        text.replace("\\\\", "\\")
            .replace("\\\"", "\"")
            .replace("\\'", "'")
            .replace("\\n", "\n")
    } else {
        text
    }
}

/// What each kind teaches where the text says nothing more.
pub(super) fn general_lesson(kind: Option<Kind>, subject: &str) -> String {
    let Some(kind) = kind else {
        return format!("Try another way than {subject}, or say plainly that it does not work.");
    };
    match kind {
        Kind::RateLimited
        | Kind::Overloaded
        | Kind::Unavailable
        | Kind::ConnectFailed
        | Kind::Contention
        | Kind::ServerError => {
            format!(
                "The arguments were not the problem: leave them as they are, and use {subject} later."
            )
        }
        Kind::Timeout | Kind::ConnectionLost | Kind::Cancelled => {
            format!(
                "Look first whether {subject} has done its work already before it is used again."
            )
        }
        Kind::MalformedOutput => {
            "Emit exactly one complete, valid JSON value, with nothing before or after it."
                .to_owned()
        }
        Kind::InvalidArguments => {
            format!(
                "Check every argument of {subject} against its description: names, types, formats and ranges."
            )
        }
        Kind::UnknownTool => "Call only tools that are offered, by their exact names.".to_owned(),
        Kind::WrongReference => {
            "Search or list first, and name only what exists, exactly as it is shown.".to_owned()
        }
        Kind::Refusal => {
            "Do the part of the task that is possible, and say plainly which part is not."
                .to_owned()
        }
        Kind::TruncatedOutput => {
            "Answer more briefly or in smaller parts, so that the output fits.".to_owned()
        }
        Kind::EmptyOutput => "Give an answer: one complete tool call or a text.".to_owned(),
        Kind::ContextOverflow => {
            "Send much less: keep the task and the facts it needs, drop long outputs.".to_owned()
        }
        Kind::PreconditionUnmet => {
            format!(
                "Do the step first that {subject} is waiting for, then call it again with the same arguments."
            )
        }
        Kind::StaleState => {
            "Read the current state again, then redo the change on top of it.".to_owned()
        }
        Kind::Unauthenticated
        | Kind::PermissionDenied
        | Kind::QuotaExhausted
        | Kind::Misconfigured
        | Kind::ToolBug
        | Kind::ResourceExhausted => {
            format!("Work without {subject}: other arguments will not help.")
        }
        Kind::Unsupported => {
            format!("Use another tool or option: {subject} does not support this one.")
        }
        Kind::ContentFiltered => "Leave out the content that was blocked.".to_owned(),
        Kind::ApprovalRequired => format!("Leave {subject} alone until a person approves it."),
        Kind::Unknown => {
            format!("Try another way than {subject}, or say plainly that it does not work.")
        }
    }
}

/// How the sentences of [`general_lesson`] begin.
const GENERAL_OPENINGS: &[&str] = &[
    "The arguments were not the problem:",
    "Look first whether ",
    "Emit exactly one complete, valid JSON value, with",
    "Check every argument of ",
    "Call only tools that are offered,",
    "Search or list first, and name only",
    "Do the part of the task that is possible,",
    "Answer more briefly or in smaller parts, so",
    "Give an answer: one complete tool call",
    "Send much less: keep the task and the facts it needs, drop",
    "Do the step first that ",
    "Read the current state again, then redo",
    "Work without ",
    "Use another tool or option: ",
    "Leave out the content that was blocked.",
    "Leave ",
    "Try another way than ",
];
