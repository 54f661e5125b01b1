//! Asks a running oracle what to do about a failed step, and obeys.
#![allow(clippy::print_stdout, reason = "an example talks to people")]

use backstop::server::proto::oracle_service_client::OracleServiceClient;
use backstop::server::proto::{Action, Failure, JudgeRequest, Verdict};

/// Judges one failure: a charge that timed out.
pub(crate) async fn ask(endpoint: String) -> Result<Verdict, Box<dyn std::error::Error>> {
    let mut oracle = OracleServiceClient::connect(endpoint).await?;
    let request = JudgeRequest {
        turn_id: "turn-42".into(),
        operation_id: "charge".into(),
        attempt: 1,
        tool: "create_charge".into(),
        failure: Some(Failure {
            message: "Read timed out. (read timeout=10)".into(),
            exception_type: "requests.exceptions.ReadTimeout".into(),
            ..Failure::default()
        }),
        ..JudgeRequest::default()
    };
    let answer = oracle.judge(request).await?.into_inner();
    // A verdict is always there; without one, escalate.
    Ok(answer.verdict.unwrap_or_default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let verdict = ask("http://127.0.0.1:50051".into()).await?;
    match verdict.action() {
        Action::Retry => println!("again, after {:?}", verdict.retry_after),
        Action::Reprompt => println!("ask the model anew: {}", verdict.guidance),
        Action::FailLoud => println!("stop: {}", verdict.user_message),
        // Unspecified and values from the future mean: a person decides.
        _ => println!("escalate: {}", verdict.user_message),
    }
    Ok(())
}
