//! What a value has to be: equal to something, or as a matcher says.
//!
//! A matcher that could never fail, or never hold, at its path is a fault of the scenario ([`Matcher::compile`]).

use std::time::Duration;

use serde_json::Value as Json;

use super::path::{Shape, Target};

/// One expectation of one value.
#[derive(Debug, Clone)]
pub(crate) enum Matcher {
    /// This very value.
    Equal(Json),
    /// All of these.
    All(Vec<Condition>),
}

/// One key of a matcher.
#[derive(Debug, Clone)]
pub(crate) enum Condition {
    /// At least.
    Min(Json),
    /// At most.
    Max(Json),
    /// The text has this in it; the list has this item.
    Contains(Json),
    /// The text or list is without it (an absent one is).
    Excludes(Json),
    /// At most so many words.
    MaxWords(usize),
    /// Not set.
    Absent,
    /// Set.
    Present,
    /// As an earlier answer has it: its name and path.
    SameAs(String, String),
    /// Unlike what an earlier answer has.
    DiffersFrom(String, String),
    /// One of these values.
    OneOf(Vec<Json>),
}

impl Matcher {
    /// Reads an expectation and holds it against what its path points at.
    pub(crate) fn compile(written: &Json, target: &Target) -> Result<Self, String> {
        let Json::Object(keys) = written else {
            check_value(written, &target.shape)?;
            return Ok(Matcher::Equal(written.clone()));
        };
        if keys.is_empty() {
            return Err("an empty matcher holds for everything".to_owned());
        }
        keys.iter()
            .map(|(key, value)| Condition::compile(key, value, &target.shape))
            .collect::<Result<Vec<_>, _>>()
            .map(Matcher::All)
    }

    /// The named answers that it refers to, with their paths.
    pub(crate) fn references(&self) -> Vec<(&str, &str)> {
        let Matcher::All(conditions) = self else {
            return Vec::new();
        };
        conditions
            .iter()
            .filter_map(|condition| match condition {
                Condition::SameAs(name, path) | Condition::DiffersFrom(name, path) => {
                    Some((name.as_str(), path.as_str()))
                }
                _ => None,
            })
            .collect()
    }

    /// Compares; the error says what was wanted. `earlier` looks up NAME and path among the answers so far.
    pub(crate) fn check<'a>(
        &self,
        got: Option<&Json>,
        target: &Target,
        earlier: impl Fn(&str, &str) -> Option<&'a Json>,
    ) -> Result<(), String> {
        let default = default_of(target);
        // Absent and default are the same on the wire where the field has no presence.
        let seen = got.or(default.as_ref());
        match self {
            Matcher::Equal(wanted) => {
                let same = seen.is_some_and(|seen| equal(wanted, seen, &target.shape));
                if same {
                    Ok(())
                } else {
                    Err(wanted.to_string())
                }
            }
            Matcher::All(conditions) => conditions
                .iter()
                .try_for_each(|condition| condition.check(got, seen, &target.shape, &earlier)),
        }
    }
}

impl Condition {
    fn compile(key: &str, value: &Json, shape: &Shape) -> Result<Self, String> {
        let text_or_list = matches!(shape, Shape::Text | Shape::List(_));
        let misplaced = |what: &str| Err(format!("`{key}` needs {what}"));
        let flag = |condition| match value {
            Json::Bool(true) => Ok(condition),
            _ => Err(format!("`{key}` can only be true")),
        };
        match key {
            "min" | "max" => {
                let fits = match shape {
                    Shape::Number => value.is_number(),
                    Shape::Duration => value.as_str().and_then(parse_duration).is_some(),
                    _ => return misplaced("a number or a duration"),
                };
                if !fits {
                    return Err(format!("`{key}: {value}` does not fit the field's type"));
                }
                Ok(if key == "min" {
                    Condition::Min(value.clone())
                } else {
                    Condition::Max(value.clone())
                })
            }
            "contains" | "excludes" => {
                match shape {
                    Shape::List(item) => check_value(value, item)?,
                    _ if !text_or_list => return misplaced("a text or a list"),
                    _ if !value.is_string() => return Err(format!("`{key}` needs a string")),
                    _ => {}
                }
                if value.as_str() == Some("") {
                    return Err(format!("every text has an empty `{key}`"));
                }
                Ok(if key == "contains" {
                    Condition::Contains(value.clone())
                } else {
                    Condition::Excludes(value.clone())
                })
            }
            "max_words" => match (shape, value.as_u64()) {
                (Shape::Text, Some(words)) => usize::try_from(words)
                    .map(Condition::MaxWords)
                    .map_err(|error| error.to_string()),
                _ => misplaced("a text and a whole number"),
            },
            "absent" => flag(Condition::Absent),
            "present" => flag(Condition::Present),
            "same_as" | "differs_from" => {
                let (name, path) = value
                    .as_str()
                    .and_then(|text| text.split_once('.'))
                    .ok_or_else(|| format!("`{key}` is written NAME.path"))?;
                let (name, path) = (name.to_owned(), path.to_owned());
                Ok(if key == "same_as" {
                    Condition::SameAs(name, path)
                } else {
                    Condition::DiffersFrom(name, path)
                })
            }
            "one_of" => {
                let values = value
                    .as_array()
                    .filter(|values| !values.is_empty())
                    .ok_or("`one_of` needs a list")?;
                values
                    .iter()
                    .try_for_each(|value| check_value(value, shape))?;
                Ok(Condition::OneOf(values.clone()))
            }
            _ => Err(format!("unknown matcher `{key}`")),
        }
    }

