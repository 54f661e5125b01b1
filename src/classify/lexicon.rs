//! Finds thousands of literals in a text, each by the rarest of its words.
//!
//! Nearly all that rules look for is made of whole words. So the text is split into words once, each word is looked up
//! once, and only where it leads to literals are these compared with what stands there: cheaper than an automaton over
//! all of them, and a small part of its size. The few literals without a whole word (`~` phrases, scripts without
//! spaces) are left to an automaton, and those that are the start or the end of a word are found by its first or last bytes.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, BuildError, MatchKind, Span, packed};
use foldhash::fast::FixedState;

use super::text::is_word;
use super::words::Words;

/// What must be so where a literal starts or ends, if it starts or ends with a letter or digit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Edge {
    /// A word starts or ends there.
    Word,
    /// The same, or a part of a name: `errorCode`, `error_code`. For starts only.
    Part,
    /// Anything.
    Free,
}

/// A literal in lower case, and its edges.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Literal {
    pub(super) text: Box<[u8]>,
    pub(super) start: Edge,
    pub(super) end: Edge,
}

/// Where a word leads: to a literal that holds it at an offset, between some bytes.
#[derive(Debug, Clone, Copy)]
struct Lead {
    literal: u32,
    offset: u32,
    before: Beside,
    after: Beside,
}

/// Up to four bytes beside a word: nearly every literal that does not stand there is told by them, without a look at it.
#[derive(Debug, Clone, Copy)]
struct Beside {
    bytes: u32,
    mask: u32,
}

impl Beside {
    /// The nearest bytes, in the order in which they go away from the word.
    fn of(mut bytes: impl Iterator<Item = u8>) -> Self {
        let (mut beside, mut mask) = ([0; 4], [0; 4]);
        for (at, known) in beside.iter_mut().zip(&mut mask) {
            if let Some(byte) = bytes.next() {
                (*at, *known) = (byte, u8::MAX);
            }
        }
        Beside {
            bytes: u32::from_le_bytes(beside),
            mask: u32::from_le_bytes(mask),
        }
    }

    const fn fits(self, beside: u32) -> bool {
        beside & self.mask == self.bytes
    }
}

/// The leads of each word. Nearly all words fit into a number, which is compared in an instant.
#[derive(Debug)]
struct Index {
    /// A bit for each hash: most words of a text lead nowhere, and that is all they cost.
    known: Box<[u64]>,
    short: HashMap<u128, Range<u32>, FixedState>,
    long: HashMap<Box<[u8]>, Range<u32>, FixedState>,
    longest: usize,
}

/// Longest word that is kept as a number.
const SHORT: usize = size_of::<u128>();

impl Index {
    fn new(by_word: BTreeMap<&[u8], Vec<Lead>>, leads: &mut Vec<Lead>) -> Self {
        let bits = (BITS_A_WORD * by_word.len()).next_power_of_two();
        let mut index = Index {
            known: vec![0; bits.div_ceil(64)].into(),
            short: HashMap::default(),
            long: HashMap::default(),
            longest: 0,
        };
        for (word, led) in by_word {
            let start = count(leads.len());
            leads.extend(led);
            index.insert(word, start..count(leads.len()));
        }
        index
    }

    fn insert(&mut self, word: &[u8], leads: Range<u32>) {
        self.longest = self.longest.max(word.len());
        if word.len() > SHORT {
            self.long.insert(word.into(), leads);
            return;
        }
        let mut padded = [0; SHORT];
        for (to, from) in padded.iter_mut().zip(word) {
            *to = *from;
        }
        let word = u128::from_le_bytes(padded);
        let (place, bit) = self.place(word);
        if let Some(bits) = self.known.get_mut(place) {
            *bits |= bit;
        }
        self.short.insert(word, leads);
    }

    /// The leads of the word that stands there in a text with sixteen bytes after it.
    #[inline(always)]
    fn get(&self, padded: &[u8], word: Range<usize>) -> Option<Range<u32>> {
        let bytes = padded.get(word.start..).and_then(|text| text.first_chunk());
        let (Some(bytes), Some(kept)) = (bytes, KEPT.get(word.len())) else {
            return self.get_long(padded, word);
        };
        let word = u128::from_le_bytes(*bytes) & kept;
        let (place, bit) = self.place(word);
        match self.known.get(place) {
            Some(bits) if bits & bit != 0 => self.short.get(&word).cloned(),
            _ => None,
        }
    }

