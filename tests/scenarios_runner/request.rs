//! Requests from their JSON form: substitution, friendly durations, and faults that name the field.

use std::time::SystemTime;

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor};
use serde_json::{Map, Value as Json};

use super::matcher::parse_duration;

/// Looks up a field by the name of an answer and a path.
pub(crate) type Earlier<'a> = dyn Fn(&str, &str) -> Option<Result<String, String>> + 'a;

/// What the braces in a request's strings stand for.
pub(crate) struct Fill<'a> {
    /// The number of the repetition, from 1.
    pub(crate) i: u32,
    /// The time of the step.
    pub(crate) now: SystemTime,
    /// A field of an earlier answer, by the answer's name and path; `None` where no answer has that name.
    pub(crate) earlier: &'a Earlier<'a>,
}

/// Builds one request of a step.
pub(crate) fn build(
    message: &MessageDescriptor,
    fields: &Map<String, Json>,
    fill: &Fill<'_>,
) -> Result<DynamicMessage, String> {
    let json = object(message, fields, "", fill)?;
    DynamicMessage::deserialize(message.clone(), Json::Object(json))
        .map_err(|error| format!("`request` is no {}: {error}", message.name()))
}

fn object(
    message: &MessageDescriptor,
    fields: &Map<String, Json>,
    above: &str,
    fill: &Fill<'_>,
) -> Result<Map<String, Json>, String> {
    let mut filled = Map::new();
    for (name, value) in fields {
        let path = if above.is_empty() {
            name.clone()
        } else {
            format!("{above}.{name}")
        };
        let field = message.get_field_by_name(name).ok_or_else(|| {
            format!(
                "request path `{path}`: `{}` has no field `{name}`",
                message.name()
            )
        })?;
        let at = |what: String| format!("request path `{path}`: {what}");
        let value = match (field.kind(), value) {
            (Kind::Message(inner), Json::Object(inner_fields)) if !field.is_map() => {
                Json::Object(object(&inner, inner_fields, &path, fill)?)
            }
            (Kind::Message(inner), Json::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Json::Object(item) => Ok(Json::Object(object(&inner, item, &path, fill)?)),
                    other => fill.value(other).map_err(at),
                })
                .collect::<Result<Vec<_>, String>>()?
                .into(),
            (Kind::Message(inner), Json::String(text))
                if inner.full_name() == "google.protobuf.Duration" =>
            {
                let wait =
                    parse_duration(text).ok_or_else(|| at(format!("`{text}` is no duration")))?;
                format!("{}.{:09}s", wait.as_secs(), wait.subsec_nanos()).into()
            }
            (_, other) => fill.value(other).map_err(at)?,
        };
        filled.insert(name.clone(), value);
    }
    Ok(filled)
}

impl Fill<'_> {
    fn value(&self, value: &Json) -> Result<Json, String> {
        Ok(match value {
            Json::String(text) => Json::String(self.text(text)?),
            Json::Array(items) => items
                .iter()
                .map(|item| self.value(item))
                .collect::<Result<Vec<_>, String>>()?
                .into(),
            Json::Object(fields) => Json::Object(
                fields
                    .iter()
                    .map(|(key, value)| Ok((key.clone(), self.value(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            other => other.clone(),
        })
    }

    /// Replaces `{i}`, `{now}`, `{now+5s}`, `{now-5s}` and `{NAME.path}`. Other braces stay: inputs are JSON.
    fn text(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            filled.push_str(before);
            let inside = after.split_once('}').map(|(inside, beyond)| {
                let stands_for = self.stands_for(inside)?;
                Ok::<_, String>(stands_for.map(|value| (value, beyond)))
            });
            match inside.transpose()?.flatten() {
                Some((value, beyond)) => {
                    filled.push_str(&value);
                    rest = beyond;
                }
                None => {
                    filled.push('{');
                    rest = after;
                }
            }
        }
        filled.push_str(rest);
        Ok(filled)
    }

    fn stands_for(&self, inside: &str) -> Result<Option<String>, String> {
        if inside == "i" {
            return Ok(Some(self.i.to_string()));
        }
        if let Some(offset) = inside.strip_prefix("now") {
            let at =
                shifted(self.now, offset).ok_or_else(|| format!("`{{{inside}}}` is no time"))?;
            return Ok(Some(humantime::format_rfc3339_nanos(at).to_string()));
        }
        match inside.split_once('.') {
            Some((name, path)) => (self.earlier)(name, path).transpose(),
            None => Ok(None),
        }
    }
}

fn shifted(now: SystemTime, offset: &str) -> Option<SystemTime> {
    match offset.split_at_checked(1) {
        None => Some(now),
        Some(("+", wait)) => now.checked_add(parse_duration(wait)?),
        Some(("-", wait)) => now.checked_sub(parse_duration(wait)?),
        Some(_) => None,
    }
}
