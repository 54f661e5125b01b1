//! Compiles the protos with a pure Rust compiler, so that building needs no `protoc`.
//!
//! Leaves in `OUT_DIR`: the generated messages, clients and servers, and `descriptors.bin`, the descriptor set that
//! reflection serves.

use std::path::PathBuf;
use std::{env, error::Error, fs};

use prost_build::Config;
use protox::prost::Message as _;

const FILES: [&str; 3] = [
    "proto/backstop/v1/oracle.proto",
    "proto/backstop/v1/dead_letter.proto",
    "proto/backstop/v1/admin.proto",
];
const INCLUDES: [&str; 2] = ["proto", "third_party"];

fn main() -> Result<(), Box<dyn Error>> {
    for include in INCLUDES {
        println!("cargo:rerun-if-changed={include}");
    }
    println!("cargo:rerun-if-changed=build.rs");

    let descriptors = protox::compile(FILES, INCLUDES)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;

    tonic_prost_build::configure()
        // The same wire form, already a type of ours to fill with details.
        .extern_path(".google.rpc.Status", "::tonic_types::Status")
        .compile_fds_with_config(descriptors, Config::new())?;
    Ok(())
}
