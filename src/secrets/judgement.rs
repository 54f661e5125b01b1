//! Whether what stands behind a telling name is a secret, or a sentence about one.

/// Words that stand where a secret would in messages about secrets.
const VOCABULARY: &[&str] = &[
    "a",
    "an",
    "and",
    "argument",
    "at",
    "be",
    "been",
    "blank",
    "cannot",
    "can't",
    "does",
    "empty",
    "error",
    "expired",
    "failed",
    "false",
    "field",
    "for",
    "from",
    "has",
    "header",
    "in",
    "incorrect",
    "invalid",
    "is",
    "least",
    "long",
    "malformed",
    "mismatch",
    "missing",
    "must",
    "nil",
    "no",
    "none",
    "not",
    "null",
    "of",
    "option",
    "or",
    "provided",
    "redacted",
    "rejected",
    "required",
    "requires",
    "revoked",
    "should",
    "short",
    "string",
    "the",
    "to",
    "token",
    "too",
    "true",
    "undefined",
    "unknown",
    "unset",
    "value",
    "was",
    "were",
    "with",
    "wrong",
    "you",
    "your",
];

/// Whether a value in quotes, or alone behind its name, is a message and not a secret: `must be at least 8 characters`.
pub(super) fn is_prose(value: &str) -> bool {
    let mut words = value
        .split_whitespace()
        .map(bare)
        .filter(|word| !word.is_empty())
        .peekable();
    if words.peek().is_none() {
        return true;
    }
    let several = value.split_whitespace().nth(1).is_some();
    if several {
        words.any(is_vocabulary)
    } else {
        words.all(is_vocabulary)
    }
}

/// Whether a value only stands for one: `***`, `<password>`, `${PASSWORD}`, or one that is masked already.
pub(super) fn is_placeholder(value: &str) -> bool {
    value.contains("masked]")
        || value
            .chars()
            .all(|character| matches!(character, '*' | '•' | '.' | '…' | '?' | '_' | '-'))
        || value.starts_with("${")
        || value.starts_with("{{")
        || value.starts_with('<')
        || value.starts_with("$(")
}

/// Whether a bare word is made as secrets are: digits among letters, signs, or capitals after small letters.
pub(super) fn looks_random(word: &str) -> bool {
    let has_digit = word.contains(|character: char| character.is_ascii_digit());
    let has_letter = word.contains(char::is_alphabetic);
    let has_sign = word
        .trim_end_matches(['.', '!', '?', ':', ','])
        .contains(['!', '@', '#', '$', '%', '^', '&', '*', '+', '=', '~']);
    let has_inner_capital = word
        .chars()
        .zip(word.chars().skip(1))
        .any(|(first, second)| first.is_lowercase() && second.is_uppercase());
    word.len() >= 4
        && ((has_digit && (has_letter || word.len() >= 6)) || has_sign || has_inner_capital)
}

fn is_vocabulary(word: &str) -> bool {
    VOCABULARY
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known))
}

fn bare(word: &str) -> &str {
    word.trim_matches(|character: char| !character.is_alphanumeric())
}
