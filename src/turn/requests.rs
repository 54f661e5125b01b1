//! Request ids: the same one again gets the same answer.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::{Admission, Call};

use super::{RequestIdReused, Turn};

/// Which method a request id came with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Method {
    Admit,
    Judge,
    ReportSuccess,
}

impl Method {
    const fn name(self) -> &'static str {
        match self {
            Method::Admit => "Admit",
            Method::Judge => "Judge",
            Method::ReportSuccess => "ReportSuccess",
        }
    }
}

/// What a request id stands for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct RequestMemory {
    pub(super) method: Method,
    pub(super) operation: Arc<str>,
    pub(super) attempt: u32,
    /// A denial is no part of the attempt's history, so it is kept here.
    pub(super) denial: Option<Box<Admission>>,
}

impl RequestMemory {
    /// Whether this is the same request again.
    pub(super) fn check(
        &self,
        method: Method,
        call: &Call,
        request_id: &Arc<str>,
    ) -> Result<(), RequestIdReused> {
        let same_attempt = call.attempt == 0 || call.attempt == self.attempt;
        if self.method == method && self.operation == call.operation_id && same_attempt {
            return Ok(());
        }
        Err(RequestIdReused {
            request_id: request_id.clone(),
            earlier: format!(
                "{} of operation `{}`, attempt {}",
                self.method.name(),
                self.operation,
                self.attempt
            ),
        })
    }
}

impl Turn {
    /// The attempt that an earlier request of this id was about, if there was one.
    pub(super) fn earlier_attempt(
        &self,
        method: Method,
        call: &Call,
    ) -> Result<Option<u32>, RequestIdReused> {
        let Some(id) = &call.request_id else {
            return Ok(None);
        };
        let Some(earlier) = self.requests.get(id) else {
            return Ok(None);
        };
        earlier.check(method, call, id)?;
        Ok(Some(earlier.attempt))
    }

    /// Remembers what a request of this id was about.
    pub(super) fn remember_request(
        &mut self,
        method: Method,
        call: &Call,
        attempt: u32,
        denial: Option<Box<Admission>>,
    ) {
        // At a bound nothing more is remembered, and the answer is the same without it.
        if let Some(id) = &call.request_id
            && !self.is_full()
        {
            self.requests
                .entry(id.clone())
                .or_insert_with(|| RequestMemory {
                    method,
                    operation: call.operation_id.clone(),
                    attempt,
                    denial,
                });
        }
    }
}
