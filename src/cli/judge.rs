//! `judge`: ask a running oracle about one failure.

use std::io::Write;
use std::time::Duration;

use clap::Args;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::failure_flags::{FailureFlags, StepFlags};
use super::{CliError, health, words};
use crate::domain::Effect;
use crate::server::proto;
use crate::server::proto::oracle_service_client::OracleServiceClient;
use crate::server::wire::WireEnum as _;

mod answer;

/// How long an oracle may take to answer.
const TIMEOUT: Duration = Duration::from_secs(30);

const AFTER_HELP: &str = "\
Examples:
  backstop judge --turn t1 --operation charge-1 --tool create_charge --effect keyed \\
      --input '{\"amount\": 5}' --message 'read timed out'
  backstop judge --turn t1 --operation charge-1 --attempt 2 --tool create_charge \\
      --http-status 503 --header retry-after=2 --json

The failure counts: it draws from the turn's budgets. To read one without counting it, use
`backstop explain`.";

/// Ask a running oracle about one failure.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct JudgeFlags {
    /// Address of the oracle
    #[arg(long, value_name = "ADDR", default_value = "http://127.0.0.1:50051")]
    server: String,
    /// The user request that the agent works on
    #[arg(long, value_name = "ID")]
    turn: String,
    /// The logical step, the same over all its attempts
    #[arg(long, value_name = "ID")]
    operation: String,
    /// The n-th try of the operation; 0 is the next one
    #[arg(long, value_name = "N", default_value_t = 1)]
    attempt: u32,
    #[command(flatten)]
    step: StepFlags,
    /// What a repeat of the call does; counts as unsafe unless said
    #[arg(long, value_parser = words::effect())]
    effect: Option<Effect>,
    /// The call's arguments, JSON or any text
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    input: Option<String>,
    /// A person's approval, by its id elsewhere
    #[arg(long, value_name = "ID")]
    approval_id: Option<String>,
    /// A key of your own that the attempt carried
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// Who asks
    #[arg(long, value_name = "ID")]
    worker_id: Option<String>,
    /// Your own corrective sentence for the next attempt
    #[arg(long, value_name = "TEXT")]
    lesson: Option<String>,
    /// How often the layers below tried within this attempt
    #[arg(long, value_name = "N", default_value_t = 1)]
    tries: u32,
    /// How long there is still time, e.g. 30s
    #[arg(long, value_name = "DURATION", value_parser = words::duration)]
    time_left: Option<Duration>,
    /// The same one again gets the same answer
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    failure: FailureFlags,
}

/// Runs the command.
pub(super) async fn run(flags: JudgeFlags, out: &mut impl Write) -> Result<(), CliError> {
    let server = flags.server.clone();
    let json = flags.json;
    let endpoint = health::endpoint(&server)?.timeout(TIMEOUT);
    let request = request(flags)?;
    let channel = endpoint.connect().await.map_err(|error| {
        CliError::Failed(format!(
            "no oracle answers at {server}: {}; start one with `backstop serve`, or name another with --server",
            health::reason(&error)
        ))
    })?;
    let answer = OracleServiceClient::new(channel)
        .judge(request)
        .await
        .map_err(|status| refused(&server, &status))?
        .into_inner();
    if json {
        writeln!(out, "{:#}", answer::as_json(&answer))?;
    } else {
        answer::print(&answer, out)?;
    }
    Ok(())
}

fn request(flags: JudgeFlags) -> Result<proto::JudgeRequest, CliError> {
    let time_left = flags
        .time_left
        .map(prost_types::Duration::try_from)
        .transpose()
        .map_err(|error| CliError::BadInput(format!("--time-left: {error}")))?;
    Ok(proto::JudgeRequest {
        turn_id: flags.turn,
        operation_id: flags.operation,
        attempt: flags.attempt,
        tool: flags.step.tool,
        origin: flags.step.origin.to_wire(),
        failure: Some(flags.failure.into_failure()?.into()),
        effect: flags.effect.map_or(0, |effect| effect.to_wire()),
        approval_id: flags.approval_id.unwrap_or_default(),
        input: flags.input,
        lesson: flags.lesson.unwrap_or_default(),
        distill: false,
        idempotency_key: flags.idempotency_key.unwrap_or_default(),
        worker_id: flags.worker_id.unwrap_or_default(),
        deadline: None,
        time_left,
        elapsed: None,
        tries: flags.tries,
        tokens_spent: 0,
        request_id: flags.request_id.unwrap_or_default(),
    })
}

/// Why the oracle gave no verdict, every bad field on a line of its own.
fn refused(server: &str, status: &Status) -> CliError {
    let fields: String = status
        .get_details_bad_request()
        .map(|bad| bad.field_violations)
        .unwrap_or_default()
        .into_iter()
        .map(|violation| format!("\n  {} {}", violation.field, violation.description))
        .collect();
    let text = format!(
        "the oracle at {server} gave no verdict: {}{fields}",
        status.message()
    );
    match status.code() {
        Code::InvalidArgument => CliError::BadInput(text),
        _ => CliError::Failed(text),
    }
}
