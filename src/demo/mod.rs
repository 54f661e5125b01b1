//! The articles' stories, played twice in one process: by the usual retry wrapper, and by a worker that asks the oracle.
//!
//! The [`worlds`] are small simulated tools that count what really happened to them; the [`models`] decide what is
//! called next; [`naive`] and [`obedient`] are the two ways to handle a failure; [`table`] sets both side by side.
//! Every number is counted by the worlds, and every verdict comes from the oracle that is passed in: over [`grpc`] from a
//! server that [`in_process`] starts, or in tests from a script. Nothing sleeps: waits are skipped, since no story
//! depends on time.

mod client;
mod grpc;
mod in_process;
mod models;
mod naive;
mod obedient;
mod stories;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod whole_tests;
mod worlds;

use std::io::{IsTerminal, Write};

pub use client::{Admitted, Judged, OracleClient};
pub use grpc::{GrpcError, GrpcOracle};
pub use in_process::{InProcessError, run_in_process};
pub use table::Look;

use stories::stories;
use table::Row;

/// The policy that the demo's oracle has to be started with: what the articles would have said of their tools.
pub const POLICY: &str = include_str!("policy.yaml");

/// Why the demo stopped.
#[derive(Debug, thiserror::Error)]
pub enum DemoError<E> {
    /// A request failed.
    #[error("the oracle could not answer in the story `{story}`: {source}")]
    Oracle {
        /// Which story was played.
        story: &'static str,
        /// What the oracle's client said.
        source: E,
    },
    /// The table cannot be written.
    #[error("cannot write the demo's table: {0}")]
    Output(#[from] std::io::Error),
}

/// What one way of playing a story came to.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Run {
    /// Calls that reached the tools.
    calls: u64,
    /// Effects that happened more often than was asked for.
    duplicates: u64,
    /// Calls that failed.
    failures: u64,
    /// Failures that the user or the metrics got to see.
    shown: u64,
    /// Whether the task was done in the end.
    done: bool,
    /// The last verdict, where somebody gave one.
    last: Option<crate::domain::Verdict>,
}

/// Plays every story without and with the oracle and writes the table, at 80 columns.
///
/// # Errors
/// If the oracle cannot be asked or `out` cannot be written.
pub async fn run<O: OracleClient>(
    oracle: &O,
    out: &mut impl Write,
    look: Look,
) -> Result<(), DemoError<O::Error>> {
    table::head(out, look)?;
    let mut rows = Vec::new();
    for (number, story) in stories().into_iter().enumerate() {
        let naive = naive::play(&story);
        let turn_id = format!("demo-{}", number + 1);
        let obedient = obedient::play(oracle, &turn_id, &story)
            .await
            .map_err(|source| DemoError::Oracle {
                story: story.title,
                source,
            })?;
        let row = Row {
            title: story.title,
            naive,
            obedient,
        };
        table::row(out, look, &row)?;
        rows.push(row);
    }
    table::foot(out, look, &rows)?;
    Ok(())
}

/// How standard output wants it: in colour on a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
pub fn look_of_stdout() -> Look {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused {
        Look::Coloured
    } else {
        Look::Plain
    }
}
