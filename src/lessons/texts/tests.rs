use proptest::prelude::*;

use super::*;
use crate::lessons::{MAX_BYTES, MAX_WORDS, is_general};

fn facts(action: Action, reason: Reason, kind: Option<Kind>) -> TextFacts<'static> {
    TextFacts {
        action,
        reason,
        kind,
        tool: "send_letter",
        origin: Origin::Tool,
        dependency: None,
        cause_subject: None,
        lesson: None,
        satisfy_with: None,
        undone_by: None,
        check_status_with: None,
        spent: None,
        wait: None,
        may_have_executed: false,
        executed: false,
        effect: Effect::Unsafe,
    }
}

fn kinds() -> Vec<Option<Kind>> {
    Kind::ALL.iter().copied().map(Some).chain([None]).collect()
}

/// Every action, reason and kind, bare and with everything set.
fn every_case() -> Vec<TextFacts<'static>> {
    let mut cases = Vec::new();
    for action in Action::ALL {
        for reason in Reason::ALL {
            for kind in kinds() {
                let bare = facts(*action, *reason, kind);
                let flags = [(false, false), (true, false), (false, true), (true, true)];
                for effect in [Effect::Idempotent, Effect::Unsafe] {
                    for (may_have_executed, executed) in flags {
                        cases.push(TextFacts {
                            may_have_executed,
                            executed,
                            effect,
                            ..bare.clone()
                        });
                    }
                }
                let typical = matches!(
                    kind,
                    None | Some(Kind::Timeout | Kind::InvalidArguments | Kind::PreconditionUnmet)
                );
                for name in SpentBudgetName::ALL.iter().filter(|_| typical) {
                    cases.push(TextFacts {
                        origin: Origin::Model,
                        dependency: Some("post-office.internal:8443"),
                        cause_subject: Some("post-office"),
                        lesson: Some("Field `nights` must be an integer."),
                        satisfy_with: Some("load_data"),
                        undone_by: Some("reset_data"),
                        check_status_with: Some("get_letter_status"),
                        spent: Some(SpentBudget {
                            name: *name,
                            used: 3,
                            limit: 3,
                        }),
                        wait: Some(Duration::from_millis(90_500)),
                        may_have_executed: *name == SpentBudgetName::CauseFailures,
                        ..bare.clone()
                    });
                }
            }
        }
    }
    cases
}

fn assert_clean(text: &str, facts: &TextFacts<'_>) {
    for placeholder in [
        "``", "None", "Some(", "  ", " .", "..", ";.", "{", "}", " ;",
    ] {
        assert!(
            !text.contains(placeholder),
            "{placeholder:?} in {text:?} of {facts:?}"
        );
    }
    assert!(!text.chars().any(char::is_control), "{text:?}");
    assert!(
        text.ends_with(['.', '…', '!'])
            || text.len() + 30 > MAX_BYTES
            || text.split(' ').count() == MAX_WORDS,
        "{text:?}"
    );
}

fn holds_own_fragment(text: &str) -> bool {
    let text = text.to_lowercase();
    own_text_fragments()
        .iter()
        .any(|fragment| text.contains(fragment))
}

#[test]
fn guidance_stands_where_it_should_and_is_short() {
    for case in every_case() {
        let guidance = guidance(&case);
        assert_eq!(guidance.is_some(), case.action != Action::Retry, "{case:?}");
        let Some(guidance) = guidance else { continue };
        let words = guidance.split_whitespace().count();
        assert!(
            words <= MAX_WORDS && guidance.len() <= MAX_BYTES,
            "{words} words: {guidance:?}"
        );
        assert!(words >= 4, "{guidance:?} of {case:?}");
        assert_clean(&guidance, &case);
        assert!(guidance.ends_with('.'), "cut: {guidance:?} of {case:?}");
        if case.action != Action::Reprompt {
            assert!(holds_own_fragment(&guidance), "{guidance:?} of {case:?}");
        }
    }
}

