//! The repeated-lesson test: once the correction stops changing, more attempts will not help.
//!
//! Compared is what a lesson says, not how: case, punctuation, hyphens, filler words and (where it carries no
//! meaning) word order are seen through. Names in quotes and numbers are always kept: "provide `a`" and "provide `b`"
//! are two lessons. In doubt two lessons differ: that costs one attempt of a bounded number, while a false match ends
//! an operation that was making progress.

/// Words that change nothing about what a lesson asks for.
const FILLERS: &[&str] = &[
    "a",
    "an",
    "and",
    "argument",
    "arguments",
    "are",
    "as",
    "be",
    "do",
    "ensure",
    "field",
    "for",
    "format",
    "formatted",
    "give",
    "has",
    "have",
    "in",
    "is",
    "it",
    "its",
    "just",
    "kindly",
    "make",
    "must",
    "need",
    "needs",
    "of",
    "parameter",
    "param",
    "pass",
    "please",
    "property",
    "provide",
    "should",
    "specify",
    "supply",
    "sure",
    "that",
    "the",
    "this",
    "to",
    "use",
    "using",
    "value",
    "with",
    "you",
    "your",
];

/// Words after which it matters which of two names or numbers comes first.
const ORDERING: &[&str] = &[
    "above", "after", "before", "below", "by", "exceed", "from", "greater", "instead", "into",
    "less", "not", "over", "rather", "than", "then", "to", "under",
];

/// Different spellings of one word.
const SPELLINGS: &[(&str, &str)] = &[
    ("bool", "boolean"),
    ("cannot", "not"),
    ("cant", "not"),
    ("doesnt", "not"),
    ("dont", "not"),
    ("int", "integer"),
    ("isnt", "not"),
    ("mustnt", "not"),
    ("never", "not"),
    ("no", "not"),
    ("shouldnt", "not"),
    ("str", "string"),
];

/// Whether two lessons ask for the same thing. Two empty lessons are not the same: neither asks for anything.
pub fn same_lesson(a: &str, b: &str) -> bool {
    let (a, b) = (Essence::of(a), Essence::of(b));
    if a.run_together.is_empty() || b.run_together.is_empty() {
        return false;
    }
    // "e-mail" and "email" fall into different words, so the text without gaps counts as well.
    a.run_together == b.run_together
        || (a.sorted == b.sorted && (a.order_is_free || a.anchors == b.anchors))
}

/// What remains of a lesson.
struct Essence {
    /// Its telling words, sorted, each once.
    sorted: Vec<String>,
    /// Its telling words in order, without gaps.
    run_together: String,
    /// Its quoted names and numbers, in order.
    anchors: Vec<String>,
    /// Whether the order of the anchors says nothing.
    order_is_free: bool,
}

struct Word {
    text: String,
    quoted: bool,
}

impl Essence {
    fn of(lesson: &str) -> Essence {
        let all = words(lesson);
        let order_is_free = !all
            .iter()
            .any(|word| !word.quoted && ORDERING.contains(&word.text.as_str()));
        let telling = |word: &&Word| word.quoted || !FILLERS.contains(&word.text.as_str());
        let mut kept: Vec<&Word> = all.iter().filter(telling).collect();
        if kept.is_empty() {
            kept = all.iter().collect();
        }
        let mut sorted: Vec<String> = kept.iter().map(|word| word.text.clone()).collect();
        sorted.sort_unstable();
        sorted.dedup();
        Essence {
            sorted,
            run_together: kept.iter().map(|word| word.text.as_str()).collect(),
            anchors: kept
                .iter()
                .filter(|word| word.quoted || word.text.starts_with(char::is_numeric))
                .map(|word| word.text.clone())
                .collect(),
            order_is_free,
        }
    }
}

/// Words in lower case, split at everything that is neither letter nor digit, and where letters meet digits: so that
/// `ISO 8601`, `ISO-8601` and `iso8601` are the same two words.
fn words(lesson: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut current = String::new();
    let mut quoted = false;
    let mut previous: Option<char> = None;
    let mut characters = lesson.chars().map(narrow).peekable();
    while let Some(character) = characters.next() {
        let next = characters.peek().copied();
        if is_apostrophe(character)
            && previous.is_some_and(char::is_alphabetic)
            && next.is_some_and(char::is_alphabetic)
        {
            // "don't" is one word.
            continue;
        }
        let in_word = character.is_alphanumeric()
            || is_sign_or_point(character, previous, next)
            || is_comparison(character);
        let turns = previous.is_some_and(|before| {
            before.is_numeric() != character.is_numeric() || is_comparison(before)
        });
        if (!in_word || (turns && !is_point(character) && !previous.is_some_and(is_point)))
            && !current.is_empty()
        {
            push(&mut words, &mut current, quoted);
        }
        if in_word {
            current.extend(character.to_lowercase());
        } else if is_quote(character) {
            quoted = if quoted {
                false
            } else {
                opens_a_pair(character, characters.clone())
            };
        }
        previous = Some(character);
    }
    push(&mut words, &mut current, quoted);
    words
}

