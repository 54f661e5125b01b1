//! Budgets under concurrency: no interleaving of 64 workers on one turn grants more than the limit.

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};

use super::asking::{Failed, admit, ask, failed, judge, parsed};
use super::*;
use crate::domain::{Action, Call, Kind, Reason, TurnView};
use crate::policy::Policy;

const WORKERS: usize = 64;
/// Each stands for eight workers: more would not run at the same time on most machines.
const THREADS: usize = 8;

/// One budget, and how to see how much of it was given.
struct Case {
    name: &'static str,
    policy: Policy,
    tool: &'static str,
    kind: Kind,
    /// Verdicts that were given, of all 64.
    grants: u64,
    granted: Action,
    /// What all the others were told.
    otherwise: Reason,
    used: fn(&TurnView) -> u64,
    /// What is drawn in the end: failures go on being counted after their budget is spent.
    drawn: u64,
}

fn cases() -> Vec<Case> {
    const LOOSE: &str = "operation: {max_attempts: none, max_reprompts: none}";
    let read = "tools: {read: {effect: idempotent, dependency: files}}";
    vec![
        Case {
            name: "turn.max_retries",
            policy: parsed(&format!(
                "budgets: {{{LOOSE}, cause: {{max_failures: none}}, \
                 turn: {{max_failures: none, max_retries: 6, max_calls: none}}}}\n{read}"
            )),
            tool: "read",
            kind: Kind::Unavailable,
            grants: 6,
            granted: Action::Retry,
            otherwise: Reason::TurnBudgetExhausted,
            used: |view| view.budgets.turn_retries.used,
            drawn: 6,
        },
        Case {
            name: "turn.max_reprompts",
            policy: parsed(&format!(
                "budgets: {{{LOOSE}, cause: {{max_failures: none}}, \
                 turn: {{max_failures: none, max_reprompts: 4, max_calls: none}}}}\n{read}"
            )),
            tool: "read",
            kind: Kind::InvalidArguments,
            grants: 4,
            granted: Action::Reprompt,
            otherwise: Reason::TurnBudgetExhausted,
            used: |view| view.budgets.turn_reprompts.used,
            drawn: 4,
        },
        Case {
            name: "cause.max_failures",
            policy: parsed(&format!(
                "budgets: {{{LOOSE}, cause: {{max_failures: 3}}, \
                 turn: {{max_failures: none, max_retries: none, max_calls: none}}}}\n{read}"
            )),
            tool: "read",
            kind: Kind::Unavailable,
            // The third failure stops.
            grants: 2,
            granted: Action::Retry,
            otherwise: Reason::CauseBudgetExhausted,
            used: |view| view.causes.iter().map(|cause| cause.failures.used).sum(),
            drawn: 64,
        },
        Case {
            name: "turn.max_failures",
            policy: parsed(&format!(
                "budgets: {{{LOOSE}, cause: {{max_failures: none}}, \
                 turn: {{max_failures: 6, max_retries: none, max_calls: none}}}}\n{read}"
            )),
            tool: "read",
            kind: Kind::Unavailable,
            grants: 5,
            granted: Action::Retry,
            otherwise: Reason::TurnBudgetExhausted,
            used: |view| view.budgets.turn_failures.used,
            drawn: 64,
        },
    ]
}

/// Runs `work` for all workers of a repetition at the same time, and then `check`, again and again.
fn repeat(
    repetitions: usize,
    work: impl Fn(usize, usize) + Sync,
    check: impl Fn(usize) + Send + Sync,
) {
    let barrier = Barrier::new(THREADS);
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (barrier, work, check) = (&barrier, &work, &check);
            scope.spawn(move || {
                for repetition in 0..repetitions {
                    barrier.wait();
                    // Who is first differs.
                    for place in 0..WORKERS / THREADS {
                        let worker = place * THREADS + (thread + repetition) % THREADS;
                        work(repetition, worker);
                    }
                    if barrier.wait().is_leader() {
                        check(repetition);
                    }
                }
            });
        }
    });
}

pub(super) fn sixty_four_workers_never_get_more_than_the_budget<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    no_more_than_the_budget(make, REPETITIONS);
}

/// The same ten thousand times, over all budgets together.
#[test]
fn sixty_four_workers_ten_thousand_times() {
    no_more_than_the_budget(crate::store::MemoryStore::new, 10_000 / cases().len());
}

