//! Ids, the cut, the masks, and the rule of joining: no file needed.

use std::borrow::Cow;

use proptest::prelude::*;

use super::super::standing::Entry;
use super::super::*;
use super::letter;
use crate::domain::*;

#[test]
fn ids_are_version_7_and_sort_by_time_to_the_microsecond() {
    let id = new_id(Timestamp(1_700_000_000_123_456), 0xdead_beef);
    let uuid = uuid::Uuid::parse_str(&id).expect("a UUID");
    assert_eq!(uuid.get_version_num(), 7);
    assert_eq!(uuid.get_variant(), uuid::Variant::RFC4122);
    let (seconds, nanos) = uuid.get_timestamp().expect("has a time").to_unix();
    assert_eq!((seconds, nanos / 1_000_000), (1_700_000_000, 123));
    assert_ne!(id, new_id(Timestamp(1_700_000_000_123_456), 0xdead_bee0));
}

proptest! {
    #[test]
    fn a_later_id_is_a_larger_id(
        earlier in 0u64..200_000_000_000_000_000, gap in 1u64..10_000_000, a: u64, b: u64,
    ) {
        prop_assert!(new_id(Timestamp(earlier), a) < new_id(Timestamp(earlier + gap), b));
    }

    #[test]
    fn a_cut_input_is_the_longest_prefix_that_fits(ch in any::<char>(), extra in 0usize..9) {
        let whole: String = std::iter::repeat_n(ch, MAX_INPUT_BYTES / ch.len_utf8() + extra).collect();
        let (cut, was_cut) = cut_input(whole.clone());
        prop_assert!(whole.starts_with(&cut));
        prop_assert!(cut.len() <= MAX_INPUT_BYTES);
        prop_assert_eq!(was_cut, cut.len() < whole.len());
        prop_assert!(!was_cut || cut.len() + ch.len_utf8() > MAX_INPUT_BYTES);
    }

    /// Parkings that wait together are joined; that must not change what ends up in the file, in whatever pieces
    /// they get there.
    #[test]
    fn joining_parkings_is_the_same_as_applying_them_in_turn(
        stored in proptest::option::of(state()), first in state(), second in state(), third in state(),
    ) {
        let (a, b, c) = (entry(first), entry(second), entry(third));
        let apply = |to: Option<Entry>, what: &Entry| match to {
            Some(mut entry) => { entry.absorb(what); entry }
            None => what.clone(),
        };
        let in_turn = apply(Some(apply(Some(apply(stored.map(entry), &a)), &b)), &c);
        let mut joined = a;
        joined.absorb(&b);
        joined.absorb(&c);
        prop_assert_eq!(in_turn, apply(stored.map(entry), &joined));
    }
}

type State = (bool, u64, u64, bool);

/// Replace or not, count, time, resolved or open: what the oracle hands in.
fn state() -> impl Strategy<Value = State> {
    (any::<bool>(), 1u64..5, 1u64..5, any::<bool>())
}

fn entry((replace, count, time, resolved): State) -> Entry {
    let mut letter = letter("a");
    letter.count = count;
    letter.updated_at = Timestamp(time);
    letter.explanation = format!("{replace} {count} {time}");
    if resolved {
        letter.status = LetterStatus::Resolved;
        letter.resolution = Some(format!("granted at {time}"));
    }
    Entry::from(Parking { letter, replace })
}

#[test]
fn everything_that_may_hold_a_secret_is_masked_and_nothing_else() {
    let masking = Masking {
        text: |text| Cow::Owned(text.replace("hunter2", "***")),
        failure: |failure| Failure {
            message: failure.message.replace("hunter2", "***"),
            ..failure.clone()
        },
    };
    let mut leaky = letter("hunter2");
    for text in [
        &mut leaky.input,
        &mut leaky.evidence,
        &mut leaky.guidance,
        &mut leaky.user_message,
        &mut leaky.resolution,
        &mut leaky.attempts[0].lesson,
    ] {
        *text = Some("password hunter2".to_owned());
    }
    leaky.explanation = "hunter2".to_owned();
    leaky.idempotency_key = "hunter2".to_owned();
    leaky.attempts[0].failure.as_mut().expect("has one").message = "hunter2".to_owned();
    let masked = masked(leaky, &masking);
    assert_eq!(
        (masked.id.as_str(), masked.idempotency_key.as_str()),
        ("hunter2", "hunter2")
    );
    let mut rest = masked.clone();
    rest.id.clear();
    rest.idempotency_key.clear();
    let json = serde_json::to_string(&rest).expect("serializes");
    assert!(!json.contains("hunter2"), "{json}");
    assert_eq!(json.matches("***").count(), 8);
}

#[test]
fn a_secret_at_the_cut_is_masked_before_the_cut() {
    let masking = Masking {
        text: |text| Cow::Owned(text.replace("hunter2", "*")),
        ..Masking::default()
    };
    let mut long = letter("a");
    long.input = Some("x".repeat(MAX_INPUT_BYTES - 3) + "hunter2" + "tail");
    let masked = masked(long, &masking);
    let input = masked.input.expect("kept");
    assert!(masked.input_cut);
    assert!(input.ends_with("x*ta"), "{}", &input[input.len() - 9..]);
}

#[test]
fn a_borrowed_part_of_a_text_is_taken_over() {
    let masking = Masking {
        text: |text| Cow::Borrowed(text.get(..4).unwrap_or(text)),
        ..Masking::default()
    };
    assert_eq!(masked(letter("a"), &masking).explanation, "the ");
}