    #[cold]
    fn get_long(&self, padded: &[u8], word: Range<usize>) -> Option<Range<u32>> {
        match word.len() <= self.longest {
            true => self.long.get(padded.get(word)?).cloned(),
            false => None,
        }
    }

    /// Where the word's bit is: by the high bits of a product, which all bits of the word have a say in.
    #[inline(always)]
    fn place(&self, word: u128) -> (usize, u64) {
        let (low, high) = (word as u64, (word >> 64) as u64);
        let mixed = low ^ high.rotate_left(23);
        let hash = mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let place = (hash >> 6) as usize & (self.known.len() - 1);
        (place, 1 << (hash % 64))
    }
}

/// Few enough words share a bit.
const BITS_A_WORD: usize = 16;

/// The bytes of a number that a word of each length fills. No word holds a zero byte, so the shorter ones stay apart.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler: out of bounds would fail the build"
)]
const KEPT: [u128; SHORT + 1] = {
    let mut kept = [0; SHORT + 1];
    let mut len = 1;
    while len <= SHORT {
        kept[len] = u128::MAX >> (8 * (SHORT - len));
        len += 1;
    }
    kept
};

/// The compiled literals.
#[derive(Debug)]
pub(super) struct Lexicon {
    texts: Vec<Box<[u8]>>,
    leads: Vec<Lead>,
    words: Index,
    /// Words that may also be the last part of a name.
    parts: Index,
    /// The first bytes of words of which no more than the start is known.
    starts: Index,
    /// The last bytes of words of which no more than the end is known.
    ends: Index,
    loose: Loose,
    /// Those that a text of ASCII alone cannot hold.
    loose_foreign: Loose,
}

/// Literals that no word leads to.
#[derive(Debug)]
struct Loose {
    search: Search,
    /// The place of each in the list, and its text.
    literals: Vec<(u32, Box<[u8]>)>,
}

/// How the loose literals are looked for.
#[derive(Debug)]
enum Search {
    /// Few: the next place where one stands, with the first in order of text.
    Next(packed::Searcher),
    /// Many: all of them at once.
    All(AhoCorasick),
}

/// Which of a literal's words it is found by.
enum Choice {
    Word(Range<usize>),
    Part(Range<usize>),
    Start(Range<usize>),
    End(Range<usize>),
    None,
}

/// How many bytes of a word's start or end are looked up.
const BIT: usize = 3;

impl Lexicon {
    /// Compiles the literals; [`Lexicon::find`] names them by their places in this list.
    pub(super) fn new(literals: &[Literal]) -> Result<Self, BuildError> {
        let mut frequency: HashMap<&[u8], u32> = HashMap::new();
        for literal in literals {
            for word in words(&literal.text) {
                let word = literal.text.get(word).unwrap_or_default();
                *frequency.entry(word).or_default() += 1;
            }
        }
        let mut by_word: BTreeMap<&[u8], Vec<Lead>> = BTreeMap::new();
        let mut by_part: BTreeMap<&[u8], Vec<Lead>> = BTreeMap::new();
        let mut by_start: BTreeMap<&[u8], Vec<Lead>> = BTreeMap::new();
        let mut by_end: BTreeMap<&[u8], Vec<Lead>> = BTreeMap::new();
        let (mut loose, mut foreign) = (Vec::new(), Vec::new());
        for (at, literal) in (0..).zip(literals) {
            let lead = |range: &Range<usize>| Lead {
                literal: at,
                offset: count(range.start),
                before: before(&literal.text, range.start),
                after: after(&literal.text, range.end),
            };
            let word = |range: &Range<usize>| literal.text.get(range.clone()).unwrap_or_default();
            match literal.choose(&frequency) {
                Choice::Word(range) => {
                    by_word.entry(word(&range)).or_default().push(lead(&range));
                }
                Choice::Part(range) => {
                    by_word.entry(word(&range)).or_default().push(lead(&range));
                    by_part.entry(word(&range)).or_default().push(lead(&range));
                }
                Choice::Start(range) => {
                    by_start.entry(word(&range)).or_default().push(lead(&range));
                }
                Choice::End(range) => {
                    by_end.entry(word(&range)).or_default().push(lead(&range));
                }
                Choice::None if literal.text.is_ascii() => loose.push(at),
                Choice::None => foreign.push(at),
            }
        }
        let mut leads = Vec::new();
        Ok(Lexicon {
            words: Index::new(by_word, &mut leads),
            parts: Index::new(by_part, &mut leads),
            starts: Index::new(by_start, &mut leads),
            ends: Index::new(by_end, &mut leads),
            leads,
            loose: Loose::new(literals, loose)?,
            loose_foreign: Loose::new(literals, foreign)?,
            texts: literals
                .iter()
                .map(|literal| literal.text.clone())
                .collect(),
        })
    }

