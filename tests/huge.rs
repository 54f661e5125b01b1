//! Huge input over the wire: read from its head and tail, kept in part, and refused only where the transport must.
#![cfg(unix)]

mod support;

use anyhow::Result;
use serde_json::json;
use support::judging::text_at;
use support::process::{Server, Setup};

const MB: usize = 1_000_000;

#[tokio::test]
async fn a_failure_of_4_mb_is_read_from_its_head_and_tail() -> Result<()> {
    let server = Server::serving(&Setup::default()).await?;
    let wire = server.wire().await?;
    let noise = "2026-05-01 worker 7 wrote a line of log\n".repeat(4 * MB / 40);
    for (turn, text) in [
        ("head", format!("HTTP 429 Too Many Requests\n{noise}")),
        ("tail", format!("{noise}HTTP 429 Too Many Requests")),
    ] {
        assert!(text.len() > 4 * MB);
        let request = json!({
            "turn_id": turn, "operation_id": "a", "attempt": 1, "tool": "x",
            "effect": "EFFECT_IDEMPOTENT", "failure": {"message": text},
        });
        let answer = wire.call_json("Judge", request).await?;
        let kind = text_at(&answer, "/classification/kind")?;
        assert_eq!(kind, "KIND_RATE_LIMITED", "{turn}");
    }
    Ok(())
}

#[tokio::test]
async fn a_large_input_is_kept_in_part_and_says_so() -> Result<()> {
    let server = Server::serving(&Setup::default()).await?;
    let wire = server.wire().await?;
    let request = json!({
        "turn_id": "t", "operation_id": "a", "attempt": 1, "tool": "x", "input": "ä".repeat(MB),
        "failure": {"message": "Read timed out."},
    });
    let answer = wire.call_json("Judge", request).await?;
    let id = text_at(&answer, "/dead_letter_id")?;
    let letter = wire.call_json("GetDeadLetter", json!({"id": id})).await?;
    let kept = text_at(&letter, "/dead_letter/input")?;
    assert!(
        kept.len() <= 64 * 1024 && kept.len() > 60 * 1024,
        "{}",
        kept.len()
    );
    assert_eq!(letter.pointer("/dead_letter/input_cut"), Some(&json!(true)));
    Ok(())
}

#[tokio::test]
async fn what_the_transport_cannot_take_is_refused_and_harms_nobody() -> Result<()> {
    let server = Server::serving(&Setup::default()).await?;
    let wire = server.wire().await?;
    let request = |size: usize| {
        json!({
            "turn_id": "t", "operation_id": "a", "attempt": 1, "tool": "x",
            "effect": "EFFECT_IDEMPOTENT", "failure": {"message": "x".repeat(size)},
        })
    };
    let refused = wire.call_json("Judge", request(20 * MB)).await;
    let refused = refused.expect_err("20 MB were taken");
    let code = refused
        .downcast_ref::<tonic::Status>()
        .map(tonic::Status::code);
    assert_eq!(code, Some(tonic::Code::OutOfRange), "{refused:#}");
    let answer = wire.call_json("Judge", request(10)).await?;
    // Nothing was drawn by the one that was refused.
    assert_eq!(
        answer.pointer("/budgets/turn_failures/used"),
        Some(&json!(1))
    );
    Ok(())
}
