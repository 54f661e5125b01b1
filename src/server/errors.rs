//! The only place that turns errors into gRPC codes.
//!
//! A failure that was judged is an OK response; these are for requests that make no sense, methods that are not there,
//! and an oracle that cannot answer. Every error carries a `google.rpc.ErrorInfo` whose reason a program can act on.

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, FieldViolation, StatusExt};

use super::wire::Faults;
use crate::oracle::OracleError;

/// The `domain` of every `ErrorInfo`.
const DOMAIN: &str = "backstop";
/// When to ask again while a store is away: long enough for a failover to be noticed, short enough for a turn.
const STORE_RETRY_DELAY: Duration = Duration::from_secs(1);

impl From<OracleError> for Status {
    fn from(error: OracleError) -> Self {
        let message = error.to_string();
        match error {
            OracleError::RequestIdReused { request_id, detail } => {
                let mut details = info("REQUEST_ID_REUSED", [("request_id", request_id)]);
                details.add_bad_request_violation(
                    "request_id",
                    format!("was used for another request: {detail}; choose a new one"),
                );
                Status::with_error_details(Code::InvalidArgument, message, details)
            }
            OracleError::TurnNotFound { turn_id } => {
                let mut details = info("TURN_NOT_FOUND", [("turn_id", turn_id.clone())]);
                details.set_resource_info("turn", turn_id, "", "not known, or gone");
                Status::with_error_details(Code::NotFound, message, details)
            }
            OracleError::LetterNotFound { id } => {
                let mut details = info("DEAD_LETTER_NOT_FOUND", [("id", id.clone())]);
                details.set_resource_info("dead letter", id, "", "not known, or past retention");
                Status::with_error_details(Code::NotFound, message, details)
            }
            OracleError::Letters(_) => unavailable("DEAD_LETTER_STORE_UNAVAILABLE", message),
            OracleError::Store(_) => unavailable("TURN_STORE_UNAVAILABLE", message),
        }
    }
}

impl From<Faults> for Status {
    fn from(faults: Faults) -> Self {
        let fields: Vec<&str> = faults.0.iter().map(|fault| fault.field.as_str()).collect();
        let message = format!("bad request: {}", fields.join(", "));
        let violations: Vec<FieldViolation> = faults
            .0
            .into_iter()
            .map(|fault| FieldViolation {
                field: fault.field,
                description: fault.problem,
                ..FieldViolation::default()
            })
            .collect();
        let mut details = info("BAD_REQUEST", []);
        details.set_bad_request(violations);
        Status::with_error_details(Code::InvalidArgument, message, details)
    }
}

/// A method of the contract that this version does not offer.
pub(super) fn unimplemented(method: &'static str) -> Status {
    Status::with_error_details(
        Code::Unimplemented,
        format!("{method} is part of the contract, but this version does not offer it"),
        info("NOT_OFFERED", [("method", method.to_owned())]),
    )
}

/// A defect of the program itself; the cause is in its log, not in the answer.
pub(super) fn internal() -> Status {
    Status::with_error_details(
        Code::Internal,
        "the call broke off on a defect of the oracle; its log says more",
        info("DEFECT", []),
    )
}

fn unavailable(reason: &'static str, message: String) -> Status {
    let mut details = info(reason, []);
    details.set_retry_info(Some(STORE_RETRY_DELAY));
    Status::with_error_details(Code::Unavailable, message, details)
}

fn info<const N: usize>(reason: &'static str, metadata: [(&str, String); N]) -> ErrorDetails {
    let metadata: HashMap<String, String> = metadata
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect();
    ErrorDetails::with_error_info(reason, DOMAIN, metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::wire::FieldFault;

    #[test]
    fn each_error_has_its_code_and_reason() {
        let cases = [
            (
                OracleError::RequestIdReused {
                    request_id: "r-1".into(),
                    detail: "the attempt differs".into(),
                },
                Code::InvalidArgument,
                "REQUEST_ID_REUSED",
            ),
            (
                OracleError::TurnNotFound {
                    turn_id: "t-1".into(),
                },
                Code::NotFound,
                "TURN_NOT_FOUND",
            ),
            (
                OracleError::LetterNotFound { id: "l-1".into() },
                Code::NotFound,
                "DEAD_LETTER_NOT_FOUND",
            ),
            (
                OracleError::Letters("disk full".into()),
                Code::Unavailable,
                "DEAD_LETTER_STORE_UNAVAILABLE",
            ),
            (
                OracleError::Store("away".into()),
                Code::Unavailable,
                "TURN_STORE_UNAVAILABLE",
            ),
        ];
        for (error, code, reason) in cases {
            let text = error.to_string();
            let status = Status::from(error);
            assert_eq!(status.code(), code, "{text}");
            assert_eq!(status.message(), text);
            let info = status.get_details_error_info().unwrap();
            assert_eq!(
                (info.reason.as_str(), info.domain.as_str()),
                (reason, DOMAIN)
            );
            let has_delay = status.get_details_retry_info().is_some();
            assert_eq!(has_delay, code == Code::Unavailable, "{text}");
        }
    }

    #[test]
    fn every_bad_field_is_named() {
        let status = Status::from(Faults(vec![
            FieldFault {
                field: "turn_id".into(),
                problem: "is required".into(),
            },
            FieldFault {
                field: "failure.http_status".into(),
                problem: "is 7".into(),
            },
        ]));
        assert_eq!(status.code(), Code::InvalidArgument);
        assert_eq!(
            status.message(),
            "bad request: turn_id, failure.http_status"
        );
        let fields: Vec<(String, String)> = status
            .get_details_bad_request()
            .unwrap()
            .field_violations
            .into_iter()
            .map(|violation| (violation.field, violation.description))
            .collect();
        assert_eq!(
            fields,
            [
                ("turn_id".to_owned(), "is required".to_owned()),
                ("failure.http_status".to_owned(), "is 7".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_not_offered_says_so() {
        let status = unimplemented("OracleService.Converse");
        assert_eq!(status.code(), Code::Unimplemented);
        assert!(status.message().contains("OracleService.Converse"));
    }
}
