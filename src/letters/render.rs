//! A letter for the person who has to settle it, at 80 columns: what failed, what to do next, how it came to that.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use super::columns::{WIDTH, beside};
use crate::domain::{
    AttemptRecord, Budget, Budgets, DeadLetter, Effect, EscalateTo, Execution, LetterStatus,
    StopScope, Timestamp,
};

/// Width of the labels' column.
const LABELS: usize = 14;

/// Longest excerpt of an input or a failure's text, in characters; the JSON form has the whole.
const EXCERPT: usize = 800;

/// A letter as `dead-letters show` prints it. Plain text of at most 80 columns without control characters, ending with
/// a line break. Long texts are cut; the letter's JSON has them whole.
pub fn render_letter(letter: &DeadLetter) -> String {
    let stops = if letter.count == 1 { "stop" } else { "stops" };
    let mut out = beside("", 0, &format!("Dead letter {}", letter.id));
    let head = format!(
        "{}, {} {stops}, first {}, last changed {}",
        letter.status,
        letter.count,
        time(letter.created_at),
        time(letter.updated_at)
    );
    out.push_str(&beside("", 0, &head));
    section(&mut out, "What failed", &what_failed(letter));
    section(&mut out, "What to do next", &what_next(letter));
    let attempts: String = letter.attempts.iter().map(attempt).collect();
    section(&mut out, "Attempts", &attempts);
    section(&mut out, "Budgets", &budgets(&letter.budgets));
    out
}

fn section(out: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = write!(out, "\n{title}\n{}\n{body}", "-".repeat(title.len()));
    }
}

fn row(out: &mut String, label: &str, text: &str) {
    if !text.is_empty() {
        out.push_str(&beside(&format!("  {label}"), LABELS, text));
    }
}

fn what_failed(letter: &DeadLetter) -> String {
    let mut out = String::new();
    if let Some(silent) = &letter.silent {
        let ended = match silent.outcome {
            Some(outcome) => format!("ended as {outcome}"),
            None => "idled out".to_owned(),
        };
        let text = format!(
            "the turn {ended} while nobody was told of: {}",
            silent.unresolved_operations.join(", ")
        );
        row(&mut out, "silently", &text);
    }
    let step = format!(
        "{} ({} call, {})",
        letter.tool, letter.origin, letter.effect
    );
    row(&mut out, letter.origin.name(), &step);
    row(
        &mut out,
        "turn",
        &format!("{} of {}", letter.turn_id, letter.tenant),
    );
    if !letter.operation_id.is_empty() {
        let operation = format!(
            "{}, stopped at attempt {}",
            letter.operation_id, letter.attempt
        );
        row(&mut out, "operation", &operation);
    }
    if let Some(kind) = letter.kind {
        row(&mut out, "kind", &format!("{kind} ({})", kind.category()));
    }
    if let Some(execution) = letter.execution {
        row(&mut out, "work", executed(execution));
    }
    if let Some(cause) = &letter.cause {
        row(
            &mut out,
            "charged to",
            &format!("{} of {}", cause.family, cause.subject),
        );
    }
    row(
        &mut out,
        "verdict",
        &format!("{}, {}", letter.action, letter.reason),
    );
    row(&mut out, "because", &letter.explanation);
    row(&mut out, "rule", letter.rule.as_deref().unwrap_or_default());
    row(
        &mut out,
        "evidence",
        letter.evidence.as_deref().unwrap_or_default(),
    );
    if let Some(input) = &letter.input {
        let cut = if letter.input_cut {
            " (stored up to 64 KiB)"
        } else {
            ""
        };
        row(&mut out, "input", &format!("{}{cut}", excerpt(input)));
    }
    out
}

fn executed(execution: Execution) -> &'static str {
    match execution {
        Execution::NotExecuted => "was not done",
        Execution::MaybeExecuted => "may have been done: nobody can tell from here",
        Execution::Executed => "was done, only the answer was lost",
    }
}

fn what_next(letter: &DeadLetter) -> String {
    let mut steps: Vec<String> = Vec::new();
    match letter.status {
        LetterStatus::Open => {}
        LetterStatus::Resolved | LetterStatus::Discarded => {
            steps.push(format!("Nothing: {}.", settled(letter)));
        }
        LetterStatus::Requeued => {
            steps.push("It was given back and waits for a worker.".to_owned())
        }
        LetterStatus::Claimed => steps.push("A worker has taken it up.".to_owned()),
    }
    steps.extend(letter.user_message.clone());
    steps.extend(letter.escalate_to.map(|to| who_helps(to).to_owned()));
    if let Some(tool) = &letter.check_status_with {
        steps.push(format!(
            "Ask `{tool}` whether the work happened, then judge attempt {} again with failure.execution set.",
            letter.attempt
        ));
    }
    steps.extend(repeating(letter));
    if letter.silent.is_some() {
        steps.push("Tell the user what did not work: the turn did not.".to_owned());
    }
    if let Some(guidance) = &letter.guidance {
        steps.push(format!("For the model: {guidance}"));
    }
    if let Some(scope) = letter
        .stop_scope
        .filter(|_| letter.status == LetterStatus::Open)
    {
        steps.push(closed(scope).to_owned());
    }
    steps
        .iter()
        .map(|step| beside("  -", 4, &excerpt(step)))
        .collect()
}

fn settled(letter: &DeadLetter) -> String {
    let mut text = format!("it is {}", letter.status);
    if let Some(by) = &letter.resolved_by {
        let _ = write!(text, " by {by}");
    }
    if let Some(resolution) = &letter.resolution {
        let _ = write!(text, " ({resolution})");
    }
    text
}

