//! The words of the system as types: what a worker reports, what the classifier reads, what a verdict carries.
//!
//! Every other module speaks in these types. Protobuf types never appear here: `server/` translates at the edge.
//! Nothing in this module does I/O or reads a clock.

mod answer;
mod budget;
mod classification;
mod effect;
mod failure;
mod kind;
mod letter;
pub(crate) mod names;
mod request;
mod time;
mod verdict;

pub use answer::{
    Admission, CauseView, EndOfTurn, Judgement, OperationView, SuccessReceipt, TurnView,
};
pub use budget::{Budget, Budgets, Limit};
pub use classification::{Cause, Classification, EvidenceSource, Fingerprint, Reading, Subject};
pub use effect::{Effect, Execution, Origin};
pub use failure::Failure;
pub use kind::{Category, Family, Kind};
pub use letter::{AttemptRecord, DeadLetter, LetterStatus, SilentRecord};
pub use names::ParseNameError;
pub use request::{
    AdmitRequest, Call, EndTurnRequest, JudgeRequest, Outcome, SuccessReport, TurnSummary,
};
pub use time::Timestamp;
pub use verdict::{Action, Context, EscalateTo, Reason, StopScope, Verdict};
