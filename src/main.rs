//! The `backstop` program.
fn main() {}
