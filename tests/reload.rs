//! A running server takes up a changed policy, however the file is exchanged, and never a faulty one.

mod support;

use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use support::judging::{letter_timed_out, text_at};
use support::process::{GLANCE, PATIENCE, Server, Setup, write_file};
use support::wire::Wire;

const UNSAFE: &str = "tools: {send_letter: {effect: unsafe}}\n";
const IDEMPOTENT: &str = "tools: {send_letter: {effect: idempotent}}\n";
const FAULTY: &str = "tools: {send_letter: {effect: idempotent, efect: unsafe}}\n";

/// Looks often, so that the tests are quick.
const SETTINGS: &str = "policy: {poll_interval: 100ms}\n";

/// The same timed-out step is stopped under the first policy and retried under the second.
const STOPPED: &str = "ACTION_ESCALATE";
const RETRIED: &str = "ACTION_RETRY";

async fn action(wire: &Wire, turn: &str) -> Result<String> {
    let answer = letter_timed_out(wire, turn).await?;
    text_at(&answer, "/verdict/action")
}

/// Judges in new turns until the answer is the wanted one.
async fn until(wire: &Wire, wanted: &str) -> Result<()> {
    let start = Instant::now();
    for n in 0_u32.. {
        let got = action(wire, &format!("until-{wanted}-{n}-{:?}", start.elapsed())).await?;
        if got == wanted {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            bail!("still {got}, not {wanted}");
        }
        tokio::time::sleep(GLANCE).await;
    }
    Ok(())
}

async fn start(policy: &Path) -> Result<(Server, Wire)> {
    let folder = policy.parent().context("no folder")?;
    let setup = Setup {
        policy: Some(policy.to_owned()),
        config: Some(write_file(folder, "backstop.yaml", SETTINGS)?),
        data_dir: None,
    };
    let server = Server::serving(&setup).await?;
    let wire = server.wire().await?;
    Ok((server, wire))
}

/// How often reloads ended with that result.
fn reloads(server: &Server, result: &str) -> Result<f64> {
    let start = format!("backstop_policy_reloads_total{{result=\"{result}\"}} ");
    let page = server.metrics()?;
    let count = page.lines().find_map(|line| line.strip_prefix(&start));
    Ok(count.map_or(Ok(0.0), str::parse)?)
}

#[tokio::test]
async fn a_changed_file_is_taken_up() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let policy = write_file(directory.path(), "policy.yaml", UNSAFE)?;
    let (_server, wire) = start(&policy).await?;
    assert_eq!(action(&wire, "before").await?, STOPPED);
    // Written in place, as an editor or a shell does.
    write_file(directory.path(), "policy.yaml", IDEMPOTENT)?;
    until(&wire, RETRIED).await?;
    // Renamed over, as careful writers do.
    let next = write_file(directory.path(), "next.yaml", UNSAFE)?;
    std::fs::rename(next, &policy)?;
    until(&wire, STOPPED).await
}

#[cfg(unix)]
#[tokio::test]
async fn a_swapped_symlink_is_taken_up() -> Result<()> {
    use std::os::unix::fs::symlink;

    // As Kubernetes mounts a ConfigMap: policy.yaml -> ..data/policy.yaml, ..data -> a directory a version.
    let directory = tempfile::tempdir()?;
    let root = directory.path();
    for (version, text) in [("v1", UNSAFE), ("v2", IDEMPOTENT)] {
        std::fs::create_dir(root.join(version))?;
        write_file(&root.join(version), "policy.yaml", text)?;
    }
    symlink("v1", root.join("..data"))?;
    symlink("..data/policy.yaml", root.join("policy.yaml"))?;
    let (_server, wire) = start(&root.join("policy.yaml")).await?;
    assert_eq!(action(&wire, "before").await?, STOPPED);
    symlink("v2", root.join("..data_tmp"))?;
    std::fs::rename(root.join("..data_tmp"), root.join("..data"))?;
    std::fs::remove_dir_all(root.join("v1"))?;
    until(&wire, RETRIED).await
}

#[tokio::test]
async fn a_faulty_file_leaves_the_old_policy_in_force() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let policy = write_file(directory.path(), "policy.yaml", UNSAFE)?;
    let (server, wire) = start(&policy).await?;
    assert_eq!(action(&wire, "before").await?, STOPPED);
    write_file(directory.path(), "policy.yaml", FAULTY)?;
    let start = Instant::now();
    while reloads(&server, "refused")? < 1.0 {
        if start.elapsed() > PATIENCE {
            bail!(
                "the faulty policy was never refused; log:\n{}",
                server.log()
            );
        }
        tokio::time::sleep(GLANCE).await;
    }
    assert_eq!(action(&wire, "after").await?, STOPPED);
    assert!(
        server.log().contains("efect"),
        "the log names the field:\n{}",
        server.log()
    );
    // Mended, it is taken up.
    write_file(directory.path(), "policy.yaml", IDEMPOTENT)?;
    until(&wire, RETRIED).await
}

#[cfg(unix)]
#[tokio::test]
async fn a_hangup_reads_the_file_and_ends_nothing() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let policy = write_file(directory.path(), "policy.yaml", UNSAFE)?;
    let (server, wire) = start(&policy).await?;
    write_file(directory.path(), "policy.yaml", IDEMPOTENT)?;
    server.signal("HUP")?;
    until(&wire, RETRIED).await
}
