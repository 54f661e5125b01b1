//! The only place that knows both the messages of `backstop.v1` and the types of the domain.
//!
//! Requests are validated here, whole: every bad field is named in one answer, so that a caller mends its request
//! once. What leaves this module towards the core needs no further checks. Answers are translated without judgement.

mod answers;
mod enums;
mod faults;
mod ledger;
mod requests;
mod time;

#[cfg(test)]
mod requests_tests;

pub(crate) use enums::WireEnum;
pub(crate) use faults::Faults;
#[cfg(test)]
pub(crate) use faults::FieldFault;
pub(crate) use requests::{
    admit_request, dead_letter_id, end_turn_request, explain_request, judge_request,
    policy_document, success_report, turn_id,
};
pub(crate) use time::timestamp;
