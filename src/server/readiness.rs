//! Whether the server takes requests, told in one place to gRPC health, `/readyz` and `/healthz`.
//!
//! The stages only go forward: starting, serving, draining. gRPC health starts as NOT_SERVING for the whole server
//! (the empty name) and for each service by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tonic::server::NamedService;
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::{Health, HealthServer};
use tonic_health::server::HealthReporter;

use super::proto::admin_service_server::AdminServiceServer;
use super::proto::dead_letter_service_server::DeadLetterServiceServer;
use super::proto::oracle_service_server::OracleServiceServer;
use super::{AdminService, DeadLetterService, OracleService};

/// Where the server stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Listening, not yet ready.
    Starting,
    /// Taking requests.
    Serving,
    /// Finishing what came in; nothing new, please.
    Draining,
}

impl Stage {
    /// What a probe reads.
    pub const fn text(self) -> &'static str {
        match self {
            Stage::Starting => "not ready: starting",
            Stage::Serving => "ready",
            Stage::Draining => "not ready: draining before shutdown",
        }
    }
}

const HEALTH_NAMES: [&str; 4] = [
    "",
    <OracleServiceServer<OracleService> as NamedService>::NAME,
    <DeadLetterServiceServer<DeadLetterService> as NamedService>::NAME,
    <AdminServiceServer<AdminService> as NamedService>::NAME,
];

/// The stage and everybody who has to hear of it.
#[derive(Debug, Clone)]
pub struct Readiness {
    stage: Arc<AtomicU8>,
    reporter: HealthReporter,
}

impl Readiness {
    /// Starting: NOT_SERVING under every name. Also gives the health service to be served.
    pub async fn starting() -> (Self, HealthServer<impl Health>) {
        let (reporter, service) = tonic_health::server::health_reporter();
        let readiness = Readiness {
            stage: Arc::new(AtomicU8::new(Stage::Starting as u8)),
            reporter,
        };
        readiness.tell(ServingStatus::NotServing).await;
        (readiness, service)
    }

    /// Where the server stands.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            stage if stage == Stage::Starting as u8 => Stage::Starting,
            stage if stage == Stage::Serving as u8 => Stage::Serving,
            _ => Stage::Draining,
        }
    }

    /// Goes on to `stage`; a step back is ignored, so that a late start cannot revive a draining server.
    pub async fn advance(&self, stage: Stage) {
        let before = self.stage.fetch_max(stage as u8, Ordering::AcqRel);
        if before >= stage as u8 {
            return;
        }
        let status = match stage {
            Stage::Serving => ServingStatus::Serving,
            Stage::Starting | Stage::Draining => ServingStatus::NotServing,
        };
        self.tell(status).await;
        // A drain that came while the names were told of serving must have the last word.
        if self.stage() == Stage::Draining && stage != Stage::Draining {
            self.tell(ServingStatus::NotServing).await;
        }
    }

    async fn tell(&self, status: ServingStatus) {
        for name in HEALTH_NAMES {
            self.reporter.set_service_status(name, status).await;
        }
    }
}
