//! The stories against a scripted oracle: what the worker asks, what it then does, and what the table says of it.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;

use super::*;
use crate::domain::*;

/// Answers Judge from a script per turn; once a stop was given out, Admit denies with it.
#[derive(Default)]
struct Scripted {
    scripts: Mutex<HashMap<String, VecDeque<Verdict>>>,
    stops: Mutex<HashMap<String, Verdict>>,
    judged: Mutex<Vec<(String, JudgeRequest)>>,
    ended: Mutex<Vec<(String, EndTurnRequest)>>,
    succeeded: Mutex<Vec<(String, SuccessReport)>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the script has no answer for {0}")]
struct OffScript(String);

impl Scripted {
    fn new(scripts: impl IntoIterator<Item = (&'static str, Vec<Verdict>)>) -> Self {
        let scripts = scripts
            .into_iter()
            .map(|(turn, verdicts)| (turn.to_owned(), verdicts.into()))
            .collect();
        Scripted {
            scripts: Mutex::new(scripts),
            ..Scripted::default()
        }
    }

    /// What the real oracle says in these stories.
    fn as_designed() -> Self {
        let retry = || verdict(Action::Retry, Reason::Transient);
        let stop = || Verdict {
            stop_scope: Some(StopScope::Cause),
            user_message: Some("It is out of order; somebody has to look at it.".to_owned()),
            ..verdict(Action::Escalate, Reason::CauseBudgetExhausted)
        };
        let correct = Verdict {
            guidance: Some("Give `date` in the format ISO 8601.".to_owned()),
            context: Some(Context::Clean),
            ..verdict(Action::Reprompt, Reason::ModelOutput)
        };
        Scripted::new([
            ("demo-1", vec![verdict(Action::Retry, Reason::KeyedRetry)]),
            ("demo-2", vec![correct]),
            ("demo-3", vec![retry(), retry(), stop()]),
            ("demo-4", vec![stop()]),
            ("demo-5", vec![retry(), retry(), stop()]),
        ])
    }
}

fn verdict(action: Action, reason: Reason) -> Verdict {
    Verdict {
        action,
        reason,
        explanation: String::new(),
        guidance: None,
        user_message: None,
        retry_after: None,
        context: None,
        idempotency_key: String::new(),
        satisfy_with: None,
        check_status_with: None,
        forget_operations: Vec::new(),
        escalate_to: None,
        stop_scope: None,
        closed_tools: Vec::new(),
        shadow: false,
        degraded: false,
    }
}

impl OracleClient for Scripted {
    type Error = OffScript;

    async fn admit(&self, turn_id: &str, request: AdmitRequest) -> Result<Admitted, OffScript> {
        let stop = self.stops.lock().unwrap().get(turn_id).cloned();
        Ok(Admitted {
            admitted: stop.is_none(),
            idempotency_key: format!("key-of-{turn_id}-{}", request.call.operation_id),
            verdict: stop,
        })
    }

    async fn judge(&self, turn_id: &str, request: JudgeRequest) -> Result<Judged, OffScript> {
        let verdict = self
            .scripts
            .lock()
            .unwrap()
            .get_mut(turn_id)
            .and_then(VecDeque::pop_front)
            .ok_or_else(|| OffScript(turn_id.to_owned()))?;
        if matches!(verdict.action, Action::Escalate | Action::FailLoud) {
            let mut stops = self.stops.lock().unwrap();
            stops.insert(turn_id.to_owned(), verdict.clone());
        }
        let mut judged = self.judged.lock().unwrap();
        judged.push((turn_id.to_owned(), request));
        Ok(Judged {
            verdict,
            dead_letter_id: None,
        })
    }

    async fn report_success(&self, turn: &str, report: SuccessReport) -> Result<(), OffScript> {
        let mut succeeded = self.succeeded.lock().unwrap();
        succeeded.push((turn.to_owned(), report));
        Ok(())
    }

