//! What is so when an answer is given.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::domain::Action;
use crate::policy::ReloadResult;

#[tokio::test]
async fn a_stop_is_on_disk_before_it_is_answered() {
    let world = World::new();
    let judged = world.judge("t", lost()).await;
    assert_eq!(judged.verdict.reason, Reason::OutcomeUnknown);
    let id = judged.dead_letter_id.expect("was parked");
    let letter = world.on_disk(&id).expect("is on disk");
    assert_eq!((letter.turn_id.as_str(), letter.count), ("t", 1));
    assert_eq!(letter.reason, Reason::OutcomeUnknown);
    assert_eq!(letter.kind, Some(Kind::Timeout));
    let found = world.oracle.dead_letter("default", &id).await.unwrap();
    assert_eq!(found.id, id);
    // The same request again gets the same letter.
    let again = world.judge("t", lost()).await;
    assert!(again.replayed);
    assert_eq!(again.dead_letter_id, Some(id.clone()));
    assert_eq!(world.on_disk(&id).unwrap().count, 1);
    // Nobody else's.
    let other = world.oracle.dead_letter("acme", &id).await;
    assert!(matches!(other, Err(OracleError::LetterNotFound { .. })));
}

#[tokio::test]
async fn a_letter_store_that_fails_still_lets_the_verdict_out() {
    let letters = LetterOptions {
        patience: Duration::from_millis(50),
        ..LetterOptions::default()
    };
    let world = World::with(MemoryStoreOptions::default(), letters, None);
    let path = world.data.path().join(crate::letters::FILE_NAME);
    let other = rusqlite::Connection::open(path).unwrap();
    other.busy_timeout(Duration::from_secs(60)).unwrap();
    other.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let judged = world.judge("t", lost()).await;
    assert_eq!(judged.verdict.reason, Reason::OutcomeUnknown);
    let id = judged.dead_letter_id.expect("has an id");
    assert_eq!(world.oracle.letters().stats().spooled, 1);
    other.execute_batch("ROLLBACK").unwrap();
    world.oracle.letters().close().await;
    assert!(world.on_disk(&id).is_some());
}

#[tokio::test]
async fn a_caller_that_goes_away_after_the_first_poll_loses_no_letter() {
    let world = World::new();
    {
        let mut judging = pin!(world.oracle.judge("default", "t", lost()));
        let mut context = Context::from_waker(Waker::noop());
        // Either it is answered at once or it waits for the disk.
        let _: Poll<_> = judging.as_mut().poll(&mut context);
    }
    world.oracle.letters().close().await;
    let letters = world.all_on_disk();
    assert_eq!(letters.len(), 1);
    let known = world.oracle.turn("default", "t").await.unwrap();
    let id = known.operations[0].dead_letter_id.as_deref();
    assert_eq!(id, Some(letters[0].id.as_str()));
}

#[tokio::test]
async fn a_caller_that_goes_away_before_the_first_poll_has_asked_nothing() {
    let world = World::new();
    drop(world.oracle.judge("default", "t", lost()));
    assert_eq!(world.oracle.turns_kept(), 0);
}

#[tokio::test]
async fn a_policy_that_changes_between_two_judgements_takes_effect() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("policy.yaml");
    std::fs::write(&path, POLICY).unwrap();
    let world = World::with(MemoryStoreOptions::default(), patient(), Some(&path));
    let first = world.judge("t", left()).await;
    assert_eq!(first.verdict.action, Action::Retry);
    std::fs::write(
        &path,
        "tools: {read: {effect: unsafe}}\n\
         rules: [{id: own, text: service unavailable, kind: timeout}]",
    )
    .unwrap();
    let reloaded = world.oracle.policy.reload_now(START);
    assert_eq!(reloaded, Some(ReloadResult::Applied));
    let second = failed("read-it", 2, "read", "503 Service Unavailable");
    let second = world.judge("t", second).await;
    // The operator's rule reads it, and the tool's new effect decides.
    assert_eq!(&*second.classification.reading.rule, "own");
    assert_eq!(second.verdict.reason, Reason::OutcomeUnknown);
    // What was drawn before still counts.
    assert_eq!(second.budgets.turn_failures.used, 2);
}

#[tokio::test]
async fn explaining_draws_nothing_and_reads_what_judging_reads() {
    let world = World::new();
    let mut turns = 0;
    for message in [TIMEOUT, "503 Service Unavailable", "no idea", ""] {
        for tool in ["read", "send", "somewhat"] {
            let request = failed(message, 1, tool, message);
            let explained = world.oracle.explain(&request.failure, tool, Origin::Tool);
            assert_eq!(world.oracle.turns_kept(), turns);
            turns += 1;
            let turn = format!("{tool}: {message}");
            let judged = world.judge(&turn, request).await;
            assert_eq!(judged.classification, explained, "{turn}");
        }
    }
}

#[tokio::test]
async fn a_turn_that_is_not_known_is_said_to_be() {
    let world = World::new();
    let known = world.oracle.turn("default", "t").await;
    assert!(matches!(known, Err(OracleError::TurnNotFound { turn_id }) if turn_id == "t"));
    world.judge("t", left()).await;
    assert!(world.oracle.turn("default", "t").await.is_ok());
    assert!(world.oracle.turn("acme", "t").await.is_err());
}

#[tokio::test]
async fn a_request_id_that_is_used_again_for_another_request_is_refused() {
    let world = World::new();
    let with_id = |operation: &str| {
        let mut request = failed(operation, 1, "read", "503 Service Unavailable");
        request.call.request_id = Some("r".into());
        request
    };
    world.judge("t", with_id("a")).await;
    assert!(world.judge("t", with_id("a")).await.replayed);
    let reused = world.oracle.judge("default", "t", with_id("b")).await;
    assert!(matches!(reused, Err(OracleError::RequestIdReused { .. })));
}
