//! The sockets: binding, serving gRPC and HTTP, and the drain.
//!
//! Order of events: both listeners are bound (nothing is served on one if the other cannot be had), their addresses
//! are logged, gRPC answers with health NOT_SERVING until `Running::ready` is called. On the stop signal health turns
//! NOT_SERVING, connections are asked to finish, and after `drain_timeout` whatever is left is cut: tonic's own drain
//! has no deadline, and one health watch would hold it for ever. HTTP goes last, so that the drain can be observed.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::service::{Routes, RoutesBuilder};
use tonic::transport::Server;

use super::proto::admin_service_server::AdminServiceServer;
use super::proto::dead_letter_service_server::DeadLetterServiceServer;
use super::proto::oracle_service_server::OracleServiceServer;
use super::readiness::{Readiness, Stage};
use super::{AdminService, DeadLetterService, OracleService, PolicyDesk, http, proto};
use crate::oracle::Oracle;

/// Smallest message limit: 8 MiB, since inputs and HTTP bodies come as they are.
const MIN_MESSAGE_BYTES: usize = 8 * 1024 * 1024;
/// Requests that one connection may have in flight.
const STREAMS_PER_CONNECTION: u32 = 1_024;
/// Largest header block of a request, in bytes.
const HEADER_LIST_BYTES: u32 = 64 * 1024;
/// A silent connection is asked this often whether it is still there, and given that long to answer.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(30);
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(20);
/// How long HTTP may take to finish its last answers.
const HTTP_DRAIN: Duration = Duration::from_secs(1);

/// Renders the metrics for `/metrics`.
pub type Scrape = Arc<dyn Fn() -> String + Send + Sync>;

/// Where and how to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServeOptions {
    /// gRPC; port 0 takes a free one.
    pub grpc_addr: SocketAddr,
    /// Metrics and probes; port 0 takes a free one.
    pub http_addr: SocketAddr,
    /// Binding beyond loopback is meant, though anybody who gets there may ask.
    pub insecure: bool,
    /// How long requests in flight may take once the server is asked to stop.
    pub drain_timeout: Duration,
    /// Largest request, in bytes; at least 8 MiB is allowed whatever it says.
    pub max_message_bytes: usize,
}

impl Default for ServeOptions {
    fn default() -> Self {
        ServeOptions {
            grpc_addr: SocketAddr::from(([127, 0, 0, 1], 50_051)),
            http_addr: SocketAddr::from(([127, 0, 0, 1], 9_464)),
            insecure: false,
            drain_timeout: Duration::from_secs(20),
            max_message_bytes: MIN_MESSAGE_BYTES,
        }
    }
}

