//! The three texts of a verdict: guidance for the model, a message for a person, an explanation for logs.
//!
//! A refusal is no failure: the texts of denials and stops say what is left to do and ask for a plain account to the
//! user; they never read like an error that invites another way round. Frameworks hand our words back as the text of
//! a failed call, so every stop holds one of [`own_text_fragments`], by which a classifier recognises them.

mod explanation;
mod guidance;
mod person;
#[cfg(test)]
mod tests;

use std::fmt;
use std::time::Duration;

use crate::domain::names::named_enum;
use crate::domain::{Action, Category, Effect, Kind, Origin, Reason};

use super::name::Name;

pub use explanation::explanation;
pub use guidance::guidance;
pub use person::user_message;

/// What the texts are made of. Names may be anything: they are made safe here.
#[derive(Debug, Clone)]
pub struct TextFacts<'a> {
    /// The verdict's action.
    pub action: Action,
    /// The verdict's reason.
    pub reason: Reason,
    /// What failed; absent for denials of calls that were not made.
    pub kind: Option<Kind>,
    /// The tool's or model's name.
    pub tool: &'a str,
    /// Which of the two.
    pub origin: Origin,
    /// The dependency that counts, where one is known.
    pub dependency: Option<&'a str>,
    /// The cause's subject, rendered.
    pub cause_subject: Option<&'a str>,
    /// The lesson of this failure, or for a repeated call the earlier one.
    pub lesson: Option<&'a str>,
    /// Tool that satisfies the precondition.
    pub satisfy_with: Option<&'a str>,
    /// Tool that ran after `satisfy_with` and may have undone it.
    pub undone_by: Option<&'a str>,
    /// Tool that tells whether the work happened.
    pub check_status_with: Option<&'a str>,
    /// The budget that stopped it, where one did.
    pub spent: Option<SpentBudget>,
    /// The wait that was given out or that was too long.
    pub wait: Option<Duration>,
    /// Some attempt may have done the work.
    pub may_have_executed: bool,
    /// Some attempt has done the work.
    pub executed: bool,
    /// What repeating does.
    pub effect: Effect,
}

named_enum! {
    /// Which budget is spent.
    SpentBudgetName, "budget" {
        /// `operation.max_attempts`.
        OperationAttempts = "operation_attempts",
        /// `operation.max_reprompts`.
        OperationReprompts = "operation_reprompts",
        /// `cause.max_failures`.
        CauseFailures = "cause_failures",
        /// `turn.max_failures`.
        TurnFailures = "turn_failures",
        /// `turn.max_retries`.
        TurnRetries = "turn_retries",
        /// `turn.max_reprompts`.
        TurnReprompts = "turn_reprompts",
        /// `turn.max_preconditions`, per cause.
        Preconditions = "preconditions",
        /// `turn.max_preconditions_total`.
        TurnPreconditions = "turn_preconditions",
        /// `tool.max_calls`.
        ToolCalls = "tool_calls",
        /// `turn.max_calls`.
        TurnCalls = "turn_calls",
        /// `turn.max_tokens`.
        TurnTokens = "turn_tokens",
        /// `turn.max_elapsed`, in milliseconds.
        TurnElapsed = "turn_elapsed_ms",
        /// `max_depth`.
        Depth = "depth",
        /// How many operations a turn can remember.
        TurnOperations = "turn_operations",
        /// How many causes a turn can remember.
        TurnCauses = "turn_causes",
        /// How many calls a turn can remember.
        TurnRememberedCalls = "turn_remembered_calls",
    }
}

/// A budget that is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SpentBudget {
    /// Which.
    pub name: SpentBudgetName,
    /// What has been drawn; milliseconds for [`SpentBudgetName::TurnElapsed`].
    pub used: u64,
    /// Of how much.
    pub limit: u64,
}

/// Fragments of the texts made here, in lower case and at least 16 bytes long: every user message, every explanation
/// and the guidance of every stop or denial holds one. A failure whose text holds one (in any case) is our own verdict
/// handed back, and no new failure.
pub fn own_text_fragments() -> &'static [&'static str] {
    &[
        fragments::EXPLANATION,
        fragments::TO_A_PERSON,
        fragments::PLAIN_ACCOUNT,
        fragments::PASS_ON,
        fragments::NOT_AGAIN,
    ]
}

/// The wordings that [`own_text_fragments`] promises, in lower case.
mod fragments {
    /// Opens every explanation.
    pub(super) const EXPLANATION: &str = "backstop verdict";
    /// Opens every user message.
    pub(super) const TO_A_PERSON: &str = "the assistant stopped here:";
    /// In the guidance of stops.
    pub(super) const PLAIN_ACCOUNT: &str = "tell the user plainly what";
    /// In the guidance of stops that carry a lesson.
    pub(super) const PASS_ON: &str = "stop here; pass on:";
    /// In the guidance of a repeated call.
    pub(super) const NOT_AGAIN: &str = "do not send the same call again";
}

impl TextFacts<'_> {
    /// The tool or model as the subject of a sentence, e.g. `` `send_letter` `` or `` the model `m` ``.
    fn subject(&self) -> String {
        match (self.origin, Name::stated(self.tool)) {
            (Origin::Tool, Some(name)) => name.to_string(),
            (Origin::Tool, None) => "the tool".to_owned(),
            (Origin::Model, Some(name)) => format!("the model {name}"),
            (Origin::Model, None) => "the model".to_owned(),
        }
    }

    /// Whatever is behind the tool: the dependency by name where it is known.
    fn dependency(&self) -> String {
        match (self.dependency.and_then(Name::stated), self.origin) {
            (Some(name), _) => name.to_string(),
            (None, Origin::Tool) => format!("the service behind {}", self.subject()),
            (None, Origin::Model) => self.subject(),
        }
    }

    fn category(&self) -> Option<Category> {
        self.kind.map(Kind::category)
    }

    /// Whether a repeat could do the work twice.
    fn repeat_may_harm(&self) -> bool {
        self.executed || (self.may_have_executed && self.effect != Effect::Idempotent)
    }
}

/// A sentence's first letter in upper case.
fn capitalised(sentence: &str) -> String {
    let mut characters = sentence.chars();
    characters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(characters).collect()
    })
}

/// A length of time in words for people, rounded up to a unit.
struct InWords(Duration);

impl fmt::Display for InWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self
            .0
            .as_secs()
            .saturating_add(u64::from(self.0.subsec_nanos() > 0));
        let (count, unit) = match seconds {
            0..=119 => (seconds, "second"),
            120..=7_199 => (seconds.div_ceil(60), "minute"),
            7_200..=172_799 => (seconds.div_ceil(3_600), "hour"),
            _ => (seconds.div_ceil(86_400), "day"),
        };
        write!(f, "{count} {unit}{}", if count == 1 { "" } else { "s" })
    }
}
