//! Logs: to standard error, for people on a terminal, else one JSON object a line.

use std::io::IsTerminal as _;

use tracing_subscriber::EnvFilter;

use super::CliError;
use crate::settings::LogFormat;

/// Starts logging; `level` is a filter such as `info` or `backstop=debug,h2=warn`, and `RUST_LOG` outranks it.
///
/// # Errors
/// A filter that does not parse.
pub(super) fn start(format: LogFormat, level: &str) -> Result<(), CliError> {
    let (name, filter) = match std::env::var("RUST_LOG") {
        Ok(filter) if !filter.trim().is_empty() => ("RUST_LOG", filter),
        _ => ("log.level", level.to_owned()),
    };
    let filter = EnvFilter::try_new(&filter).map_err(|error| {
        CliError::BadInput(format!(
            "{name}: `{filter}` is no log filter ({error}); write e.g. `info` or `backstop=debug`"
        ))
    })?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr);
    let is_text = match format {
        LogFormat::Auto => std::io::stderr().is_terminal(),
        LogFormat::Pretty => true,
        LogFormat::Json => false,
    };
    let started = if is_text {
        let is_coloured = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        builder.with_ansi(is_coloured).try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
    started.map_err(|error| CliError::Failed(format!("logging does not start: {error}")))
}
