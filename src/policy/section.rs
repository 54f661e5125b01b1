//! Reading one mapping of the document field by field: what is asked for is known, what is left over is a fault.
//!
//! So the list of known names cannot drift from what is read, and a wrong value never hides the next one.

use std::collections::HashMap;
use std::str::FromStr;
use std::time::Duration;

use super::document::{Key, Node, Place, Value, join};
use super::fault::{PolicyFault, nearest};
use super::values::{Bound, Wrong, bounded_duration, describe, valid_name, whole_number};
use crate::domain::{Limit, ParseNameError};

/// What was found wrong so far, and where each field that was read stands (for faults between fields).
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) faults: Vec<PolicyFault>,
    pub(crate) warnings: Vec<(u32, String)>,
    places: HashMap<String, Place>,
}

impl Findings {
    /// A fault at a field that was read before; at the document's start where it was not.
    pub(crate) fn fault_at(&mut self, path: &str, problem: impl Into<String>) {
        let place = self.place(path);
        self.faults.push(place.fault(path, problem));
    }

    /// A remark at a field that was read before.
    pub(crate) fn warn_at(&mut self, path: &str, remark: &str) {
        let line = self.place(path).line;
        self.warnings
            .push((line, format!("line {line}, {path}: {remark}")));
    }

    /// Whether the field is written in the document.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.places.contains_key(path)
    }

    fn place(&self, path: &str) -> Place {
        self.places.get(path).copied().unwrap_or(Place::START)
    }

    pub(crate) fn remember(&mut self, path: &str, place: Place) {
        self.places.insert(path.to_owned(), place);
    }
}

/// One mapping while it is read.
pub(crate) struct Section<'n> {
    path: String,
    pairs: &'n [(Key, Node)],
    known: Vec<&'static str>,
}

/// A value that was asked for, with its path.
pub(crate) struct Field<'n> {
    pub(crate) node: &'n Node,
    pub(crate) path: String,
}

impl Field<'_> {
    pub(crate) fn fault(&self, problem: impl Into<String>) -> PolicyFault {
        self.node.place.fault(self.path.clone(), problem)
    }
}

impl<'n> Section<'n> {
    /// Opens a mapping; nothing at all counts as an empty one.
    pub(crate) fn open(node: &'n Node, path: &str, findings: &mut Findings) -> Option<Self> {
        findings.remember(path, node.place);
        let pairs: &[(Key, Node)] = match &node.value {
            Value::Null => &[],
            Value::Mapping(pairs) => pairs,
            other => {
                let problem = format!("is {}, not a mapping of fields", describe(other));
                findings.faults.push(node.place.fault(path, problem));
                return None;
            }
        };
        Some(Section {
            path: path.to_owned(),
            pairs,
            known: Vec::new(),
        })
    }

    /// Reports what nobody asked for.
    pub(crate) fn close(self, findings: &mut Findings) {
        for (key, _) in self.pairs {
            if self.known.contains(&key.name.as_str()) {
                continue;
            }
            let problem = if key.name == "<<" {
                "merge keys are not supported; write the fields out"
            } else {
                "unknown field"
            };
            let mut fault = key.place.fault(join(&self.path, &key.name), problem);
            fault.suggestion = nearest(&key.name, self.known.iter().copied()).map(str::to_owned);
            findings.faults.push(fault);
        }
    }

