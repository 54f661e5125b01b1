//! The edge: gRPC and HTTP in, domain types out. Wires; decides nothing.
//!
//! A request comes in at one of the three services, is validated and translated in `wire`, answered by the oracle, and
//! translated back. `errors` is the only place that names gRPC codes for them. `serve` owns the sockets, health,
//! readiness and the drain; `http` is what probes and Prometheus see.

mod admin_service;
mod assemble;
mod dead_letter_service;
mod errors;
mod http;
mod oracle_service;
pub mod proto;
mod readiness;
mod serve;
mod tenant;
mod unary;
pub(crate) mod wire;

#[cfg(test)]
mod services_tests;

pub use admin_service::{AdminService, PolicyDesk, PolicyOrigin};
pub use assemble::{AssembleError, Assembly, assemble, classifier};
pub use dead_letter_service::DeadLetterService;
pub use oracle_service::OracleService;
pub use readiness::{Readiness, Stage};
pub use serve::{Running, Scrape, ServeError, ServeOptions, routes, start, stop_signal};
