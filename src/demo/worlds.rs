//! Simulated tools. Each counts the calls that reach it and the effects that it has, which no retry loop sees.

use std::collections::BTreeMap;

use crate::domain::{Execution, Failure};

/// One call as the tool receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolCall {
    pub(super) tool: &'static str,
    /// The arguments, as JSON.
    pub(super) input: String,
}

/// The tools of one story.
pub(super) trait World: Send {
    /// Does the work, or fails. `key` is the idempotency key that the call carries.
    fn call(&mut self, call: &ToolCall, key: &str) -> Result<String, Box<Failure>>;

    /// Effects beyond those that were asked for.
    fn duplicates(&self) -> u64 {
        0
    }
}

/// A payment API that charges once per key. The first answer gets lost on its way back: the charge is made, the caller
/// sees a timeout (the story of `create_charge`).
#[derive(Debug, Default)]
pub(super) struct Payments {
    charges: BTreeMap<String, String>,
    answers_lost: u64,
}

impl World for Payments {
    fn call(&mut self, _: &ToolCall, key: &str) -> Result<String, Box<Failure>> {
        let number = self.charges.len() + 1;
        let charge = self.charges.entry(key.to_owned());
        let answer = charge.or_insert_with(|| format!(r#"{{"charge":"ch_{number}"}}"#));
        if self.answers_lost == 0 {
            self.answers_lost += 1;
            return Err(Box::new(Failure {
                message: "HTTPSConnectionPool(host='api.payments.example', port=443): \
                          Read timed out. (read timeout=10)"
                    .to_owned(),
                exception_type: "requests.exceptions.ReadTimeout".to_owned(),
                ..Failure::default()
            }));
        }
        Ok(answer.clone())
    }

    fn duplicates(&self) -> u64 {
        // One purchase was asked for.
        u64::try_from(self.charges.len().saturating_sub(1)).unwrap_or(u64::MAX)
    }
}

/// A flight search that takes dates in one format only and rejects all others, every time (the story of the malformed
/// argument).
#[derive(Debug, Default)]
pub(super) struct Flights;

impl World for Flights {
    fn call(&mut self, call: &ToolCall, _: &str) -> Result<String, Box<Failure>> {
        let arguments: serde_json::Value = serde_json::from_str(&call.input).unwrap_or_default();
        let date = arguments.get("date").and_then(|date| date.as_str());
        if date.is_some_and(is_iso_date) {
            return Ok(r#"{"flights":["BS 101","BS 203"]}"#.to_owned());
        }
        Err(Box::new(Failure {
            message: r#"{"error":"validation failed: field 'date' must be ISO 8601"}"#.to_owned(),
            http_status: Some(400),
            ..Failure::default()
        }))
    }
}

/// Four digits, two, and two.
fn is_iso_date(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    let lengths: Vec<usize> = parts.iter().map(|part| part.len()).collect();
    lengths == [4, 2, 2] && parts.concat().chars().all(|c| c.is_ascii_digit())
}

/// Tools that all fail for one reason, whatever they are asked.
#[derive(Debug)]
pub(super) struct Broken {
    failure: Failure,
}

impl Broken {
    /// The canvas' back end is down; all four drawing tools need it.
    pub(super) fn canvas() -> Self {
        Broken {
            failure: Failure {
                message: "canvas backend returned 503".to_owned(),
                http_status: Some(503),
                ..Failure::default()
            },
        }
    }

    /// Nobody listens at the other end of the link to the client.
    pub(super) fn client_link() -> Self {
        Broken {
            failure: Failure {
                message: "connect ECONNREFUSED 127.0.0.1:9222".to_owned(),
                code: "ECONNREFUSED".to_owned(),
                execution: Some(Execution::NotExecuted),
                ..Failure::default()
            },
        }
    }

    /// The directory's back end is down.
    pub(super) fn directory() -> Self {
        Broken {
            failure: Failure {
                message: "503 directory backend unavailable".to_owned(),
                http_status: Some(503),
                ..Failure::default()
            },
        }
    }
}

impl World for Broken {
    fn call(&mut self, _: &ToolCall, _: &str) -> Result<String, Box<Failure>> {
        Err(Box::new(self.failure.clone()))
    }
}

/// A world with its calls and failures counted.
pub(super) struct Counted {
    world: Box<dyn World>,
    pub(super) calls: u64,
    pub(super) failures: u64,
}

impl Counted {
    pub(super) fn new(world: Box<dyn World>) -> Self {
        Counted {
            world,
            calls: 0,
            failures: 0,
        }
    }

    pub(super) fn call(&mut self, call: &ToolCall, key: &str) -> Result<String, Box<Failure>> {
        self.calls += 1;
        let answer = self.world.call(call, key);
        self.failures += u64::from(answer.is_err());
        answer
    }

    pub(super) fn duplicates(&self) -> u64 {
        self.world.duplicates()
    }
}
