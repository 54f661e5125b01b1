use super::*;

#[test]
fn builtin_rules_compile() {
    Classifier::new(&[]).unwrap();
}
