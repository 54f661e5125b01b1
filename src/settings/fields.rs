//! The table of all settings: the path, how a text becomes the value, and how the value is printed.
//!
//! In the order in which they are printed. Texts come from every layer alike, so one parser serves them all.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{LogFormat, Settings, size};
use crate::policy::duration;
use crate::policy::fault::nearest;

/// One setting.
pub(super) struct Field {
    /// E.g. `server.listen`; the environment's name follows from it.
    pub(super) path: &'static str,
    /// Takes a text over, or says what is wrong with it.
    pub(super) set: fn(&mut Settings, &str) -> Result<(), String>,
    /// Prints the value so that a YAML file with it sets it again.
    pub(super) get: fn(&Settings) -> String,
}

const SECOND: Duration = Duration::from_secs(1);
const WEEK: Duration = duration::LONGEST;

/// Takes a parsed value over.
macro_rules! field {
    ($path:literal, $($place:ident).+, $parse:expr, $print:expr) => {
        Field {
            path: $path,
            set: |settings, text| {
                settings.$($place).+ = $parse(text)?;
                Ok(())
            },
            get: |settings| $print(&settings.$($place).+),
        }
    };
}

pub(super) const FIELDS: &[Field] = &[
    field!("server.listen", server.listen, address, print_address),
    field!(
        "server.http_listen",
        server.http_listen,
        address,
        print_address
    ),
    field!(
        "server.insecure",
        server.insecure,
        boolean,
        ToString::to_string
    ),
    field!(
        "server.drain_timeout",
        server.drain_timeout,
        |text| time(text, SECOND, SECOND * 600),
        |value: &Duration| duration::print(*value)
    ),
    field!(
        "server.max_message_bytes",
        server.max_message_bytes,
        // Inputs and bodies come as they are; a smaller limit would hide failures.
        |text| bytes(text, 8 << 20, 256 << 20).map(as_usize),
        |value: &usize| size::print(as_u64(*value))
    ),
    field!(
        "policy.file",
        policy.file,
        optional_path,
        print_optional_path
    ),
    field!(
        "policy.poll_interval",
        policy.poll_interval,
        |text| time(text, SECOND / 10, SECOND * 3_600),
        |value: &Duration| duration::print(*value)
    ),
    field!("data_dir", data_dir, path, |value: &PathBuf| print_path(
        value
    )),
    field!(
        "store.max_turns",
        store.max_turns,
        |text| count(text, 1, 10_000_000).map(as_usize),
        ToString::to_string
    ),
    field!(
        "store.idle_timeout",
        store.idle_timeout,
        |text| time(text, SECOND, WEEK),
        |value: &Duration| duration::print(*value)
    ),
    field!(
        "store.keep_ended",
        store.keep_ended,
        |text| time(text, SECOND, WEEK),
        |value: &Duration| duration::print(*value)
    ),
    field!(
        "dead_letters.patience",
        dead_letters.patience,
        |text| time(text, SECOND / 1_000, SECOND * 10),
        |value: &Duration| duration::print(*value)
    ),
    field!(
        "dead_letters.spool_letters",
        dead_letters.spool_letters,
        |text| count(text, 1, 10_000_000).map(as_usize),
        ToString::to_string
    ),
    field!(
        "dead_letters.spool_bytes",
        dead_letters.spool_bytes,
        |text| bytes(text, 1 << 20, 64 << 30).map(as_usize),
        |value: &usize| size::print(as_u64(*value))
    ),
    field!(
        "dead_letters.max_file_bytes",
        dead_letters.max_file_bytes,
        |text| match text {
            "none" => Ok(None),
            text => bytes(text, 1 << 20, 1 << 44).map(Some),
        },
        |value: &Option<u64>| value.map_or_else(|| "none".to_owned(), size::print)
    ),
    field!("log.format", log.format, log_format, ToString::to_string),
    field!("log.level", log.level, log_level, |value: &String| quoted(
        value
    )),
];

fn as_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        let port = text.rsplit_once(':').map(|(_, port)| port).unwrap_or(text);
        let port = port.parse::<u16>().unwrap_or(50_051);
        format!("`{text}` is not an address and a port; write e.g. `127.0.0.1:{port}`")
    })
}

/// Quoted, because the brackets of IPv6 are a list in YAML.
fn print_address(address: &SocketAddr) -> String {
    quoted(&address.to_string())
}

fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("`{text}` is not `true` or `false`")),
    }
}

fn time(text: &str, min: Duration, max: Duration) -> Result<Duration, String> {
    let parsed = duration::parse(text).map_err(|fault| fault.to_string())?;
    if (min..=max).contains(&parsed) {
        Ok(parsed)
    } else {
        let (min, max) = (duration::print(min), duration::print(max));
        Err(format!("`{text}` is not between {min} and {max}"))
    }
}

fn count(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let number = (is_digits || text.starts_with('-')).then(|| text.parse::<i128>());
    match number {
        Some(Ok(number)) => u64::try_from(number)
            .ok()
            .filter(|number| (min..=max).contains(number))
            .ok_or_else(|| format!("{text} is not between {min} and {max}")),
        _ => Err(format!("`{text}` is not a whole number")),
    }
}

fn bytes(text: &str, min: u64, max: u64) -> Result<u64, String> {
    let parsed = size::parse(text)?;
    if (min..=max).contains(&parsed) {
        Ok(parsed)
    } else {
        let (min, max) = (size::print(min), size::print(max));
        Err(format!("`{text}` is not between {min} and {max}"))
    }
}

fn path(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        Err("is empty; name a path".to_owned())
    } else {
        Ok(PathBuf::from(text))
    }
}

/// `none` stands for no file, so that a layer can take back what a lower one set.
fn optional_path(text: &str) -> Result<Option<PathBuf>, String> {
    match text {
        "none" => Ok(None),
        text => path(text).map(Some),
    }
}

fn print_path(path: &Path) -> String {
    quoted(&path.to_string_lossy())
}

fn print_optional_path(path: &Option<PathBuf>) -> String {
    (path.as_deref()).map_or_else(|| "none".to_owned(), print_path)
}

/// As YAML reads it back as text: in JSON's quotes, which YAML shares.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

fn log_format(text: &str) -> Result<LogFormat, String> {
    text.parse().map_err(|_| {
        let known = LogFormat::ALL.iter().map(|format| format.name());
        unknown_word(text, &known.collect::<Vec<_>>())
    })
}

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// A level, or several directives. A lone word that is no level would silently be taken for a module's name.
fn log_level(text: &str) -> Result<String, String> {
    for directive in text.split(',') {
        let level = directive
            .rsplit_once('=')
            .map_or(directive, |(_, level)| level);
        if !LEVELS.contains(&level.trim().to_lowercase().as_str()) {
            return Err(unknown_word(level.trim(), &LEVELS));
        }
    }
    Ok(text.to_owned())
}

fn unknown_word(text: &str, known: &[&str]) -> String {
    let near = nearest(text, known.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
    format!("`{text}` is not one of {}{near}", known.join(", "))
}
