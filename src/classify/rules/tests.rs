//! Every rule's own examples, and the list of files.

use crate::classify::{Classifier, Context};
use crate::domain::{Failure, Origin, Timestamp};

use super::{Example, FILES, parse};

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

#[test]
fn every_rule_reads_its_examples_and_not_its_counter_examples() {
    let classifier = Classifier::new(&[]).unwrap();
    let mut wrong = Vec::new();
    for (file, source) in FILES {
        for rule in parse(file, source).unwrap().rules {
            let id = format!("{file}/{}", rule.id);
            let mut decided = false;
            let examples = rule.examples.iter().map(|e| (e, true));
            for (example, wanted) in examples.chain(rule.not.iter().map(|e| (e, false))) {
                let (failure, tool, origin) = failure(example);
                let context = Context {
                    tool: &tool,
                    origin,
                    tries: 1,
                    received_at: Timestamp(0),
                };
                let reading = classifier.read(&failure, &context);
                let is_ours = *reading.rule == *id;
                decided |= wanted && is_ours;
                // Where rules overlap another one may decide, as long as it says the same.
                if wanted && reading.kind != rule.kind || !wanted && is_ours {
                    wrong.push(format!(
                        "{id}: {example:?} reads {} ({}), evidence {:?}",
                        reading.rule, reading.kind, reading.evidence
                    ));
                }
            }
            if !decided {
                wrong.push(format!("{id} decides none of its examples"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_file_under_rules_is_embedded() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let mut on_disk: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"))
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    on_disk.sort();
    let embedded: Vec<String> = FILES.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        embedded, on_disk,
        "list the file in embedded.rs, in order of name"
    );
}

#[test]
fn a_wrong_file_is_named_with_rule_and_field() {
    let base = "about: x\nrules:\n  - id: a\n    kind: timeout\n    why: because\n";
    let cases = [
        ("rules: [", "file `x`"),
        (
            "about: x\nrules:\n  - {id: a, kind: nonsense, why: w, text: hello}",
            "nonsense",
        ),
        (
            "about: x\nrules:\n  - {id: a, kind: timeout, why: w, txt: hello}",
            "txt",
        ),
        (base, "field `text`"),
        (
            "about: x\nrules:\n  - {id: a, kind: timeout, why: w, text: '*'}",
            "field `text`",
        ),
        (
            "about: x\nrules:\n  - {id: a, kind: timeout, why: ' ', text: hello}",
            "field `why`",
        ),
    ];
    for (source, want) in cases {
        let error = crate::classify::book::RuleBook::compile(&[("x", source)])
            .unwrap_err()
            .to_string();
        assert!(error.contains(want), "{source}: {error}");
    }
}
