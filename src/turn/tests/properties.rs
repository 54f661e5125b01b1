//! Properties over random histories, of workers that obey and of workers that do not. What may have executed is kept
//! by a second, simple account of the test's own ([`Account`]), which knows nothing of the turn's state.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::super::key::derive;
use super::{Ask, Fail, World, ask, fail};
use crate::domain::{
    Action, Admission, Budgets, Context, Effect, Execution, Judgement, Kind, Reason, StopScope,
    Verdict,
};
use crate::turn::Turn;

const POLICY: &str = "
dependencies: {db: {}}
groups: {canvas: {}}
tools:
  idem: {effect: idempotent, group: canvas}
  keyed: {effect: keyed, dependency: pay}
  unsafe: {effect: unsafe, status_tool: look}
  atomic: {effect: unsafe, atomic: true}
  pages: {effect: unsafe, repeatable: true}
  costly: {effect: idempotent, expensive: true, max_calls: 6}
  erase: {effect: keyed, irreversible: true}
  compute: {effect: idempotent, requires: load}
  bash: {exploratory: true}
";
const TOOLS: [&str; 11] = [
    "idem", "keyed", "unsafe", "atomic", "pages", "costly", "erase", "compute", "bash", "shell",
    "nobody",
];
const INPUTS: [&str; 4] = [
    r#"{"a":1,"b":2}"#,
    r#"{ "b": 2, "a": 1.0 }"#,
    r#"{"a":2}"#,
    "ls -l",
];

/// What a worker may do next.
#[derive(Debug, Clone)]
struct Step {
    does: u8,
    operation: u8,
    /// Which attempt: the next one, the latest, an earlier one, one too far, or 0.
    attempt: u8,
    /// Another tool than the operation's own.
    tool: Option<usize>,
    effect: Option<Effect>,
    input: Option<usize>,
    kind: Kind,
    read: Option<Execution>,
    word: Option<Execution>,
    key: Option<u8>,
    tries: u32,
    lesson: Option<u8>,
    approval: bool,
    dependency: Option<u8>,
    worker: Option<u8>,
    text: u8,
    /// The turn is written out and read in again before this step.
    moves: bool,
    pause: u64,
}

fn seldom<T: std::fmt::Debug + Clone + 'static>(
    percent: f64,
    of: impl Strategy<Value = T> + 'static,
) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(percent, of)
}

fn step() -> impl Strategy<Value = Step> {
    let execution = || prop::sample::select(Execution::ALL);
    let first = (
        prop::sample::select(vec![0u8, 0, 0, 0, 1, 1, 1, 2]),
        0u8..4,
        prop::sample::select(vec![0u8, 0, 0, 0, 1, 1, 2, 3, 4]),
        seldom(0.05, 0..TOOLS.len()),
        seldom(0.2, prop::sample::select(Effect::ALL)),
        seldom(0.7, 0..INPUTS.len()),
        prop::sample::select(Kind::ALL),
        seldom(0.3, execution()),
        seldom(0.3, execution()),
    );
    let second = (
        seldom(0.1, 0u8..2),
        prop::sample::select(vec![1u32, 1, 1, 1, 2, 3]),
        seldom(0.5, 0u8..3),
        prop::bool::weighted(0.2),
        seldom(0.1, 0u8..2),
        seldom(0.5, 0u8..2),
        0u8..3,
        prop::bool::weighted(0.1),
        0u64..3,
    );
    (first, second).prop_map(|(a, b)| Step {
        does: a.0,
        operation: a.1,
        attempt: a.2,
        tool: a.3,
        effect: a.4.filter(|effect: &Effect| *effect != Effect::Unknown),
        input: a.5,
        kind: a.6,
        read: a.7,
        word: a.8,
        key: b.0,
        tries: b.1,
        lesson: b.2,
        approval: b.3,
        dependency: b.4,
        worker: b.5,
        text: b.6,
        moves: b.7,
        pause: b.8,
    })
}

