//! The generated messages, clients and servers of `backstop.v1`, and the descriptor set that reflection serves.
//!
//! Nothing but `server/` and programs that talk to a server should name these types: the core speaks in
//! `crate::domain`.

pub use v1::*;

#[allow(
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::unreachable,
    clippy::indexing_slicing,
    rustdoc::all,
    reason = "generated code is the generator's"
)]
mod v1 {
    tonic::include_proto!("backstop.v1");
}

/// The encoded `FileDescriptorSet` of every message and service, with what they import.
pub const FILE_DESCRIPTOR_SET: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
