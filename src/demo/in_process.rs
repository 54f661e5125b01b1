//! The whole story in one process: a server inside, a worker that asks it over gRPC, nothing left behind.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tonic::transport::Endpoint;

use super::grpc::{GrpcError, GrpcOracle};
use super::{DemoError, Look, POLICY};
use crate::oracle::Sources;
use crate::server::{AssembleError, Assembly, ServeError, ServeOptions, assemble, routes, start};
use crate::settings::Settings;

/// Why the demo could not be played.
#[derive(Debug, thiserror::Error)]
pub enum InProcessError {
    /// There is no room for its dead letters.
    #[error("cannot keep the demo's dead letters in {path}: {source}; TMPDIR names another place")]
    Directory {
        /// Where.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Its server cannot be put together.
    #[error("cannot put the demo's server together: {0}")]
    Assemble(#[from] AssembleError),
    /// Its server does not serve.
    #[error("the demo's server does not serve: {0}")]
    Serve(#[from] ServeError),
    /// Its server cannot be reached.
    #[error("the demo's server cannot be reached on loopback: {0}")]
    Connect(#[from] tonic::transport::Error),
    /// Its server's task broke off.
    #[error("the demo's server broke off: {0}")]
    Task(#[from] tokio::task::JoinError),
    /// A story could not be told to its end.
    #[error(transparent)]
    Story(#[from] DemoError<GrpcError>),
}

/// Starts a server inside this process, on loopback and ports of its own, plays the stories over gRPC, and stops it.
///
/// # Errors
/// If the server cannot be started, asked or stopped, or `out` cannot be written.
pub async fn run_in_process(out: &mut impl Write, look: Look) -> Result<(), InProcessError> {
    let directory = Directory::make()?;
    let server = Server::start(&directory.0).await?;
    let played = play(server.addr, out, look).await;
    let stopped = server.stop().await;
    played?;
    stopped
}

async fn play(addr: SocketAddr, out: &mut impl Write, look: Look) -> Result<(), InProcessError> {
    let channel = Endpoint::from_shared(format!("http://{addr}"))?
        .connect()
        .await?;
    Ok(super::run(&GrpcOracle::new(channel), out, look).await?)
}

struct Server {
    addr: SocketAddr,
    assembly: Arc<Assembly>,
    stop: oneshot::Sender<()>,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Server {
    async fn start(directory: &Path) -> Result<Self, InProcessError> {
        let mut settings = Settings::default();
        settings.data_dir = directory.join("data");
        settings.policy.file = Some(policy_file(directory)?);
        let assembly = tokio::task::spawn_blocking(move || assemble(&settings, Sources::system()));
        let assembly = Arc::new(assembly.await??);
        let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let options = ServeOptions {
            grpc_addr: free,
            http_addr: free,
            drain_timeout: Duration::from_secs(1),
            ..ServeOptions::default()
        };
        let routes = routes(&assembly.oracle, assembly.clone(), &options);
        let scraped = assembly.clone();
        let running = start(&options, routes, Arc::new(move || scraped.scrape())).await?;
        running.ready().await;
        let (stop, stopped) = oneshot::channel::<()>();
        Ok(Server {
            addr: running.grpc_addr,
            assembly,
            stop,
            task: tokio::spawn(running.run_until(async {
                // A sender that is gone means the same.
                let _ = stopped.await;
            })),
        })
    }

    async fn stop(self) -> Result<(), InProcessError> {
        drop(self.stop);
        let served = self.task.await?;
        self.assembly.close().await;
        Ok(served?)
    }
}

fn policy_file(directory: &Path) -> Result<PathBuf, InProcessError> {
    let path = directory.join("policy.yaml");
    match std::fs::write(&path, POLICY) {
        Ok(()) => Ok(path),
        Err(source) => Err(InProcessError::Directory { path, source }),
    }
}

/// A directory that goes with its last user.
struct Directory(PathBuf);

impl Directory {
    fn make() -> Result<Self, InProcessError> {
        let name = format!("backstop-demo-{:016x}", fastrand::u64(..));
        let path = std::env::temp_dir().join(name);
        // Made, not found: a directory that is there already is somebody else's.
        match std::fs::create_dir(&path) {
            Ok(()) => Ok(Directory(path)),
            Err(source) => Err(InProcessError::Directory { path, source }),
        }
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "the demo's directory stays behind");
        }
    }
}
