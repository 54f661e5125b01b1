//! Where the words of a text start and end, found sixteen bytes at a time.
//!
//! Words are short and of any length, so a loop over bytes is mostly wrong about what comes next, and waits for it. Here
//! each byte's class becomes a bit, and the edges of words are the bits that differ from their neighbours.

use std::ops::Range;

use wide::u8x16;

use super::text::lower_case;

/// The words of one text, and that text in lower case. Kept and filled anew, so that a read allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Words {
    /// The text in lower case, then [`PAD`] zero bytes: sixteen bytes can be taken wherever a word starts.
    lower: Vec<u8>,
    /// How long the text is.
    len: usize,
    /// Starts and ends in turn.
    edges: Vec<u32>,
    /// Where a part of a name starts within a word: `error_code`, `errorCode`, `HTTPError`.
    parts: Vec<u32>,
}

const LANES: usize = 16;
const PAD: usize = LANES;
const BLOCK: usize = u64::BITS as usize;

/// A bit a byte for 64 bytes.
#[derive(Debug, Clone, Copy, Default)]
struct Bits {
    word: u64,
    upper: u64,
    lower: u64,
    underscore: u64,
}

impl Words {
    /// Reads a text of less than 4 GiB.
    pub(super) fn read(&mut self, text: &str) {
        self.lower.clear();
        self.edges.clear();
        self.parts.clear();
        let blocks = text.as_bytes().chunks(BLOCK);
        let mut before = Bits::default();
        let mut base = 0;
        // One empty block more ends what is open.
        for block in blocks.chain([[].as_slice()]) {
            let bits = self.take_in(block);
            let word_before = bits.word << 1 | before.word >> 63;
            push_set(&mut self.edges, base, bits.word ^ word_before);
            // The bit of a part is that of the byte after its start, because that one is asked too.
            let starts = bits.starts_of_parts(&before);
            push_set(&mut self.parts, base.wrapping_sub(1), starts);
            before = bits;
            base += u64::BITS;
        }
        self.len = text.len();
        self.lower.truncate(self.len);
        if !text.is_ascii() {
            self.lower_others(text);
        }
        self.lower.extend([0; PAD]);
    }

    /// Adds a block of at most 64 bytes in lower case.
    fn take_in(&mut self, block: &[u8]) -> Bits {
        let mut bits = Bits::default();
        let mut shift = 0;
        for chunk in block.chunks(LANES) {
            let bytes = lanes(chunk);
            let is_upper = between(bytes, b'A', b'Z');
            let lowered = bytes | is_upper & u8x16::splat(0x20);
            let is_letter = between(lowered, b'a', b'z');
            let is_underscore = bytes.simd_eq(u8x16::splat(b'_'));
            let is_word = is_letter | is_underscore | between(bytes, b'0', b'9');
            let (upper, letter) = (mask(is_upper), mask(is_letter));
            bits.word |= mask(is_word) << shift;
            bits.upper |= upper << shift;
            bits.lower |= (letter & !upper) << shift;
            bits.underscore |= mask(is_underscore) << shift;
            shift += LANES;
            self.lower.extend_from_slice(&lowered.to_array());
        }
        bits
    }

    /// Puts the letters of other scripts into lower case too.
    fn lower_others(&mut self, text: &str) {
        for (at, letter) in text.char_indices().filter(|(_, c)| !c.is_ascii()) {
            let lower = lower_case(letter);
            if lower != letter
                && let Some(bytes) = self.lower.get_mut(at..at + letter.len_utf8())
            {
                lower.encode_utf8(bytes);
            }
        }
    }

    /// The text in lower case, letter by letter where that changes no position.
    pub(super) fn lower(&self) -> &[u8] {
        self.lower.get(..self.len).unwrap_or_default()
    }

    /// The same with zero bytes after it, at least sixteen.
    pub(super) fn lower_padded(&self) -> &[u8] {
        &self.lower
    }

    /// The spans of the words, in order.
    pub(super) fn spans(&self) -> impl Iterator<Item = Range<usize>> {
        self.edges
            .as_chunks()
            .0
            .iter()
            .map(|[start, end]| *start as usize..*end as usize)
    }

    /// The spans of the parts of names: each runs to the end of its word.
    pub(super) fn parts(&self) -> impl Iterator<Item = Range<usize>> {
        let mut words = self.spans();
        let mut word = words.next();
        self.parts.iter().filter_map(move |part| {
            let part = *part as usize;
            while word.as_ref().is_some_and(|word| word.end <= part) {
                word = words.next();
            }
            word.as_ref().map(|word| part..word.end)
        })
    }
}

