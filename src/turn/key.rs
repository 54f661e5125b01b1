//! Idempotency keys: part of the contract, computed alike by the oracle and by every client.

use sha2::{Digest, Sha256};

/// Hex SHA-256 of `backstop-key-v1`, tenant, turn, operation and the revision in decimal, each after its length in
/// bytes as four bytes, big-endian. Test vectors stand beside the protos.
pub fn derive(tenant: &str, turn_id: &str, operation_id: &str, revision: u32) -> String {
    let mut hash = Sha256::new();
    let revision = revision.to_string();
    for part in ["backstop-key-v1", tenant, turn_id, operation_id, &revision] {
        let length = u32::try_from(part.len()).unwrap_or(u32::MAX);
        hash.update(length.to_be_bytes());
        hash.update(part.as_bytes());
    }
    let mut hex = String::with_capacity(64);
    for byte in hash.finalize() {
        for half in [byte >> 4, byte & 15] {
            hex.push(char::from_digit(u32::from(half), 16).unwrap_or('0'));
        }
    }
    hex
}
