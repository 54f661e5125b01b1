//! Plays scenario files: stories in YAML with the answers that the service must give (`tests/scenarios/README.md`).
//!
//! The way of a file: [`format`] reads it, [`plan`] checks every method, field, path and matcher of it against the
//! descriptors that the server reflects, [`play`] makes the calls and compares by [`matcher`], [`series`] reads
//! /metrics. A fault of the file itself (a typo that would make a step unable to fail) is an error of the scenario,
//! found before the first call.
#![allow(dead_code, reason = "each test crate uses its own part of this module")]

pub(crate) mod format;
pub(crate) mod matcher;
pub(crate) mod path;
pub(crate) mod plan;
pub(crate) mod play;
pub(crate) mod request;
pub(crate) mod series;
