//! Requests from their JSON form: substitution, friendly durations, and faults that name the field.

use std::time::{Duration, SystemTime};

use prost_reflect::{DynamicMessage, Kind, MessageDescriptor};
use serde_json::{Map, Value as Json};

use super::matcher::parse_duration;

/// Builds the `i`-th request (from 1) of a step that is sent at `now`.
pub(crate) fn build(
    message: &MessageDescriptor,
    fields: &Map<String, Json>,
    i: u32,
    now: SystemTime,
) -> Result<DynamicMessage, String> {
    let json = object(message, fields, "", i, now)?;
    DynamicMessage::deserialize(message.clone(), Json::Object(json))
        .map_err(|error| format!("`request` is no {}: {error}", message.name()))
}

fn object(
    message: &MessageDescriptor,
    fields: &Map<String, Json>,
    above: &str,
    i: u32,
    now: SystemTime,
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
        let value = match (field.kind(), value) {
            (Kind::Message(inner), Json::Object(inner_fields)) if !field.is_map() => {
                Json::Object(object(&inner, inner_fields, &path, i, now)?)
            }
            (Kind::Message(inner), Json::Array(items)) => items
                .iter()
                .map(|item| match item {
                    Json::Object(item) => Ok(Json::Object(object(&inner, item, &path, i, now)?)),
                    other => substitute(other, i, now),
                })
                .collect::<Result<Vec<_>, String>>()?
                .into(),
            (Kind::Message(inner), Json::String(text))
                if inner.full_name() == "google.protobuf.Duration" =>
            {
                let wait = parse_duration(text)
                    .ok_or_else(|| format!("request path `{path}`: `{text}` is no duration"))?;
                format!("{}.{:09}s", wait.as_secs(), wait.subsec_nanos()).into()
            }
            (_, other) => substitute(other, i, now)?,
        };
        filled.insert(name.clone(), value);
    }
    Ok(filled)
}

/// Replaces `{i}`, `{now}`, `{now+5s}` and `{now-5s}` in all strings. Other braces stay (inputs are JSON).
fn substitute(value: &Json, i: u32, now: SystemTime) -> Result<Json, String> {
    Ok(match value {
        Json::String(text) => Json::String(substitute_text(text, i, now)?),
        Json::Array(items) => items
            .iter()
            .map(|item| substitute(item, i, now))
            .collect::<Result<Vec<_>, String>>()?
            .into(),
        Json::Object(fields) => Json::Object(
            fields
                .iter()
                .map(|(key, value)| Ok((key.clone(), substitute(value, i, now)?)))
                .collect::<Result<_, String>>()?,
        ),
        other => other.clone(),
    })
}

fn substitute_text(text: &str, i: u32, now: SystemTime) -> Result<String, String> {
    let mut rest = text.replace("{i}", &i.to_string());
    let mut filled = String::new();
    while let Some((before, after)) = rest.split_once("{now") {
        let (offset, beyond) = after
            .split_once('}')
            .ok_or_else(|| format!("`{{now` without its end in `{text}`"))?;
        let at = shifted(now, offset).ok_or_else(|| format!("`{{now{offset}}}` is no time"))?;
        filled.push_str(before);
        filled.push_str(&humantime::format_rfc3339_nanos(at).to_string());
        rest = beyond.to_owned();
    }
    filled.push_str(&rest);
    Ok(filled)
}

fn shifted(now: SystemTime, offset: &str) -> Option<SystemTime> {
    let by = |text: &str| -> Option<Duration> { parse_duration(text) };
    match offset.split_at_checked(1) {
        None => Some(now),
        Some(("+", wait)) => now.checked_add(by(wait)?),
        Some(("-", wait)) => now.checked_sub(by(wait)?),
        Some(_) => None,
    }
}
