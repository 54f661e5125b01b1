//! The services over a real connection, as far as they answer without the oracle.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::proto::admin_service_client::AdminServiceClient;
use super::proto::dead_letter_service_client::DeadLetterServiceClient;
use super::proto::oracle_service_client::OracleServiceClient;
use super::*;
use crate::domain::Timestamp;
use crate::oracle::{Oracle, Sources};
use crate::policy::PolicyFault;
use crate::settings::Settings;

struct Desk;

impl PolicyDesk for Desk {
    fn origin(&self) -> PolicyOrigin {
        PolicyOrigin {
            origin: "built-in".into(),
            loaded_at: Timestamp::from_secs(7),
        }
    }

    fn faults(&self, document: &str) -> Vec<PolicyFault> {
        let is_bad = document.contains("toolz");
        is_bad
            .then(|| PolicyFault {
                line: 1,
                column: 2,
                field: "toolz".into(),
                problem: "is not known".into(),
                suggestion: Some("tools".into()),
            })
            .into_iter()
            .collect()
    }
}

/// An oracle over a data directory that goes with it.
fn oracle() -> (Arc<Oracle>, tempfile::TempDir) {
    let data = tempfile::tempdir().unwrap();
    let mut settings = Settings::default();
    settings.data_dir = data.path().to_owned();
    let assembly = assemble(&settings, Sources::system()).unwrap();
    (assembly.oracle, data)
}

async fn connected() -> (Running, Channel, tempfile::TempDir) {
    let (oracle, data) = oracle();
    let free = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let options = ServeOptions {
        grpc_addr: free,
        http_addr: free,
        ..ServeOptions::default()
    };
    let routes = routes(&oracle, Arc::new(Desk), &options);
    let running = start(&options, routes, Arc::new(String::new))
        .await
        .unwrap();
    let url = format!("http://{}", running.grpc_addr);
    let channel = Endpoint::from_shared(url).unwrap().connect().await.unwrap();
    (running, channel, data)
}

fn bad_fields(status: &Status) -> Vec<String> {
    let bad = status.get_details_bad_request().expect("a BadRequest");
    let fields = bad.field_violations.into_iter();
    fields.map(|violation| violation.field).collect()
}

#[tokio::test]
async fn a_bad_request_names_every_bad_field() {
    let (_running, channel, _data) = connected().await;
    let mut client = OracleServiceClient::new(channel.clone());
    let status = client
        .judge(proto::JudgeRequest::default())
        .await
        .unwrap_err();
    assert_eq!(status.code(), Code::InvalidArgument);
    assert_eq!(
        bad_fields(&status),
        ["turn_id", "operation_id", "tool", "failure"]
    );
    let status = client
        .admit(proto::AdmitRequest::default())
        .await
        .unwrap_err();
    assert_eq!(bad_fields(&status), ["turn_id", "operation_id", "tool"]);
    let status = client
        .report_success(proto::ReportSuccessRequest::default())
        .await;
    assert_eq!(
        bad_fields(&status.unwrap_err()),
        ["turn_id", "operation_id", "tool"]
    );
    let status = client
        .end_turn(proto::EndTurnRequest::default())
        .await
        .unwrap_err();
    assert_eq!(bad_fields(&status), ["turn_id", "outcome"]);
    let status = client
        .explain(proto::ExplainRequest::default())
        .await
        .unwrap_err();
    assert_eq!(bad_fields(&status), ["failure"]);
    let mut client = DeadLetterServiceClient::new(channel.clone());
    let status = client
        .get_dead_letter(proto::GetDeadLetterRequest::default())
        .await;
    assert_eq!(bad_fields(&status.unwrap_err()), ["id"]);
    let mut client = AdminServiceClient::new(channel);
    let status = client
        .get_turn(proto::GetTurnRequest::default())
        .await
        .unwrap_err();
    assert_eq!(bad_fields(&status), ["turn_id"]);
    let status = client
        .validate_policy(proto::ValidatePolicyRequest::default())
        .await;
    assert_eq!(bad_fields(&status.unwrap_err()), ["document"]);
}

#[tokio::test]
async fn large_messages_get_in() {
    let (_running, channel, _data) = connected().await;
    let request = proto::ExplainRequest {
        failure: Some(proto::Failure {
            message: "x".repeat(7 * 1024 * 1024),
            http_status: 7,
            ..proto::Failure::default()
        }),
        ..proto::ExplainRequest::default()
    };
    let status = OracleServiceClient::new(channel)
        .explain(request)
        .await
        .unwrap_err();
    assert_eq!(bad_fields(&status), ["failure.http_status"]);
}

#[tokio::test]
async fn a_policy_is_validated_without_being_taken() {
    let (_running, channel, _data) = connected().await;
    let mut client = AdminServiceClient::new(channel);
    let document = |text: &str| proto::ValidatePolicyRequest {
        document: text.into(),
        ..proto::ValidatePolicyRequest::default()
    };
    let good = client
        .validate_policy(document("mode: shadow"))
        .await
        .unwrap()
        .into_inner();
    assert!(good.valid && good.faults.is_empty());
    let bad = client
        .validate_policy(document("toolz: {}"))
        .await
        .unwrap()
        .into_inner();
    assert!(!bad.valid);
    let fault = &bad.faults[0];
    assert_eq!(
        (fault.line, fault.column, fault.field.as_str()),
        (1, 2, "toolz")
    );
    assert_eq!(
        (fault.problem.as_str(), fault.suggestion.as_str()),
        ("is not known", "tools")
    );
}

#[tokio::test]
async fn what_is_not_offered_says_so() {
    let (_running, channel, _data) = connected().await;
    let mut oracle = OracleServiceClient::new(channel.clone());
    let mut letters = DeadLetterServiceClient::new(channel.clone());
    let mut admin = AdminServiceClient::new(channel);
    let requests = tokio_stream::empty::<proto::ConverseRequest>();
    let statuses = [
        oracle.converse(requests).await.err(),
        oracle
            .judge_batch(proto::JudgeBatchRequest::default())
            .await
            .err(),
        oracle
            .register_tools(proto::RegisterToolsRequest::default())
            .await
            .err(),
        letters
            .list_dead_letters(proto::ListDeadLettersRequest::default())
            .await
            .err(),
        letters
            .resolve_dead_letter(proto::ResolveDeadLetterRequest::default())
            .await
            .err(),
        letters
            .requeue_dead_letter(proto::RequeueDeadLetterRequest::default())
            .await
            .err(),
        letters
            .claim_dead_letter(proto::ClaimDeadLetterRequest::default())
            .await
            .err(),
        letters
            .export_dead_letters(proto::ExportDeadLettersRequest::default())
            .await
            .err(),
        letters
            .watch_dead_letters(proto::WatchDeadLettersRequest::default())
            .await
            .err(),
        admin
            .list_dependencies(proto::ListDependenciesRequest::default())
            .await
            .err(),
        admin.advise(proto::AdviseRequest::default()).await.err(),
    ];
    for (position, status) in statuses.into_iter().enumerate() {
        let status = status.unwrap_or_else(|| panic!("method {position} answers"));
        assert_eq!(status.code(), Code::Unimplemented, "method {position}");
    }
}
