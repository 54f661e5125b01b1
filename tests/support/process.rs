//! A real server process: started on free ports, waited for until it serves, killed when dropped.
//!
//! Waiting is always polling with a bound ([`PATIENCE`]), never a fixed sleep: a slow machine makes the tests slower,
//! not wrong.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value as Json;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::wire::Wire;

/// How long anything is waited for before the test gives up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How often a condition is looked at.
pub(crate) const GLANCE: Duration = Duration::from_millis(10);

/// The built program.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_backstop");

/// What a server is started with beside free ports.
#[derive(Debug, Default, Clone)]
pub(crate) struct Setup {
    /// `--policy`.
    pub(crate) policy: Option<PathBuf>,
    /// `--config`.
    pub(crate) config: Option<PathBuf>,
    /// `--data-dir`; a fresh one that goes with the process where absent.
    pub(crate) data_dir: Option<PathBuf>,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    log: Arc<Mutex<Vec<String>>>,
    /// Where gRPC is served.
    pub(crate) grpc: SocketAddr,
    /// Where /metrics, /healthz and /readyz are served.
    pub(crate) http: SocketAddr,
    _own_data: Option<tempfile::TempDir>,
}

impl Server {
    /// Starts a server and returns once it has said which addresses it took. It may not serve yet.
    pub(crate) fn start(setup: &Setup) -> Result<Self> {
        let own_data = match setup.data_dir {
            Some(_) => None,
            None => Some(tempfile::tempdir()?),
        };
        let data_dir = setup
            .data_dir
            .as_deref()
            .or(own_data.as_ref().map(tempfile::TempDir::path))
            .context("no data directory")?;
        let mut command = Command::new(PROGRAM);
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--http-listen", "127.0.0.1:0", "--data-dir"])
            .arg(data_dir)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        for (flag, file) in [("--policy", &setup.policy), ("--config", &setup.config)] {
            if let Some(file) = file {
                command.arg(flag).arg(file);
            }
        }
        let mut child = command
            .spawn()
            .with_context(|| format!("cannot start {PROGRAM}"))?;
        let stderr = child.stderr.take().context("no stderr")?;
        let log = Arc::new(Mutex::new(Vec::new()));
        let addresses = follow_log(stderr, Arc::clone(&log));
        match addresses.recv_timeout(PATIENCE) {
            Ok((grpc, http)) => Ok(Server {
                child,
                log,
                grpc,
                http,
                _own_data: own_data,
            }),
            Err(_) => {
                // Gone or silent: whatever it said is the best explanation there is.
                let _ = child.kill();
                let _ = child.wait();
                bail!(
                    "the server never logged its grpc_addr and http_addr; its log:\n{}",
                    tail(&log)
                )
            }
        }
    }

    /// Starts a server and waits until its health is SERVING.
    pub(crate) async fn serving(setup: &Setup) -> Result<Self> {
        let server = Self::start(setup)?;
        server.wait_for(ServingStatus::Serving).await?;
        Ok(server)
    }

    /// A client made from the server's own reflection.
    pub(crate) async fn wire(&self) -> Result<Wire> {
        Wire::connect(self.channel()?).await
    }

    /// A channel that connects on first use.
    pub(crate) fn channel(&self) -> Result<Channel> {
        Ok(Endpoint::from_shared(format!("http://{}", self.grpc))?
            .connect_timeout(PATIENCE)
            .connect_lazy())
    }

    /// The overall health, or why it cannot be had.
    pub(crate) async fn health(&self) -> Result<ServingStatus> {
        let mut client = HealthClient::new(self.channel()?);
        let answer = client
            .check(HealthCheckRequest::default())
            .await?
            .into_inner();
        Ok(answer.status())
    }

    /// Polls the health until it is `wanted`.
    pub(crate) async fn wait_for(&self, wanted: ServingStatus) -> Result<()> {
        let start = Instant::now();
        loop {
            let health = self.health().await;
            if health.as_ref().is_ok_and(|status| *status == wanted) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                bail!("health is {health:?}, not {wanted:?}; log:\n{}", self.log());
            }
            tokio::time::sleep(GLANCE).await;
        }
    }

    /// One GET over plain HTTP: status line's code and body.
    pub(crate) fn get(&self, path: &str) -> Result<(u16, String)> {
        let mut stream = TcpStream::connect_timeout(&self.http, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        // HTTP/1.0: the body ends with the connection, no chunks to decode.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {}\r\n\r\n", self.http)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
        let code = head.split(' ').nth(1).context("no status")?.parse()?;
        Ok((code, body.to_owned()))
    }

    /// The metrics page.
    pub(crate) fn metrics(&self) -> Result<String> {
        let (code, body) = self.get("/metrics")?;
        if code != 200 {
            bail!("/metrics answered {code}: {body}");
        }
        Ok(body)
    }

    /// The last lines that the server logged.
    pub(crate) fn log(&self) -> String {
        tail(&self.log)
    }

    /// Sends a signal by name, e.g. `TERM`.
    pub(crate) fn signal(&self, name: &str) -> Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status()?;
        if !status.success() {
            bail!("kill -s {name} {pid}: {status}");
        }
        Ok(())
    }

    /// Waits for the process to end by itself.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if start.elapsed() > PATIENCE {
                bail!("the server does not end; log:\n{}", self.log());
            }
            std::thread::sleep(GLANCE);
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Writes `text` as `name` under `dir` and gives back the path.
pub(crate) fn write_file(dir: &Path, name: &str, text: &str) -> Result<PathBuf> {
    let path = dir.join(name);
    std::fs::write(&path, text)?;
    Ok(path)
}

/// Reads the log to its end in a thread of its own (a full pipe would stall the server), and sends the addresses on.
fn follow_log(
    stderr: impl Read + Send + 'static,
    log: Arc<Mutex<Vec<String>>>,
) -> Receiver<(SocketAddr, SocketAddr)> {
    let (found, addresses) = channel();
    std::thread::spawn(move || {
        let (mut grpc, mut http) = (None, None);
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            grpc = grpc.or_else(|| address_in(&line, "grpc_addr"));
            http = http.or_else(|| address_in(&line, "http_addr"));
            if let (Some(grpc), Some(http)) = (grpc, http) {
                // Sent anew with every later line; the test takes the first and may be gone.
                let _ = found.send((grpc, http));
            }
            log.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(line);
        }
    });
    addresses
}

/// An address that was taken, from a log record that has it at its top or among its `fields`.
fn address_in(line: &str, name: &str) -> Option<SocketAddr> {
    let record: Json = serde_json::from_str(line).ok()?;
    record
        .get(name)
        .or_else(|| record.get("fields")?.get(name))?
        .as_str()?
        .parse()
        .ok()
}

fn tail(log: &Mutex<Vec<String>>) -> String {
    let lines = log.lock().unwrap_or_else(PoisonError::into_inner);
    let from = lines.len().saturating_sub(40);
    lines
        .iter()
        .skip(from)
        .fold(String::new(), |mut all, line| {
            all.push_str(line);
            all.push('\n');
            all
        })
}
