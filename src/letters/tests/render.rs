//! A letter on a terminal.

use std::time::Duration;

use proptest::prelude::*;

use super::super::columns::wrap;
use super::super::render_letter;
use super::{attempt, letter};
use crate::domain::*;

#[test]
fn a_lost_charge_reads_so() {
    let mut lost = letter("0190a6b0-0000-7000-8000-000000000000");
    lost.attempts[0].action = Some(Action::Retry);
    lost.attempts[0].reason = Some(Reason::KeyedRetry);
    lost.attempts[0].retry_after = Some(Duration::from_micros(1_250_400));
    lost.attempts.push(attempt(2));
    let expected = "\
Dead letter 0190a6b0-0000-7000-8000-000000000000
open, 1 stop, first 1970-01-01T00:16:40.000Z, last changed
1970-01-01T00:16:40.000Z

What failed
-----------
  tool        create_charge (tool call, unsafe)
  turn        turn-1 of acme
  operation   charge, stopped at attempt 2
  kind        timeout (ambiguous)
  work        may have been done: nobody can tell from here
  charged to  outage of payments
  verdict     escalate, outcome_unknown
  because     the answer was lost and the charge may have been made
  rule        python/read-timeout
  evidence    Read timed out
  input       {\"amount\":4200,\"currency\":\"eur\"}

What to do next
---------------
  - Check with the payment provider before paying again.
  - A person has to decide.
  - Do not repeat the call before you know that its work was not done.
  - This operation stays closed in its turn; others go on.

Attempts
--------
  1   1970-01-01T00:16:40.000Z, timeout, maybe executed, took 10s, 120 tokens,
      by worker-7
      Read timed out. (read timeout=10)
      verdict: retry, keyed_retry, after 1s 250ms
  2   1970-01-01T00:16:40.000Z, timeout, maybe executed, took 10s, 120 tokens,
      by worker-7
      Read timed out. (read timeout=10)
      verdict: escalate, outcome_unknown

Budgets
-------
  failures of the turn        1 of 6
";
    assert_eq!(render_letter(&lost), expected);
}

#[test]
fn repeating_is_spoken_of_as_the_effect_and_the_outcome_demand() {
    use Effect::*;
    use Execution::*;
    let cases = [
        (Idempotent, MaybeExecuted, None),
        (Keyed, MaybeExecuted, Some("only under its idempotency key")),
        (Keyed, NotExecuted, Some("only under its idempotency key")),
        (Keyed, Executed, Some("its work is done")),
        (Unsafe, Executed, Some("its work is done")),
        (Unsafe, MaybeExecuted, Some("before you know")),
        (Unknown, MaybeExecuted, Some("before you know")),
        (Unsafe, NotExecuted, None),
    ];
    for (effect, execution, expected) in cases {
        let mut letter = letter("a");
        letter.effect = effect;
        letter.execution = Some(execution);
        // As one line: the words may be broken anywhere.
        let text = render_letter(&letter);
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match expected {
            Some(words) => assert!(flat.contains(words), "{effect} {execution}: {text}"),
            None => assert!(
                !flat.contains("epeat the call"),
                "{effect} {execution}: {text}"
            ),
        }
    }
}

#[test]
fn a_silent_failure_names_what_nobody_was_told() {
    let mut silent = letter("a");
    silent.operation_id = String::new();
    silent.attempts.clear();
    silent.silent = Some(SilentRecord {
        outcome: Some(Outcome::Succeeded),
        unresolved_operations: vec!["charge".to_owned(), "mail".to_owned()],
    });
    let text = render_letter(&silent);
    assert!(text.contains("ended as succeeded"), "{text}");
    assert!(text.contains("charge, mail"), "{text}");
    assert!(!text.contains("Attempts"), "{text}");
}

#[test]
fn a_time_that_no_calendar_has_does_not_end_the_program() {
    let mut broken = letter("a");
    broken.updated_at = Timestamp(u64::MAX);
    assert!(render_letter(&broken).contains(&u64::MAX.to_string()));
}

proptest! {
    #[test]
    fn whatever_a_server_sent_fits_the_terminal_and_cannot_steer_it(text in "(?s).{0,400}") {
        let mut hostile = letter("a");
        hostile.explanation.clone_from(&text);
        hostile.input = Some(text.clone());
        hostile.tool.clone_from(&text);
        hostile.user_message = Some(text.clone());
        hostile.attempts[0].failure.as_mut().expect("has one").message = text;
        for line in render_letter(&hostile).lines() {
            prop_assert!(line.chars().count() <= 80, "{line}");
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn wrapping_loses_no_word(text in "[a-z ]{0,300}", width in 1usize..90) {
        let lines = wrap(&text, width);
        prop_assert!(lines.iter().all(|line| line.chars().count() <= width));
        let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
        prop_assert_eq!(letters(&lines.concat()), letters(&text));
    }
}