/// What the test itself knows of one attempt.
#[derive(Debug, Clone)]
struct Try {
    /// Worst that was heard; `None`: it is out.
    heard: Option<Execution>,
    /// The worker's own word was the first.
    vouched: bool,
    key: String,
    /// Tool and input.
    call: Option<(&'static str, usize)>,
    finding: bool,
    judged: Option<Reason>,
    /// The operation has succeeded since.
    closed: bool,
}

/// What the test itself knows of one operation.
#[derive(Debug, Clone, Default)]
struct Known {
    tool: Option<&'static str>,
    effect: Option<Effect>,
    tries: BTreeMap<u32, Try>,
    unseen_to: u32,
    settled_to: u32,
    executed: bool,
    succeeded: bool,
    lost_key: bool,
    /// The key that the oracle named last.
    told: Option<String>,
}

impl Known {
    fn latest(&self) -> u32 {
        self.tries
            .keys()
            .next_back()
            .copied()
            .unwrap_or(self.unseen_to)
    }

    fn describe(&mut self, tool: &'static str, claimed: Option<Effect>) {
        let said = match tool {
            "idem" | "costly" | "compute" => Some(Effect::Idempotent),
            "keyed" | "erase" => Some(Effect::Keyed),
            "unsafe" | "atomic" | "pages" => Some(Effect::Unsafe),
            _ => claimed,
        };
        let said = said.or_else(|| (self.tool != Some(tool)).then_some(Effect::Unknown));
        self.effect = self.effect.max(said);
        self.tool = Some(tool);
    }

    /// Takes in that an attempt went out; `call` as far as the worker said.
    fn sees(
        &mut self,
        number: u32,
        named: Option<&str>,
        call: Option<(&'static str, usize)>,
        carried: String,
    ) {
        if let Some(named) = named {
            self.told = Some(named.to_owned());
        }
        let latest = self.latest();
        if let Some(known) = self.tries.get_mut(&number) {
            if let Some(named) = named {
                known.key = named.to_owned();
            }
            known.call = call.or(known.call);
            return;
        }
        if number > latest + 1 {
            self.unseen_to = number - 1;
            self.lost_key |= latest == 0 && named.is_none();
        }
        let key = named.map_or(carried, str::to_owned);
        self.tries.insert(
            number,
            Try {
                heard: None,
                vouched: false,
                key,
                call,
                finding: false,
                judged: None,
                closed: false,
            },
        );
    }

    /// Attempts that may have done the work and that nobody has settled, without `but`.
    fn in_doubt(&self, but: Option<u32>) -> Vec<&Try> {
        self.tries
            .iter()
            .filter(|(number, _)| **number > self.settled_to && Some(**number) != but)
            .map(|(_, attempt)| attempt)
            .filter(|attempt| !attempt.finding)
            .filter(|attempt| {
                attempt
                    .heard
                    .is_none_or(|heard| heard != Execution::NotExecuted)
            })
            .collect()
    }

    /// Whether another call could do the work twice.
    fn must_not_repeat(&self, but: Option<u32>) -> bool {
        let in_doubt = self.in_doubt(but);
        let unseen = self.unseen_to > self.settled_to;
        let may = !in_doubt.is_empty() || unseen || self.executed || self.succeeded;
        match self.effect {
            None | Some(Effect::Idempotent) => false,
            Some(Effect::Unsafe | Effect::Unknown) => may,
            Some(Effect::Keyed) => {
                let keys: BTreeSet<&str> = in_doubt.iter().map(|a| a.key.as_str()).collect();
                keys.len() > 1 || (self.lost_key && unseen)
            }
        }
    }
}

/// The test's own account of a turn.
#[derive(Debug, Clone, Default)]
struct Account {
    operations: BTreeMap<u8, Known>,
}

fn name(operation: u8) -> String {
    format!("op{operation}")
}

fn key_name(key: Option<u8>) -> Option<String> {
    key.map(|n| format!("own-{n}"))
}

impl Step {
    fn tool(&self) -> &'static str {
        // Operations have tools of their own, and two of them the same one.
        let own = ["unsafe", "keyed", "nobody", "unsafe"][usize::from(self.operation)];
        self.tool.map_or(own, |n| TOOLS[n])
    }

    /// The call, where it has an input; the first two inputs are one call.
    fn call(&self) -> Option<(&'static str, usize)> {
        self.input.map(|n| (self.tool(), n.max(1)))
    }

