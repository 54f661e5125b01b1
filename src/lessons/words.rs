//! Bounds of a lesson: how long it may be, and which characters it may hold.

/// Most words of a lesson or of guidance; a word is what stands between white space.
pub const MAX_WORDS: usize = 25;

/// Most bytes of a lesson or of guidance. Scripts without spaces are bounded by this alone.
pub const MAX_BYTES: usize = 400;

/// The text on one line, cut at a word to [`MAX_WORDS`] words and [`MAX_BYTES`] bytes; and whether it was cut.
///
/// White space and control characters become single spaces. Characters that show nothing but change how the rest is
/// read (text direction overrides, zero-width spaces, tags) are dropped: they serve to hide instructions.
pub fn cut_to_words(text: &str) -> (String, bool) {
    cut(text, MAX_WORDS, MAX_BYTES)
}

/// As [`cut_to_words`], with bounds of the caller's own.
pub(super) fn cut(text: &str, max_words: usize, max_bytes: usize) -> (String, bool) {
    let mut line = String::with_capacity(text.len().min(max_bytes));
    let mut words = 0;
    let mut at_gap = true;
    let mut word_start = 0;
    for character in text.chars() {
        if is_invisible(character) {
            continue;
        }
        if character.is_whitespace() || character.is_control() {
            at_gap = true;
            continue;
        }
        if at_gap {
            if words == max_words {
                return (line, true);
            }
            words += 1;
            at_gap = false;
            word_start = line.len();
            if word_start > 0 {
                line.push(' ');
            }
        }
        if line.len() + character.len_utf8() > max_bytes {
            // A first word that is too long by itself is cut inside: there is nothing else to show.
            if word_start > 0 {
                line.truncate(word_start);
            }
            return (line, true);
        }
        line.push(character);
    }
    (line, false)
}

/// Whether a character has no shape of its own and only changes how others are read.
fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}'
        | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn cuts_at_the_twenty_sixth_word() {
        let long: Vec<String> = (1..=27).map(|n| format!("w{n}")).collect();
        let (line, cut) = cut_to_words(&long.join(" "));
        assert!(cut);
        assert!(line.ends_with("w25"));
        let (line, cut) = cut_to_words(&long[..25].join("\n\t "));
        assert!(!cut);
        assert_eq!(line.split(' ').count(), 25);
    }

    #[test]
    fn folds_what_is_no_text() {
        assert_eq!(
            cut_to_words("  Use\u{0}\r\n ISO\u{200b}\u{202e} 8601\u{e0041}. \n"),
            ("Use ISO 8601.".to_owned(), false)
        );
        assert_eq!(cut_to_words(" \n\u{feff}"), (String::new(), false));
    }

    #[test]
    fn cuts_scripts_without_spaces_by_bytes() {
        let (line, cut) = cut_to_words(&"日".repeat(200));
        assert!(cut);
        assert_eq!(line.len(), 399);
        let (line, cut) = cut_to_words(&format!("short {}", "x".repeat(500)));
        assert!(cut);
        assert_eq!(line, "short");
    }

    proptest! {
        #[test]
        fn stays_within_bounds(text in any::<String>()) {
            let (line, cut) = cut_to_words(&text);
            prop_assert!(line.len() <= MAX_BYTES);
            prop_assert!(line.split_whitespace().count() <= MAX_WORDS);
            prop_assert!(!line.chars().any(char::is_control));
            prop_assert_eq!(line.trim(), &line);
            let again = cut_to_words(&line);
            prop_assert_eq!(again, (line, false));
            if cut { prop_assert!(text.len() > 25); }
        }
    }
}