fn push(words: &mut Vec<Word>, current: &mut String, quoted: bool) {
    if current.is_empty() {
        return;
    }
    let text = std::mem::take(current);
    let text = SPELLINGS
        .iter()
        .find(|(from, _)| !quoted && *from == text)
        .map_or(text, |(_, to)| (*to).to_owned());
    words.push(Word { text, quoted });
}

/// Full-width forms as their usual ones.
fn narrow(character: char) -> char {
    match character {
        '\u{ff01}'..='\u{ff5e}' => {
            char::from_u32(u32::from(character) - 0xfee0).unwrap_or(character)
        }
        _ => character,
    }
}

/// A minus before a number and a point between digits belong to the number.
fn is_sign_or_point(character: char, previous: Option<char>, next: Option<char>) -> bool {
    let before_digit = next.is_some_and(char::is_numeric);
    match character {
        '-' => {
            before_digit && previous.is_none_or(|before| before.is_whitespace() || is_quote(before))
        }
        '.' => before_digit && previous.is_some_and(char::is_numeric),
        _ => false,
    }
}

fn is_point(character: char) -> bool {
    matches!(character, '.' | '-')
}

/// `>` and `<` say something where words are few: "limit > 10" is not "limit < 10".
fn is_comparison(character: char) -> bool {
    matches!(character, '<' | '>' | '≤' | '≥')
}

fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’')
}

fn is_quote(character: char) -> bool {
    matches!(
        character,
        '`' | '"' | '\'' | '‘' | '’' | '“' | '”' | '«' | '»' | '„'
    )
}

/// A quote without a partner is an apostrophe or a slip, and protects nothing.
fn opens_a_pair(open: char, mut rest: impl Iterator<Item = char>) -> bool {
    let close = match open {
        '‘' => '’',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        same => same,
    };
    rest.any(|character| character == close)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn sees_the_same_in_other_words() {
        let table = [
            ("Use an ISO 8601 date.", "use an ISO-8601 date"),
            ("ISO 8601", "iso8601"),
            ("The date must be ISO 8601!", "date: use ISO-8601 format"),
            (
                "Provide the required field `guests`.",
                "field 'guests' is required, please provide it",
            ),
            ("Don't send `limit`", "Do not send \"limit\""),
            ("nights must be an int", "Field nights must be an INTEGER"),
            ("Use an e-mail address", "use an email address"),
            ("Use dates, not words", "use dates — not words"),
            ("Date should be in ISO 8601", "ISO 8601 date"),
            ("請使用 ISO 8601 日期", "請使用「ISO-8601」日期。"),
            ("Используйте дату ISO 8601.", "используйте дату iso-8601"),
            ("ＩＳＯ ８６０１", "iso 8601"),
            ("please use the", "Please, use THE"),
        ];
        for (a, b) in table {
            assert!(same_lesson(a, b), "{a:?} should be {b:?}");
            assert!(same_lesson(b, a), "{b:?} should be {a:?}");
        }
    }

    #[test]
    fn keeps_apart_what_differs() {
        let table = [
            ("", ""),
            (" \n", "..."),
            ("", "Use an ISO 8601 date."),
            (
                "Provide the required field `a`.",
                "Provide the required field `the`.",
            ),
            (
                "Field `nights` must be an integer.",
                "Field `guests` must be an integer.",
            ),
            ("Use at most 10 items.", "Use at most 100 items."),
            ("Set limit to -1", "Set limit to 1"),
            ("Use 1.5 as ratio", "Use 15 as ratio"),
            ("Send `limit`", "Do not send `limit`"),
            ("Use `b` instead of `a`.", "Use `a` instead of `b`."),
            ("Set limit to 10, not 100", "Set limit to 100, not 10"),
            ("limit > 10", "limit < 10"),
            ("Use table `customer`", "Use table `customers`"),
            ("日付を使ってください", "時刻を使ってください"),
        ];
        for (a, b) in table {
            assert!(!same_lesson(a, b), "{a:?} is not {b:?}");
        }
    }

    proptest! {
        #[test]
        fn is_symmetric_and_sees_itself(a in any::<String>(), b in any::<String>()) {
            prop_assert_eq!(same_lesson(&a, &b), same_lesson(&b, &a));
            if a.chars().any(char::is_alphanumeric) {
                prop_assert!(same_lesson(&a, &a));
            }
        }

        #[test]
        fn ignores_case_and_final_punctuation(words in prop::collection::vec("[a-z]{2,9}", 1..8)) {
            let plain = words.join(" ");
            let loud = format!("  {}!", plain.to_uppercase());
            prop_assert!(same_lesson(&plain, &loud));
        }
    }
}