    fn number(&self, known: &Known) -> u32 {
        let latest = known.latest();
        match self.attempt {
            0 => latest + 1,
            1 => latest.max(1),
            2 => latest.saturating_sub(1).max(1),
            3 => latest + 2 + u32::from(self.text),
            _ => 0,
        }
    }

    fn failure(&self, number: u32) -> Fail {
        let mut failure = fail(&name(self.operation), number, self.tool(), self.kind)
            .text(["first", "second", "third"][usize::from(self.text)])
            .tries(self.tries)
            .tokens(3);
        failure.effect = self.effect;
        failure.input = self.input.map(|n| INPUTS[n].to_owned());
        failure.read = self.read;
        failure.word = self.word;
        failure.key = key_name(self.key);
        failure.lesson = self.lesson.map(|n| format!("Use `field_{n}` instead."));
        failure.approval = self.approval.then(|| "approved".to_owned());
        failure.dependency = self.dependency.map(|n| format!("host{n}"));
        failure
    }

    fn ask(&self, number: u32) -> Ask {
        let mut asks = ask(&name(self.operation), number, self.tool());
        asks.call.effect = self.effect;
        asks.call.input = self.input.map(|n| INPUTS[n].into());
        asks.call.idempotency_key = key_name(self.key).map(Into::into);
        asks.call.worker_id = self.worker.map(|n| format!("w{n}").into());
        asks.call.approval_id = self.approval.then(|| "approved".into());
        asks
    }
}

fn words(verdict: &Verdict) {
    let guidance = verdict.guidance.as_deref().unwrap_or("");
    assert!(guidance.split_whitespace().count() <= 25, "{guidance}");
    let stops = matches!(verdict.action, Action::Escalate | Action::FailLoud);
    assert_eq!(verdict.user_message.is_some(), stops, "{verdict:?}");
    assert_eq!(verdict.stop_scope.is_some(), stops);
    assert_eq!(
        verdict.escalate_to.is_some(),
        verdict.action == Action::Escalate
    );
    assert_eq!(verdict.context.is_some(), !stops);
    assert!(stops || verdict.action != Action::Reprompt || verdict.guidance.is_some());
    assert!(!verdict.idempotency_key.is_empty());
    assert!(!verdict.explanation.is_empty());
    let clean = verdict.context == Some(Context::Clean);
    assert_eq!(!verdict.forget_operations.is_empty(), clean);
    assert!(verdict.forget_operations.len() <= 32);
    if verdict.action == Action::Retry {
        assert!(verdict.retry_after.is_some());
    }
}

fn within(budgets: &Budgets) {
    for budget in [
        budgets.turn_retries,
        budgets.turn_reprompts,
        budgets.operation_reprompts,
    ] {
        assert!(
            budget.limit.is_none_or(|limit| budget.used <= limit),
            "{budgets:?}"
        );
    }
}

impl Account {
    fn judged(&mut self, step: &Step, number: u32, judged: &Judgement) {
        let tool = step.tool();
        let named = key_name(step.key);
        let own = derive("default", "t1", &name(step.operation), 0);
        let known = self.operations.entry(step.operation).or_default();
        let past =
            number < known.latest() || known.tries.get(&number).is_some_and(|tried| tried.closed);
        let is_replay = judged.replayed && !past;
        words(&judged.verdict);
        within(&judged.budgets);
        let verdict = &judged.verdict;
        if !judged.replayed && matches!(verdict.action, Action::Escalate | Action::FailLoud) {
            assert!(judged.dead_letter_id.is_some(), "{verdict:?}");
        }
        // What was told before this answer is what the attempt carried.
        let told = known.told.replace(verdict.idempotency_key.clone());
        if is_replay {
            return;
        }
        let asked = known
            .tries
            .get(&number)
            .and_then(|a| a.judged)
            .is_some_and(|reason| {
                matches!(
                    reason,
                    Reason::CheckStatus
                        | Reason::OutcomeUnknown
                        | Reason::UnsafeToRepeat
                        | Reason::MayStillBeRunning
                )
            });
        known.describe(tool, step.effect);
        if known.tries.get(&number).is_none_or(|a| a.judged.is_none()) {
            let carried = told.unwrap_or(own);
            known.sees(number, named.as_deref(), step.call(), carried);
            known.told = Some(verdict.idempotency_key.clone());
        }
        match step.word {
            Some(Execution::Executed) => known.executed = true,
            Some(Execution::NotExecuted) if asked && !known.executed && !known.succeeded => {
                known.settled_to = known.settled_to.max(number);
            }
            _ => {}
        }
        let read = judged_reading(step);
        let attempt = known.tries.get_mut(&number).expect("seen above");
        let outranked = attempt.vouched && step.word.is_none();
        attempt.heard = Some(match attempt.heard {
            None => read,
            Some(heard) if outranked => heard,
            Some(heard) => heard.max(read),
        });
        if attempt.judged.is_none() {
            attempt.vouched = step.word.is_some();
        }
        attempt.vouched |= asked && step.word.is_some();
        let first_or_newer = attempt.judged.is_none() || !past;
        if first_or_newer {
            attempt.judged = Some(verdict.reason);
            attempt.finding = verdict.reason == Reason::Exploratory;
        }
        // P1: what may have been done is not done again.
        let grants = matches!(verdict.action, Action::Retry | Action::Reprompt);
        if grants && verdict.reason != Reason::Exploratory {
            assert!(!known.must_not_repeat(None), "{verdict:?}\n{known:#?}");
        }
        // P2: and under no other key.
        if known.effect == Some(Effect::Keyed)
            && let Some(first) = known.in_doubt(None).first()
            && !known.executed
        {
            assert_eq!(verdict.idempotency_key, first.key, "{known:#?}");
        }
    }