    /// Calls `found` with each literal that stands in the text of these words, and where.
    pub(super) fn find(&self, words: &Words, mut found: impl FnMut(usize, usize, usize)) {
        let padded = words.lower_padded();
        for word in words.spans() {
            if let Some(leads) = self.words.get(padded, word.clone()) {
                self.follow(leads, padded, word.clone(), &mut found);
            }
            if word.len() < BIT {
                continue;
            }
            let start = word.start..word.start + BIT;
            if let Some(leads) = self.starts.get(padded, start.clone()) {
                self.follow(leads, padded, start, &mut found);
            }
            let end = word.end - BIT..word.end;
            if let Some(leads) = self.ends.get(padded, end.clone()) {
                self.follow(leads, padded, end, &mut found);
            }
        }
        for part in words.parts() {
            if let Some(leads) = self.parts.get(padded, part.clone()) {
                self.follow(leads, padded, part, &mut found);
            }
        }
        let lower = words.lower();
        self.loose.find(lower, &mut found);
        if !lower.is_ascii() {
            self.loose_foreign.find(lower, &mut found);
        }
    }

    fn follow(
        &self,
        leads: Range<u32>,
        lower: &[u8],
        word: Range<usize>,
        found: &mut impl FnMut(usize, usize, usize),
    ) {
        let leads = self.leads.get(leads.start as usize..leads.end as usize);
        let before = bytes_before(lower, word.start);
        let after = bytes_after(lower, word.end);
        for lead in leads.unwrap_or_default() {
            if !lead.before.fits(before) || !lead.after.fits(after) {
                continue;
            }
            let Some(text) = self.texts.get(lead.literal as usize) else {
                continue;
            };
            let Some(start) = word.start.checked_sub(lead.offset as usize) else {
                continue;
            };
            let end = start + text.len();
            if lower.get(start..end) == Some(&**text) {
                found(lead.literal as usize, start, end);
            }
        }
    }
}

impl Literal {
    /// The rarest word by which the literal is surely found, the longer one of two.
    fn choose(&self, frequency: &HashMap<&[u8], u32>) -> Choice {
        let rarest = |is_usable: &dyn Fn(&Range<usize>) -> bool| {
            words(&self.text)
                .filter(|word| self.ends_there(word) && is_usable(word))
                .min_by_key(|word| {
                    let bytes = self.text.get(word.clone()).unwrap_or_default();
                    let times = frequency.get(bytes).copied().unwrap_or_default();
                    (times, usize::MAX - word.len())
                })
        };
        let starts = |word: &Range<usize>| word.start > 0 || self.start == Edge::Word;
        if let Some(word) = rarest(&starts) {
            return Choice::Word(word);
        }
        if let Some(word) = rarest(&|_| self.start == Edge::Part) {
            return Choice::Part(word);
        }
        let first = words(&self.text).next().filter(|word| word.start == 0);
        let last = words(&self.text)
            .last()
            .filter(|word| word.end == self.text.len());
        match (first, last) {
            (Some(word), _) if self.start == Edge::Word && word.len() >= BIT => {
                Choice::Start(0..BIT)
            }
            (_, Some(word)) if self.end == Edge::Word && word.len() >= BIT => {
                Choice::End(word.end - BIT..word.end)
            }
            _ => Choice::None,
        }
    }

