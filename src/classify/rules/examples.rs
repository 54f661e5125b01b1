//! Runs the examples that rules bring with them.

use super::{Example, RuleError, parse};
use crate::classify::{Classifier, Context};
use crate::domain::{Failure, Origin, Reading, Timestamp};
use crate::policy::OperatorRule;

/// What came of running the examples of some rule files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExampleReport {
    /// How many rules were looked at.
    pub rules: usize,
    /// How many examples and counter-examples were read.
    pub examples: usize,
    /// What is wrong, one line each, with rule and example.
    pub faults: Vec<String>,
}

/// Reads every example of the files' rules with `classifier`, which holds these rules.
pub(in crate::classify) fn run(
    classifier: &Classifier,
    files: &[(&str, &str)],
) -> Result<ExampleReport, RuleError> {
    let mut report = ExampleReport::default();
    for (file, source) in files {
        for rule in parse(file, source)?.rules {
            let id = format!("{file}/{}", rule.id);
            report.rules += 1;
            let mut decided = false;
            let examples = rule.examples.iter().map(|example| (example, true));
            for (example, wanted) in examples.chain(rule.not.iter().map(|e| (e, false))) {
                let (failure, tool, origin) = failure(example);
                // Where rules overlap another one may decide, as long as it says the same.
                let is_right = |reading: &Reading| match wanted {
                    true => reading.kind == rule.kind,
                    false => *reading.rule != *id,
                };
                let reading =
                    report.read(classifier, &id, wanted, &failure, (&tool, origin), is_right);
                decided |= wanted && *reading.rule == *id;
            }
            if rule.not.is_empty() {
                report.faults.push(format!(
                    "{id}: has no counter-example; give it a near miss under `not`"
                ));
            }
            if !decided {
                report.faults.push(format!(
                    "{id}: decides none of its examples; give it one that no other rule reads"
                ));
            }
        }
    }
    Ok(report)
}

/// Reads the examples of the operator's rules with `classifier`, which holds these rules. Here nothing overlaps: the
/// first rule that fits decides.
pub(in crate::classify) fn run_operators(
    classifier: &Classifier,
    rules: &[OperatorRule],
) -> ExampleReport {
    let mut report = ExampleReport::default();
    for rule in rules {
        report.rules += 1;
        let examples = rule.examples.iter().map(|example| (example, true));
        for (example, wanted) in examples.chain(rule.not.iter().map(|e| (e, false))) {
            let failure = Failure {
                message: example.message.clone(),
                exception_type: example.exception.clone(),
                code: example.code.clone(),
                http_status: example.http_status,
                ..Failure::default()
            };
            let step = (example.tool.as_str(), Origin::Tool);
            report.read(classifier, &rule.id, wanted, &failure, step, |reading| {
                (reading.rule == rule.id) == wanted
            });
        }
    }
    report
}

impl ExampleReport {
    /// Reads one example and notes if that came out wrong.
    fn read(
        &mut self,
        classifier: &Classifier,
        id: &str,
        wanted: bool,
        failure: &Failure,
        (tool, origin): (&str, Origin),
        is_right: impl Fn(&Reading) -> bool,
    ) -> Reading {
        self.examples += 1;
        let context = Context {
            tool,
            origin,
            tries: 1,
            received_at: Timestamp(0),
        };
        let reading = classifier.read(failure, &context);
        if !is_right(&reading) {
            self.faults.push(format!(
                "{id}: {} {:?} reads as {} by {}, evidence {:?}",
                if wanted { "example" } else { "counter-example" },
                failure.message,
                reading.kind,
                reading.rule,
                reading.evidence
            ));
        }
        reading
    }
}

fn failure(example: &Example) -> (Failure, String, Origin) {
    match example {
        Example::Message(message) => (
            Failure {
                message: message.clone(),
                ..Failure::default()
            },
            String::new(),
            Origin::Tool,
        ),
        Example::Fields(fields) => (
            Failure {
                message: fields.message.clone(),
                exception_type: fields.exception.clone(),
                code: fields.code.clone(),
                http_status: fields.http,
                grpc_code: fields.grpc.clone(),
                exit_code: fields.exit,
                ..Failure::default()
            },
            fields.tool.clone(),
            fields.origin.unwrap_or(Origin::Tool),
        ),
    }
}
