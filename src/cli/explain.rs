//! `explain`: read failures without a server, one from flags or many from JSON lines.

use std::fs::File;
use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::CliError;
use super::failure_flags::{FailureFlags, StepFlags};
use super::progress::Progress;
use super::record::{self, Record, reading_as_json};
use super::rules::RuleDirectory;
use crate::classify::{Classifier, Context};
use crate::domain::{Failure, Origin, Reading};
use crate::policy::Policy;
use crate::server::classifier;

const AFTER_HELP: &str = "\
Examples:
  backstop explain --message 'Error code: 429 - {...}'
  backstop explain --http-status 503 --header retry-after=2 --json
  kubectl logs job/x | backstop explain --message -
  backstop explain --jsonl failures.jsonl > readings.jsonl

With --jsonl, each line {\"id\": ..., \"failure\": {\"message\": ..., \"http_status\": ...}} gives one JSON
line with id, kind, category, execution, rule, retry_after_ms, dependency, fingerprint, evidence,
source and confidence. Bad lines are named on standard error, the others are read, and the exit
code is 2.";

/// Read failures without judging them: no server, no budgets.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(super) struct ExplainFlags {
    #[command(flatten)]
    failure: FailureFlags,
    #[command(flatten)]
    step: StepFlags,
    /// Read JSON lines from a file, from standard input without one
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    jsonl: Option<PathBuf>,
    /// Let this policy's own rules have the first word
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Read by the rule files of this directory instead of the built-in ones; for those who write rules
    #[arg(long, value_name = "DIR", conflicts_with = "policy")]
    rules: Option<PathBuf>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// Reads one failure of a tool or model.
pub(super) type Reader = Box<dyn Fn(&Failure, &str, Origin) -> Reading>;

/// Runs the command.
pub(super) fn run(flags: ExplainFlags, out: &mut impl Write) -> Result<(), CliError> {
    let classifier = match &flags.rules {
        Some(directory) => RuleDirectory::open(directory)?.classifier()?,
        None => policys_classifier(flags.policy.as_deref())?,
    };
    let Some(source) = flags.jsonl else {
        let failure = flags.failure.into_failure()?;
        let (tool, origin) = (&flags.step.tool, flags.step.origin);
        let reading = classifier.read(&failure, &context(tool, origin));
        return if flags.json {
            let json = reading_as_json(serde_json::Value::Null, &failure, &reading);
            Ok(writeln!(out, "{json:#}")?)
        } else {
            let why = classifier
                .rules()
                .find(|rule| rule.id == reading.rule)
                .map(|rule| &*rule.why);
            print(&failure, &reading, why, out)
        };
    };
    if !flags.failure.is_empty() {
        return Err(CliError::BadInput(
            "--jsonl reads its failures from a file; leave the flags of a failure out".to_owned(),
        ));
    }
    let read = reader(classifier);
    if source.as_os_str() == "-" {
        let progress = Progress::of_unknown_length();
        let input = progress.reads(std::io::stdin().lock());
        return read_lines(input, "standard input", &read, &progress, out);
    }
    let place = source.display().to_string();
    let unreadable =
        |error: std::io::Error| CliError::BadInput(format!("{place} cannot be read: {error}"));
    let file = File::open(&source).map_err(unreadable)?;
    let progress = Progress::of_bytes(file.metadata().map_err(unreadable)?.len());
    read_lines(progress.reads(file), &place, &read, &progress, out)
}

/// One reading a line. Bad lines are complained of and skipped; they make the command fail in the end.
fn read_lines(
    mut lines: impl BufRead,
    place: &str,
    read: &Reader,
    progress: &Progress,
    out: &mut impl Write,
) -> Result<(), CliError> {
    let mut bytes = Vec::new();
    let mut bad = 0_u64;
    for number in 1_u64.. {
        bytes.clear();
        let length = lines
            .read_until(b'\n', &mut bytes)
            .map_err(|error| CliError::Failed(format!("{place}, line {number}: {error}")))?;
        if length == 0 {
            break;
        }
        let line = String::from_utf8_lossy(&bytes);
        let line = line.trim_start_matches('\u{feff}').trim();
        if line.is_empty() {
            continue;
        }
        match record::parse(line) {
            Ok(Record {
                id,
                failure,
                tool,
                origin,
            }) => {
                let reading = read(&failure, &tool, origin);
                writeln!(out, "{}", reading_as_json(id, &failure, &reading))?;
            }
            Err(problem) => {
                bad += 1;
                progress.complain(&format_args!("{place}, line {number} {problem}"));
            }
        }
    }
    out.flush()?;
    progress.end();
    match bad {
        0 => Ok(()),
        1 => Err(CliError::BadInput(format!(
            "{place}: one line could not be read"
        ))),
        _ => Err(CliError::BadInput(format!(
            "{place}: {bad} lines could not be read"
        ))),
    }
}

/// `why` is what the built-in rule says of itself.
fn print(
    failure: &Failure,
    reading: &Reading,
    why: Option<&str>,
    out: &mut impl Write,
) -> Result<(), CliError> {
    writeln!(
        out,
        "kind         {} ({})",
        reading.kind,
        reading.kind.category()
    )?;
    writeln!(out, "execution    {}", reading.execution)?;
    writeln!(out, "rule         {}", reading.rule)?;
    if let Some(why) = why {
        writeln!(out, "why          {why}")?;
    }
    if !reading.evidence.is_empty() {
        writeln!(
            out,
            "evidence     {} (from the {})",
            reading.evidence, reading.source
        )?;
    }
    writeln!(out, "confidence   {:.2}", reading.confidence)?;
    if let Some(wait) = reading.retry_after {
        writeln!(out, "retry after  {}", humantime::format_duration(wait))?;
    }
    if let Some(dependency) = record::dependency(failure, reading) {
        writeln!(out, "dependency   {dependency}")?;
    }
    writeln!(out, "fingerprint  {}", reading.fingerprint)?;
    Ok(())
}

/// The classifier, with the operator's rules of a policy file where one is named.
fn policys_classifier(file: Option<&Path>) -> Result<Classifier, CliError> {
    let policy = match file {
        None => Policy::builtin(),
        Some(file) => {
            let place = file.display();
            let text = std::fs::read_to_string(file)
                .map_err(|error| CliError::BadInput(format!("{place} cannot be read: {error}")))?;
            Policy::parse(&text)
                .map_err(|faults| CliError::BadInput(format!("{place}\n{faults}")))?
        }
    };
    classifier(&policy).map_err(CliError::BadInput)
}

fn reader(classifier: Classifier) -> Reader {
    Box::new(move |failure, tool, origin| classifier.read(failure, &context(tool, origin)))
}

fn context(tool: &str, origin: Origin) -> Context<'_> {
    Context {
        tool,
        origin,
        tries: 1,
        received_at: std::time::SystemTime::now().into(),
    }
}

#[cfg(test)]
#[path = "explain_tests.rs"]
mod tests;
