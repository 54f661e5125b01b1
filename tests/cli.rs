//! The command line as people and scripts meet it: help, exit codes, and what the commands print.
//!
//! Exit codes: 0 done, 1 it failed or does not serve, 2 the input or the flags make no sense.

mod support;

use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value as Json, json};
use support::judging::{letter_timed_out, text_at};
use support::process::{PROGRAM, Server, Setup, write_file};

const COMMANDS: [&[&str]; 8] = [
    &["serve"],
    &["demo"],
    &["judge"],
    &["explain"],
    &["policy"],
    &["policy", "check"],
    &["dead-letters", "show"],
    &["health"],
];

fn backstop(arguments: &[&str]) -> Result<Output> {
    Ok(Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::null())
        .output()?)
}

fn backstop_fed(arguments: &[&str], input: &str) -> Result<Output> {
    let mut child = Command::new(PROGRAM)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child
        .stdin
        .take()
        .context("no stdin")?
        .write_all(input.as_bytes())?;
    Ok(child.wait_with_output()?)
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn every_command_explains_itself() -> Result<()> {
    let help = backstop(&["--help"])?;
    assert!(help.status.success());
    let overview = stdout(&help);
    for command in COMMANDS {
        assert!(overview.contains(command[0]), "{command:?} in\n{overview}");
        let help = backstop(&[command, &["--help"]].concat())?;
        assert!(help.status.success(), "{command:?}");
        let page = stdout(&help);
        assert!(page.contains("Usage: backstop"), "{command:?}\n{page}");
        assert!(page.contains(command[command.len() - 1]), "{page}");
    }
    let version = stdout(&backstop(&["--version"])?);
    assert_eq!(
        version.trim(),
        concat!("backstop ", env!("CARGO_PKG_VERSION"))
    );
    Ok(())
}

#[test]
fn flags_that_make_no_sense_are_exit_2() -> Result<()> {
    for arguments in [
        &["no-such-command"][..],
        &[],
        &["explain"],
        &["explain", "--http-status", "42"],
        &["explain", "--no-such-flag"],
        &["health", "--addr", "ftp://x"],
        &["policy", "check"],
        &["policy", "check", "no-such-file.yaml"],
        &["dead-letters", "show"],
        &["serve", "--config", "no-such-file.yaml"],
        &["serve", "--listen", "nowhere"],
    ] {
        let output = backstop(arguments)?;
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(!output.stderr.is_empty(), "{arguments:?} says nothing");
        assert!(
            output.stdout.is_empty(),
            "{arguments:?}: {}",
            stdout(&output)
        );
    }
    Ok(())
}

#[test]
fn what_cannot_be_done_is_exit_1() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let data = directory.path().to_string_lossy().into_owned();
    for arguments in [
        // Port 9 of loopback: nobody listens there.
        &["health", "--addr", "http://127.0.0.1:9"][..],
        &[
            "dead-letters",
            "show",
            "no-such-letter",
            "--data-dir",
            &data,
        ],
    ] {
        let output = backstop(arguments)?;
        assert_eq!(
            output.status.code(),
            Some(1),
            "{arguments:?}: {}",
            stderr(&output)
        );
        assert!(!output.stderr.is_empty(), "{arguments:?} says nothing");
    }
    Ok(())
}

#[test]
fn a_policy_with_a_typo_is_refused_with_its_place_and_the_nearest_name() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let check = |text: &str| -> Result<Output> {
        let file = write_file(directory.path(), "policy.yaml", text)?;
        backstop(&["policy", "check", &file.to_string_lossy()])
    };
    let good = check("tools:\n  search: {effect: idempotent}\n")?;
    assert!(good.status.success(), "{}", stderr(&good));
    let bad = check("tools:\n  search: {efect: idempotent}\nbudgets: {turn: {max_retries: -1}}\n")?;
    assert_eq!(bad.status.code(), Some(2));
    let said = format!("{}{}", stdout(&bad), stderr(&bad));
    // All faults at once, each with its line; the misspelt one with what was meant.
    for part in ["policy.yaml", "2", "efect", "`effect`", "3", "max_retries"] {
        assert!(said.contains(part), "no {part} in\n{said}");
    }
    Ok(())
}

#[test]
fn explain_reads_a_failure_from_flags() -> Result<()> {
    let output = backstop(&[
        "explain",
        "--message",
        "connect ECONNREFUSED 10.0.0.7:5432",
        "--code",
        "ECONNREFUSED",
        "--json",
    ])?;
    assert!(output.status.success(), "{}", stderr(&output));
    let reading: Json = serde_json::from_slice(&output.stdout)?;
    assert_eq!(reading["kind"], "connect_failed");
    assert_eq!(reading["category"], "transient");
    assert_eq!(reading["execution"], "not_executed");
    assert_eq!(reading["dependency"], "10.0.0.7:5432");
    let text = stdout(&backstop(&["explain", "--http-status", "503"])?);
    assert!(text.contains("unavailable"), "{text}");
    Ok(())
}