    fn admitted(&mut self, step: &Step, admission: &Admission) {
        let number = admission.attempt;
        let named = key_name(step.key);
        within(&admission.budgets);
        if let Some(verdict) = &admission.verdict {
            words(verdict);
        }
        let others = self.operations.clone();
        let known = self.operations.entry(step.operation).or_default();
        known.describe(step.tool(), step.effect);
        known.told = Some(admission.idempotency_key.clone());
        if !admission.admitted {
            if known.latest() == 0 && number > 1 {
                known.unseen_to = number - 1;
                known.lost_key |= named.is_none();
            }
            return;
        }
        if admission.replayed {
            return;
        }
        let carried = admission.idempotency_key.clone();
        known.sees(number, named.as_deref(), step.call(), carried);
        // What was answered came after what the worker named.
        known.told = Some(admission.idempotency_key.clone());
        assert!(
            !known.must_not_repeat(Some(number)),
            "{admission:?}\n{known:#?}"
        );
        if known.effect == Some(Effect::Keyed) {
            let keys: BTreeSet<&str> = known.in_doubt(None).iter().map(|a| &*a.key).collect();
            assert!(keys.len() <= 1, "a second key went out: {known:#?}");
        }
        // The same effect under another operation.
        let exploratory = matches!(step.tool(), "bash" | "shell");
        let Some(call) = step.call().filter(|_| !exploratory) else {
            return;
        };
        for (id, other) in &others {
            let strictest = other.effect.max(known.effect);
            if *id == step.operation
                || strictest == Some(Effect::Idempotent)
                || other.succeeded
                || other.executed
            {
                continue;
            }
            for (_, attempt) in other.tries.iter().filter(|(n, _)| **n > other.settled_to) {
                let in_doubt = attempt.judged.is_some()
                    && attempt.call == Some(call)
                    && attempt.heard != Some(Execution::NotExecuted);
                if in_doubt {
                    assert_eq!(strictest, Some(Effect::Keyed), "{known:#?}\n{other:#?}");
                    assert_eq!(
                        admission.idempotency_key, attempt.key,
                        "{known:#?}\n{other:#?}"
                    );
                }
            }
        }
    }

