//! `health`: is an oracle serving? A probe for containers, which have no other client at hand.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

use super::CliError;

/// A probe that waits longer than its period is of no use.
const TIMEOUT: Duration = Duration::from_secs(3);

/// Where to ask.
#[derive(Debug, Args)]
pub(super) struct HealthFlags {
    /// Address of the oracle
    #[arg(
        long,
        visible_alias = "server",
        value_name = "ADDR",
        default_value = "http://127.0.0.1:50051"
    )]
    addr: String,
    /// Only this service, e.g. backstop.v1.OracleService
    #[arg(long, default_value = "", hide_default_value = true)]
    service: String,
}

/// Runs the command: done if it is SERVING.
pub(super) async fn run(flags: HealthFlags, out: &mut impl Write) -> Result<(), CliError> {
    let address = flags.addr.clone();
    let silent =
        |problem: String| CliError::Failed(format!("no oracle answers at {address}: {problem}"));
    let channel = endpoint(&flags.addr)?
        .timeout(TIMEOUT)
        .connect()
        .await
        .map_err(|error| silent(reason(&error)))?;
    let request = HealthCheckRequest {
        service: flags.service,
    };
    let response = HealthClient::new(channel)
        .check(request)
        .await
        .map_err(|status| silent(status.message().to_owned()))?;
    match response.into_inner().status() {
        ServingStatus::Serving => Ok(writeln!(out, "serving")?),
        status => Err(CliError::Failed(format!(
            "the oracle at {} is not serving: {}",
            flags.addr,
            status.as_str_name()
        ))),
    }
}

/// An address with or without scheme as an endpoint.
pub(super) fn endpoint(address: &str) -> Result<Endpoint, CliError> {
    let url = if address.contains("://") {
        address.to_owned()
    } else {
        format!("http://{address}")
    };
    if !url.starts_with("http://") {
        return Err(CliError::BadInput(format!(
            "`{address}` is no address of an oracle; write e.g. http://127.0.0.1:50051"
        )));
    }
    let endpoint = Endpoint::from_shared(url).map_err(|error| {
        CliError::BadInput(format!(
            "`{address}` is no address ({error}); write e.g. http://127.0.0.1:50051"
        ))
    })?;
    Ok(endpoint.connect_timeout(TIMEOUT))
}

/// The innermost cause, which says most: `Connection refused` and not `transport error`.
pub(super) fn reason(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
