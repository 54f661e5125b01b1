//! Compiles the protos with a pure Rust compiler, so that building needs no `protoc`.
//!
//! Leaves in `OUT_DIR`: the generated messages, clients and servers, `descriptors.bin`, the descriptor set that
//! reflection serves, and `rule_files.rs`, the list of the files under `rules/` with their contents.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, error::Error, fs};

use prost_build::Config;
use protox::prost::Message as _;

const FILES: [&str; 3] = [
    "proto/backstop/v1/oracle.proto",
    "proto/backstop/v1/dead_letter.proto",
    "proto/backstop/v1/admin.proto",
];
const RULES: &str = "rules";
const INCLUDES: [&str; 2] = ["proto", "third_party"];

fn main() -> Result<(), Box<dyn Error>> {
    for include in INCLUDES.into_iter().chain([RULES]) {
        println!("cargo:rerun-if-changed={include}");
    }
    println!("cargo:rerun-if-changed=build.rs");

    let descriptors = protox::compile(FILES, INCLUDES)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    fs::write(out.join("rule_files.rs"), rule_files(Path::new(RULES))?)?;

    tonic_prost_build::configure()
        // The same wire form, already a type of ours to fill with details.
        .extern_path(".google.rpc.Status", "::tonic_types::Status")
        .compile_fds_with_config(descriptors, Config::new())?;
    Ok(())
}

/// A list of stem and content of every rule file, in order of name: adding a vendor needs no Rust.
fn rule_files(directory: &Path) -> Result<String, Box<dyn Error>> {
    let mut files: Vec<PathBuf> = fs::read_dir(directory.canonicalize()?)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|path| path.extension().is_some_and(|end| end == "yaml"));
    files.sort_by(|a, b| a.file_stem().cmp(&b.file_stem()));
    let mut list = String::from("&[\n");
    for path in files {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(list, "({stem:?}, include_str!({path:?})),")?;
    }
    list.push_str("]\n");
    Ok(list)
}