/// Why the server does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Anybody on the network could ask.
    #[error(
        "{setting}: {addr} can be reached from other machines, and callers are not authenticated; \
         listen on 127.0.0.1, or set server.insecure (--insecure) if the network in front of it keeps strangers out"
    )]
    Exposed {
        /// Which setting.
        setting: &'static str,
        /// The address.
        addr: SocketAddr,
    },
    /// The address cannot be had.
    #[error(
        "{setting}: cannot listen on {addr}: {source}; stop the program that holds it, choose another port, or 0 for a free one"
    )]
    Bind {
        /// Which setting.
        setting: &'static str,
        /// The address.
        addr: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
    /// The descriptors do not decode: a defect of the build.
    #[error("reflection cannot be served: {0}")]
    Reflection(#[from] tonic_reflection::server::Error),
    /// gRPC broke off.
    #[error("serving gRPC broke off: {0}")]
    Grpc(#[from] tonic::transport::Error),
    /// A server task panicked or was aborted.
    #[error("a server task broke off: {0}")]
    Task(#[from] tokio::task::JoinError),
}

/// The three services over `oracle`.
pub fn routes(oracle: &Arc<Oracle>, desk: Arc<dyn PolicyDesk>, options: &ServeOptions) -> Routes {
    let limit = options.max_message_bytes.max(MIN_MESSAGE_BYTES);
    let mut routes = RoutesBuilder::default();
    routes
        .add_service(
            OracleServiceServer::new(OracleService::new(Arc::clone(oracle)))
                .max_decoding_message_size(limit),
        )
        .add_service(
            DeadLetterServiceServer::new(DeadLetterService::new(Arc::clone(oracle)))
                .max_decoding_message_size(limit),
        )
        .add_service(
            AdminServiceServer::new(AdminService::new(Arc::clone(oracle), desk))
                .max_decoding_message_size(limit),
        );
    routes.routes()
}

/// A server that listens.
#[derive(Debug)]
pub struct Running {
    /// The gRPC address taken.
    pub grpc_addr: SocketAddr,
    /// The HTTP address taken.
    pub http_addr: SocketAddr,
    readiness: Readiness,
    drain_timeout: Duration,
    stop_grpc: watch::Sender<bool>,
    stop_http: watch::Sender<bool>,
    grpc: JoinHandle<Result<(), tonic::transport::Error>>,
    http: JoinHandle<std::io::Result<()>>,
}

/// Binds both listeners and answers on them, gRPC health being NOT_SERVING until `Running::ready`.
///
/// # Errors
/// An address beyond loopback without `insecure`, one that cannot be had, or descriptors that do not decode.
pub async fn start(
    options: &ServeOptions,
    routes: Routes,
    scrape: Scrape,
) -> Result<Running, ServeError> {
    let grpc_listener = bind("server.listen", options.grpc_addr, options.insecure).await?;
    let http_listener = bind("server.http_listen", options.http_addr, options.insecure).await?;
    let grpc_addr = local_addr("server.listen", options.grpc_addr, &grpc_listener)?;
    let http_addr = local_addr("server.http_listen", options.http_addr, &http_listener)?;

    let (readiness, health) = Readiness::starting().await;
    let (stop_grpc, grpc_stop) = watch::channel(false);
    let (stop_http, http_stop) = watch::channel(false);
    let routes = routes
        .add_service(health)
        .add_service(reflection().build_v1()?)
        .add_service(reflection().build_v1alpha()?);

    let grpc = tokio::spawn(
        Server::builder()
            .http2_keepalive_interval(Some(KEEPALIVE_INTERVAL))
            .http2_keepalive_timeout(Some(KEEPALIVE_TIMEOUT))
            .max_concurrent_streams(STREAMS_PER_CONNECTION)
            .http2_max_header_list_size(HEADER_LIST_BYTES)
            .add_routes(routes)
            .serve_with_incoming_shutdown(incoming(grpc_listener), raised(grpc_stop)),
    );
    let router = http::router(readiness.clone(), scrape);
    let http = tokio::spawn(
        axum::serve(http_listener, router)
            .with_graceful_shutdown(raised(http_stop))
            .into_future(),
    );

    tracing::info!(%grpc_addr, "listening");
    tracing::info!(%http_addr, "listening");
    Ok(Running {
        grpc_addr,
        http_addr,
        readiness,
        drain_timeout: options.drain_timeout,
        stop_grpc,
        stop_http,
        grpc,
        http,
    })
}

impl Running {
    /// Everything is in place: health turns SERVING.
    pub async fn ready(&self) {
        self.readiness.advance(Stage::Serving).await;
        tracing::info!("serving");
    }

    /// The stage, for whoever has to tell it on.
    pub fn readiness(&self) -> Readiness {
        self.readiness.clone()
    }

    /// Serves until `stop` completes, then drains; returns once nothing is served any more.
    ///
    /// # Errors
    /// A server that broke off by itself.
    pub async fn run_until(mut self, stop: impl Future<Output = ()>) -> Result<(), ServeError> {
        let broken = tokio::select! {
            () = stop => None,
            ended = &mut self.grpc => Some(ended),
        };
        self.readiness.advance(Stage::Draining).await;
        let result = match broken {
            Some(ended) => ended?.map_err(ServeError::from),
            None => self.drain_grpc().await,
        };
        self.stop_http.send_replace(true);
        if tokio::time::timeout(HTTP_DRAIN, &mut self.http)
            .await
            .is_err()
        {
            self.http.abort();
        }
        tracing::info!("stopped");
        result
    }

    async fn drain_grpc(&mut self) -> Result<(), ServeError> {
        tracing::info!(timeout = ?self.drain_timeout, "draining");
        self.stop_grpc.send_replace(true);
        match tokio::time::timeout(self.drain_timeout, &mut self.grpc).await {
            Ok(ended) => Ok(ended??),
            Err(_) => {
                tracing::warn!(
                    timeout = ?self.drain_timeout,
                    "requests or streams were still open when the drain's time was over; they are cut"
                );
                self.grpc.abort();
                Ok(())
            }
        }
    }
}

/// Completes on SIGTERM or SIGINT (elsewhere than on Unix: on Ctrl-C).
pub async fn stop_signal() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = terminate.recv() => tracing::info!(signal = "SIGTERM", "stopping"),
                    _ = tokio::signal::ctrl_c() => tracing::info!(signal = "SIGINT", "stopping"),
                }
                return;
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be heard; only SIGINT stops the server")
            }
        }
    }
    if let Err(error) = tokio::signal::ctrl_c().await {
        tracing::warn!(%error, "SIGINT cannot be heard");
        std::future::pending::<()>().await;
    }
}

async fn bind(
    setting: &'static str,
    addr: SocketAddr,
    insecure: bool,
) -> Result<TcpListener, ServeError> {
    if !insecure && !addr.ip().to_canonical().is_loopback() {
        return Err(ServeError::Exposed { setting, addr });
    }
    TcpListener::bind(addr)
        .await
        .map_err(|source| ServeError::Bind {
            setting,
            addr,
            source,
        })
}

fn local_addr(
    setting: &'static str,
    addr: SocketAddr,
    listener: &TcpListener,
) -> Result<SocketAddr, ServeError> {
    listener.local_addr().map_err(|source| ServeError::Bind {
        setting,
        addr,
        source,
    })
}

/// Accepted connections with Nagle's delay off: answers are small, and workers wait for them.
fn incoming(
    listener: TcpListener,
) -> impl tokio_stream::Stream<Item = std::io::Result<tokio::net::TcpStream>> {
    use tokio_stream::StreamExt as _;
    TcpListenerStream::new(listener).map(|accepted| {
        let stream = accepted?;
        stream.set_nodelay(true)?;
        Ok(stream)
    })
}

fn reflection() -> tonic_reflection::server::Builder<'static> {
    tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(proto::FILE_DESCRIPTOR_SET)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
}

/// Completes once the flag is raised, or nobody is left to raise it.
async fn raised(mut flag: watch::Receiver<bool>) {
    let _ = flag.wait_for(|raised| *raised).await;
}

#[cfg(test)]
#[path = "serve_tests.rs"]
mod tests;