impl Bits {
    /// The starts of parts, each one bit late.
    fn starts_of_parts(&self, before: &Bits) -> u64 {
        let one_back = |now: u64, before: u64| now << 1 | before >> 63;
        let two_back = |now: u64, before: u64| now << 2 | before >> 62;
        let is_word = one_back(self.word, before.word) & two_back(self.word, before.word);
        let after_underscore = two_back(self.underscore, before.underscore);
        let is_upper = one_back(self.upper, before.upper);
        let after_upper = two_back(self.upper, before.upper);
        is_word & (after_underscore | is_upper & (!after_upper | self.lower))
    }
}

/// The positions of the bits that are set.
fn push_set(positions: &mut Vec<u32>, base: u32, mut bits: u64) {
    let mut found = [0; BLOCK];
    let count = bits.count_ones() as usize;
    for position in &mut found {
        if bits == 0 {
            break;
        }
        *position = base.wrapping_add(bits.trailing_zeros());
        bits &= bits - 1;
    }
    positions.extend_from_slice(found.get(..count).unwrap_or_default());
}

/// Up to sixteen bytes, the rest zero.
pub(super) fn lanes(chunk: &[u8]) -> u8x16 {
    if let Ok(bytes) = <[u8; LANES]>::try_from(chunk) {
        return u8x16::new(bytes);
    }
    let mut bytes = [0; LANES];
    for (to, from) in bytes.iter_mut().zip(chunk) {
        *to = *from;
    }
    u8x16::new(bytes)
}

/// All bits of each byte that lies between two, both included.
pub(super) fn between(bytes: u8x16, from: u8, to: u8) -> u8x16 {
    bytes.max(u8x16::splat(from)).simd_eq(bytes) & bytes.min(u8x16::splat(to)).simd_eq(bytes)
}

/// A bit a byte.
pub(super) fn mask(bytes: u8x16) -> u64 {
    u64::from(bytes.to_bitmask())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text::is_word;
    use super::*;

    /// A word's span and those of its parts, byte by byte.
    fn expected(text: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let bytes = text.as_bytes();
        let (mut words, mut parts) = (Vec::new(), Vec::new());
        let mut at = 0;
        while at < bytes.len() {
            let len = bytes[at..].iter().take_while(|b| is_word(**b)).count();
            let end = at + len;
            if len > 0 {
                words.push(at..end);
            }
            parts.extend(
                (at + 1..end)
                    .filter(|part| starts_part(bytes, *part))
                    .map(|part| part..end),
            );
            at = end + 1;
        }
        (words, parts)
    }

    fn starts_part(text: &[u8], at: usize) -> bool {
        let upper = |at: usize| text.get(at).is_some_and(u8::is_ascii_uppercase);
        let lower = |at: usize| text.get(at).is_some_and(u8::is_ascii_lowercase);
        text[at - 1] == b'_' || upper(at) && (!upper(at - 1) || lower(at + 1))
    }

    fn check(text: &str) {
        let mut words = Words::default();
        words.read(text);
        let (spans, parts) = expected(text);
        assert_eq!(words.spans().collect::<Vec<_>>(), spans, "{text}");
        assert_eq!(words.parts().collect::<Vec<_>>(), parts, "{text}");
        let lower: String = text.chars().map(lower_case).collect();
        assert_eq!(words.lower(), lower.as_bytes());
        assert_eq!(words.lower_padded().len(), text.len() + PAD);
    }

    #[test]
    fn letters_of_other_scripts_are_lowered_in_place() {
        check("ÄÖÜ Превышена КВОТА İ ẞ Σ 余额");
        let mut words = Words::default();
        words.read("Превышена КВОТА");
        assert_eq!(words.lower(), "превышена квота".as_bytes());
    }

    #[test]
    fn words_end_with_the_text_and_over_blocks() {
        for len in 0..140 {
            check(&"a".repeat(len));
            check(&"aB".repeat(len));
            check(&"a_b c".repeat(len));
        }
    }

    proptest! {
        #[test]
        fn words_are_those_that_a_look_at_each_byte_finds(text in "[aZ_ 0é']{0,200}|.{0,200}") {
            check(&text);
        }
    }
}
