//! Paths into an answer: `verdict.retry_after`, `operations.0.tool` (a position in a list), `headers.x` (a map's key).

use prost_reflect::{EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor};
use serde_json::Value as Json;

/// What a path points at, as far as the matchers care.
#[derive(Debug, Clone)]
pub(crate) enum Shape {
    /// A message, also one of the well-known types that JSON shows as something else.
    Message,
    /// `google.protobuf.Duration`.
    Duration,
    /// `google.protobuf.Timestamp`.
    Timestamp,
    /// Any number.
    Number,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// An enum.
    Word(EnumDescriptor),
    /// A list of these.
    List(Box<Shape>),
    /// A map.
    Map,
}

/// A path that exists.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    /// What is there.
    pub(crate) shape: Shape,
    /// Whether absent and default can be told apart on the wire.
    pub(crate) has_presence: bool,
}

/// Finds what a path points at in a message; the error names the part that does not exist.
pub(crate) fn resolve(message: &MessageDescriptor, path: &str) -> Result<Target, String> {
    let (field, rest) = first_field(message, path)?;
    below(&field, rest)
}

/// The value at a path of an answer.
pub(crate) fn look_up<'a>(answer: &'a Json, path: &str) -> Option<&'a Json> {
    path.split('.').try_fold(answer, |value, part| match value {
        Json::Object(fields) => fields.get(part),
        Json::Array(items) => items.get(part.parse::<usize>().ok()?),
        _ => None,
    })
}

fn first_field<'a>(
    message: &MessageDescriptor,
    path: &'a str,
) -> Result<(FieldDescriptor, Option<&'a str>), String> {
    let (name, rest) = match path.split_once('.') {
        Some((name, rest)) => (name, Some(rest)),
        None => (path, None),
    };
    let field = message
        .get_field_by_name(name)
        .ok_or_else(|| format!("`{}` has no field `{name}`", message.name()))?;
    Ok((field, rest))
}

fn below(field: &FieldDescriptor, rest: Option<&str>) -> Result<Target, String> {
    let single = shape_of(&field.kind());
    let Some(rest) = rest else {
        let shape = if field.is_map() {
            Shape::Map
        } else if field.is_list() {
            Shape::List(Box::new(single))
        } else {
            single
        };
        return Ok(Target {
            shape,
            has_presence: field.supports_presence(),
        });
    };
    let (part, beyond) = match rest.split_once('.') {
        Some((part, beyond)) => (part, Some(beyond)),
        None => (rest, None),
    };
    // Members of lists and maps are there or they are not.
    let member = |shape| Target {
        shape,
        has_presence: true,
    };
    if field.is_map() {
        return match (map_value(field), beyond) {
            (Some(Kind::Message(value)), Some(beyond)) => resolve(&value, beyond),
            (Some(kind), None) => Ok(member(shape_of(&kind))),
            _ => Err(format!(
                "nothing lies below the values of `{}`",
                field.name()
            )),
        };
    }
    if field.is_list() {
        part.parse::<usize>()
            .map_err(|_| format!("`{}` is a list: `{part}` is no position", field.name()))?;
        return match (field.kind(), beyond) {
            (Kind::Message(item), Some(beyond)) => resolve(&item, beyond),
            (kind, None) => Ok(member(shape_of(&kind))),
            _ => Err(format!(
                "nothing lies below the items of `{}`",
                field.name()
            )),
        };
    }
    match (single, field.kind()) {
        (Shape::Message, Kind::Message(inner)) => resolve(&inner, rest),
        _ => Err(format!("nothing lies below `{}`", field.name())),
    }
}

fn map_value(field: &FieldDescriptor) -> Option<Kind> {
    match field.kind() {
        Kind::Message(entry) => Some(entry.map_entry_value_field().kind()),
        _ => None,
    }
}

fn shape_of(kind: &Kind) -> Shape {
    match kind {
        Kind::Message(message) => match message.full_name() {
            "google.protobuf.Duration" => Shape::Duration,
            "google.protobuf.Timestamp" => Shape::Timestamp,
            _ => Shape::Message,
        },
        Kind::Enum(words) => Shape::Word(words.clone()),
        Kind::Bool => Shape::Flag,
        Kind::String | Kind::Bytes => Shape::Text,
        _ => Shape::Number,
    }
}
