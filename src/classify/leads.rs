//! Fixed wordings after which something stands (a wait, an address), found in one pass.

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

/// An automaton over a fixed list of wordings, any ASCII case.
#[derive(Debug)]
pub(super) struct Leads {
    automaton: Option<AhoCorasick>,
}

/// A wording that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Its place in the list.
    pub(super) lead: usize,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Most places that are looked at in one text.
const MAX_FOUND: usize = 64;

impl Leads {
    pub(super) fn new<'a>(wordings: impl Iterator<Item = &'a str>) -> Self {
        let automaton = AhoCorasick::builder()
            .match_kind(MatchKind::Standard)
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(wordings)
            .ok();
        Leads { automaton }
    }

    /// Every wording in the text, the first [`MAX_FOUND`] of them.
    pub(super) fn find<'a>(&'a self, text: &'a str) -> impl Iterator<Item = Found> + 'a {
        self.automaton
            .iter()
            .flat_map(move |automaton| automaton.find_overlapping_iter(text.as_bytes()))
            .take(MAX_FOUND)
            .map(|found| Found {
                lead: found.pattern().as_usize(),
                start: found.start(),
                end: found.end(),
            })
    }
}
