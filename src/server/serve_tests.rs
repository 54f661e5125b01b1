//! Sockets, health and the drain, with services that need no oracle.

use std::net::Ipv4Addr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_stream::StreamExt as _;
use tonic::Code;
use tonic::transport::{Channel, Endpoint};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;
use tonic_reflection::pb::v1::{ServerReflectionRequest, ServerReflectionResponse};

use super::*;

fn options() -> ServeOptions {
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    ServeOptions {
        grpc_addr: free,
        http_addr: free,
        drain_timeout: Duration::from_millis(200),
        ..ServeOptions::default()
    }
}

async fn started() -> Running {
    let scrape: Scrape = Arc::new(|| "backstop_turns_open 0\n".to_owned());
    start(&options(), Routes::default(), scrape).await.unwrap()
}

async fn channel(addr: SocketAddr) -> Channel {
    let endpoint = Endpoint::from_shared(format!("http://{addr}")).unwrap();
    endpoint.connect().await.unwrap()
}

async fn health(addr: SocketAddr, service: &str) -> Result<ServingStatus, Code> {
    let mut client = HealthClient::new(channel(addr).await);
    let request = HealthCheckRequest {
        service: service.to_owned(),
    };
    let answer = client
        .check(request)
        .await
        .map_err(|status| status.code())?;
    Ok(answer.into_inner().status())
}

/// Status line and body of a GET.
async fn get(addr: SocketAddr, path: &str) -> (String, String) {
    let mut stream = TcpStream::connect(addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_lowercase(), body.to_owned())
}

#[tokio::test]
async fn health_is_not_serving_until_ready() {
    let running = started().await;
    let addr = running.grpc_addr;
    let names = [
        "",
        "backstop.v1.OracleService",
        "backstop.v1.DeadLetterService",
        "backstop.v1.AdminService",
    ];
    for name in names {
        assert_eq!(
            health(addr, name).await,
            Ok(ServingStatus::NotServing),
            "{name}"
        );
    }
    assert_eq!(health(addr, "no.such.Service").await, Err(Code::NotFound));
    running.ready().await;
    for name in names {
        assert_eq!(
            health(addr, name).await,
            Ok(ServingStatus::Serving),
            "{name}"
        );
    }
    running.run_until(async {}).await.unwrap();
}

#[tokio::test]
async fn readyz_says_why_not() {
    let running = started().await;
    let addr = running.http_addr;
    let (head, body) = get(addr, "/readyz").await;
    assert!(head.starts_with("http/1.1 503"), "{head}");
    assert_eq!(body, "not ready: starting\n");
    assert!(get(addr, "/healthz").await.0.starts_with("http/1.1 200"));
    running.ready().await;
    let (head, body) = get(addr, "/readyz").await;
    assert!(head.starts_with("http/1.1 200"), "{head}");
    assert_eq!(body, "ready\n");
    let readiness = running.readiness();
    readiness.advance(Stage::Draining).await;
    assert_eq!(
        get(addr, "/readyz").await.1,
        "not ready: draining before shutdown\n"
    );
    readiness.advance(Stage::Serving).await;
    assert_eq!(
        readiness.stage(),
        Stage::Draining,
        "a drain is not taken back"
    );
    assert_eq!(
        health(running.grpc_addr, "").await,
        Ok(ServingStatus::NotServing)
    );
}

#[tokio::test]
async fn metrics_are_prometheus_text() {
    let running = started().await;
    let (head, body) = get(running.http_addr, "/metrics").await;
    assert!(
        head.contains("content-type: text/plain; version=0.0.4"),
        "{head}"
    );
    assert_eq!(body, "backstop_turns_open 0\n");
    assert!(
        get(running.http_addr, "/nothing")
            .await
            .0
            .starts_with("http/1.1 404")
    );
}

#[tokio::test]
async fn a_stream_that_stays_open_does_not_hold_the_drain() {
    let running = started().await;
    running.ready().await;
    let mut client = HealthClient::new(channel(running.grpc_addr).await);
    let watch = client.watch(HealthCheckRequest::default()).await.unwrap();
    let mut watch = watch.into_inner();
    let first = watch.next().await.unwrap().unwrap();
    assert_eq!(first.status(), ServingStatus::Serving);
    let drained = tokio::spawn(running.run_until(async {}));
    let second = watch.next().await.unwrap().unwrap();
    assert_eq!(
        second.status(),
        ServingStatus::NotServing,
        "watchers hear of the drain"
    );
    tokio::time::timeout(Duration::from_secs(20), drained)
        .await
        .expect("the drain has a deadline")
        .unwrap()
        .unwrap();
}

#[tokio::test]
async fn reflection_knows_every_service() {
    let running = started().await;
    let mut client = ServerReflectionClient::new(channel(running.grpc_addr).await);
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let answers = client
        .server_reflection_info(tokio_stream::once(request))
        .await
        .unwrap();
    let answer: ServerReflectionResponse = answers.into_inner().next().await.unwrap().unwrap();
    let Some(MessageResponse::ListServicesResponse(list)) = answer.message_response else {
        panic!("no list of services");
    };
    let names: Vec<&str> = list
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    for name in [
        "backstop.v1.OracleService",
        "backstop.v1.DeadLetterService",
        "backstop.v1.AdminService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1.ServerReflection",
    ] {
        assert!(names.contains(&name), "{name} is missing in {names:?}");
    }
}

#[tokio::test]
async fn strangers_are_kept_out_unless_that_is_meant() {
    let beyond = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let scrape: Scrape = Arc::new(String::new);
    for options in [
        ServeOptions {
            grpc_addr: beyond,
            ..options()
        },
        ServeOptions {
            http_addr: beyond,
            ..options()
        },
    ] {
        let refused = start(&options, Routes::default(), Arc::clone(&scrape)).await;
        let error = refused.expect_err("nothing listens").to_string();
        assert!(
            error.contains("0.0.0.0:0") && error.contains("--insecure"),
            "{error}"
        );
        let meant = ServeOptions {
            insecure: true,
            ..options
        };
        start(&meant, Routes::default(), Arc::clone(&scrape))
            .await
            .unwrap();
    }
}

#[tokio::test]
async fn a_taken_port_says_what_to_do() {
    let running = started().await;
    let options = ServeOptions {
        grpc_addr: running.grpc_addr,
        ..options()
    };
    let error = start(&options, Routes::default(), Arc::new(String::new))
        .await
        .expect_err("the port is taken")
        .to_string();
    assert!(
        error.starts_with("server.listen: cannot listen on 127.0.0.1:"),
        "{error}"
    );
    assert!(error.contains("choose another port"), "{error}");
}
