//! The usual retry wrapper: every error looks the same, every attempt has a key of its own, the failed attempt stays in
//! the window, and what did not work is told to nobody.

use super::Run;
use super::models::Prompt;
use super::stories::Story;

/// Plays a story without the oracle.
pub(super) fn play(story: &Story) -> Run {
    let (mut world, mut model) = story.begin();
    let mut prompt = Prompt::Task;
    let mut done = false;
    while !done && let Some(call) = model.ask(&prompt) {
        for _ in 0..story.attempts {
            let fresh_key = format!("attempt-{}", world.calls + 1);
            // The backoff that comes between two attempts is not waited out.
            done = world.call(&call, &fresh_key).is_ok();
            if done {
                break;
            }
        }
        prompt = Prompt::Contaminated;
    }
    Run {
        calls: world.calls,
        duplicates: world.duplicates(),
        failures: world.failures,
        // The wrapper has nobody to report to.
        shown: 0,
        done,
        last: None,
    }
}
