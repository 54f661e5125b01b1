//! Single values of the document: what they are, and within which bounds they make sense.

use std::time::Duration;

use super::document::Value;
use super::duration;

/// Which whole numbers a limit may be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bound {
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// What to write instead of a number that is too small.
    pub(crate) advice: &'static str,
}

impl Bound {
    /// Failures are counted before the limit is looked at, so 1 already stops at the first.
    pub(crate) const FAILURES: Bound = Bound {
        min: 1,
        max: 1_000_000,
        advice: "write 1 to stop at the first failure, or `none` for no limit",
    };
    /// Verdicts that are given out: 0 gives none.
    pub(crate) const VERDICTS: Bound = Bound {
        min: 0,
        max: 1_000_000,
        advice: "write 0 to give none, or `none` for no limit",
    };
    /// Calls of a turn.
    pub(crate) const CALLS: Bound = Bound {
        min: 1,
        max: 1_000_000,
        advice: "write at least 1, or `none` for no limit",
    };
    /// Calls of a tool: 0 closes it.
    pub(crate) const TOOL_CALLS: Bound = Bound {
        min: 0,
        max: 1_000_000,
        advice: "write 0 to close the tool, or `none` for no limit",
    };
    /// Tokens of a turn.
    pub(crate) const TOKENS: Bound = Bound {
        min: 1,
        max: 1_000_000_000_000,
        advice: "write at least 1, or `none` for no limit",
    };
    /// Sub-agents: 0 is the turn's own agent.
    pub(crate) const DEPTH: Bound = Bound {
        min: 0,
        max: 100,
        advice: "write 0 to allow no sub-agents, or `none` for no limit",
    };
}

/// What is wrong with a value, before it is known where it stands.
pub(crate) struct Wrong {
    pub(crate) problem: String,
    pub(crate) suggestion: Option<String>,
}

impl Wrong {
    pub(crate) fn plain(problem: impl Into<String>) -> Self {
        Wrong {
            problem: problem.into(),
            suggestion: None,
        }
    }
}

pub(crate) fn whole_number(value: &Value, bound: Bound) -> Result<u64, Wrong> {
    let Bound { min, max, advice } = bound;
    let Value::Scalar { text, plain: true } = value else {
        return Err(Wrong::plain(format!(
            "is {}, not a whole number",
            describe(value)
        )));
    };
    if let Some(digits) = text.strip_prefix('-')
        && digits.parse::<f64>().is_ok()
    {
        return Err(Wrong::plain(format!("{text} is negative; {advice}")));
    }
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits {
        return Err(Wrong::plain(format!("`{text}` is not a whole number")));
    }
    match text.parse::<u64>() {
        Ok(number) if number < min => Err(Wrong::plain(format!("{text} is too small; {advice}"))),
        Ok(number) if number <= max => Ok(number),
        _ => Err(Wrong::plain(format!("{text} is more than {max}; {advice}"))),
    }
}

pub(crate) fn bounded_duration(value: &Value, min: Duration) -> Result<Duration, Wrong> {
    let Value::Scalar { text, .. } = value else {
        return Err(Wrong::plain(format!(
            "is {}, not a duration such as `5s`",
            describe(value)
        )));
    };
    let parsed = duration::parse(text).map_err(|fault| Wrong::plain(fault.to_string()))?;
    if parsed < min {
        return Err(Wrong::plain(format!(
            "`{text}` is too short; write at least {}",
            duration::print(min)
        )));
    }
    if parsed > duration::LONGEST {
        return Err(Wrong::plain(format!("`{text}` is longer than 7 days")));
    }
    Ok(parsed)
}

/// Names of tools, groups, dependencies: not empty, at most 256 bytes, without control characters or outer blanks.
pub(crate) fn valid_name(name: &str) -> Result<(), String> {
    if name.trim().is_empty() {
        Err("a name is empty".to_owned())
    } else if name.trim() != name || name.chars().any(char::is_control) {
        Err("a name has blanks around it or control characters in it".to_owned())
    } else if name.len() > 256 {
        Err("a name is longer than 256 bytes".to_owned())
    } else {
        Ok(())
    }
}

pub(crate) fn describe(value: &Value) -> &'static str {
    match value {
        Value::Null => "empty",
        Value::Scalar { text, plain: true } if text.parse::<f64>().is_ok() => "a number",
        Value::Scalar { text, plain: true } if matches!(&**text, "true" | "false") => {
            "a truth value"
        }
        Value::Scalar { .. } => "text",
        Value::Sequence(_) => "a list",
        Value::Mapping(_) => "a mapping",
    }
}
