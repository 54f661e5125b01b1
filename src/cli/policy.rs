//! `policy check`: would this document be accepted?

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{CliError, output};
use crate::policy::Policy;
use crate::server::classifier;

/// Work on policy documents.
#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Check a policy document and run its rules' examples: exits with 0 if it would be accepted and all examples are
    /// read right, else names every fault and exits with 2
    Check {
        /// The document, YAML
        file: PathBuf,
    },
}

/// Runs the command.
pub(super) fn run(command: PolicyCommand, out: &mut impl Write) -> Result<(), CliError> {
    let PolicyCommand::Check { file } = command;
    let text = std::fs::read_to_string(&file).map_err(|error| {
        CliError::BadInput(format!("{} cannot be read: {error}", file.display()))
    })?;
    let summary = check(&file, &text)?;
    writeln!(out, "{}: {summary}", file.display())?;
    Ok(())
}

/// What an accepted document amounts to, in a few words; the error names every fault, one a line.
fn check(file: &Path, text: &str) -> Result<String, CliError> {
    let (policy, warnings) = Policy::parse_with_warnings(text)
        .map_err(|faults| CliError::BadInput(format!("{}\n{faults}", file.display())))?;
    let classifier = classifier(&policy)
        .map_err(|problem| CliError::BadInput(format!("{}: rules: {problem}", file.display())))?;
    let examples = classifier.check_operators_examples(&policy.rules);
    if !examples.faults.is_empty() {
        return Err(CliError::BadInput(format!(
            "{}: {} of the rules' {} examples read wrong:\n{}",
            file.display(),
            examples.faults.len(),
            examples.examples,
            examples.faults.join("\n")
        )));
    }
    for warning in warnings {
        output::complain(&format_args!("{}: warning: {warning}", file.display()));
    }
    Ok(format!(
        "accepted; mode {}, profile {}, {} tools, {} dependencies, {} groups, {} rules with {} examples",
        policy.mode,
        policy.profile,
        policy.tools.len(),
        policy.dependencies.len(),
        policy.groups.len(),
        policy.rules.len(),
        examples.examples
    ))
}