#[test]
fn user_messages_stand_where_they_should_and_are_plain() {
    for case in every_case() {
        let message = user_message(&case);
        let stops = matches!(case.action, Action::Escalate | Action::FailLoud);
        assert_eq!(message.is_some(), stops, "{case:?}");
        let Some(message) = message else { continue };
        assert!(message.starts_with("The assistant stopped here: "));
        assert!(holds_own_fragment(&message));
        assert_clean(&message, &case);
        let words = message
            .to_lowercase()
            .replace("`send_letter`", "")
            .replace("`load_data`", "");
        let words = words
            .replace("`reset_data`", "")
            .replace("`get_letter_status`", "");
        for jargon in [
            "_",
            "budget",
            "verdict",
            "idempoten",
            "breaker",
            "fleet",
            "turn ",
            "reprompt",
            "classif",
        ] {
            assert!(!words.contains(jargon), "{jargon:?} in {message:?}");
        }
        if case.executed || case.reason == Reason::AlreadyExecuted {
            assert!(message.contains("has already done its work"), "{message:?}");
            assert!(!message.contains("may already have"), "{message:?}");
        } else if case.may_have_executed {
            assert!(
                message.contains("may already have done its work"),
                "{message:?}"
            );
        }
        if case.repeat_may_harm() {
            let advice = [" ask again", "Ask again", "try later", "in other words"];
            assert!(
                !advice.iter().any(|advice| message.contains(advice)),
                "{message:?}"
            );
        }
    }
}

#[test]
fn explanations_open_as_promised() {
    for case in every_case() {
        let text = explanation(&case);
        assert!(
            text.starts_with(&format!(
                "backstop verdict {}/{}: ",
                case.action, case.reason
            )),
            "{text:?}"
        );
        assert!(holds_own_fragment(&text));
        assert_clean(&text, &case);
        assert_eq!(
            text.contains("executed, effect"),
            case.may_have_executed || case.executed,
            "{text:?}"
        );
    }
}

#[test]
fn own_fragments_are_used_and_long_enough() {
    let texts: Vec<String> = every_case()
        .iter()
        .flat_map(|case| [guidance(case), user_message(case), Some(explanation(case))])
        .flatten()
        .map(|text| text.to_lowercase())
        .collect();
    for fragment in own_text_fragments() {
        assert!(fragment.len() >= 16 && *fragment == fragment.to_lowercase());
        assert!(
            texts.iter().any(|text| text.contains(fragment)),
            "{fragment:?} is used nowhere"
        );
    }
}

#[test]
fn stops_do_not_read_like_errors_to_get_around() {
    for case in every_case()
        .iter()
        .filter(|case| !matches!(case.action, Action::Retry | Action::Reprompt))
    {
        let guidance = guidance(case).unwrap().to_lowercase();
        for invitation in ["try again", "retry", "another tool", "work around", "error"] {
            assert!(!guidance.contains(invitation), "{guidance:?} of {case:?}");
        }
    }
}

#[test]
fn says_what_the_design_asks_for() {
    let lesson = Some("Use an ISO 8601 date.");
    let base = facts(
        Action::Reprompt,
        Reason::Precondition,
        Some(Kind::PreconditionUnmet),
    );
    let base = TextFacts {
        tool: "compute",
        satisfy_with: Some("load_data"),
        ..base
    };
    assert_eq!(
        guidance(&base).unwrap(),
        "Call `load_data` first, then `compute` again with the same arguments."
    );
    let undone = TextFacts {
        undone_by: Some("reset_data"),
        ..base.clone()
    };
    assert!(
        guidance(&undone)
            .unwrap()
            .starts_with("`reset_data` ran after `load_data` and may have undone it:")
    );

    let output = TextFacts {
        lesson,
        ..facts(
            Action::Reprompt,
            Reason::ModelOutput,
            Some(Kind::InvalidArguments),
        )
    };
    assert_eq!(guidance(&output).unwrap(), "Use an ISO 8601 date.");
    let handed_on = TextFacts {
        action: Action::Escalate,
        reason: Reason::RepeatedLesson,
        ..output.clone()
    };
    assert_eq!(
        guidance(&handed_on).unwrap(),
        "Stop here; pass on: Use an ISO 8601 date."
    );
    let repeated = TextFacts {
        reason: Reason::RepeatedCall,
        kind: None,
        ..output
    };
    assert_eq!(
        guidance(&repeated).unwrap(),
        "Do not send the same call again. Use an ISO 8601 date."
    );

    let finding = facts(Action::Reprompt, Reason::Exploratory, Some(Kind::ToolBug));
    assert!(guidance(&finding).unwrap().contains("as the finding"));
    let cut_run = facts(Action::Reprompt, Reason::Exploratory, Some(Kind::Timeout));
    assert!(
        guidance(&cut_run)
            .unwrap()
            .starts_with("Look at the current state first")
    );

    let asked = facts(Action::Escalate, Reason::CheckStatus, Some(Kind::Timeout));
    let asked = TextFacts {
        check_status_with: Some("get_letter_status"),
        may_have_executed: true,
        ..asked
    };
    assert!(
        guidance(&asked)
            .unwrap()
            .contains("Ask `get_letter_status` whether")
    );
    assert!(
        user_message(&asked)
            .unwrap()
            .contains("check with `get_letter_status` before anyone repeats it")
    );

    let spent = SpentBudget {
        name: SpentBudgetName::TurnFailures,
        used: 6,
        limit: 6,
    };
    let turn = facts(
        Action::FailLoud,
        Reason::TurnBudgetExhausted,
        Some(Kind::Unavailable),
    );
    let turn = TextFacts {
        spent: Some(spent),
        ..turn
    };
    assert!(
        user_message(&turn)
            .unwrap()
            .contains("The limit is 6 failures in one request.")
    );
    assert!(explanation(&turn).contains("turn_failures 6 of 6"));
}

