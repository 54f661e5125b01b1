//! `rules`: what the built-in rules say, and whether the ones that somebody writes hold.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{CliError, output};
use crate::classify::{Classifier, ExampleReport, Rule};

/// See and check the classification rules.
#[derive(Debug, Subcommand)]
pub(super) enum RulesCommand {
    /// List every built-in rule: id, kind and what it says of the work
    List,
    /// Show one built-in rule, by the id that an answer names
    Show {
        /// Its id, e.g. openai/insufficient-quota
        id: String,
    },
    /// Run the examples of every rule: exits with 0 if all are read right, else names the wrong ones and exits with 2
    Check {
        /// A directory of rule files; the built-in ones without it
        directory: Option<PathBuf>,
    },
}

/// Runs the command.
pub(super) fn run(command: RulesCommand, out: &mut impl Write) -> Result<(), CliError> {
    match command {
        RulesCommand::List => {
            for rule in builtin()?.rules() {
                writeln!(out, "{:44} {:20} {}", rule.id, rule.kind, rule.execution)?;
            }
            Ok(())
        }
        RulesCommand::Show { id } => {
            let classifier = builtin()?;
            match classifier.rules().find(|rule| *rule.id == *id.trim()) {
                Some(rule) => show(rule, out),
                None => Err(unknown(&classifier, id.trim())),
            }
        }
        RulesCommand::Check { directory: None } => {
            report("the built-in rules", &builtin()?.check_examples()?, out)
        }
        RulesCommand::Check {
            directory: Some(directory),
        } => {
            let rules = RuleDirectory::open(&directory)?;
            let found = rules.classifier()?.check_examples_of(&rules.files())?;
            report(&directory.display().to_string(), &found, out)
        }
    }
}

fn builtin() -> Result<Classifier, CliError> {
    Ok(Classifier::new(&[])?)
}

fn show(rule: &Rule, out: &mut impl Write) -> Result<(), CliError> {
    writeln!(out, "rule         {}", rule.id)?;
    writeln!(out, "kind         {} ({})", rule.kind, rule.kind.category())?;
    writeln!(out, "execution    {}", rule.execution)?;
    writeln!(out, "why          {}", rule.why)?;
    Ok(())
}

fn unknown(classifier: &Classifier, id: &str) -> CliError {
    let nearest = classifier
        .rules()
        .map(|rule| (strsim::damerau_levenshtein(&rule.id, id), &*rule.id))
        .min();
    let hint = nearest.map_or_else(String::new, |(_, near)| format!("; did you mean {near}?"));
    CliError::BadInput(format!("there is no built-in rule {id}{hint}"))
}

fn report(place: &str, found: &ExampleReport, out: &mut impl Write) -> Result<(), CliError> {
    for fault in &found.faults {
        output::complain(fault);
    }
    let (rules, examples) = (found.rules, found.examples);
    match found.faults.len() {
        0 => Ok(writeln!(
            out,
            "{place}: {rules} rules read their {examples} examples right"
        )?),
        wrong => Err(CliError::BadInput(format!(
            "{place}: {wrong} wrong among {examples} examples of {rules} rules"
        ))),
    }
}

/// Rule files that are not built in.
pub(super) struct RuleDirectory(Vec<(String, String)>);

impl RuleDirectory {
    /// Reads every `.yaml` of a directory, in order of name.
    pub(super) fn open(directory: &Path) -> Result<Self, CliError> {
        let unreadable = |path: &Path, error: std::io::Error| {
            CliError::BadInput(format!("{} cannot be read: {error}", path.display()))
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(directory).map_err(|error| unreadable(directory, error))? {
            let path = entry.map_err(|error| unreadable(directory, error))?.path();
            if path.extension().is_some_and(|end| end == "yaml")
                && let Some(stem) = path.file_stem().and_then(std::ffi::OsStr::to_str)
            {
                let source =
                    std::fs::read_to_string(&path).map_err(|error| unreadable(&path, error))?;
                files.push((stem.to_owned(), source));
            }
        }
        if files.is_empty() {
            return Err(CliError::BadInput(format!(
                "{} holds no rule file; one is called <vendor>.yaml",
                directory.display()
            )));
        }
        files.sort();
        Ok(RuleDirectory(files))
    }

    fn files(&self) -> Vec<(&str, &str)> {
        self.0
            .iter()
            .map(|(stem, source)| (stem.as_str(), source.as_str()))
            .collect()
    }

    /// The classifier of these rules alone.
    pub(super) fn classifier(&self) -> Result<Classifier, CliError> {
        Ok(Classifier::from_files(&self.files())?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(command: RulesCommand) -> Result<String, String> {
        let mut out = Vec::new();
        run(command, &mut out).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(out).unwrap())
    }

    fn check(source: &str) -> Result<String, String> {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("acme.yaml"), source).unwrap();
        output(RulesCommand::Check {
            directory: Some(directory.path().to_owned()),
        })
    }

    const ACME: &str = "about: Acme\nrules:\n  - id: busy\n    kind: overloaded\n    why: its own word\n    \
        text: acme is busy\n    examples: [acme is busy now]\n    not: [is acme busy]\n";

    #[test]
    fn rules_are_listed_and_shown() {
        let list = output(RulesCommand::List).unwrap();
        assert!(list.lines().count() > 400);
        let line = list.lines().next().unwrap();
        let id = line.split_whitespace().next().unwrap().to_owned();
        let shown = output(RulesCommand::Show { id: id.clone() }).unwrap();
        assert!(shown.contains(&id) && shown.contains("why"), "{shown}");
        let error = output(RulesCommand::Show {
            id: format!("{id}x"),
        });
        assert!(error.unwrap_err().contains(&format!("did you mean {id}?")));
    }

    #[test]
    fn examples_of_a_directory_are_run() {
        assert!(
            check(ACME)
                .unwrap()
                .contains("1 rules read their 2 examples right")
        );
        let error = check(&ACME.replace("busy now", "idle")).unwrap_err();
        assert!(error.contains("2 wrong among 2 examples"), "{error}");
        assert!(
            check(&ACME.replace("kind", "kin"))
                .unwrap_err()
                .contains("acme")
        );
        assert!(
            output(RulesCommand::Check {
                directory: Some("/none".into())
            })
            .unwrap_err()
            .contains("/none")
        );
    }
}