#[test]
fn explain_reads_a_failure_from_standard_input() -> Result<()> {
    let output = backstop_fed(&["explain", "--message", "-", "--json"], "Read timed out.")?;
    let reading: Json = serde_json::from_slice(&output.stdout)?;
    assert_eq!(reading["kind"], "timeout");
    assert_eq!(reading["execution"], "maybe_executed");
    Ok(())
}

#[test]
fn explain_answers_line_by_line_and_names_the_bad_ones() -> Result<()> {
    let lines = [
        json!({"id": "a", "failure": {"message": "Too Many Requests", "http_status": 429, "retry_after_ms": 7000}}).to_string(),
        "this is no JSON".to_owned(),
        json!({"id": "b", "failure": {"message": "Read timed out."}}).to_string(),
    ];
    let output = backstop_fed(&["explain", "--jsonl"], &(lines.join("\n") + "\n"))?;
    // The good lines are answered all the same.
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains('2'), "{}", stderr(&output));
    let answers = stdout(&output)
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<Vec<Json>, _>>()?;
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["id"], "a");
    assert_eq!(answers[0]["kind"], "rate_limited");
    assert_eq!(answers[0]["retry_after_ms"], 7000);
    assert_eq!(answers[1]["id"], "b");
    assert_eq!(answers[1]["kind"], "timeout");
    Ok(())
}

#[test]
fn an_operators_rule_has_the_first_word() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let policy = write_file(
        directory.path(),
        "policy.yaml",
        "rules: [{id: ledger-frozen, text: \"ledger is frozen\", kind: precondition_unmet}]\n",
    )?;
    let output = backstop(&[
        "explain",
        "--policy",
        &policy.to_string_lossy(),
        "--message",
        "500: the ledger is frozen",
        "--json",
    ])?;
    let reading: Json = serde_json::from_slice(&output.stdout)?;
    assert_eq!(reading["rule"], "ledger-frozen");
    assert_eq!(reading["kind"], "precondition_unmet");
    Ok(())
}

#[test]
fn the_demo_needs_nothing_and_ends_well() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let output = Command::new(PROGRAM)
        .arg("demo")
        .current_dir(directory.path())
        .output()?;
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(!output.stdout.is_empty());
    let left = std::fs::read_dir(directory.path())?.count();
    assert_eq!(left, 0, "the demo leaves files behind");
    Ok(())
}

#[tokio::test]
async fn judge_and_health_ask_a_running_server() -> Result<()> {
    let server = Server::serving(&Setup::default()).await?;
    let address = format!("http://{}", server.grpc);
    let health = backstop(&["health", "--addr", &address])?;
    assert!(health.status.success(), "{}", stderr(&health));
    let output = backstop(&[
        "judge",
        "--server",
        &address,
        "--turn",
        "t1",
        "--operation",
        "o1",
        "--tool",
        "create_charge",
        "--effect",
        "keyed",
        "--message",
        "Read timed out. (read timeout=10)",
        "--json",
    ])?;
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stdout(&output);
    for part in ["retry", "keyed_retry", "idempotency_key"] {
        assert!(said.to_lowercase().contains(part), "no {part} in\n{said}");
    }
    Ok(())
}

#[tokio::test]
async fn dead_letters_show_reads_beside_a_running_server_and_after_kill_9() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let data = directory.path().join("data");
    let setup = Setup {
        data_dir: Some(data.clone()),
        ..Setup::default()
    };
    let mut server = Server::serving(&setup).await?;
    let answer = letter_timed_out(&server.wire().await?, "t1").await?;
    let id = text_at(&answer, "/dead_letter_id")?;
    let data = data.to_string_lossy().into_owned();
    let show = ["dead-letters", "show", &id, "--data-dir", &data];
    let check = |output: &Output| {
        assert!(output.status.success(), "{}", stderr(output));
        let letter = stdout(output);
        for part in [id.as_str(), "t1", "send_letter", "outcome_unknown"] {
            assert!(letter.contains(part), "no {part} in\n{letter}");
        }
    };
    check(&backstop(&show)?);
    server.signal("KILL")?;
    server.wait()?;
    check(&backstop(&show)?);
    let json = backstop(&[&show[..], &["--json"]].concat())?;
    let letter: Json = serde_json::from_slice(&json.stdout)?;
    assert_eq!(letter["id"], json!(id));
    assert_eq!(letter["operation_id"], "letter");
    Ok(())
}
