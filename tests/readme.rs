//! The documentation says what the program does: tables are held against the code, fenced blocks are run or checked.
//!
//! A fenced block whose info string has a second word is checked. `sh run`: the commands are run, with the built
//! program on the path and the addresses of a real server in place of the default ones. `yaml policy`: the block is a
//! valid policy. `rust FILE`: the block is that file, which `cargo test` compiles.

#[path = "../docs/examples/first_call.rs"]
#[allow(dead_code, reason = "its main is for people")]
mod first_call;
mod support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use backstop::classify::Classifier;
use backstop::domain::{Action, Category, Kind, Reason};
use backstop::metrics::TABLE;
use backstop::policy::Policy;
use backstop::settings::{Flags, Settings};
use support::process::{PROGRAM, Server, Setup, write_file};

const DOCUMENTS: [&str; 5] = [
    "README.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/classification.md",
    "docs/reference.md",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> Result<String> {
    std::fs::read_to_string(root().join(name)).with_context(|| name.to_owned())
}

/// One fenced block of a document.
struct Block {
    document: &'static str,
    line: usize,
    /// The words after the fence, e.g. `sh`, `run`.
    info: Vec<String>,
    text: String,
}

fn blocks(document: &'static str) -> Result<Vec<Block>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in read(document)?.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(info), None) => {
                open = Some(Block {
                    document,
                    line: number + 1,
                    info: info.split_whitespace().map(str::to_owned).collect(),
                    text: String::new(),
                });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    if let Some(block) = open {
        bail!("{document}:{}: a fence without its end", block.line);
    }
    Ok(blocks)
}

fn checked(language: &str, word: Option<&str>) -> Result<Vec<Block>> {
    let mut found = Vec::new();
    for document in DOCUMENTS {
        found.extend(blocks(document)?.into_iter().filter(|block| {
            let mut info = block.info.iter().map(String::as_str);
            info.next() == Some(language)
                && match (word, info.next()) {
                    (Some(word), second) => second == Some(word),
                    (None, second) => second.is_some(),
                }
        }));
    }
    Ok(found)
}

fn section(document: &str, heading: &str) -> Result<String> {
    let text = read(document)?;
    let (_, below) = text
        .split_once(&format!("\n## {heading}\n"))
        .with_context(|| format!("{document} has no `## {heading}`"))?;
    Ok(below.split("\n## ").next().unwrap_or(below).to_owned())
}

/// A column's words in backquotes, of the table below a heading.
fn listed(document: &str, heading: &str, column: usize) -> Result<BTreeSet<String>> {
    Ok(section(document, heading)?
        .lines()
        .filter(|line| line.starts_with('|'))
        .filter_map(|line| line.split('|').nth(column))
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect())
}

fn names<T: Copy>(all: &[T], name: impl Fn(T) -> &'static str) -> BTreeSet<String> {
    all.iter().map(|value| name(*value).to_owned()).collect()
}

#[test]
fn the_tables_of_the_reference_are_those_of_the_program() -> Result<()> {
    let page = "docs/reference.md";
    assert_eq!(
        listed(page, "Actions", 1)?,
        names(Action::ALL, Action::name)
    );
    assert_eq!(
        listed(page, "Reasons", 1)?,
        names(Reason::ALL, Reason::name)
    );
    assert_eq!(
        listed(page, "Kinds", 1)?,
        names(Category::ALL, Category::name)
    );
    assert_eq!(listed(page, "Kinds", 2)?, names(Kind::ALL, Kind::name));
    for category in Category::ALL {
        let row = section(page, "Kinds")?
            .lines()
            .find(|line| line.starts_with(&format!("| `{category}`")))
            .context("no row")?
            .to_owned();
        let cell = row.split('|').nth(2).context("no kinds")?;
        let listed: BTreeSet<&str> = cell.split('`').skip(1).step_by(2).collect();
        let own: BTreeSet<&str> = Kind::ALL
            .iter()
            .filter(|kind| kind.category() == *category)
            .map(|kind| kind.name())
            .collect();
        assert_eq!(listed, own, "{category}");
    }
    Ok(())
}

/// The table of metrics as the reference has it, generated from the program's own.
fn metrics_table() -> String {
    let mut table = String::from(
        "| metric | kind | labels | what it counts or measures |\n| --- | --- | --- | --- |\n",
    );
    for metric in TABLE {
        let labels: Vec<String> = metric
            .labels
            .iter()
            .map(|l| format!("`{}`", l.name))
            .collect();
        let (name, kind, help) = (metric.name, metric.kind.name(), metric.help.trim());
        table.push_str(&format!(
            "| `{name}` | {kind} | {} | {help} |\n",
            labels.join(" ")
        ));
    }
    table
}

#[test]
fn the_metrics_of_the_reference_are_those_of_the_program() -> Result<()> {
    let table = metrics_table();
    let page = read("docs/reference.md")?;
    assert!(
        page.contains(&table),
        "docs/reference.md should have\n{table}"
    );
    Ok(())
}

#[test]
fn settings_in_the_documents_are_valid() -> Result<()> {
    let settings = checked("yaml", Some("settings"))?;
    assert!(!settings.is_empty(), "no settings are shown");
    let directory = tempfile::tempdir()?;
    for block in settings {
        let flags = Flags {
            config: Some(write_file(directory.path(), "backstop.yaml", &block.text)?),
            ..Flags::default()
        };
        let loaded = Settings::load(&flags, []);
        assert!(
            loaded.is_ok(),
            "{}:{}: {loaded:?}",
            block.document,
            block.line
        );
    }
    Ok(())
}

#[test]
fn policies_in_the_documents_are_valid() -> Result<()> {
    let policies = checked("yaml", Some("policy"))?;
    assert!(!policies.is_empty(), "no policy is shown");
    for block in policies {
        let place = format!("{}:{}", block.document, block.line);
        let policy = Policy::parse(&block.text).with_context(|| place.clone())?;
        let examples = Classifier::new(&policy.rules)?.check_operators_examples(&policy.rules);
        assert!(examples.faults.is_empty(), "{place}: {examples:?}");
    }
    Ok(())
}

#[test]
fn code_in_the_documents_is_the_file_that_is_compiled() -> Result<()> {
    let samples = checked("rust", None)?;
    assert!(!samples.is_empty(), "no code is shown");
    for block in samples {
        let file = block.info.get(1).context("no file")?;
        assert_eq!(block.text, read(file)?, "{}:{}", block.document, block.line);
    }
    Ok(())
}

#[test]
fn links_lead_somewhere() -> Result<()> {
    for document in DOCUMENTS {
        let text = read(document)?;
        let folder = root().join(document);
        let folder = folder.parent().context("no folder")?;
        for target in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let path = target.split('#').next().unwrap_or(target);
            if path.is_empty() || path.starts_with("http") {
                continue;
            }
            assert!(folder.join(path).exists(), "{document} links to {target}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn commands_in_the_documents_run() -> Result<()> {
    let commands = checked("sh", Some("run"))?;
    assert!(!commands.is_empty(), "no command is shown");
    let directory = tempfile::tempdir()?;
    std::fs::write(
        directory.path().join("policy.yaml"),
        policy_of_the_readme()?,
    )?;
    let setup = Setup {
        policy: Some(directory.path().join("policy.yaml")),
        config: None,
        data_dir: Some(directory.path().join("data")),
    };
    let server = Server::serving(&setup).await?;
    for block in commands {
        let text = block
            .text
            .replace("127.0.0.1:50051", &server.grpc.to_string())
            .replace("127.0.0.1:9464", &server.http.to_string());
        let output = Command::new("sh")
            .args(["-euc", &text])
            .current_dir(directory.path())
            .env("PATH", path_with_the_program()?)
            .env("BACKSTOP_ENDPOINT", format!("http://{}", server.grpc))
            .output()?;
        assert!(
            output.status.success(),
            "{}:{}: {}\n{text}\nsaid: {}{}",
            block.document,
            block.line,
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
    }
    Ok(())
}

#[tokio::test]
async fn the_first_call_is_answered() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let policy = write_file(directory.path(), "policy.yaml", &policy_of_the_readme()?)?;
    let setup = Setup {
        policy: Some(policy),
        ..Setup::default()
    };
    let server = Server::serving(&setup).await?;
    let verdict = first_call::ask(format!("http://{}", server.grpc))
        .await
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    // A keyed charge that timed out goes out again under its key.
    assert_eq!(verdict.action().as_str_name(), "ACTION_RETRY");
    assert_eq!(verdict.reason().as_str_name(), "REASON_KEYED_RETRY");
    assert!(!verdict.idempotency_key.is_empty());
    Ok(())
}

fn policy_of_the_readme() -> Result<String> {
    let block = checked("yaml", Some("policy"))?
        .into_iter()
        .find(|block| block.document == "README.md");
    Ok(block.context("README.md shows no policy")?.text)
}

fn path_with_the_program() -> Result<String> {
    let folder = Path::new(PROGRAM).parent().context("no folder")?;
    let path = std::env::var("PATH")?;
    Ok(format!("{}:{path}", folder.display()))
}
