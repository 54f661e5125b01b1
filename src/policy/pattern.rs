//! Globs over tool names: `*` is any characters, `?` is one; everything else is meant literally.
//!
//! Matching takes at most pattern × name steps: after a mismatch only the last `*` is moved on, never an earlier one,
//! so no pattern makes it explode.

/// Whether the pattern can match other names than itself.
pub(crate) fn is_glob(pattern: &str) -> bool {
    pattern.contains(['*', '?'])
}

/// How specific a pattern is: its characters that are meant literally.
pub(crate) fn literal_characters(pattern: &str) -> usize {
    pattern.chars().filter(|c| !matches!(c, '*' | '?')).count()
}

/// Whether `name` as a whole matches.
pub fn matches(pattern: &str, name: &str) -> bool {
    let mut pattern = pattern.chars();
    let mut name = name.chars();
    // Where to go on after a mismatch: behind the last `*`, with one more character swallowed by it.
    let mut resume: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        let mut next_pattern = pattern.clone();
        let mut next_name = name.clone();
        match (next_pattern.next(), next_name.next()) {
            (Some('*'), _) => {
                resume = Some((next_pattern.clone(), name.clone()));
                pattern = next_pattern;
                continue;
            }
            (None, None) => return true,
            (Some(expected), Some(found)) if expected == '?' || expected == found => {
                pattern = next_pattern;
                name = next_name;
                continue;
            }
            _ => {}
        }
        let Some((behind_star, swallowed)) = resume.as_mut() else {
            return false;
        };
        if swallowed.next().is_none() {
            return false;
        }
        pattern = behind_star.clone();
        name = swallowed.clone();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn matches_whole_names() {
        for (pattern, name, expected) in [
            ("github_*", "github_search", true),
            ("github_*", "github_", true),
            ("github_*", "github", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("?", "", false),
            ("?", "é", true),
            ("get_?", "get_a", true),
            ("get_?", "get_ab", false),
            ("*_charge", "create_charge", true),
            ("*a*b", "xaxbxab", true),
            ("*a*b", "xaxbxa", false),
            ("a**c", "abc", true),
            ("Get", "get", false),
        ] {
            assert_eq!(matches(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn hostile_patterns_stay_cheap() {
        let pattern = format!("{}b", "a*".repeat(100));
        assert!(!matches(&pattern, &"a".repeat(5_000)));
    }

    /// The obvious recursive definition.
    fn matches_by_definition(pattern: &[char], name: &[char]) -> bool {
        match (pattern.split_first(), name.split_first()) {
            (None, rest) => rest.is_none(),
            (Some(('*', rest)), _) => {
                (0..=name.len()).any(|taken| matches_by_definition(rest, &name[taken..]))
            }
            (Some(('?', rest)), Some((_, tail))) => matches_by_definition(rest, tail),
            (Some((c, rest)), Some((d, tail))) => c == d && matches_by_definition(rest, tail),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "[ab*?]{0,7}", name in "[abc]{0,8}") {
            let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
            prop_assert_eq!(matches(&pattern, &name), matches_by_definition(&p, &n));
        }
    }
}
