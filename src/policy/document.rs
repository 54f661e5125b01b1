//! A YAML document as a tree that knows its places, read from the parser's events.
//!
//! Built here and not by a ready loader, because that one stops at the first duplicate key, recurses once a nesting
//! level and forgets how a scalar was written. Bounds: 1 MiB of text, 32 levels, 100,000 nodes copied through
//! anchors and aliases; whatever lies beyond is a fault, never a crash or a blow-up.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Tag};

use super::fault::PolicyFault;

/// Largest document, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
const MAX_DEPTH: usize = 32;
const MAX_COPIED_NODES: usize = 100_000;

/// A place in the text; both from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Place {
    pub(crate) const START: Place = Place { line: 1, column: 1 };

    fn of(marker: Marker) -> Self {
        let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Place {
            line: number(marker.line()).max(1),
            column: number(marker.col()).saturating_add(1),
        }
    }

    pub(crate) fn fault(self, field: impl Into<String>, problem: impl Into<String>) -> PolicyFault {
        PolicyFault {
            line: self.line,
            column: self.column,
            field: field.into(),
            problem: problem.into(),
            suggestion: None,
        }
    }
}

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// What can stand there. Scalars keep their text: what it means depends on the field.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// Nothing, `~` or `null`.
    Null,
    /// `plain` is unquoted: only such a text can be a number or a truth value.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<Node>),
    Mapping(Vec<(Key, Node)>),
}

/// A key of a mapping and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    pub(crate) place: Place,
    pub(crate) name: String,
}

impl Node {
    fn size(&self) -> usize {
        1 + match &self.value {
            Value::Null | Value::Scalar { .. } => 0,
            Value::Sequence(items) => items.iter().map(Node::size).sum(),
            Value::Mapping(pairs) => pairs.iter().map(|(_, node)| 1 + node.size()).sum(),
        }
    }
}

/// `parent.name`, with the name in quotes where it would not read as one word.
pub(crate) fn join(parent: &str, name: &str) -> String {
    let is_word = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '-'));
    match (parent.is_empty(), is_word) {
        (true, true) => name.to_owned(),
        (true, false) => format!("{name:?}"),
        (false, true) => format!("{parent}.{name}"),
        (false, false) => format!("{parent}.{name:?}"),
    }
}