    fn succeeded(&mut self, step: &Step, number: u32, replayed: bool) {
        let own = derive("default", "t1", &name(step.operation), 0);
        let known = self.operations.entry(step.operation).or_default();
        known.describe(step.tool(), step.effect);
        if replayed {
            return;
        }
        let carried = known.told.clone().unwrap_or(own);
        known.sees(number, key_name(step.key).as_deref(), step.call(), carried);
        known.succeeded = true;
        // An attempt that was out at that time is heard yet, and its verdict then stands.
        for (other, attempt) in &mut known.tries {
            attempt.closed |= attempt.judged.is_some() || *other == number;
        }
        if let Some(attempt) = known.tries.get_mut(&number) {
            attempt.heard = Some(Execution::Executed);
        }
    }
}

/// What the world reads out of this step's failure.
fn judged_reading(step: &Step) -> Execution {
    let read = step.read.unwrap_or(step.kind.usual_execution());
    let read = if step.tries > 1 {
        read.max(Execution::MaybeExecuted)
    } else {
        read
    };
    step.word.unwrap_or(read)
}

/// The turn without what every request changes.
fn still(turn: &Turn) -> Turn {
    let mut turn = turn.clone();
    turn.event = 0;
    turn.last_activity = turn.opened_at;
    turn
}

fn play(policy: &str, steps: &[Step]) {
    let mut world = World::new(policy);
    let mut account = Account::default();
    for step in steps {
        world.pass(Duration::from_millis(step.pause * 400));
        let known = account.operations.entry(step.operation).or_default();
        let number = step.number(known);
        let twin = step.moves.then(|| {
            let written = serde_json::to_string(&world.turn).unwrap();
            let read: Turn = serde_json::from_str(&written).unwrap();
            assert_eq!(read, world.turn);
            read
        });
        let seed = world.seed;
        match step.does {
            0 => {
                let failure = step.failure(number);
                let judged = world.judge(&failure);
                if let Some(twin) = twin {
                    let here = std::mem::replace(&mut world.turn, twin);
                    world.seed = seed;
                    assert_eq!(world.judge(&failure), judged);
                    assert_eq!(world.turn, here);
                }
                account.judged(step, judged.attempt, &judged);
                // P4: once more it is a replay, and draws nothing.
                let again = Fail {
                    attempt: judged.attempt,
                    ..failure
                };
                let before = still(&world.turn);
                let replay = world.judge(&again);
                // An approval that does not fit is looked at anew each time, and draws nothing either.
                let looks_again =
                    step.approval && judged.verdict.reason == Reason::ApprovalRequired;
                assert!(replay.replayed || looks_again, "{:#?}", replay.verdict);
                assert_eq!(replay.verdict.action, judged.verdict.action);
                assert_eq!(replay.verdict.reason, judged.verdict.reason);
                assert_eq!(replay.budgets.turn_retries, judged.budgets.turn_retries);
                assert_eq!(replay.budgets.turn_failures, judged.budgets.turn_failures);
                let mut after = still(&world.turn);
                after.counters.text_bytes = before.counters.text_bytes;
                assert_eq!(after, before);
            }
            1 => {
                let asks = step.ask(number);
                let admission = world.admit(&asks);
                if let Some(twin) = twin {
                    let here = std::mem::replace(&mut world.turn, twin);
                    world.seed = seed;
                    assert_eq!(world.admit(&asks), admission);
                    assert_eq!(world.turn, here);
                }
                account.admitted(step, &admission);
                if admission.admitted {
                    let mut again = asks.clone();
                    again.call.attempt = admission.attempt;
                    let before = still(&world.turn);
                    assert!(world.admit(&again).replayed);
                    assert_eq!(still(&world.turn), before);
                }
            }
            _ => {
                let receipt = world.succeed(&step.ask(number));
                account.succeeded(step, receipt.attempt, receipt.replayed);
                let mut again = step.ask(number);
                again.call.attempt = receipt.attempt;
                let before = still(&world.turn);
                assert!(world.succeed(&again).replayed);
                assert_eq!(still(&world.turn), before);
            }
        }
    }
}

/// The same histories in every run, so that a change breaks what it breaks; `PROPTEST_CASES` draws that many new ones.
fn config() -> ProptestConfig {
    let mut config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 400;
        config.rng_seed = RngSeed::Fixed(7);
    }
    config
}

