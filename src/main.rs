//! The `backstop` program.

use std::process::ExitCode;

/// Judgements allocate many small texts from many threads, which the system's allocator is slower at.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    backstop::cli::main()
}
