//! Why a command failed, and the exit code that says so.

/// Why a command failed: what, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Flags or input that make no sense.
    #[error("{0}")]
    BadInput(String),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// Classification rules that cannot be used.
    #[error("{0}")]
    Rules(#[from] crate::classify::RuleError),
    /// The answer cannot be printed.
    #[error("the answer cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl CliError {
    /// What the program exits with: 1 for failures, 2 for bad input.
    pub const fn exit_code(&self) -> u8 {
        match self {
            CliError::BadInput(_) | CliError::Rules(_) => 2,
            CliError::Failed(_) | CliError::Output(_) => 1,
        }
    }
}
