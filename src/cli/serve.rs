//! `serve`: the oracle.

use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::{CliError, logging};
use crate::oracle::Sources;
use crate::server::{
    AssembleError, Assembly, ServeError, ServeOptions, assemble, routes, start, stop_signal,
};
use crate::settings::{Flags, Settings};

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
    pub listen: Option<SocketAddr>,
    /// Address of /metrics, /healthz and /readyz, 127.0.0.1:9464 unless set; port 0 takes a free one
    #[arg(long, value_name = "ADDR")]
    pub http_listen: Option<SocketAddr>,
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

/// Runs the command until the program is asked to stop.
pub(super) async fn run(flags: &ServeFlags, out: &mut impl Write) -> Result<(), CliError> {
    let settings = Settings::load(&flags.layer(), std::env::vars())
        .map_err(|error| CliError::BadInput(error.to_string()))?;
    if flags.print_settings {
        return Ok(write!(out, "{settings}")?);
    }
    logging::start(settings.log.format, &settings.log.level)?;
    let assembly = tokio::task::spawn_blocking({
        let settings = settings.clone();
        move || assemble(&settings, Sources::system())
    })
    .await
    .map_err(|error| CliError::Failed(error.to_string()))??;
    let assembly = Arc::new(assembly);
    serve(&options(&settings), &assembly).await?;
    assembly.close().await;
    Ok(())
}

async fn serve(options: &ServeOptions, assembly: &Arc<Assembly>) -> Result<(), CliError> {
    let routes = routes(&assembly.oracle, assembly.clone(), options);
    let scraped = assembly.clone();
    let running = start(options, routes, Arc::new(move || scraped.scrape())).await?;
    let tasks = assembly.start_tasks();
    running.ready().await;
    running.run_until(stop_signal()).await?;
    drop(tasks);
    Ok(())
}

fn options(settings: &Settings) -> ServeOptions {
    ServeOptions {
        grpc_addr: settings.server.listen,
        http_addr: settings.server.http_listen,
        insecure: settings.server.insecure,
        drain_timeout: settings.server.drain_timeout,
        max_message_bytes: settings.server.max_message_bytes,
    }
}

impl ServeFlags {
    /// The flags as the last layer of the settings.
    fn layer(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            listen: self.listen,
            http_listen: self.http_listen,
            policy: self.policy.clone(),
            data_dir: self.data_dir.clone(),
            insecure: self.insecure,
        }
    }
}

impl From<AssembleError> for CliError {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Policy(_) => CliError::BadInput(error.to_string()),
            AssembleError::Letters(_) | AssembleError::Metrics(_) => {
                CliError::Failed(error.to_string())
            }
        }
    }
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
