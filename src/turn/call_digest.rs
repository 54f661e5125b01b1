//! When are two calls the same? Same tool, same input: JSON by its canonical form (RFC 8785), else byte for byte.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// A digest of tool and input; 128 bits of SHA-256.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct CallDigest([u8; 16]);

impl CallDigest {
    /// The digest of one call. Equal for two calls of a tool whose inputs are the same JSON in another order or
    /// spacing.
    pub fn of(tool: &str, input: &str) -> Self {
        let canonical = canonical_json(input);
        let (form, bytes): (&[u8], &[u8]) = match &canonical {
            Some(json) => (b"json", json),
            None => (b"text", input.as_bytes()),
        };
        let mut hash = Sha256::new();
        hash.update(u64::try_from(tool.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(tool.as_bytes());
        hash.update(form);
        hash.update(bytes);
        let mut digest = [0; 16];
        for (to, from) in digest.iter_mut().zip(hash.finalize()) {
            *to = from;
        }
        CallDigest(digest)
    }
}

/// The canonical form, where the text is JSON that the canonical form represents without loss. RFC 8785 asks for
/// I-JSON: numbers of more than 15 digits (ids are such numbers) would lose some and two payments would look like
/// one, so those are compared byte for byte, and so are documents that name a member twice.
fn canonical_json(text: &str) -> Option<Vec<u8>> {
    let first = text.trim_start().as_bytes().first()?;
    if !matches!(first, b'{' | b'[') {
        return None;
    }
    let written = Written::scan(text);
    if written.longest_number > EXACT_DIGITS {
        return None;
    }
    let value: Value = serde_json::from_str(text).ok()?;
    if members(&value) != written.members {
        return None;
    }
    serde_json_canonicalizer::to_vec(&value).ok()
}

/// Decimal digits that a double keeps apart.
const EXACT_DIGITS: usize = 15;

fn members(value: &Value) -> usize {
    match value {
        Value::Array(items) => items.iter().map(members).sum(),
        Value::Object(object) => object.len() + object.values().map(members).sum::<usize>(),
        _ => 0,
    }
}

/// What stands outside the strings of a JSON text.
#[derive(Default)]
struct Written {
    /// Colons: one a member, whether or not a later member of the same name replaced it.
    members: usize,
    /// Digits of the number with most of them, exponent included.
    longest_number: usize,
}

impl Written {
    fn scan(text: &str) -> Self {
        let mut written = Written::default();
        let (mut in_string, mut escaped, mut digits) = (false, false, 0);
        for byte in text.bytes() {
            if in_string {
                match byte {
                    _ if escaped => escaped = false,
                    b'\\' => escaped = true,
                    b'"' => in_string = false,
                    _ => {}
                }
                continue;
            }
            match byte {
                b'0'..=b'9' => digits += 1,
                b'.' | b'-' | b'+' | b'e' | b'E' => {}
                _ => digits = 0,
            }
            written.longest_number = written.longest_number.max(digits);
            match byte {
                b'"' => in_string = true,
                b':' => written.members += 1,
                _ => {}
            }
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::CallDigest;

    fn same(a: &str, b: &str) -> bool {
        CallDigest::of("t", a) == CallDigest::of("t", b)
    }

    #[test]
    fn json_is_compared_by_meaning_and_text_by_bytes() {
        assert!(same(r#"{"a":1,"b":[1,2]}"#, r#"{ "b": [1, 2], "a": 1.0 }"#));
        assert!(same(r#"{"a":"\u0041"}"#, r#"{"a":"A"}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":2}"#));
        assert!(!same(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#));
        assert!(!same("ls", "ls "));
        assert!(!same("", " "));
        assert_ne!(CallDigest::of("a", "bc"), CallDigest::of("ab", "c"));
    }

    #[test]
    fn numbers_that_lose_digits_are_never_taken_for_the_same() {
        assert!(!same(
            r#"{"id":9007199254740993}"#,
            r#"{"id":9007199254740992}"#
        ));
        assert!(!same(
            r#"{"id":90071992547409931234}"#,
            r#"{"id":90071992547409931235}"#
        ));
        assert!(!same(r#"{"sum":0.1000000000000000055}"#, r#"{"sum":0.1}"#));
        assert!(same(
            r#"{"id":9007199254740993}"#,
            r#"{"id":9007199254740993}"#
        ));
    }

    #[test]
    fn a_member_named_twice_is_compared_byte_for_byte() {
        assert!(!same(r#"{"to":"a","to":"b"}"#, r#"{"to":"b"}"#));
        assert!(same(
            r#"{"url":"http://x:1/\":"}"#,
            r#"{ "url": "http://x:1/\":" }"#
        ));
    }
}
