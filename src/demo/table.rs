//! The two ways side by side, at 80 columns: naive in the middle, with the oracle on the right, the verdict below.

use std::io::{self, Write};

use super::Run;
use crate::domain::Verdict;
use crate::letters::columns::{WIDTH, beside};

/// Whether the table is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Look {
    /// No escape sequences: for files and pipes.
    Plain,
    /// ANSI colours: for terminals.
    Coloured,
}

/// ANSI attributes, by what they mean here.
#[derive(Clone, Copy)]
enum Tone {
    Strong,
    Good,
    Bad,
    Faint,
}

impl Look {
    /// `text`, already padded, in a tone.
    fn paint(self, tone: Tone, text: &str) -> String {
        let code = match (self, tone) {
            (Look::Plain, _) => return text.to_owned(),
            (_, Tone::Strong) => "1",
            (_, Tone::Good) => "32",
            (_, Tone::Bad) => "31",
            (_, Tone::Faint) => "2",
        };
        format!("\u{1b}[{code}m{text}\u{1b}[0m")
    }
}

/// One story, played both ways.
pub(super) struct Row {
    pub(super) title: &'static str,
    pub(super) naive: Run,
    pub(super) obedient: Run,
}

/// What to run next; the same number of lines as promised in the documentation.
const NEXT: [(&str, &str); 3] = [
    (
        "backstop serve --policy policy.yaml",
        "the oracle, for your own workers",
    ),
    (
        "backstop explain --message 'Read timed out'",
        "what is read out of a failure",
    ),
    ("backstop --help", "everything else"),
];

pub(super) fn head(out: &mut impl Write, look: Look) -> io::Result<()> {
    let intro = "Five failures of real agents, each played twice against the same simulated tools: by the usual \
                 retry wrapper (any error, up to 3 attempts, a fresh key each time; in the last story the model \
                 itself is the loop), and by a worker that asks the oracle. Twice: effects that happened more often \
                 than asked for. Shown: failed calls that the user or the metrics got to see.";
    write!(out, "{}\n\n", beside("", 0, intro).trim_end())?;
    let groups = format!(
        "{:24}{:^26}  {:^26}",
        "", "USUAL WRAPPER", "WITH THE ORACLE"
    );
    let names = format!("{:24}{}  {}", "story", columns(), columns());
    writeln!(out, "{}", look.paint(Tone::Strong, groups.trim_end()))?;
    writeln!(out, "{}", look.paint(Tone::Strong, &names))?;
    rule(out, look)
}

fn columns() -> String {
    format!("{:>7}{:>7}{:>12}", "calls", "twice", "shown")
}

fn rule(out: &mut impl Write, look: Look) -> io::Result<()> {
    writeln!(out, "{}", look.paint(Tone::Faint, &"-".repeat(WIDTH)))
}

pub(super) fn row(out: &mut impl Write, look: Look, row: &Row) -> io::Result<()> {
    let title = format!("{:24}", row.title);
    writeln!(
        out,
        "{}{}  {}",
        look.paint(Tone::Strong, &title),
        numbers(look, &row.naive),
        numbers(look, &row.obedient)
    )?;
    if let Some(verdict) = &row.obedient.last {
        write!(
            out,
            "{}",
            beside("", 2, &last_word(verdict, row.obedient.done))
        )?;
    }
    Ok(())
}

fn numbers(look: Look, run: &Run) -> String {
    let tone = |bad| if bad { Tone::Bad } else { Tone::Good };
    let calls = format!("{:>7}", run.calls);
    let twice = look.paint(tone(run.duplicates > 0), &format!("{:>7}", run.duplicates));
    let shown = format!("{:>12}", format!("{} of {}", run.shown, run.failures));
    let shown = look.paint(tone(run.shown < run.failures), &shown);
    format!("{calls}{twice}{shown}")
}

/// The verdict with its words: for a person where it has some, else for the model.
fn last_word(verdict: &Verdict, done: bool) -> String {
    let words = verdict.user_message.as_ref().or(verdict.guidance.as_ref());
    let end = if done { ", then it succeeded" } else { "" };
    let mut text = format!("last verdict: {} ({}){end}", verdict.action, verdict.reason);
    if let Some(words) = words {
        text.push_str(": ");
        text.push_str(words);
    }
    text
}

pub(super) fn foot(out: &mut impl Write, look: Look, rows: &[Row]) -> io::Result<()> {
    rule(out, look)?;
    let total = format!("{:24}", "together");
    let naive = sum(rows.iter().map(|row| &row.naive));
    let obedient = sum(rows.iter().map(|row| &row.obedient));
    writeln!(
        out,
        "{}{}  {}\n",
        look.paint(Tone::Strong, &total),
        numbers(look, &naive),
        numbers(look, &obedient)
    )?;
    writeln!(out, "{}", look.paint(Tone::Strong, "Next:"))?;
    for (command, what) in NEXT {
        writeln!(out, "  {command:45}{}", look.paint(Tone::Faint, what))?;
    }
    Ok(())
}

fn sum<'a>(runs: impl Iterator<Item = &'a Run>) -> Run {
    runs.fold(Run::default(), |sum, run| Run {
        calls: sum.calls + run.calls,
        duplicates: sum.duplicates + run.duplicates,
        failures: sum.failures + run.failures,
        shown: sum.shown + run.shown,
        ..sum
    })
}
