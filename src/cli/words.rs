//! Closed word lists of the domain as flags.

use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};

use crate::domain::{Effect, Execution, Origin, ParseNameError};

fn one_of<T>(names: impl Iterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = ParseNameError> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse::<T>())
}

pub(super) fn effect() -> impl TypedValueParser<Value = Effect> {
    // `unknown` is what not saying anything means.
    let said = Effect::ALL
        .iter()
        .filter(|effect| **effect != Effect::Unknown);
    one_of(said.map(|effect| effect.name()))
}

pub(super) fn execution() -> impl TypedValueParser<Value = Execution> {
    one_of(Execution::ALL.iter().map(|execution| execution.name()))
}

pub(super) fn origin() -> impl TypedValueParser<Value = Origin> {
    one_of(Origin::ALL.iter().map(|origin| origin.name()))
}

/// A duration such as `30s` or `1m 500ms`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|error| format!("{error}; write e.g. `30s`"))
}

/// A header, `name=value` or `name: value`.
pub(super) fn header(text: &str) -> Result<(String, String), String> {
    let at = text
        .find([':', '='])
        .ok_or("has no `=`; write e.g. `retry-after=2`")?;
    let (name, value) = text.split_at(at);
    let value = value.get(1..).unwrap_or_default();
    if name.trim().is_empty() {
        return Err("has no name; write e.g. `retry-after=2`".to_owned());
    }
    Ok((name.trim().to_ascii_lowercase(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let pair = |name: &str, value: &str| Ok((name.to_owned(), value.to_owned()));
        assert_eq!(header("Retry-After=2"), pair("retry-after", "2"));
        assert_eq!(header("Retry-After: 2"), pair("retry-after", "2"));
        assert_eq!(header("x="), pair("x", ""));
        assert_eq!(
            header("date: Tue, 01 Dec 2026 04:00:00 GMT"),
            pair("date", "Tue, 01 Dec 2026 04:00:00 GMT")
        );
        assert!(header("retry-after").is_err());
        assert!(header("=2").is_err());
    }
}
