//! `demo`: a whole story in one command.

use std::io::Write;

use super::CliError;

/// Plays the demo's stories to `out`.
pub(super) async fn run(out: &mut impl Write) -> Result<(), CliError> {
    play(out).await
}

/// The stories, over an oracle in memory.
async fn play(_out: &mut impl Write) -> Result<(), CliError> {
    Err(CliError::Failed(
        "the demo is not part of this build".to_owned(),
    ))
}
