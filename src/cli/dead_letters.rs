//! `dead-letters show`: one parked stop with its full story, out of a data directory.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::CliError;
use crate::domain::DeadLetter;
use crate::letters;

/// Look at parked stops.
#[derive(Debug, Subcommand)]
pub(super) enum DeadLettersCommand {
    /// Show one dead letter; a server may be running over the same directory
    Show {
        /// Its id, as a verdict gave it out
        id: String,
        /// Where the server keeps its data
        #[arg(long, value_name = "DIR", default_value = "data")]
        data_dir: PathBuf,
        /// Whose letter
        #[arg(long, default_value = "default")]
        tenant: String,
        /// Print JSON instead of text
        #[arg(long)]
        json: bool,
    },
}

/// Runs the command.
pub(super) fn run(command: DeadLettersCommand, out: &mut impl Write) -> Result<(), CliError> {
    let DeadLettersCommand::Show {
        id,
        data_dir,
        tenant,
        json,
    } = command;
    let letter = find(&data_dir, &tenant, &id)?.ok_or_else(|| {
        CliError::Failed(format!(
            "no dead letter `{id}` of tenant `{tenant}` in {}; is this the server's --data-dir?",
            data_dir.display()
        ))
    })?;
    if json {
        let json = serde_json::to_string_pretty(&letter)
            .map_err(|error| CliError::Failed(format!("dead letter `{id}`: {error}")))?;
        writeln!(out, "{json}")?;
    } else {
        write!(out, "{}", letters::render_letter(&letter))?;
    }
    Ok(())
}

/// The stored letter, absent where the tenant has none of this id.
fn find(data_dir: &Path, tenant: &str, id: &str) -> Result<Option<DeadLetter>, CliError> {
    letters::read_only(data_dir)
        .and_then(|reader| reader.get(tenant, id))
        .map_err(|error| CliError::Failed(error.to_string()))
}