    /// `got` is what the answer has, `seen` the same with the proto default filled in.
    fn check<'a>(
        &self,
        got: Option<&Json>,
        seen: Option<&Json>,
        shape: &Shape,
        earlier: &impl Fn(&str, &str) -> Option<&'a Json>,
    ) -> Result<(), String> {
        let (holds, wanted) = match self {
            Condition::Min(bound) => (
                quantity(seen, bound).is_some_and(|(got, min)| got >= min),
                format!("at least {bound}"),
            ),
            Condition::Max(bound) => (
                quantity(seen, bound).is_some_and(|(got, max)| got <= max),
                format!("at most {bound}"),
            ),
            Condition::Contains(part) => (holds_part(got, part), format!("something with {part}")),
            Condition::Excludes(part) => (!holds_part(got, part), format!("nothing with {part}")),
            Condition::MaxWords(most) => (
                got.and_then(Json::as_str)
                    .is_some_and(|text| text.split_whitespace().count() <= *most),
                format!("a text of at most {most} words"),
            ),
            Condition::Absent => (got.is_none(), "absent".to_owned()),
            Condition::Present => (got.is_some(), "present".to_owned()),
            Condition::SameAs(name, path) => {
                let other = earlier(name, path);
                (
                    got.is_some() && got == other,
                    format!("the same as {name}.{path}, {}", shown(other)),
                )
            }
            Condition::DiffersFrom(name, path) => {
                let other = earlier(name, path);
                (
                    got.is_some() && other.is_some() && got != other,
                    format!("other than {name}.{path}, {}", shown(other)),
                )
            }
            Condition::OneOf(values) => (
                seen.is_some_and(|seen| values.iter().any(|value| equal(value, seen, shape))),
                format!("one of {}", Json::Array(values.clone())),
            ),
        };
        if holds { Ok(()) } else { Err(wanted) }
    }
}

/// A value for a person; absent is said in words.
pub(crate) fn shown(value: Option<&Json>) -> String {
    value.map_or_else(|| "absent".to_owned(), Json::to_string)
}

/// Reads `1.5s` (as answers have it), `200ms`, `1m 30s`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let seconds = text.strip_suffix('s').and_then(|number| {
        number
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.')
            .then(|| number.parse::<f64>().ok())?
    });
    match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => humantime::parse_duration(text).ok(),
    }
}

/// Refuses values that the field can never have: another type, or a word that its enum does not know.
pub(crate) fn check_value(value: &Json, shape: &Shape) -> Result<(), String> {
    let fits = match (shape, value) {
        (_, Json::Null) => return Err("null is written `{absent: true}`".to_owned()),
        (Shape::Word(words), Json::String(word)) => {
            if words.get_value_by_name(word).is_none() {
                return Err(format!("`{word}` is no value of {}", words.name()));
            }
            true
        }
        (Shape::Duration, Json::String(text)) => parse_duration(text).is_some(),
        (Shape::List(item), Json::Array(items)) => {
            items
                .iter()
                .try_for_each(|value| check_value(value, item))?;
            true
        }
        (Shape::Timestamp | Shape::Text, Json::String(_))
        | (Shape::Number, Json::Number(_))
        | (Shape::Flag, Json::Bool(_)) => true,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{value} does not fit the field's type"))
    }
}

fn default_of(target: &Target) -> Option<Json> {
    if target.has_presence {
        return None;
    }
    match &target.shape {
        Shape::Number => Some(Json::from(0)),
        Shape::Text => Some(Json::from("")),
        Shape::Flag => Some(Json::from(false)),
        Shape::List(_) => Some(Json::Array(Vec::new())),
        Shape::Word(words) => Some(Json::from(words.default_value().name())),
        Shape::Message | Shape::Duration | Shape::Timestamp | Shape::Map => None,
    }
}

fn equal(wanted: &Json, got: &Json, shape: &Shape) -> bool {
    match (shape, wanted, got) {
        (Shape::Duration, Json::String(wanted), Json::String(got)) => {
            let wanted = parse_duration(wanted);
            wanted.is_some() && wanted == parse_duration(got)
        }
        (_, Json::Number(wanted), Json::Number(got)) => wanted.as_f64() == got.as_f64(),
        (Shape::List(item), Json::Array(wanted), Json::Array(got)) => {
            wanted.len() == got.len() && wanted.iter().zip(got).all(|(w, g)| equal(w, g, item))
        }
        _ => wanted == got,
    }
}

/// Both as comparable numbers: plain, or seconds.
fn quantity(got: Option<&Json>, bound: &Json) -> Option<(f64, f64)> {
    let seconds = |value: &Json| Some(parse_duration(value.as_str()?)?.as_secs_f64());
    let got = got?;
    match bound {
        Json::Number(bound) => Some((got.as_f64()?, bound.as_f64()?)),
        _ => Some((seconds(got)?, seconds(bound)?)),
    }
}

fn holds_part(got: Option<&Json>, part: &Json) -> bool {
    match (got, part) {
        (Some(Json::String(text)), Json::String(part)) => text.contains(part.as_str()),
        (Some(Json::Array(items)), part) => items.contains(part),
        _ => false,
    }
}
