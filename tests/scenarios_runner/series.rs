//! The metrics page in the Prometheus text format: samples by name and labels.

use std::collections::BTreeMap;

use backstop::metrics::TABLE;
use serde_json::Value as Json;

use super::matcher::Matcher;
use super::path::{Shape, Target};

/// A series as a scenario names it: `name` or `name{label="value"}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Series {
    name: String,
    labels: BTreeMap<String, String>,
}

impl Series {
    /// Reads a series; also the left side of a sample.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let fault = || format!("`{text}` is no series");
        let (name, labels) = match text.split_once('{') {
            Some((name, rest)) => (name, rest.strip_suffix('}').ok_or_else(fault)?),
            None => (text, ""),
        };
        let named = |name: &str| {
            !name.is_empty()
                && name
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
        };
        if !named(name) {
            return Err(fault());
        }
        Ok(Series {
            name: name.to_owned(),
            labels: parse_labels(labels).ok_or_else(fault)?,
        })
    }

    /// Refuses a series that the program does not have: it would be 0 for ever.
    pub(crate) fn check_known(&self) -> Result<(), String> {
        let plain = ["_sum", "_count", "_bucket"]
            .iter()
            .find_map(|suffix| self.name.strip_suffix(suffix))
            .unwrap_or(&self.name);
        let metric = TABLE
            .iter()
            .find(|metric| metric.name == self.name || metric.name == plain)
            .ok_or_else(|| format!("the program has no metric `{}`", self.name))?;
        let known =
            |label: &String| label == "le" || metric.labels.iter().any(|known| known.name == label);
        match self.labels.keys().find(|label| !known(label)) {
            Some(label) => Err(format!("`{}` has no label `{label}`", self.name)),
            None => Ok(()),
        }
    }

    /// The sum over all samples that carry these labels; `None` where there is no such sample.
    pub(crate) fn sum(&self, page: &str) -> Option<f64> {
        page.lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter_map(|(series, value)| {
                let series = Series::parse(series).ok()?;
                let carries = series.name == self.name
                    && self
                        .labels
                        .iter()
                        .all(|(label, value)| series.labels.get(label) == Some(value));
                carries.then(|| value.parse::<f64>().ok())?
            })
            .reduce(|sum, value| sum + value)
    }

    /// Compares with the page. A counter that never counted is not on the page: it has the value 0, but is `absent`.
    pub(crate) fn check(&self, wanted: &Json, page: &str) -> Result<(), (String, String)> {
        let target = number();
        let matcher =
            Matcher::compile(wanted, &target).map_err(|fault| (fault, "nothing".to_owned()))?;
        let got = self.sum(page).map(Json::from);
        matcher
            .check(got.as_ref(), &target, |_, _| None)
            .map_err(|wanted| {
                let shown = got.map_or_else(|| "no such series".to_owned(), |got| got.to_string());
                (wanted, shown)
            })
    }
}

/// What every series is to the matchers: a number that is 0 where it is absent.
pub(crate) fn number() -> Target {
    Target {
        shape: Shape::Number,
        has_presence: false,
    }
}

fn parse_labels(text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"")?;
        let (value, beyond) = quoted(after)?;
        labels.insert(label.trim().to_owned(), value);
        rest = beyond.trim_start_matches(',').trim();
    }
    Some(labels)
}

/// A label's value up to its closing quote, unescaped, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..)?)),
            '\\' => value.push(match chars.next()?.1 {
                'n' => '\n',
                other => other,
            }),
            other => value.push(other),
        }
    }
    None
}
