//! Every rule's own examples, and the list of files.

use crate::classify::Classifier;

use super::FILES;

#[test]
fn every_rule_reads_its_examples_and_not_its_counter_examples() {
    let report = Classifier::new(&[]).unwrap().check_examples().unwrap();
    assert!(report.rules > 400 && report.examples >= 2 * report.rules);
    assert!(
        report.faults.is_empty(),
        "{} wrong:\n{}",
        report.faults.len(),
        report.faults.join("\n")
    );
}

#[test]
fn every_file_under_rules_is_built_in() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("rules");
    let on_disk = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "yaml"));
    assert_eq!(FILES.len(), on_disk.count());
    assert!(FILES.is_sorted());
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
        let error = crate::classify::book::RuleBook::compile(&[("x", source)], &[], &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains(want), "{source}: {error}");
    }
}
