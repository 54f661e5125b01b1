//! Backstop tells AI-agent workers what to do after a step has failed.
#![allow(missing_docs)]

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
