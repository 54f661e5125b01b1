//! One failure from flags, for `judge` and `explain`.

use std::io::Read as _;

use clap::Args;

use super::{CliError, words};
use crate::domain::{Execution, Failure, Origin};

/// What failed. Give whatever is at hand.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "The failure")]
pub(super) struct FailureFlags {
    /// Exception text, HTTP body or stderr; `-` reads it from standard input
    #[arg(long, short = 'm', value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Name of the exception, e.g. requests.exceptions.ReadTimeout
    #[arg(long, value_name = "NAME")]
    exception_type: Option<String>,
    /// HTTP status, 100 to 599
    #[arg(long, value_name = "STATUS", value_parser = clap::value_parser!(u16).range(100..=599))]
    http_status: Option<u16>,
    /// gRPC code, e.g. UNAVAILABLE or 14
    #[arg(long, value_name = "CODE")]
    grpc_code: Option<String>,
    /// Vendor code, errno or SQLSTATE, e.g. insufficient_quota, ECONNRESET, 40P01
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// Response header; may be given many times
    #[arg(long = "header", value_name = "NAME=VALUE", value_parser = words::header)]
    headers: Vec<(String, String)>,
    /// Exit code of a process
    #[arg(long, value_name = "CODE", allow_negative_numbers = true)]
    exit_code: Option<i32>,
    /// What you know for sure of whether the work happened
    #[arg(long, value_parser = words::execution())]
    execution: Option<Execution>,
    /// The dependency that failed: a name or host[:port]
    #[arg(long, value_name = "NAME")]
    dependency: Option<String>,
}

impl FailureFlags {
    /// Whether no flag was given at all.
    pub(super) fn is_empty(&self) -> bool {
        self.message.is_none()
            && self.exception_type.is_none()
            && self.http_status.is_none()
            && self.grpc_code.is_none()
            && self.code.is_none()
            && self.headers.is_empty()
            && self.exit_code.is_none()
    }

    /// The failure; reads standard input where the message is `-`.
    ///
    /// # Errors
    /// No flag at all, or a standard input that cannot be read.
    pub(super) fn into_failure(self) -> Result<Failure, CliError> {
        if self.is_empty() {
            return Err(CliError::BadInput(
                "no failure was given; say what happened, e.g. --message 'read timed out' or --http-status 503"
                    .to_owned(),
            ));
        }
        let mut message = self.message.unwrap_or_default();
        if message == "-" {
            let mut bytes = Vec::new();
            std::io::stdin()
                .read_to_end(&mut bytes)
                .map_err(|error| CliError::BadInput(format!("standard input: {error}")))?;
            message = String::from_utf8_lossy(&bytes).into_owned();
        }
        Ok(Failure {
            message,
            exception_type: self.exception_type.unwrap_or_default(),
            http_status: self.http_status,
            grpc_code: self.grpc_code.unwrap_or_default(),
            code: self.code.unwrap_or_default(),
            headers: self.headers,
            exit_code: self.exit_code,
            execution: self.execution,
            dependency: self.dependency.unwrap_or_default(),
        })
    }
}

/// Which step failed.
#[derive(Debug, Clone, Args)]
pub(super) struct StepFlags {
    /// What the operation calls; with --origin model the model's name
    #[arg(long, value_name = "NAME", default_value = "")]
    pub(super) tool: String,
    /// Which step failed
    #[arg(long, value_parser = words::origin(), default_value = "tool")]
    pub(super) origin: Origin,
}
