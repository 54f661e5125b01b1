//! The layers as lists of path and text: a YAML or TOML file, the environment, flags.
//!
//! Formats are read by the `config` crate; YAML passes our own reader first, which knows lines and duplicate keys.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use config::{Environment, FileFormat, Source, Value, ValueKind};

use super::fault::SettingsFault;
use super::fields::FIELDS;
use crate::policy::document::{self, Node};
use crate::policy::fault::nearest;

/// What the command line says; what is absent is left to the other layers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--config`: the settings' file, `.yaml`, `.yml` or `.toml`.
    pub config: Option<PathBuf>,
    /// `--listen`.
    pub listen: Option<SocketAddr>,
    /// `--http-listen`.
    pub http_listen: Option<SocketAddr>,
    /// `--policy`.
    pub policy: Option<PathBuf>,
    /// `--data-dir`.
    pub data_dir: Option<PathBuf>,
    /// `--insecure`; not given, it says nothing.
    pub insecure: bool,
}

/// Where a setting was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Layer {
    BuiltIn,
    File { path: PathBuf, line: Option<u32> },
    Variable(String),
    RustLog,
    Flag(&'static str),
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Layer::BuiltIn => f.write_str("built in"),
            Layer::File { path, line: None } => write!(f, "{}", path.display()),
            Layer::File {
                path,
                line: Some(line),
            } => write!(f, "{}: line {line}", path.display()),
            Layer::Variable(name) => f.write_str(name),
            Layer::RustLog => f.write_str("RUST_LOG"),
            Layer::Flag(name) => f.write_str(name),
        }
    }
}

/// One setting as a layer says it.
pub(super) struct Assignment {
    pub(super) layer: Layer,
    pub(super) path: String,
    /// Its text, or what is wrong with what stands there.
    pub(super) value: Result<String, String>,
}

impl Flags {
    pub(super) fn assignments(&self) -> Vec<Assignment> {
        let path = |path: &PathBuf| path.to_string_lossy().into_owned();
        let flags = [
            (
                "--listen",
                "server.listen",
                self.listen.map(|address| address.to_string()),
            ),
            (
                "--http-listen",
                "server.http_listen",
                self.http_listen.map(|address| address.to_string()),
            ),
            ("--policy", "policy.file", self.policy.as_ref().map(path)),
            ("--data-dir", "data_dir", self.data_dir.as_ref().map(path)),
            (
                "--insecure",
                "server.insecure",
                self.insecure.then(|| "true".to_owned()),
            ),
        ];
        let given = flags.into_iter().filter_map(|(flag, path, text)| {
            Some(Assignment {
                layer: Layer::Flag(flag),
                path: path.to_owned(),
                value: Ok(text?),
            })
        });
        given.collect()
    }
}

const PREFIX: &str = "BACKSTOP";

/// `server.listen` is `BACKSTOP__SERVER__LISTEN`.
pub(super) fn variable(path: &str) -> String {
    format!("{PREFIX}__{}", path.replace('.', "__").to_uppercase())
}

/// The variables that begin with `BACKSTOP__`. One underscore is not ours: Kubernetes sets `BACKSTOP_PORT` and such
/// for a service of that name.
pub(super) fn environment(
    env: &[(String, String)],
    faults: &mut Vec<SettingsFault>,
) -> Vec<Assignment> {
    let source = Environment::with_prefix(PREFIX)
        .separator("__")
        .source(Some(env.iter().cloned().collect()));
    let values = match source.collect() {
        Ok(values) => values,
        Err(error) => {
            let layer = Layer::Variable("environment".to_owned());
            faults.push(SettingsFault::at(&layer, "", error.to_string()));
            return Vec::new();
        }
    };
    let mut assignments: Vec<Assignment> = (values.into_iter())
        .map(|(path, value)| Assignment {
            layer: Layer::Variable(variable(&path)),
            value: text_of(&value),
            path,
        })
        .collect();
    assignments.sort_by(|a, b| a.path.cmp(&b.path));
    assignments
}

/// Everything that the file sets.
pub(super) fn file(path: &Path, faults: &mut Vec<SettingsFault>) -> Vec<Assignment> {
    read_file(path).unwrap_or_else(|found| {
        faults.extend(found);
        Vec::new()
    })
}

