//! A failure as the worker holds it.

use serde::{Deserialize, Serialize};

use super::Execution;

/// A failure as the worker holds it, before anybody has read it. Every field may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// Exception text, HTTP body, stderr; any length (the classifier reads head and tail of long ones).
    pub message: String,
    /// Name of the exception, qualified or not, e.g. `requests.exceptions.ReadTimeout`.
    pub exception_type: String,
    /// HTTP status, 100 to 599, where there was one.
    pub http_status: Option<u16>,
    /// gRPC code as name or number, e.g. `UNAVAILABLE` or `14`.
    pub grpc_code: String,
    /// Vendor code, errno or SQLSTATE, e.g. `insufficient_quota`, `ECONNRESET`, `40P01`.
    pub code: String,
    /// Response headers; names in lower case.
    pub headers: Vec<(String, String)>,
    /// Exit code of a process, where one ended.
    pub exit_code: Option<i32>,
    /// What the worker knows for sure; always honoured.
    pub execution: Option<Execution>,
    /// The dependency that failed, where the worker knows it: a name or `host[:port]`.
    pub dependency: String,
}

impl Failure {
    /// The first value of a header; `name` in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }
}