fn no_more_than_the_budget<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
    repetitions: usize,
) {
    for case in cases() {
        let store = make(roomy());

        let failures: Vec<Failed> = (0..WORKERS)
            .map(|worker| {
                let call = ask(&format!("op-{worker}"), case.tool);
                failed(&case.policy, call, case.kind)
            })
            .collect();
        let turn = |repetition: usize| key("acme", &format!("t{repetition}"));
        let granted = AtomicU64::new(0);
        let work = |repetition: usize, worker: usize| {
            let moment = moment(&case.policy, START, worker as u64);
            let judged = update(&store, &turn(repetition), START, |turn| {
                judge(turn, &moment, &failures[worker])
            });
            let verdict = judged.value.answer.expect("is judged").verdict;
            if verdict.action == case.granted {
                granted.fetch_add(1, Ordering::Relaxed);
            } else {
                assert_eq!(verdict.reason, case.otherwise, "{}", case.name);
            }
        };
        let check = |repetition: usize| {
            let grants = granted.swap(0, Ordering::Relaxed);
            assert_eq!(grants, case.grants, "{} in {repetition}", case.name);
            let moment = moment(&case.policy, START, 1);
            let view = done(store.read(&turn(repetition), START, |turn| turn.view(&moment)));
            let view = view.expect("is there").expect("is known");
            assert_eq!((case.used)(&view), case.drawn, "{}", case.name);
            assert_eq!(view.budgets.turn_calls.used, WORKERS as u64);
        };
        repeat(repetitions, work, check);
    }
}

/// For each budget and store: as many as a debug build does in a few seconds.
const REPETITIONS: usize = 200;

/// `turn.max_calls` at Admit, and the cap of an expensive tool: exactly one goes out.
pub(super) fn an_expensive_tool_is_admitted_once<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let few = parsed("budgets: {turn: {max_calls: 5}}\ntools: {read: {effect: idempotent}}");
    let policy = policy();
    for (policy, tool, most, reason) in [
        (&*policy, "research", 1, Reason::CallCapReached),
        (&few, "read", 5, Reason::TurnBudgetExhausted),
    ] {
        let store = make(roomy());
        let calls: Vec<Call> = (0..WORKERS)
            .map(|worker| ask(&format!("op-{worker}"), tool))
            .collect();
        let admitted = AtomicU64::new(0);
        let work = |repetition: usize, worker: usize| {
            let turn = key("acme", &format!("t{repetition}"));
            let moment = moment(policy, START, worker as u64);
            let admission = update(&store, &turn, START, |turn| {
                admit(turn, &moment, &calls[worker])
            });
            match admission.value.verdict {
                None => drop(admitted.fetch_add(1, Ordering::Relaxed)),
                Some(verdict) => assert_eq!(verdict.reason, reason),
            }
        };
        let check = |repetition: usize| {
            let admitted = admitted.swap(0, Ordering::Relaxed);
            assert_eq!(admitted, most, "{tool} in {repetition}");
        };
        repeat(REPETITIONS, work, check);
    }
}

pub(super) fn a_keyed_attempt_is_admitted_to_one_worker<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let policy = policy();
    let store = make(roomy());
    let calls: Vec<Call> = (0..WORKERS)
        .map(|worker| Call {
            worker_id: Some(format!("worker-{worker}").into()),
            ..ask("charge-it", "charge")
        })
        .collect();
    let admitted = AtomicU64::new(0);
    let work = |repetition: usize, worker: usize| {
        let turn = key("acme", &format!("t{repetition}"));
        let moment = moment(&policy, START, worker as u64);
        let admission = update(&store, &turn, START, |turn| {
            admit(turn, &moment, &calls[worker])
        });
        match admission.value.verdict {
            None => drop(admitted.fetch_add(1, Ordering::Relaxed)),
            Some(verdict) => assert_eq!(verdict.reason, Reason::InProgress),
        }
    };
    let check = |repetition: usize| {
        let admitted = admitted.swap(0, Ordering::Relaxed);
        assert_eq!(admitted, 1, "in {repetition}");
    };
    repeat(REPETITIONS, work, check);
}

/// A change that ran twice answers and leaves behind what it would have if it had run once.
pub(super) fn the_same_requests_give_the_same_turn<S: TurnStore>(
    make: impl Fn(MemoryStoreOptions) -> S,
) {
    let policy = policy();
    let store = make(roomy());
    let key = key("acme", "t");
    let mut alone = Turn::open(key.tenant.clone(), key.turn_id.clone(), START);
    let kinds = [
        Kind::Unavailable,
        Kind::InvalidArguments,
        Kind::Timeout,
        Kind::PermissionDenied,
        Kind::PreconditionUnmet,
    ];
    for (step, tool) in ["read", "charge", "send", "research"]
        .into_iter()
        .cycle()
        .take(40)
        .enumerate()
    {
        let now = START.plus(Duration::from_secs(step as u64));
        let moment = moment(&policy, now, step as u64);
        let call = ask(&format!("op-{}", step / 3), tool);
        let failed = failed(&policy, call.clone(), kinds[step % kinds.len()]);
        let change = |turn: &mut Turn| {
            let admission = admit(turn, &moment, &call);
            let judged = judge(turn, &moment, &failed);
            (admission, judged)
        };
        let expected = change(&mut alone);
        assert_eq!(update(&store, &key, now, change).value, expected);
    }
    let now = START.plus(Duration::from_secs(40));
    let kept = done(store.read(&key, now, Turn::clone)).expect("is there");
    assert_eq!(kept, Some(alone));
}
