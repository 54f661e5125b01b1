//! What can be read out of a failure's text, by kind. Readers are tables of regexes; the first that finds something
//! usable decides. They see the text masked and without JSON escapes.

mod arguments;
mod fields;
mod formats;
mod output;
mod references;
mod steps;
#[cfg(test)]
mod tests;
mod values;

use regex::{Captures, Regex};

use crate::domain::Kind;

use super::correction::Correction;
use super::rule_made::LessonSource;

/// A regex and what its match means. Names of groups are those of [`values`].
struct Reader {
    regex: Regex,
    make: Make,
}

/// What readers know besides their match.
struct Scene<'a> {
    source: &'a LessonSource<'a>,
    text: &'a str,
}

/// How many matches of one regex are tried before the next regex is.
const TRIES: usize = 4;

/// The lesson that the text gives, if it gives one.
pub(super) fn read(source: &LessonSource<'_>, text: &str) -> Option<String> {
    let scene = Scene { source, text };
    let correction = match source.reading.kind {
        Kind::InvalidArguments => arguments::read(&scene),
        Kind::UnknownTool => references::unknown_tool(&scene),
        Kind::WrongReference => references::wrong_reference(&scene),
        Kind::MalformedOutput => output::malformed(&scene),
        Kind::ContextOverflow => output::overflow(&scene),
        Kind::PreconditionUnmet => steps::read(&scene),
        Kind::Unsupported => references::use_instead(&scene),
        Kind::RateLimited
        | Kind::Overloaded
        | Kind::Unavailable
        | Kind::ConnectFailed
        | Kind::Contention
        | Kind::ServerError
        | Kind::Timeout
        | Kind::ConnectionLost
        | Kind::Cancelled
        | Kind::Refusal
        | Kind::TruncatedOutput
        | Kind::EmptyOutput
        | Kind::StaleState
        | Kind::Unauthenticated
        | Kind::PermissionDenied
        | Kind::QuotaExhausted
        | Kind::Misconfigured
        | Kind::ToolBug
        | Kind::ResourceExhausted
        | Kind::ContentFiltered
        | Kind::ApprovalRequired
        | Kind::Unknown => None,
    }?;
    Some(correction.sentence())
}

/// Compiles every table.
pub(super) fn prepare() {
    arguments::prepare();
    references::prepare();
    output::prepare();
    steps::prepare();
}

/// What a match means; `None` if it turns out to be unusable.
type Make = fn(&Captures<'_>, &Scene<'_>) -> Option<Correction>;

/// Compiles a table; [`values::expand`] fills in the groups that its regexes share.
fn table<T: AsRef<str>>(rows: &[(T, Make)]) -> Vec<Reader> {
    rows.iter()
        .filter_map(|(regex, make)| {
            let regex = Regex::new(&format!("(?i){}", values::expand(regex.as_ref()))).ok()?;
            Some(Reader { regex, make: *make })
        })
        .collect()
}

/// The first reader that finds something usable.
fn first(readers: &[Reader], scene: &Scene<'_>) -> Option<Correction> {
    readers.iter().find_map(|reader| {
        reader
            .regex
            .captures_iter(scene.text)
            .take(TRIES)
            .find_map(|captures| (reader.make)(&captures, scene))
    })
}
