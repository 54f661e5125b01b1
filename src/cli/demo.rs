//! `demo`: a whole story in one command.

use std::io::Write;

use super::CliError;
use crate::demo;

/// Plays the demo's stories to `out`.
pub(super) async fn run(out: &mut impl Write) -> Result<(), CliError> {
    demo::run_in_process(out, demo::look_of_stdout())
        .await
        .map_err(|error| CliError::Failed(error.to_string()))
}