    async fn end_turn(
        &self,
        turn_id: &str,
        request: EndTurnRequest,
    ) -> Result<TurnSummary, OffScript> {
        self.ended
            .lock()
            .unwrap()
            .push((turn_id.to_owned(), request));
        Ok(TurnSummary::default())
    }
}

async fn printed(oracle: &Scripted, look: Look) -> String {
    let mut out = Vec::new();
    run(oracle, &mut out, look).await.expect("plays");
    String::from_utf8(out).expect("is text")
}

#[tokio::test]
async fn the_table_says_what_the_tools_counted() {
    let table = printed(&Scripted::as_designed(), Look::Plain).await;
    let expected = "\
                              USUAL WRAPPER              WITH THE ORACLE
story                     calls  twice       shown    calls  twice       shown
--------------------------------------------------------------------------------
The card charged twice        2      1      0 of 1        2      0      1 of 1
  last verdict: retry (keyed_retry), then it succeeded
Backoff against a 400         9      0      0 of 9        2      0      1 of 1
  last verdict: reprompt (model_output), then it succeeded: Give `date` in the
  format ISO 8601.
Four tools, one canvas       12      0     0 of 12        3      0      3 of 3
  last verdict: escalate (cause_budget_exhausted): It is out of order; somebody
  has to look at it.
A dead dependency            12      0     0 of 12        1      0      1 of 1
  last verdict: escalate (cause_budget_exhausted): It is out of order; somebody
  has to look at it.
One tool, 23 times           23      0     0 of 23        3      0      3 of 3
  last verdict: escalate (cause_budget_exhausted): It is out of order; somebody
  has to look at it.
--------------------------------------------------------------------------------
together                     58      1     0 of 57       11      0      9 of 9
";
    assert!(table.contains(expected), "{table}");
    assert!(table.lines().all(|line| line.chars().count() <= 80));
    let next = table.split("Next:\n").nth(1).expect("says what is next");
    assert_eq!(next.lines().count(), 3);
}

#[tokio::test]
async fn colour_changes_nothing_but_colour() {
    let plain = printed(&Scripted::as_designed(), Look::Plain).await;
    let coloured = printed(&Scripted::as_designed(), Look::Coloured).await;
    assert!(!plain.contains('\u{1b}'));
    assert!(coloured.contains("\u{1b}[31m"));
    let mut stripped = String::new();
    for part in coloured.split('\u{1b}') {
        let text = part.strip_prefix('[').and_then(|p| p.split_once('m'));
        stripped.push_str(text.map_or(part, |(_, text)| text));
    }
    assert_eq!(stripped, plain);
}

#[tokio::test]
async fn a_retry_keeps_operation_key_and_input_and_a_reprompt_changes_the_input() {
    let oracle = Scripted::as_designed();
    printed(&oracle, Look::Plain).await;
    let judged = oracle.judged.lock().unwrap();
    let succeeded = oracle.succeeded.lock().unwrap();
    let failed = |turn: &str| {
        &judged
            .iter()
            .find(|(t, _)| t == turn)
            .expect("failed")
            .1
            .call
    };
    let then = |turn: &str| {
        &succeeded
            .iter()
            .find(|(t, _)| t == turn)
            .expect("went on")
            .1
            .call
    };
    for turn in ["demo-1", "demo-2"] {
        let (first, second) = (failed(turn), then(turn));
        assert_eq!(first.operation_id, second.operation_id);
        assert_eq!((first.attempt, second.attempt), (1, 2));
        assert_eq!(first.idempotency_key, second.idempotency_key);
        assert_eq!(first.input == second.input, turn == "demo-1");
    }
}

#[tokio::test]
async fn every_turn_is_ended_honestly() {
    let oracle = Scripted::as_designed();
    printed(&oracle, Look::Plain).await;
    let ended = oracle.ended.lock().unwrap();
    let outcomes: Vec<_> = ended.iter().map(|(_, end)| end.outcome).collect();
    use Outcome::*;
    assert_eq!(
        outcomes,
        [Succeeded, Succeeded, Escalated, Escalated, Escalated]
    );
    assert!(ended.iter().all(|(_, end)| end.disclosed));
}

/// The numbers are the tools': an oracle that guesses wrong is seen to.
#[tokio::test]
async fn a_careless_oracle_gets_no_better_numbers_than_it_deserves() {
    let always_retry = |times| vec![verdict(Action::Retry, Reason::Transient); times];
    let turns = ["demo-1", "demo-2", "demo-3", "demo-4", "demo-5"];
    let oracle = Scripted::new(turns.map(|turn| (turn, always_retry(200))));
    let table = printed(&oracle, Look::Plain).await;
    let line = |story: &str| {
        let found = table.lines().find(|line| line.starts_with(story));
        found.expect("has a line").to_owned()
    };
    assert!(
        line("Four tools").contains("100      0  100 of 100"),
        "{table}"
    );
    assert!(line("Backoff").contains("100"), "{table}");
}

#[tokio::test]
async fn a_stopped_turn_calls_nothing_more() {
    let stop = Verdict {
        stop_scope: Some(StopScope::Turn),
        ..verdict(Action::FailLoud, Reason::TurnBudgetExhausted)
    };
    let turns = ["demo-1", "demo-2", "demo-3", "demo-4", "demo-5"];
    let oracle = Scripted::new(turns.map(|turn| (turn, vec![stop.clone()])));
    printed(&oracle, Look::Plain).await;
    assert_eq!(oracle.judged.lock().unwrap().len(), 5);
    let ended = oracle.ended.lock().unwrap();
    assert!(ended.iter().all(|(_, end)| end.outcome == Outcome::Failed));
}

#[tokio::test]
async fn an_oracle_that_cannot_answer_is_said_to_with_the_story() {
    let error = run(&Scripted::default(), &mut Vec::new(), Look::Plain)
        .await
        .expect_err("has no answers");
    assert!(error.to_string().contains("The card charged twice"));
}

#[test]
fn the_policy_describes_every_tool_that_a_story_calls() {
    use super::models::Prompt;
    for story in stories::stories() {
        let (_, mut model) = story.begin();
        while let Some(call) = model.ask(&Prompt::Task) {
            assert!(
                POLICY.contains(&format!("\n  {}: {{", call.tool)),
                "{}",
                call.tool
            );
        }
    }
}