    /// Whether the word ends in every text where it ends in the literal.
    fn ends_there(&self, word: &Range<usize>) -> bool {
        word.end < self.text.len() || self.end == Edge::Word
    }

    /// Whether a whole word leads to it.
    pub(super) fn has_word(&self) -> bool {
        matches!(
            self.choose(&HashMap::new()),
            Choice::Word(_) | Choice::Part(_)
        )
    }
}

impl Loose {
    fn new(literals: &[Literal], chosen: Vec<u32>) -> Result<Self, BuildError> {
        let mut literals: Vec<(u32, Box<[u8]>)> = chosen
            .into_iter()
            .filter_map(|at| Some((at, literals.get(at as usize)?.text.clone())))
            .collect();
        literals.sort_by(|(_, a), (_, b)| a.cmp(b));
        let texts: Vec<&[u8]> = literals.iter().map(|(_, text)| &**text).collect();
        let search = match packed::Searcher::new(&texts) {
            Some(next) => Search::Next(next),
            None => Search::All(
                AhoCorasick::builder()
                    .match_kind(MatchKind::Standard)
                    .kind(Some(AhoCorasickKind::DFA))
                    .prefilter(false)
                    .build(&texts)?,
            ),
        };
        Ok(Loose { search, literals })
    }

    /// Goes from one place where some stand to the next: nearly every text has none at all.
    fn find(&self, lower: &[u8], found: &mut impl FnMut(usize, usize, usize)) {
        let next = match &self.search {
            Search::Next(next) => next,
            Search::All(automaton) => {
                for hit in automaton.find_overlapping_iter(lower) {
                    if let Some((literal, _)) = self.literals.get(hit.pattern().as_usize()) {
                        found(*literal as usize, hit.start(), hit.end());
                    }
                }
                return;
            }
        };
        let mut from = 0;
        while let Some(hit) = next.find_in(lower, Span::from(from..lower.len())) {
            let rest = lower.get(hit.start()..).unwrap_or_default();
            let first = self.literals.get(hit.pattern().as_usize()..);
            // Others that stand at the same place start with this one, and follow it in order.
            let shortest = lower.get(hit.range()).unwrap_or_default();
            for (literal, text) in first.unwrap_or_default() {
                if !text.starts_with(shortest) {
                    break;
                }
                if rest.starts_with(text) {
                    found(*literal as usize, hit.start(), hit.start() + text.len());
                }
            }
            from = hit.start() + 1;
        }
    }
}

/// [`before`] without the mask: four bytes in one go, where there are as many.
#[inline]
fn bytes_before(text: &[u8], at: usize) -> u32 {
    match text.get(..at).and_then(|text| text.last_chunk()) {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => before(text, at).bytes,
    }
}

/// [`after`] without the mask.
#[inline]
fn bytes_after(text: &[u8], at: usize) -> u32 {
    match text.get(at..).and_then(|text| text.first_chunk()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => after(text, at).bytes,
    }
}

fn before(text: &[u8], at: usize) -> Beside {
    Beside::of(text.get(..at).unwrap_or_default().iter().rev().copied())
}

fn after(text: &[u8], at: usize) -> Beside {
    Beside::of(text.get(at..).unwrap_or_default().iter().copied())
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}