/// Nothing but safety stops here, so that histories grow long.
const NO_LIMITS: &str = "budgets: {cause: {max_failures: none}, operation: {max_attempts: none, max_reprompts: none}, turn: {max_failures: none, max_retries: none, max_reprompts: none, max_calls: none}}\n";

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_history_repeats_a_harmful_effect(steps in prop::collection::vec(step(), 1..40)) {
        play(&format!("{POLICY}{NO_LIMITS}"), &steps);
    }

    #[test]
    fn budgets_hold_in_every_history(
        steps in prop::collection::vec(step(), 1..40),
        profile in prop::sample::select(vec!["assistant", "coding", "batch"]),
    ) {
        play(&format!("profile: {profile}\n{POLICY}"), &steps);
    }

    #[test]
    fn an_override_repeats_no_harmful_effect(
        steps in prop::collection::vec(step(), 1..30),
        kinds in prop::collection::btree_map(
            prop::sample::select(Kind::ALL),
            prop::sample::select(Action::ALL),
            1..12,
        ),
    ) {
        let kinds: Vec<String> = kinds
            .iter()
            .map(|(kind, action)| format!("  {kind}: {{action: {action}}}\n"))
            .collect();
        play(&format!("{POLICY}{NO_LIMITS}kinds:\n{}", kinds.concat()), &steps);
    }

    /// P2: the key that is told is the operation's own of some revision, as long as nobody names another.
    #[test]
    fn keys_are_the_operations_own(steps in prop::collection::vec(step(), 1..40)) {
        let mut world = World::new(&format!("{POLICY}{NO_LIMITS}"));
        let own: Vec<String> = (0..60).map(|n| derive("default", "t1", "op1", n)).collect();
        let mut revision = 0;
        for step in &steps {
            let step = Step { operation: 1, key: None, tool: Some(1), ..step.clone() };
            let known = Known::default();
            let number = if step.attempt == 4 { 0 } else { step.number(&known) };
            let key = match step.does {
                0 => world.verdict(&step.failure(number)).idempotency_key,
                1 => world.admit(&step.ask(number)).idempotency_key,
                _ => continue,
            };
            let at = own.iter().position(|known| *known == key);
            prop_assert!(at.is_some());
            revision = revision.max(at.unwrap_or(0));
        }
        prop_assert!(u64::try_from(revision).unwrap() <= world.turn.counters.reprompts_given);
    }
}

/// A worker that obeys and whose every call fails: how many grants it gets until it is told to leave the turn, or
/// until nothing is left that it may try.
fn grants_to_an_obedient_worker(policy: &str, tools: &[&str], kinds: &[Kind], admits: bool) -> u64 {
    let mut world = World::new(policy);
    let mut closed: BTreeSet<String> = BTreeSet::new();
    let (mut granted, mut operations, mut input) = (0, 0, 0);
    // Many more operations than any budget allows: who obeys has left by then.
    while operations < 600 {
        let tool = tools[operations % tools.len()];
        operations += 1;
        if closed.contains(tool) {
            if tools.iter().all(|tool| closed.contains(*tool)) {
                break;
            }
            continue;
        }
        let id = format!("o{operations}");
        for attempt in 1.. {
            if admits {
                let admission = world.admit(&ask(&id, attempt, tool).input(&input.to_string()));
                if let Some(verdict) = admission.verdict {
                    match (verdict.action, verdict.stop_scope) {
                        (_, Some(StopScope::Turn)) => return granted,
                        (Action::Reprompt, _) => granted += 1,
                        _ => {}
                    }
                    input += 1;
                    closed.extend(verdict.closed_tools.iter().map(|tool| tool.to_string()));
                    if verdict.reason == Reason::CallCapReached {
                        closed.insert(tool.to_owned());
                    }
                    break;
                }
            }
            let kind = kinds[(operations + attempt as usize) % kinds.len()];
            let verdict = world.verdict(
                &fail(&id, attempt, tool, kind)
                    .input(&input.to_string())
                    .text(&"x".repeat(1 + input % 50))
                    .lesson(&format!("lesson {input}"))
                    .word(Execution::NotExecuted),
            );
            match verdict.action {
                Action::Retry => granted += 1,
                Action::Reprompt => {
                    granted += 1;
                    input += 1;
                }
                Action::Escalate | Action::FailLoud => {
                    if verdict.stop_scope == Some(StopScope::Turn) {
                        return granted;
                    }
                    closed.extend(verdict.closed_tools.iter().map(|tool| tool.to_string()));
                    input += 1;
                    break;
                }
            }
            assert!(attempt < 6_000, "one operation goes on for ever: {policy}");
        }
    }
    granted
}