/// Reads the one document in `text`: its root (`None` where it is empty or could not be read to its end) and what is
/// wrong with its form. A root can come with faults, so that its content's faults are found in the same pass.
pub(crate) fn read(text: &str) -> (Option<Node>, Vec<PolicyFault>) {
    if text.len() > MAX_BYTES {
        let problem = format!(
            "{} bytes are more than a document may have ({MAX_BYTES})",
            text.len()
        );
        return (None, vec![Place::START.fault("", problem)]);
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut builder = Builder::default();
    for event in Parser::new_from_str(text) {
        let taken = match event {
            Ok((event, span)) => builder.take(event, Place::of(span.start)),
            Err(error) => Err(syntax_fault(text, &error, &builder.path())),
        };
        if let Err(fault) = taken {
            builder.faults.push(fault);
            break;
        }
    }
    let root = builder
        .root
        .filter(|node| !matches!(node.value, Value::Null));
    (root, builder.faults)
}

fn syntax_fault(text: &str, error: &saphyr_parser::ScanError, path: &str) -> PolicyFault {
    let place = Place::of(*error.marker());
    let line = text.lines().nth(place.line.saturating_sub(1) as usize);
    let indent_has_tab = line.is_some_and(|line| {
        line.chars()
            .take_while(|c| c.is_whitespace())
            .any(|c| c == '\t')
    });
    let hint = if indent_has_tab {
        " (YAML is indented with spaces, not with tabs)"
    } else {
        ""
    };
    place.fault(path, format!("not YAML: {}{hint}", error.info()))
}

/// A key whose value has not come yet; without a name where it cannot be one.
struct PendingKey {
    place: Place,
    name: Option<String>,
}

enum Frame {
    Sequence {
        place: Place,
        anchor: usize,
        items: Vec<Node>,
    },
    Mapping {
        place: Place,
        anchor: usize,
        pairs: Vec<(Key, Node)>,
        seen: HashMap<String, u32>,
        pending: Option<PendingKey>,
    },
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    root: Option<Node>,
    documents: usize,
    anchors: HashMap<usize, Node>,
    copied: usize,
    faults: Vec<PolicyFault>,
}

impl Builder {
    /// Takes one event. `Err` ends the reading.
    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), PolicyFault> {
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(place.fault("", "a second document starts here; only one is read"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                let value = self.scalar(&text, style, tag.as_deref(), place);
                self.complete(Node { place, value }, anchor)
            }
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), place);
                self.push(
                    Frame::Sequence {
                        place,
                        anchor,
                        items: Vec::new(),
                    },
                    place,
                )
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), place);
                self.push(
                    Frame::Mapping {
                        place,
                        anchor,
                        pairs: Vec::new(),
                        seen: HashMap::new(),
                        pending: None,
                    },
                    place,
                )
            }
            Event::SequenceEnd | Event::MappingEnd => match self.stack.pop() {
                Some(Frame::Sequence {
                    place,
                    anchor,
                    items,
                }) => self.complete(
                    Node {
                        place,
                        value: Value::Sequence(items),
                    },
                    anchor,
                ),
                Some(Frame::Mapping {
                    place,
                    anchor,
                    pairs,
                    ..
                }) => self.complete(
                    Node {
                        place,
                        value: Value::Mapping(pairs),
                    },
                    anchor,
                ),
                None => Ok(()),
            },
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn push(&mut self, frame: Frame, place: Place) -> Result<(), PolicyFault> {
        if self.stack.len() >= MAX_DEPTH {
            let problem = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(place.fault(self.path(), problem));
        }
        self.stack.push(frame);
        Ok(())
    }

    fn scalar(&mut self, text: &str, style: ScalarStyle, tag: Option<&Tag>, place: Place) -> Value {
        self.check_tag(tag, place);
        let is_string_by_tag =
            tag.is_some_and(|tag| tag.is_yaml_core_schema() && tag.suffix == "str");
        let plain = style == ScalarStyle::Plain && !is_string_by_tag;
        if plain && matches!(text, "" | "~" | "null" | "Null" | "NULL") {
            Value::Null
        } else {
            Value::Scalar {
                text: text.to_owned(),
                plain,
            }
        }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, place: Place) {
        if let Some(tag) = tag
            && !tag.is_yaml_core_schema()
        {
            let problem = format!("the tag `{tag}` has no meaning here; leave it out");
            self.faults.push(place.fault(self.path(), problem));
        }
    }

    fn alias(&mut self, anchor: usize, place: Place) -> Result<(), PolicyFault> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(place.fault(self.path(), "an alias inside of its own anchor"));
        };
        self.count_copy(&node, place)?;
        self.complete(node, 0)
    }

    fn count_copy(&mut self, node: &Node, place: Place) -> Result<(), PolicyFault> {
        self.copied = self.copied.saturating_add(node.size());
        if self.copied > MAX_COPIED_NODES {
            let problem =
                format!("anchors and aliases expand to more than {MAX_COPIED_NODES} values");
            return Err(place.fault(self.path(), problem));
        }
        Ok(())
    }

    /// Puts a finished node where it belongs.
    fn complete(&mut self, node: Node, anchor: usize) -> Result<(), PolicyFault> {
        if anchor > 0 {
            self.count_copy(&node, node.place)?;
            self.anchors.insert(anchor, node.clone());
        }
        let fault = match self.stack.last_mut() {
            None => {
                self.root = Some(node);
                None
            }
            Some(Frame::Sequence { items, .. }) => {
                items.push(node);
                None
            }
            Some(Frame::Mapping {
                pairs,
                seen,
                pending,
                ..
            }) => match pending.take() {
                None => {
                    let place = node.place;
                    let name = match node.value {
                        Value::Scalar { text, .. } => Some(text),
                        _ => None,
                    };
                    let fault = name
                        .is_none()
                        .then(|| (place, "?".to_owned(), "a key has to be a name".to_owned()));
                    *pending = Some(PendingKey { place, name });
                    fault
                }
                Some(PendingKey { name: None, .. }) => None,
                Some(PendingKey {
                    place,
                    name: Some(name),
                }) => match seen.get(&name) {
                    Some(first) => {
                        let problem = format!("appears twice, first on line {first}; keep one");
                        Some((place, name, problem))
                    }
                    None => {
                        seen.insert(name.clone(), place.line);
                        pairs.push((Key { place, name }, node));
                        None
                    }
                },
            },
        };
        if let Some((place, name, problem)) = fault {
            let field = join(&self.path(), &name);
            self.faults.push(place.fault(field, problem));
        }
        Ok(())
    }

    /// Where the reading stands, e.g. `rules[2].kind`.
    fn path(&self) -> String {
        self.stack
            .iter()
            .fold(String::new(), |path, frame| match frame {
                Frame::Sequence { items, .. } => format!("{path}[{}]", items.len()),
                Frame::Mapping {
                    pending:
                        Some(PendingKey {
                            name: Some(name), ..
                        }),
                    ..
                } => join(&path, name),
                Frame::Mapping { .. } => path,
            })
    }
}