/// The spans of the words of a text.
fn words(text: &[u8]) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.iter().position(|byte| is_word(*byte))?;
        let len = text.get(start..)?.iter().take_while(|byte| is_word(**byte));
        at = start + len.count();
        Some(start..at)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text::{ends_word, starts_word};
    use super::*;

    fn literal(text: &str, start: Edge, end: Edge) -> Literal {
        Literal {
            text: text.as_bytes().into(),
            start,
            end,
        }
    }

    fn found(literals: &[Literal], text: &str) -> Vec<(usize, usize)> {
        let lexicon = Lexicon::new(literals).unwrap();
        let mut all = Vec::new();
        let lower = text.to_ascii_lowercase();
        let mut words = Words::default();
        words.read(text);
        lexicon.find(&words, |at, start, end| {
            assert_eq!(&*literals[at].text, &lower.as_bytes()[start..end]);
            all.push((at, start));
        });
        all.sort_unstable();
        all
    }

    /// What the whole-text search would find, edges respected.
    fn expected(literals: &[Literal], text: &str) -> Vec<(usize, usize)> {
        let lower = text.to_ascii_lowercase();
        let mut all = Vec::new();
        for (at, literal) in literals.iter().enumerate() {
            let wanted = std::str::from_utf8(&literal.text).unwrap();
            for start in 0..lower.len() {
                if !lower.as_bytes()[start..].starts_with(wanted.as_bytes()) {
                    continue;
                }
                let starts = match literal.start {
                    Edge::Word => starts_word(lower.as_bytes(), start),
                    Edge::Part => {
                        starts_word(lower.as_bytes(), start) || starts_part(text.as_bytes(), start)
                    }
                    Edge::Free => true,
                };
                let end = start + wanted.len();
                if starts && (literal.end == Edge::Free || ends_word(lower.as_bytes(), end)) {
                    all.push((at, start));
                }
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn literals_are_found_by_a_word_by_a_part_and_without_either() {
        let literals = [
            literal("rate limit", Edge::Word, Edge::Word),
            literal("limit", Edge::Free, Edge::Free),
            literal("code", Edge::Part, Edge::Word),
            literal("timeouterror", Edge::Part, Edge::Word),
            literal(" not found", Edge::Free, Edge::Free),
            literal("请求", Edge::Word, Edge::Word),
            literal("retry_after", Edge::Word, Edge::Word),
            literal("context_length_exceeded", Edge::Word, Edge::Word),
            literal("preconditionfailederror", Edge::Part, Edge::Word),
            literal("connect", Edge::Word, Edge::Free),
            literal("perminute", Edge::Free, Edge::Word),
        ];
        let cases: [(&str, &[usize]); 17] = [
            ("TokensPerMinute, perminutes, per minute", &[10]),
            ("Connecting, disconnect, reconnect_connect", &[9]),
            ("con connec connect", &[9]),
            ("Rate Limit!", &[0, 1]),
            // Its other edge is for who asks to check.
            ("rate limits", &[0, 1]),
            ("grate limit", &[1]),
            ("a codec, errorCode, zip_code, decode", &[2, 2]),
            ("HTTPTimeoutError", &[3]),
            ("mytimeouterror", &[]),
            ("x not foundling", &[4]),
            ("您的请求", &[5]),
            ("retry_after_ms retry_after", &[6]),
            ("'context_length_exceeded'", &[7]),
            ("context_length_exceeded_", &[]),
            ("HTTPPreconditionFailedError: x", &[8]),
            ("", &[]),
            ("_", &[]),
        ];
        for (text, want) in cases {
            let got: Vec<usize> = found(&literals, text).iter().map(|(at, _)| *at).collect();
            assert_eq!(got, want, "{text}");
        }
    }

    fn starts_part(text: &[u8], at: usize) -> bool {
        let mut words = Words::default();
        words.read(std::str::from_utf8(text).unwrap());
        words.parts().any(|part| part.start == at)
    }

    proptest! {
        /// No more is missed than a search of the whole text would miss; the edges are then checked by who asks.
        #[test]
        fn nothing_is_missed(
            texts in prop::collection::btree_set("[ab_ ']{1,5}|[Aab]{2,3} [ab]{1,2}|é[ab]", 1..12),
            edges in prop::collection::vec((0usize..3, prop::bool::ANY), 12),
            text in "[abAB_ 'é]{0,40}",
        ) {
            let starts = [Edge::Word, Edge::Part, Edge::Free];
            let literals: Vec<Literal> = texts
                .iter()
                .zip(edges)
                .map(|(text, (start, free))| {
                    let end = if free { Edge::Free } else { Edge::Word };
                    literal(&text.to_ascii_lowercase(), starts[start], end)
                })
                .collect();
            let got = found(&literals, &text);
            for wanted in expected(&literals, &text) {
                prop_assert!(got.contains(&wanted), "{wanted:?} in {got:?}: {literals:?}");
            }
        }
    }
}