fn who_helps(to: EscalateTo) -> &'static str {
    match to {
        EscalateTo::Person => "A person has to decide.",
        EscalateTo::Operator => "Whoever runs the system has to mend something first.",
        EscalateTo::StrongerModel => "A stronger model may manage.",
        EscalateTo::LargerContext => "A model with a larger window may manage.",
        EscalateTo::OtherProvider => "Another provider of the same may be up.",
        EscalateTo::StatusCheck => "A status check settles it.",
    }
}

/// Whether and how the call may be made again: the one mistake that costs money.
fn repeating(letter: &DeadLetter) -> Option<String> {
    if letter.operation_id.is_empty() || letter.effect == Effect::Idempotent {
        return None;
    }
    let execution = letter.execution.unwrap_or(Execution::NotExecuted);
    let text = match (letter.effect, execution) {
        (_, Execution::Executed) => "Do not repeat the call: its work is done.".to_owned(),
        (Effect::Keyed, _) => {
            format!(
                "Repeat the call only under its idempotency key, {}.",
                letter.idempotency_key
            )
        }
        (_, Execution::MaybeExecuted) => {
            "Do not repeat the call before you know that its work was not done.".to_owned()
        }
        (_, Execution::NotExecuted) => return None,
    };
    Some(text)
}

fn closed(scope: StopScope) -> &'static str {
    match scope {
        StopScope::Operation => "This operation stays closed in its turn; others go on.",
        StopScope::Cause => "Everything behind the same cause stays closed in this turn.",
        StopScope::Turn => "The whole turn stays closed.",
    }
}

fn attempt(record: &AttemptRecord) -> String {
    let mut facts: Vec<String> = Vec::new();
    let at = record
        .judged_at
        .or(record.succeeded_at)
        .or(record.admitted_at);
    facts.extend(at.map(time));
    facts.extend(record.kind.map(|kind| kind.to_string()));
    facts.extend(
        record
            .execution
            .map(|execution| execution.name().replace('_', " ")),
    );
    facts.extend(record.succeeded_at.map(|_| "succeeded".to_owned()));
    facts.extend(
        record
            .elapsed
            .map(|elapsed| format!("took {}", duration(elapsed))),
    );
    if record.tries > 1 {
        facts.push(format!("{} tries", record.tries));
    }
    if record.tokens_spent > 0 {
        facts.push(format!("{} tokens", record.tokens_spent));
    }
    facts.extend(
        record
            .worker_id
            .as_ref()
            .map(|worker| format!("by {worker}")),
    );
    let mut out = beside(&format!("  {}", record.attempt), 6, &facts.join(", "));
    if let Some(failure) = &record.failure {
        let status = failure.http_status.map(|status| format!("HTTP {status}"));
        let exit = failure.exit_code.map(|code| format!("exit code {code}"));
        let parts = [
            failure.exception_type.clone(),
            status.unwrap_or_default(),
            failure.grpc_code.clone(),
            failure.code.clone(),
            exit.unwrap_or_default(),
            excerpt(&failure.message),
        ];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        out.push_str(&beside("", 6, &parts.join(": ")));
    }
    if let Some(lesson) = &record.lesson {
        out.push_str(&beside("", 6, &format!("lesson: {lesson}")));
    }
    if let Some(action) = record.action {
        let mut verdict = format!("verdict: {action}");
        if let Some(reason) = record.reason {
            let _ = write!(verdict, ", {reason}");
        }
        if let Some(wait) = record.retry_after {
            let _ = write!(verdict, ", after {}", duration(wait));
        }
        out.push_str(&beside("", 6, &verdict));
    }
    out
}

/// Every budget that was drawn from, in the order of the contract.
fn budgets(budgets: &Budgets) -> String {
    let count = |name: &'static str, budget: Budget| (name, budget, "");
    [
        count("attempts of the operation", budgets.operation_attempts),
        count("reprompts of the operation", budgets.operation_reprompts),
        count("failures of the cause", budgets.cause_failures),
        count("failures of the turn", budgets.turn_failures),
        count("retries of the turn", budgets.turn_retries),
        count("reprompts of the turn", budgets.turn_reprompts),
        count("unmet preconditions", budgets.preconditions),
        count("calls of the tool", budgets.tool_calls),
        count("calls of the turn", budgets.turn_calls),
        count("tokens of the turn", budgets.turn_tokens),
        ("time of the turn", budgets.turn_elapsed_ms, " ms"),
    ]
    .into_iter()
    .filter(|(_, budget, _)| budget.used > 0)
    .map(|(name, budget, unit)| {
        let Budget { used, limit } = budget;
        let of = limit.map_or(String::new(), |limit| format!(" of {limit}"));
        let spent = limit.is_some_and(|limit| used >= limit);
        let spent = if spent { "  (spent)" } else { "" };
        format!("  {name:28}{used}{of}{unit}{spent}\n")
    })
    .collect()
}

fn excerpt(text: &str) -> String {
    match text.char_indices().nth(EXCERPT) {
        Some((end, _)) => {
            let rest = text.len() - end;
            format!("{} … ({rest} more bytes)", text.get(..end).unwrap_or(text))
        }
        None => text.to_owned(),
    }
}

/// RFC 3339 in UTC, to the millisecond; a time past the year 9999, which only a broken clock gives, as a number.
fn time(at: Timestamp) -> String {
    let mut out = String::new();
    let formatted = humantime::format_rfc3339_millis(SystemTime::from(at));
    if write!(out, "{formatted}").is_err() {
        return format!("{} µs", at.0);
    }
    out
}

/// To the millisecond: more says nothing here.
fn duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    humantime::format_duration(Duration::from_millis(millis)).to_string()
}

const _: () = assert!(LABELS < WIDTH);
