//! Backstop tells AI-agent workers what to do after a step has failed: retry, reprompt, escalate or fail loud.
//!
//! The modules tell the story of one judgement, in this order:
//!
//! - [`server`]: a request comes in over gRPC and is validated; its `wire` turns it into [`domain`] types. Nothing
//!   behind it knows of protobuf.
//! - [`oracle`]: takes it from there. It looks the tool up in the [`policy`] in force and hands the failure to
//! - [`classify`], which reads kind, execution, wait and dependency out of it (a `Reading`), by rules that are data.
//! - [`causes`] finds whom the failure is charged to; both together are the `Classification`.
//! - [`store`] runs the change on the turn, alone. [`turn`] is that turn: a plain value that knows its operations,
//!   attempts and budgets. It asks
//! - [`verdict`] what the failure deserves, draws from the budgets, and asks again whether the turn can pay. The words
//!   come from [`lessons`].
//! - [`letters`] parks every stop before it is answered, masked by [`secrets`].
//! - [`metrics`] counts what happened, and `server` sends the answer.
//!
//! Everything from `classify` to `lessons` is a plain function of what it is given: no I/O, no clock, no randomness.
//! [`settings`] configures the program, [`cli`] is its face, [`demo`] shows what it is for.

pub mod causes;
pub mod classify;
pub mod cli;
pub mod demo;
pub mod domain;
pub mod lessons;
pub mod letters;
pub mod metrics;
pub mod oracle;
pub mod policy;
pub mod secrets;
pub mod server;
pub mod settings;
pub mod store;
pub mod turn;
pub mod verdict;
