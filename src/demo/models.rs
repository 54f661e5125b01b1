//! Simulated models: what is called next, given what the window holds. They behave as the articles saw models behave.

use super::worlds::ToolCall;

/// What the model finds in its window when it is asked for the next call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Prompt {
    /// The task alone.
    Task,
    /// The task, the failed call and its error.
    Contaminated,
    /// The task and one corrective sentence.
    Guided(String),
    /// The task, and that a tool is closed.
    Stopped,
}

/// Something that decides what to call.
pub(super) trait Model: Send {
    /// The next call; absent when the model gives up.
    fn ask(&mut self, prompt: &Prompt) -> Option<ToolCall>;
}

/// Works through a list, one entry each time it is asked: another tool or other arguments, until it runs out of ideas.
pub(super) struct Stubborn {
    ideas: std::vec::IntoIter<ToolCall>,
}

impl Stubborn {
    /// The same thing through one tool after the other.
    pub(super) fn with_tools(tools: &[&'static str]) -> Self {
        let ideas: Vec<_> = tools
            .iter()
            .map(|tool| call(tool, r#"{"goal":"the same"}"#.to_owned()))
            .collect();
        Stubborn {
            ideas: ideas.into_iter(),
        }
    }

    /// The same tool with adjusted arguments, `times` times.
    pub(super) fn with_arguments(tool: &'static str, times: u32) -> Self {
        let ideas: Vec<_> = (1..=times)
            .map(|n| call(tool, format!(r#"{{"query":"Ada Lovelace","variant":{n}}}"#)))
            .collect();
        Stubborn {
            ideas: ideas.into_iter(),
        }
    }
}

impl Model for Stubborn {
    fn ask(&mut self, _: &Prompt) -> Option<ToolCall> {
        self.ideas.next()
    }
}

/// Buys one thing, once: asked again, it has nothing to add.
pub(super) struct Buyer {
    asked: bool,
}

impl Buyer {
    pub(super) fn new() -> Self {
        Buyer { asked: false }
    }
}

impl Model for Buyer {
    fn ask(&mut self, _: &Prompt) -> Option<ToolCall> {
        let first = !std::mem::replace(&mut self.asked, true);
        first.then(|| {
            call(
                "create_charge",
                r#"{"amount":4200,"currency":"eur"}"#.to_owned(),
            )
        })
    }
}

/// Writes dates as people say them. With its own mistake in the window it writes near-duplicates of it; told the format
/// in a clean window, it uses it.
pub(super) struct Traveller {
    phrases: std::vec::IntoIter<&'static str>,
}

impl Traveller {
    pub(super) fn new() -> Self {
        let phrases = vec!["next friday", "friday next week", "the coming friday"];
        Traveller {
            phrases: phrases.into_iter(),
        }
    }
}

impl Model for Traveller {
    fn ask(&mut self, prompt: &Prompt) -> Option<ToolCall> {
        let date = match prompt {
            Prompt::Guided(guidance) if guidance.contains("ISO 8601") => "2026-12-04",
            _ => self.phrases.next()?,
        };
        let input = format!(r#"{{"from":"VIE","to":"LIS","date":"{date}"}}"#);
        Some(call("find_flights", input))
    }
}

fn call(tool: &'static str, input: String) -> ToolCall {
    ToolCall { tool, input }
}
