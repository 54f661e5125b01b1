//! Tests of the policy as a whole: documents in, answers or faults out.

mod faults;
mod parsing;
mod reloading;
mod resolving;
