//! Every closed word list of the domain as a protobuf enum and back.
//!
//! Both directions match without a wildcard: a value added on either side does not compile until it is mapped.

use crate::domain;
use crate::server::proto;

/// A number on the wire that stands for no value of the enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UnknownValue(pub(crate) i32);

/// A domain enum with a protobuf counterpart.
pub(crate) trait WireEnum: Copy {
    /// The number that stands for the value.
    fn to_wire(self) -> i32;
    /// The value that a number stands for; `None` for the unspecified one.
    fn from_wire(number: i32) -> Result<Option<Self>, UnknownValue>;
}

/// What an absent value is on the wire: the unspecified one.
pub(crate) fn or_unspecified<E: WireEnum>(value: Option<E>) -> i32 {
    value.map_or(0, E::to_wire)
}

macro_rules! wire_enum {
    ($domain:path as $type:ident { $($value:ident),+ $(,)? }) => {
        impl WireEnum for $domain {
            fn to_wire(self) -> i32 {
                match self { $(<$domain>::$value => proto::$type::$value as i32),+ }
            }

            fn from_wire(number: i32) -> Result<Option<Self>, UnknownValue> {
                match proto::$type::try_from(number) {
                    Ok(proto::$type::Unspecified) => Ok(None),
                    $(Ok(proto::$type::$value) => Ok(Some(<$domain>::$value)),)+
                    Err(_) => Err(UnknownValue(number)),
                }
            }
        }
    };
}

wire_enum!(domain::Kind as Kind { RateLimited, Overloaded, Unavailable, ConnectFailed, Contention, ServerError, Timeout, ConnectionLost, Cancelled, MalformedOutput, InvalidArguments, UnknownTool, WrongReference, Refusal, TruncatedOutput, EmptyOutput, ContextOverflow, PreconditionUnmet, StaleState, Unauthenticated, PermissionDenied, QuotaExhausted, Unsupported, Misconfigured, ToolBug, ResourceExhausted, ContentFiltered, ApprovalRequired, Unknown });
wire_enum!(domain::Category as Category { Transient, Ambiguous, ModelOutput, Precondition, Permanent, Policy, Unknown });
wire_enum!(domain::Family as Family { Outage, Throttle, Contention, Credential, Setup, Bug, Output, Precondition, Policy, Unknown });
wire_enum!(domain::Execution as Execution { NotExecuted, MaybeExecuted, Executed });
wire_enum!(domain::Effect as Effect { Idempotent, Keyed, Unknown, Unsafe });
wire_enum!(domain::Origin as Origin { Tool, Model });
wire_enum!(domain::EvidenceSource as EvidenceSource { Policy, Code, Exception, Text, Status, None });
wire_enum!(domain::Action as Action { Retry, Reprompt, Escalate, FailLoud });
wire_enum!(domain::Reason as Reason { Superseded, ApprovalRequired, Exploratory, PolicyBlocked, PermissionDenied, PermanentFailure, Precondition, ModelOutput, AlreadyExecuted, MayStillBeRunning, CheckStatus, OutcomeUnknown, UnsafeToRepeat, UnknownFailure, DeterministicFailure, KeyedRetry, Transient, PolicyOverride, RepeatedCall, RepeatedLesson, TurnBudgetExhausted, CauseBudgetExhausted, PreconditionLoop, OperationBudgetExhausted, CallCapReached, DeadlineTooClose, WaitTooLong, ServerSaysNo, DependencyDown, FleetBudgetExhausted, RecursionLimit, DuplicateOfUnknown, InProgress, TurnEnded });
wire_enum!(domain::Context as Context { Same, Clean });
wire_enum!(domain::EscalateTo as EscalateTo { Person, Operator, StrongerModel, LargerContext, OtherProvider, StatusCheck });
wire_enum!(domain::StopScope as StopScope { Operation, Cause, Turn });
wire_enum!(domain::Outcome as Outcome { Succeeded, Degraded, Failed, Escalated });
wire_enum!(domain::LetterStatus as LetterStatus { Open, Resolved, Requeued, Claimed, Discarded });
wire_enum!(crate::policy::Mode as Mode { Enforce, Shadow });
wire_enum!(crate::policy::Profile as Profile { Assistant, Coding, Batch });

#[cfg(test)]
mod tests {
    use super::*;

    /// The protobuf name of a value, its type's prefix taken off, is the domain's name in capitals.
    macro_rules! check {
        ($domain:path, $type:ident, $prefix:literal) => {
            for value in <$domain>::ALL {
                let number = value.to_wire();
                assert_ne!(number, 0, "{value:?} is unspecified on the wire");
                assert_eq!(<$domain>::from_wire(number), Ok(Some(*value)));
                let name = proto::$type::try_from(number).unwrap().as_str_name();
                assert_eq!(name, format!("{}_{}", $prefix, value.name().to_uppercase()));
            }
            let mut numbers: Vec<i32> =
                <$domain>::ALL.iter().map(|value| value.to_wire()).collect();
            numbers.sort_unstable();
            numbers.dedup();
            assert_eq!(
                numbers.len(),
                <$domain>::ALL.len(),
                "two values share a number"
            );
            assert_eq!(<$domain>::from_wire(0), Ok(None));
            assert_eq!(<$domain>::from_wire(-1), Err(UnknownValue(-1)));
            assert_eq!(<$domain>::from_wire(9_999), Err(UnknownValue(9_999)));
        };
    }

    #[test]
    fn every_value_survives_the_wire_under_its_own_name() {
        check!(domain::Kind, Kind, "KIND");
        check!(domain::Category, Category, "CATEGORY");
        check!(domain::Family, Family, "FAMILY");
        check!(domain::Execution, Execution, "EXECUTION");
        check!(domain::Effect, Effect, "EFFECT");
        check!(domain::Origin, Origin, "ORIGIN");
        check!(domain::EvidenceSource, EvidenceSource, "EVIDENCE_SOURCE");
        check!(domain::Action, Action, "ACTION");
        check!(domain::Reason, Reason, "REASON");
        check!(domain::Context, Context, "CONTEXT");
        check!(domain::EscalateTo, EscalateTo, "ESCALATE_TO");
        check!(domain::StopScope, StopScope, "STOP_SCOPE");
        check!(domain::Outcome, Outcome, "OUTCOME");
        check!(domain::LetterStatus, LetterStatus, "LETTER_STATUS");
        check!(crate::policy::Mode, Mode, "MODE");
        check!(crate::policy::Profile, Profile, "PROFILE");
    }
}
