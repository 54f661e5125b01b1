//! The command line: one module a command, each of which reads flags, calls the library, and prints.
//!
//! Answers go to standard output, errors and logs to standard error. Exit codes: 0 done, 1 it failed (or, for
//! `health`, it does not serve), 2 the input or the flags make no sense.

mod dead_letters;
mod demo;
mod error;
mod explain;
mod failure_flags;
mod health;
mod judge;
mod logging;
mod output;
mod policy;
mod progress;
mod record;
mod rules;
mod serve;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

pub use error::CliError;
pub use serve::ServeFlags;

const AFTER_HELP: &str = "\
Examples:
  backstop demo                                  a whole story, no set-up
  backstop serve --policy policy.yaml            the oracle, on 127.0.0.1:50051
  backstop explain --message 'Error code: 429'   how would this be read?
  backstop judge --turn t1 --operation o1 --tool create_charge \\
      --effect keyed --message 'read timed out'  what now?
  backstop policy check policy.yaml              is it accepted?
  backstop rules show posix/enospc               what does this rule say?
  backstop health                                is it serving?

Exit codes: 0 done, 1 it failed or does not serve, 2 bad flags or input.";

/// Tells AI-agent workers what to do after a step has failed: retry, reprompt, escalate or fail loud.
#[derive(Debug, Parser)]
#[command(name = "backstop", version, after_help = AFTER_HELP, max_term_width = 100, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the oracle
    Serve(serve::ServeFlags),
    /// Play a whole story, with and without the oracle; needs no set-up
    Demo,
    /// Ask a running oracle about one failure
    Judge(Box<judge::JudgeFlags>),
    /// Read failures without judging them; needs no server
    Explain(Box<explain::ExplainFlags>),
    /// Work on policy documents
    #[command(subcommand)]
    Policy(policy::PolicyCommand),
    /// See and check the classification rules
    #[command(subcommand)]
    Rules(rules::RulesCommand),
    /// Look at parked stops
    #[command(subcommand)]
    DeadLetters(dead_letters::DeadLettersCommand),
    /// Exit with 0 if an oracle is serving, else with 1; a probe for containers
    Health(health::HealthFlags),
}

/// Runs the command that the program was called with.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(cli.command) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the answer has seen enough, as in `backstop explain --jsonl | head`.
        Err(CliError::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::complain(&error);
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(command: Command) -> Result<(), CliError> {
    let out = &mut std::io::stdout().lock();
    match command {
        Command::Serve(flags) => runtime()?.block_on(serve::run(&flags, out)),
        Command::Demo => runtime()?.block_on(demo::run(out)),
        Command::Judge(flags) => runtime()?.block_on(judge::run(*flags, out)),
        Command::Explain(flags) => explain::run(*flags, out),
        Command::Policy(command) => policy::run(command, out),
        Command::Rules(command) => rules::run(command, out),
        Command::DeadLetters(command) => dead_letters::run(command, out),
        Command::Health(flags) => runtime()?.block_on(health::run(flags, out)),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::Failed(format!("the runtime does not start: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn help_shows_examples_and_exit_codes() {
        let help = Cli::command().render_long_help().to_string();
        assert!(help.contains("backstop serve --policy"), "{help}");
        assert!(help.contains("Exit codes:"), "{help}");
    }

    #[test]
    fn the_examples_parse() {
        for line in AFTER_HELP.replace("\\\n", " ").lines() {
            let Some(line) = line.trim().strip_prefix("backstop ") else {
                continue;
            };
            let line = line
                .split("   ")
                .next()
                .unwrap()
                .replace("Error code: 429", "x");
            let line = line
                .replace("'read timed out'  what now?", "x")
                .replace('\'', "");
            let words = std::iter::once("backstop").chain(line.split_whitespace());
            Cli::try_parse_from(words).unwrap_or_else(|error| panic!("{line}: {error}"));
        }
    }
}