fn read_file(path: &Path) -> Result<Vec<Assignment>, Vec<SettingsFault>> {
    let layer = |line| Layer::File {
        path: path.to_owned(),
        line,
    };
    let fault = |problem: String| vec![SettingsFault::at(&layer(None), "", problem)];
    let extension = path.extension().and_then(|extension| extension.to_str());
    let format = match extension {
        Some("yaml" | "yml") => FileFormat::Yaml,
        Some("toml") => FileFormat::Toml,
        _ => {
            return Err(fault(
                "is of no known format; name it `.yaml` or `.toml`".to_owned(),
            ));
        }
    };
    let text =
        std::fs::read_to_string(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
    let lines = match format {
        FileFormat::Yaml => yaml_lines(&text).map_err(|found| {
            let place = |line| layer((line > 0).then_some(line));
            let found = found.into_iter();
            found
                .map(|found| SettingsFault::at(&place(found.line), &found.field, found.problem))
                .collect::<Vec<_>>()
        })?,
        _ => toml_lines(&text),
    };
    let values = config::File::from_str(text.trim_start_matches('\u{feff}'), format)
        .collect()
        .map_err(|error| fault(on_one_line(&error.to_string())))?;
    let mut assignments = Vec::new();
    flatten("", &values, &mut |path, value| {
        let line = lines
            .iter()
            .find(|(at, _)| at == path)
            .map(|(_, line)| *line);
        assignments.push(Assignment {
            layer: layer(line),
            value: text_of(value),
            path: path.to_owned(),
        });
    });
    assignments.sort_by_key(|assignment| match &assignment.layer {
        Layer::File { line, .. } => *line,
        _ => None,
    });
    Ok(assignments)
}

/// A parser's picture of the place, without the drawing: its first line says where, its last what.
fn on_one_line(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next_back()) {
        (Some(first), Some(last)) => format!("{first}: {last}"),
        (first, _) => first.unwrap_or_default().to_owned(),
    }
}

/// Calls `take` for every value that is no section with settings in it.
fn flatten(parent: &str, values: &config::Map<String, Value>, take: &mut impl FnMut(&str, &Value)) {
    for (name, value) in values {
        let path = match parent {
            "" => name.clone(),
            parent => format!("{parent}.{name}"),
        };
        match &value.kind {
            ValueKind::Table(values) if !values.is_empty() || is_section(&path) => {
                flatten(&path, values, take);
            }
            // A section of which everything is commented out.
            ValueKind::Nil if is_section(&path) => {}
            _ => take(&path, value),
        }
    }
}

fn is_section(path: &str) -> bool {
    let prefix = format!("{path}.");
    FIELDS.iter().any(|field| field.path.starts_with(&prefix))
}

fn text_of(value: &Value) -> Result<String, String> {
    match &value.kind {
        ValueKind::Nil => Err("has no value; give it one or leave it out".to_owned()),
        ValueKind::Table(_) => Err("is a mapping, not a single value".to_owned()),
        ValueKind::Array(_) => Err("is a list, not a single value".to_owned()),
        ValueKind::String(text) if text.trim().is_empty() => {
            Err("is empty; give it a value or leave it out".to_owned())
        }
        scalar => Ok(scalar.to_string()),
    }
}

/// The line of every path of a YAML document.
fn yaml_lines(text: &str) -> Result<Vec<(String, u32)>, Vec<crate::policy::PolicyFault>> {
    fn walk(parent: &str, node: &Node, lines: &mut Vec<(String, u32)>) {
        if let document::Value::Mapping(pairs) = &node.value {
            for (key, node) in pairs {
                let path = match parent {
                    "" => key.name.clone(),
                    parent => format!("{parent}.{}", key.name),
                };
                lines.push((path.clone(), key.place.line));
                walk(&path, node, lines);
            }
        }
    }
    let (root, faults) = document::read(text);
    if !faults.is_empty() {
        return Err(faults);
    }
    let mut lines = Vec::new();
    if let Some(root) = root {
        walk("", &root, &mut lines);
    }
    Ok(lines)
}

/// The line of every path of a TOML document that is written in the plain way, `[section]` and `name = value`.
fn toml_lines(text: &str) -> Vec<(String, u32)> {
    let mut section = String::new();
    let mut lines = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let name = header.split(']').next().unwrap_or_default().trim();
            section = format!("{name}.");
        } else if let Some((name, _)) = line.split_once('=') {
            lines.push((format!("{section}{}", name.trim()), number));
        }
    }
    lines
}

/// A name that nobody knows, with the nearest one as it would be written in that layer.
pub(super) fn unknown(layer: Layer, path: &str) -> SettingsFault {
    let is_variable = matches!(layer, Layer::Variable(_));
    let written = |path: &str| match is_variable {
        true => variable(path),
        false => path.to_owned(),
    };
    let prefix = format!("{path}.");
    let inside = FIELDS.iter().find(|field| field.path.starts_with(&prefix));
    let problem = match inside {
        Some(field) => format!(
            "is a section; set what is in it, e.g. `{}`",
            written(field.path)
        ),
        None => "unknown setting".to_owned(),
    };
    let suggestion = match inside {
        Some(_) => None,
        None => nearest(path, FIELDS.iter().map(|field| field.path)).map(written),
    };
    // A variable's name already says which setting is meant.
    let field = if is_variable { "" } else { path };
    SettingsFault {
        suggestion,
        ..SettingsFault::at(&layer, field, problem)
    }
}