#[test]
fn a_repeat_without_harm_is_not_called_one() {
    let read = facts(
        Action::Escalate,
        Reason::CauseBudgetExhausted,
        Some(Kind::Timeout),
    );
    let read = TextFacts {
        effect: Effect::Idempotent,
        may_have_executed: true,
        ..read
    };
    assert!(
        !guidance(&read)
            .unwrap()
            .contains("may already have done its work")
    );
    let charge = TextFacts {
        effect: Effect::Keyed,
        ..read
    };
    assert!(
        guidance(&charge)
            .unwrap()
            .contains("may already have done its work")
    );
}

#[test]
fn general_lessons_fit_every_kind() {
    for kind in kinds() {
        let case = facts(Action::Reprompt, Reason::PolicyOverride, kind);
        assert!(is_general(&guidance(&case).unwrap()), "{kind:?}");
    }
}

#[test]
fn waits_are_told_in_words() {
    let table = [
        (1, "1 second"),
        (90, "90 seconds"),
        (121, "3 minutes"),
        (7_200, "2 hours"),
        (200_000, "3 days"),
    ];
    for (seconds, words) in table {
        assert_eq!(InWords(Duration::from_secs(seconds)).to_string(), words);
    }
    assert_eq!(
        InWords(Duration::from_millis(1_001)).to_string(),
        "2 seconds"
    );
    assert_eq!(
        InWords(Duration::MAX).to_string().split(' ').next_back(),
        Some("days")
    );
}

proptest! {
    #[test]
    fn survives_any_names(
        tool in any::<String>(), other in any::<String>(), lesson in "[^`]*",
        action in prop::sample::select(Action::ALL), reason in prop::sample::select(Reason::ALL),
        kind in prop::option::of(prop::sample::select(Kind::ALL)), model in any::<bool>(),
    ) {
        let lesson = format!("{lesson} ghp_a1B2c3D4e5F6g7H8i9J0");
        let facts = TextFacts {
            tool: &tool,
            origin: if model { Origin::Model } else { Origin::Tool },
            dependency: Some(&other),
            cause_subject: Some(&other),
            lesson: Some(&lesson),
            satisfy_with: Some(&other),
            undone_by: Some(&tool),
            check_status_with: Some(&other),
            ..facts(action, reason, kind)
        };
        let guidance = guidance(&facts).unwrap_or_default();
        prop_assert!(guidance.split_whitespace().count() <= MAX_WORDS);
        prop_assert!(guidance.len() <= MAX_BYTES);
        for text in [guidance, user_message(&facts).unwrap_or_default(), explanation(&facts)] {
            prop_assert!(!text.chars().any(char::is_control));
            prop_assert!(!text.contains("``"));
            prop_assert!(!text.contains("a1B2c3D4e5F6g7H8i9J0"));
        }
    }
}
