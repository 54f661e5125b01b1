//! What is wrong with a request, field by field, and the checks that find it.
//!
//! Each check takes the field's name and raw value, notes a fault where there is one, and hands back a value to go on
//! with, so that one pass over a request finds everything. The placeholder never leaves: `Faults::accept` gives the
//! request out only where no fault was noted.

use std::sync::Arc;
use std::time::Duration;

use super::WireEnum;
use super::time::{parse_duration, parse_timestamp};
use crate::domain::Timestamp;

/// Longest id, tool name or key, in bytes.
pub(super) const MAX_ID_BYTES: usize = 256;
/// Longest lesson, result or resolution, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 64 * 1024;
/// Largest count of tokens that one request may report.
pub(super) const MAX_TOKENS: u64 = 1_000_000_000_000;

/// One bad field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldFault {
    /// Its path, e.g. `failure.http_status`.
    pub(crate) field: String,
    /// What is wrong with it and what is expected.
    pub(crate) problem: String,
}

/// All bad fields of a request, in the order in which they were looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Faults(pub(crate) Vec<FieldFault>);

impl Faults {
    /// Notes a fault.
    pub(super) fn add(&mut self, field: &str, problem: impl Into<String>) {
        self.0.push(FieldFault {
            field: field.to_owned(),
            problem: problem.into(),
        });
    }

    /// Gives the request out if nothing was wrong with it.
    pub(super) fn accept<T>(self, request: T) -> Result<T, Faults> {
        if self.0.is_empty() {
            Ok(request)
        } else {
            Err(self)
        }
    }

    /// An id of 1 to 256 bytes without control characters.
    pub(super) fn required_id(&mut self, field: &str, value: String) -> Arc<str> {
        if value.is_empty() {
            self.add(field, "is required: 1 to 256 bytes");
        }
        self.check_id(field, &value);
        value.into()
    }

    /// An id that may be empty, which is absent.
    pub(super) fn optional_id(&mut self, field: &str, value: String) -> Option<Arc<str>> {
        self.check_id(field, &value);
        (!value.is_empty()).then(|| value.into())
    }

    fn check_id(&mut self, field: &str, value: &str) {
        if value.len() > MAX_ID_BYTES {
            self.add(
                field,
                format!("has {} bytes; at most 256 are allowed", value.len()),
            );
        }
        if value.chars().any(char::is_control) {
            self.add(field, "contains a control character");
        }
    }

    /// A text of at most 64 KiB.
    pub(super) fn check_text(&mut self, field: &str, value: &str) {
        if value.len() > MAX_TEXT_BYTES {
            self.add(
                field,
                format!("has {} bytes; at most 65,536 are allowed", value.len()),
            );
        }
    }

    /// A number that is at most `max`.
    pub(super) fn at_most(&mut self, field: &str, value: u64, max: u64) {
        if value > max {
            self.add(field, format!("is {value}; at most {max} is allowed"));
        }
    }

    /// A value of an enum; `None` where it is unspecified.
    pub(super) fn enum_value<E: WireEnum>(&mut self, field: &str, number: i32) -> Option<E> {
        E::from_wire(number).unwrap_or_else(|unknown| {
            self.add(field, format!("{} is no value of this enum", unknown.0));
            None
        })
    }

    /// A duration of zero or more.
    pub(super) fn duration(
        &mut self,
        field: &str,
        value: Option<prost_types::Duration>,
    ) -> Option<Duration> {
        match parse_duration(value?) {
            Ok(duration) => Some(duration),
            Err(problem) => {
                self.add(field, problem);
                None
            }
        }
    }

    /// A point in time.
    pub(super) fn timestamp(
        &mut self,
        field: &str,
        value: Option<prost_types::Timestamp>,
    ) -> Option<Timestamp> {
        match parse_timestamp(value?) {
            Ok(time) => Some(time),
            Err(problem) => {
                self.add(field, problem);
                None
            }
        }
    }
}