    /// All entries of a mapping whose keys are names given by the operator.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&'n Key, Field<'n>)> + use<'n> {
        let path = self.path.clone();
        self.pairs.iter().map(move |(key, node)| {
            let path = join(&path, &key.name);
            (key, Field { node, path })
        })
    }

    /// Whether one of the fields is written, with whatever value.
    pub(crate) fn says_any(&self, names: &[&str]) -> bool {
        self.pairs
            .iter()
            .any(|(key, _)| names.contains(&key.name.as_str()))
    }

    fn get(&mut self, name: &'static str, findings: &mut Findings) -> Option<Field<'n>> {
        self.known.push(name);
        let (key, node) = self.pairs.iter().find(|(key, _)| key.name == name)?;
        let path = join(&self.path, name);
        findings.remember(&path, key.place);
        Some(Field { node, path })
    }

    /// A section below this one.
    pub(crate) fn section(&mut self, name: &'static str, findings: &mut Findings) -> Option<Self> {
        let field = self.get(name, findings)?;
        Section::open(field.node, &field.path, findings)
    }

    /// The items of a list.
    pub(crate) fn list(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
    ) -> Option<Vec<Field<'n>>> {
        let field = self.get(name, findings)?;
        let items: &[Node] = match &field.node.value {
            Value::Null => &[],
            Value::Sequence(items) => items,
            other => {
                let problem = format!("is {}, not a list", describe(other));
                findings.faults.push(field.fault(problem));
                return None;
            }
        };
        let fields = items.iter().enumerate().map(|(index, node)| Field {
            node,
            path: format!("{}[{index}]", field.path),
        });
        Some(fields.collect())
    }

    /// Any one value, read by `parse`, which says what is wrong with it.
    pub(crate) fn value<T>(
        &mut self,
        name: &'static str,
        findings: &mut Findings,
        parse: impl FnOnce(&Value) -> Result<T, Wrong>,
    ) -> Option<T> {
        let field = self.get(name, findings)?;
        read(&field, findings, parse)
    }

    /// A whole number, or `none`.
    pub(crate) fn limit(
        &mut self,
        name: &'static str,
        bound: Bound,
        findings: &mut Findings,
    ) -> Option<Limit> {
        self.value(name, findings, |value| match value {
            Value::Scalar { text, .. } if text == "none" => Ok(Limit::Unlimited),
            _ => whole_number(value, bound).map(Limit::At),
        })
    }

    /// A duration such as `1m30s` within bounds; both inclusive.
    pub(crate) fn duration(
        &mut self,
        name: &'static str,
        min: Duration,
        findings: &mut Findings,
    ) -> Option<Duration> {
        self.value(name, findings, |value| bounded_duration(value, min))
    }

    /// `true` or `false`.
    pub(crate) fn boolean(&mut self, name: &'static str, findings: &mut Findings) -> Option<bool> {
        self.value(name, findings, |value| match value {
            Value::Scalar { text, plain: true } => match text.as_str() {
                "true" | "True" | "TRUE" => Ok(true),
                "false" | "False" | "FALSE" => Ok(false),
                "yes" | "Yes" | "on" | "On" | "y" => Err(Wrong::plain("write `true`")),
                "no" | "No" | "off" | "Off" | "n" => Err(Wrong::plain("write `false`")),
                _ => Err(Wrong::plain(format!("`{text}` is not `true` or `false`"))),
            },
            other => Err(Wrong::plain(format!(
                "is {}, not `true` or `false`",
                describe(other)
            ))),
        })
    }

    /// A number between two bounds, both inclusive.
    pub(crate) fn number(
        &mut self,
        name: &'static str,
        min: f64,
        max: f64,
        findings: &mut Findings,
    ) -> Option<f64> {
        self.value(name, findings, |value| {
            let number = match value {
                Value::Scalar { text, plain: true } => text.parse::<f64>().ok(),
                _ => None,
            };
            match number {
                Some(number) if (min..=max).contains(&number) => Ok(number),
                Some(_) => Err(Wrong::plain(format!("has to be from {min} to {max}"))),
                None => Err(Wrong::plain(format!(
                    "is {}, not a number",
                    describe(value)
                ))),
            }
        })
    }

    /// One word of a closed list.
    pub(crate) fn word<T>(
        &mut self,
        name: &'static str,
        all: &[T],
        word_of: fn(T) -> &'static str,
        findings: &mut Findings,
    ) -> Option<T>
    where
        T: FromStr<Err = ParseNameError> + Copy,
    {
        let words: Vec<&'static str> = all.iter().map(|value| word_of(*value)).collect();
        self.value(name, findings, |value| match value {
            Value::Scalar { text, .. } => text.parse::<T>().map_err(|_| Wrong {
                problem: match words.len() {
                    0..=6 => format!("`{text}` is not one of {}", words.join(", ")),
                    _ => format!("`{text}` is not a {name}"),
                },
                suggestion: nearest(text, words.iter().copied()).map(str::to_owned),
            }),
            other => Err(Wrong::plain(format!("is {}, not a word", describe(other)))),
        })
    }

    /// A name that the operator gives, see [`valid_name`].
    pub(crate) fn name(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        self.value(name, findings, |value| match value {
            Value::Scalar { text, plain } => {
                if *plain && (text.parse::<f64>().is_ok() || matches!(&**text, "true" | "false")) {
                    return Err(Wrong::plain(format!(
                        "is {}, not a name; put quotes around it if it is one",
                        describe(value)
                    )));
                }
                valid_name(text).map_err(Wrong::plain)?;
                Ok(text.clone())
            }
            other => Err(Wrong::plain(format!("is {}, not a name", describe(other)))),
        })
    }

    /// Free text or a code; digits need no quotes, since they are taken as they are written.
    pub(crate) fn text(&mut self, name: &'static str, findings: &mut Findings) -> Option<String> {
        self.value(name, findings, |value| match value {
            Value::Scalar { text, .. } if text.trim().is_empty() => {
                Err(Wrong::plain("is empty; it would match everything"))
            }
            Value::Scalar { text, .. } if text.len() > 1_000 => {
                Err(Wrong::plain("is longer than 1,000 bytes"))
            }
            Value::Scalar { text, .. } => Ok(text.clone()),
            other => Err(Wrong::plain(format!("is {}, not text", describe(other)))),
        })
    }
}

/// Reads one value; a value that is missing is named as such whatever was expected.
pub(crate) fn read<T>(
    field: &Field<'_>,
    findings: &mut Findings,
    parse: impl FnOnce(&Value) -> Result<T, Wrong>,
) -> Option<T> {
    let parsed = match &field.node.value {
        Value::Null => Err(Wrong::plain(
            "has no value; give it one or leave the field out",
        )),
        value => parse(value),
    };
    match parsed {
        Ok(value) => Some(value),
        Err(Wrong {
            problem,
            suggestion,
        }) => {
            let fault = field.fault(problem);
            findings.faults.push(PolicyFault {
                suggestion,
                ..fault
            });
            None
        }
    }
}
