//! Every scenario file as a test of its own, against a fresh server process.
//!
//! Files: `tests/scenarios/` with its folders, and the directory named by the environment's `BACKSTOP_SCENARIOS`.
//! One of them: `cargo test --test scenarios -- the-card-charged-twice`.

mod scenarios_runner;
mod support;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use libtest_mimic::{Arguments, Failed, Trial};

use scenarios_runner::format::Scenario;
use scenarios_runner::plan::Plan;
use scenarios_runner::play::play;
use support::process::{Server, Setup, write_file};

/// How long /metrics may take to catch up with the answers.
const METRICS_PATIENCE: Duration = Duration::from_secs(3);

/// A step of many repetitions can miss many times for one reason.
const MISSES_SHOWN: usize = 12;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    let more = std::env::var_os("BACKSTOP_SCENARIOS").map(PathBuf::from);
    let trials = std::iter::once(own)
        .chain(more)
        .map(|directory| trials_of(&directory))
        .collect::<Result<Vec<_>>>();
    match trials {
        Ok(trials) => {
            libtest_mimic::run(&arguments, trials.into_iter().flatten().collect()).exit_code()
        }
        Err(error) => {
            let trial = Trial::test("files", move || Err(Failed::from(format!("{error:#}"))));
            libtest_mimic::run(&arguments, vec![trial]).exit_code()
        }
    }
}

fn trials_of(directory: &Path) -> Result<Vec<Trial>> {
    let files = yaml_files(directory)?;
    if files.is_empty() {
        bail!("no scenario in {}", directory.display());
    }
    Ok(files
        .into_iter()
        .map(|file| {
            let name = file
                .strip_prefix(directory)
                .unwrap_or(&file)
                .with_extension("");
            let name = name.to_string_lossy().into_owned();
            let awaits = Scenario::read(&file).is_ok_and(|scenario| scenario.awaits.is_some());
            Trial::test(name, move || {
                run(&file).map_err(|error| Failed::from(format!("{}: {error:#}", file.display())))
            })
            .with_ignored_flag(awaits)
        })
        .collect())
}

fn yaml_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory)
        .with_context(|| format!("cannot read {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if path.is_dir() {
            files.extend(yaml_files(&path)?);
        } else if matches!(extension, Some("yaml" | "yml")) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn run(file: &Path) -> Result<()> {
    let scenario = Scenario::read(file)?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(story(&scenario))
}

async fn story(scenario: &Scenario) -> Result<()> {
    let directory = tempfile::tempdir()?;
    let document = |name: &str, value: &Option<serde_yaml_ng::Value>| -> Result<Option<PathBuf>> {
        value
            .as_ref()
            .map(|value| write_file(directory.path(), name, &serde_yaml_ng::to_string(value)?))
            .transpose()
    };
    let setup = Setup {
        policy: document("policy.yaml", &scenario.policy)?,
        config: document("config.yaml", &scenario.server)?,
        data_dir: None,
    };
    let server = Server::serving(&setup).await?;
    let wire = server.wire().await?;
    let plan = Plan::new(scenario, &wire)?;
    plan.check_series()?;
    let misses = play(&plan, &wire, || server.metrics(), METRICS_PATIENCE).await?;
    if misses.is_empty() {
        return Ok(());
    }
    let mut list: Vec<String> = misses
        .iter()
        .take(MISSES_SHOWN)
        .map(ToString::to_string)
        .collect();
    if misses.len() > MISSES_SHOWN {
        list.push(format!("and {} more", misses.len() - MISSES_SHOWN));
    }
    bail!("{}\n{}", scenario.name, list.join("\n"))
}
