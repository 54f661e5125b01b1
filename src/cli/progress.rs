//! How far a long reading is, on standard error and only where somebody looks at it.

use std::fmt::Display;
use std::io::{BufReader, Read};

use indicatif::{ProgressBar, ProgressBarIter, ProgressStyle};

use super::output;

/// A bar that draws nothing where standard error is no terminal.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// For input of a known length.
    pub(super) fn of_bytes(length: u64) -> Self {
        let bar = ProgressBar::new(length);
        let style = "{wide_bar} {bytes}/{total_bytes}, {bytes_per_sec}, {eta} left";
        if let Ok(style) = ProgressStyle::with_template(style) {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// For input of which nobody knows how much there is.
    pub(super) fn of_unknown_length() -> Self {
        let bar = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {bytes}, {bytes_per_sec}") {
            bar.set_style(style);
        }
        Progress(bar)
    }

    /// Counts what is read through it.
    pub(super) fn reads<R: Read>(&self, input: R) -> BufReader<ProgressBarIter<R>> {
        BufReader::with_capacity(1 << 16, self.0.wrap_read(input))
    }

    /// Says something above the bar.
    pub(super) fn complain(&self, problem: &impl Display) {
        self.0.suspend(|| output::complain(problem));
    }

    /// Takes the bar away.
    pub(super) fn end(&self) {
        self.0.finish_and_clear();
    }
}