#[test]
fn a_worker_that_obeys_and_always_fails_is_stopped() {
    // What ends the turn stays; everything else is removed in every combination.
    let removable = [
        ("operation", "max_attempts: none"),
        ("operation", "max_reprompts: none"),
        ("cause", "max_failures: none"),
        ("turn", "max_preconditions: none"),
    ];
    let tools = ["idem", "compute", "bash", "atomic", "nobody", "keyed"];
    let kinds: [&[Kind]; 7] = [
        &[Kind::Overloaded],
        &[Kind::InvalidArguments],
        &[Kind::PreconditionUnmet],
        &[Kind::ToolBug],
        &[Kind::Unknown, Kind::RateLimited],
        &[Kind::Contention, Kind::MalformedOutput, Kind::StaleState],
        &[
            Kind::ServerError,
            Kind::Refusal,
            Kind::Timeout,
            Kind::PermissionDenied,
        ],
    ];
    for (profile, calls, retries, reprompts) in [
        ("assistant", 40, 6, Some(4)),
        ("coding", 500, 30, None),
        ("batch", 5_000, 60, Some(20)),
    ] {
        for removed in 0..16u32 {
            let section = |name: &str| {
                let fields: Vec<&str> = removable
                    .iter()
                    .enumerate()
                    .filter(|(n, (section, _))| removed >> n & 1 == 1 && *section == name)
                    .map(|(_, (_, field))| *field)
                    .collect();
                format!("{name}: {{{}}}", fields.join(", "))
            };
            let policy = format!(
                "profile: {profile}\n{POLICY}budgets: {{{}, {}, {}}}",
                section("operation"),
                section("cause"),
                section("turn")
            );
            for (n, kinds) in kinds.iter().enumerate() {
                for admits in [false, true] {
                    // The long profiles take turns in whether their workers ask first.
                    if calls > 40 && admits == (removed.count_ones() as usize + n).is_multiple_of(2)
                    {
                        continue;
                    }
                    let granted = grants_to_an_obedient_worker(&policy, &tools, kinds, admits);
                    // Each call gets one grant at most, and the call that spends the turn's calls gets none. Without
                    // a bash every grant is a retry, a reprompt or one of eleven preconditions.
                    assert!(granted < calls, "{policy} {kinds:?}: {granted}");
                    let without: Vec<&str> = tools
                        .iter()
                        .copied()
                        .filter(|tool| *tool != "bash")
                        .collect();
                    let granted = grants_to_an_obedient_worker(&policy, &without, kinds, admits);
                    let bound = reprompts.map_or(calls - 1, |reprompts| retries + reprompts + 11);
                    assert!(granted <= bound, "{policy} {kinds:?}: {granted} of {bound}");
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    /// P9: however the requests of several workers are interleaved, no more is granted than the limits allow.
    #[test]
    fn no_interleaving_grants_more(
        order in prop::collection::vec((0usize..4, any::<bool>()), 1..120),
        output in any::<bool>(),
        profile in prop::sample::select(vec!["assistant", "batch"]),
    ) {
        let mut world = World::new(&format!("profile: {profile}\ntools: {{idem: {{effect: idempotent}}}}"));
        let (retries, reprompts, cause) = if profile == "assistant" { (6, 4, 3) } else { (60, 20, 5) };
        let kind = if output { Kind::InvalidArguments } else { Kind::Overloaded };
        let mut granted = [0u64; 4];
        let mut next = [1u32; 4];
        for (worker, replays) in order {
            let failure = fail(&format!("w{worker}"), next[worker], "idem", kind)
                .lesson(&format!("lesson {}", next[worker]));
            world.admit(&ask(&format!("w{worker}"), next[worker], "idem").worker(&format!("{worker}")));
            let judged = world.judge(&failure);
            let grants = matches!(judged.verdict.action, Action::Retry | Action::Reprompt);
            granted[worker] += u64::from(grants);
            if replays {
                prop_assert_eq!(&world.judge(&failure).verdict, &judged.verdict);
            }
            next[worker] += 1;
        }
        let all: u64 = granted.iter().sum();
        let limit = if output { reprompts } else { retries };
        prop_assert!(all <= limit);
        // The third failure of a cause stops, whoever makes it.
        prop_assert!(all < cause);
        prop_assert!(granted.iter().all(|one| *one <= 2));
        prop_assert_eq!(world.turn.counters.retries + world.turn.counters.reprompts, all);
    }
}
