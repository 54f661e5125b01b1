//! What probes and Prometheus see over HTTP: `/metrics`, `/healthz`, `/readyz`.

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::readiness::{Readiness, Stage};
use super::serve::Scrape;

/// Content type of Prometheus' text format.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone)]
struct Probes {
    readiness: Readiness,
    scrape: Scrape,
}

/// The routes; `scrape` renders the metrics.
pub(super) fn router(readiness: Readiness, scrape: Scrape) -> Router {
    Router::new()
        .route("/metrics", get(metrics))
        .route("/healthz", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(Probes { readiness, scrape })
}

async fn metrics(State(probes): State<Probes>) -> Response {
    ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], (probes.scrape)()).into_response()
}

/// The process lives and answers; says nothing about whether it takes requests.
async fn healthz() -> &'static str {
    "ok\n"
}

async fn readyz(State(probes): State<Probes>) -> Response {
    let stage = probes.readiness.stage();
    let code = match stage {
        Stage::Serving => StatusCode::OK,
        Stage::Starting | Stage::Draining => StatusCode::SERVICE_UNAVAILABLE,
    };
    (code, format!("{}\n", stage.text())).into_response()
}
