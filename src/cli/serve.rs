//! `serve`: the oracle.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{CliError, LogFormat, logging};
use crate::metrics::Metrics;
use crate::oracle::Oracle;
use crate::server::{PolicyDesk, ServeError, ServeOptions, routes, start, stop_signal};

const AFTER_HELP: &str = "\
Examples:
  backstop serve
  backstop serve --policy policy.yaml --data-dir /var/lib/backstop
  backstop serve --listen 127.0.0.1:0 --http-listen 127.0.0.1:0

Settings are layered: built-in, then --config, then the environment (BACKSTOP__SERVER__LISTEN=...),
then flags. --print-settings shows what they come to. The addresses taken are logged as `listening`.
SIGTERM and SIGINT drain and stop; SIGHUP reads the policy again.";

/// Run the oracle.
#[derive(Debug, Clone, Default, Args)]
#[command(after_help = AFTER_HELP)]
pub struct ServeFlags {
    /// Settings file, YAML or TOML
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// gRPC address, 127.0.0.1:50051 unless set; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Address of /metrics, /healthz and /readyz, 127.0.0.1:9464 unless set; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub http_listen: Option<String>,
    /// Policy file, YAML; the built-in policy unless set
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Where dead letters are kept
    #[arg(long, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Listen beyond loopback although callers are not authenticated
    #[arg(long)]
    pub insecure: bool,
    /// Print the settings that all layers come to, and stop
    #[arg(long)]
    pub print_settings: bool,
}

/// What the flags, files and environment come to.
struct Prepared {
    /// All settings for printing, secrets masked.
    printed: String,
    log_format: LogFormat,
    log_level: String,
    options: ServeOptions,
}

/// Everything that a server serves.
struct Assembly {
    oracle: Arc<Oracle>,
    desk: Arc<dyn PolicyDesk>,
    metrics: Metrics,
}

/// Runs the command until the program is asked to stop.
pub(super) async fn run(flags: &ServeFlags, out: &mut impl Write) -> Result<(), CliError> {
    let prepared = prepare(flags)?;
    if flags.print_settings {
        return Ok(write!(out, "{}", prepared.printed)?);
    }
    logging::start(prepared.log_format, &prepared.log_level)?;
    let assembly = assemble(flags).await?;
    serve(&prepared.options, &assembly).await?;
    close(assembly).await
}

async fn serve(options: &ServeOptions, assembly: &Assembly) -> Result<(), CliError> {
    let upkeep = tokio::spawn(assembly.metrics.clone().keep_up());
    let metrics = assembly.metrics.clone();
    let routes = routes(&assembly.oracle, Arc::clone(&assembly.desk), options);
    let running = start(options, routes, Arc::new(move || metrics.render())).await?;
    running.ready().await;
    running.run_until(stop_signal()).await?;
    upkeep.abort();
    Ok(())
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        let text = error.to_string();
        match error {
            ServeError::Exposed { .. } => CliError::BadInput(text),
            ServeError::Bind { .. }
            | ServeError::Reflection(_)
            | ServeError::Grpc(_)
            | ServeError::Task(_) => CliError::Failed(text),
        }
    }
}

/// Reads the layered settings.
fn prepare(_flags: &ServeFlags) -> Result<Prepared, CliError> {
    Err(CliError::Failed(
        "the settings are not part of this build".to_owned(),
    ))
}

/// Builds the oracle with its stores, policy and metrics.
async fn assemble(_flags: &ServeFlags) -> Result<Assembly, CliError> {
    Err(CliError::Failed(
        "the oracle is not part of this build".to_owned(),
    ))
}

/// Lets the stores finish once nothing is served any more.
async fn close(_assembly: Assembly) -> Result<(), CliError> {
    Ok(())
}
