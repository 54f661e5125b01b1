//! What the tests that play against a real server share: the process, and a client made from reflection alone.
//!
//! Each test crate compiles this module for itself and uses its own part of it.
#![allow(dead_code, reason = "each test crate uses its own part of this module")]

pub(crate) mod judging;
pub(crate) mod process;
pub(crate) mod wire;
