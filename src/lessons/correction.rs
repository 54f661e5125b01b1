//! What a failure asks to be different, and the sentence that says so.
//!
//! Readers fill these in with [`Name`]s, numbers and fixed words; only here are they turned into English, so that
//! nothing else of a foreign text can slip into a lesson, and the same correction always reads the same.

use super::name::{Name, list};

/// Bytes for lists of names within a sentence.
const LIST_BYTES: usize = 220;

/// How alike two names must be (Jaro-Winkler, 0 to 1) for one to be taken for a slip of the other.
const ALIKE: f64 = 0.86;

/// One thing to do differently.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Correction {
    /// Fields that are missing.
    Provide(Vec<Name>),
    /// Of another type, e.g. `an integer`.
    Shape {
        field: Option<Name>,
        shape: &'static str,
    },
    /// One of a few values.
    Choose {
        field: Option<Name>,
        values: Vec<Name>,
    },
    /// In another notation, e.g. `ISO 8601`.
    Format { field: Option<Name>, format: String },
    /// Within bounds, e.g. `at most 10`.
    Bound { field: Option<Name>, bound: String },
    /// Not empty.
    Fill(Option<Name>),
    /// Not accepted at all; `known` are the names that are.
    Omit { fields: Vec<Name>, known: Vec<Name> },
    /// A name that does not exist, and those that do.
    Replace {
        wrong: Option<Name>,
        known: Vec<Name>,
    },
    /// A sentence that needs no more than what is in it.
    Say(String),
}

impl Correction {
    /// The sentence.
    pub(super) fn sentence(&self) -> String {
        match self {
            Correction::Provide(fields) if fields.len() == 1 => {
                format!("Provide the required field {}.", list(fields, LIST_BYTES))
            }
            Correction::Provide(fields) => {
                format!("Provide the required fields {}.", list(fields, LIST_BYTES))
            }
            Correction::Shape {
                field: Some(field),
                shape,
            } => format!("Field {field} must be {shape}."),
            Correction::Shape { field: None, shape } => {
                format!("Send {shape} where the tool expects one.")
            }
            Correction::Choose {
                field: Some(field),
                values,
            } => {
                format!("Set {field} to one of: {}.", list(values, LIST_BYTES))
            }
            Correction::Choose {
                field: None,
                values,
            } => format!("Use one of: {}.", list(values, LIST_BYTES)),
            Correction::Format {
                field: Some(field),
                format,
            } => format!("Field {field} must be {format}."),
            Correction::Format {
                field: None,
                format,
            } => format!("Use the format {format}."),
            Correction::Bound {
                field: Some(field),
                bound,
            } => format!("Field {field} must have or be {bound}."),
            Correction::Bound { field: None, bound } => format!("Stay within the bound: {bound}."),
            Correction::Fill(Some(field)) => {
                format!("Give field {field} a value: it must not be empty.")
            }
            Correction::Fill(None) => {
                "Give every required field a value: none may be empty.".to_owned()
            }
            Correction::Omit { fields, known } => omit(fields, known),
            Correction::Replace { wrong, known } => replace(wrong.as_ref(), known),
            Correction::Say(sentence) => sentence.clone(),
        }
    }
}

fn omit(fields: &[Name], known: &[Name]) -> String {
    if let ([field], Some(meant)) = (
        fields,
        fields.first().and_then(|field| nearest(field, known)),
    ) {
        return format!("Write {meant} instead of {field}.");
    }
    let fields = list(fields, LIST_BYTES / 2);
    if known.is_empty() {
        format!("Leave out {fields}: the tool does not accept it.")
    } else {
        format!(
            "Leave out {fields}; accepted are only: {}.",
            list(known, LIST_BYTES / 2)
        )
    }
}

fn replace(wrong: Option<&Name>, known: &[Name]) -> String {
    match (wrong, known) {
        (Some(wrong), []) => {
            format!("{wrong} does not exist: search or list first, then use an exact name.")
        }
        (None, []) => String::new(),
        (Some(wrong), [only]) => format!("Use {only} instead of {wrong}, which does not exist."),
        (None, [only]) => format!("Use {only}."),
        (Some(wrong), known) => match nearest(wrong, known) {
            Some(meant) => format!("Use {meant} instead of {wrong}, which does not exist."),
            None => format!(
                "{wrong} does not exist. Use one of: {}.",
                list(known, LIST_BYTES)
            ),
        },
        (None, known) => format!("Use one of: {}.", list(known, LIST_BYTES)),
    }
}

/// The known name that was most likely meant, if one is close enough.
pub(super) fn nearest<'a>(wrong: &Name, known: &'a [Name]) -> Option<&'a Name> {
    let plain = plain(wrong.as_str());
    known
        .iter()
        .map(|name| {
            (
                strsim::jaro_winkler(&plain, &self::plain(name.as_str())),
                name,
            )
        })
        .filter(|(likeness, name)| *likeness >= ALIKE && *name != wrong)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, name)| name)
}

/// A name as it sounds: `getDate` and `get_date` are slips of each other.
fn plain(name: &str) -> String {
    name.chars()
        .filter(|character| character.is_alphanumeric())
        .flat_map(char::to_lowercase)
        .collect()
}
