//! Arguments that are refused: the wordings of validators, compilers and databases.

use std::sync::LazyLock;

use regex::Captures;

use crate::lessons::correction::Correction;
use crate::lessons::name::Name;

use super::fields::beside;
use super::formats::{format, shape};
use super::values::{allowed, field, names, number};
use super::{Make, Reader, Scene, first, references, table};

/// Wordings, the more telling first: a missing field before its type, a list of values before a type.
const WORDINGS: &[(&str, Make)] = &[
    // What is missing.
    (
        r#""received"\s*:\s*"undefined"|received undefined|"message"\s*:\s*"required""#,
        missing_beside,
    ),
    (
        r"missing (?:\d+ )?(?:(?:required|mandatory|keyword-only|positional|creator) )*(?:field|property|properties|parameter|param|argument|arg|key|input|attribute|option|value)s?(?: in input| for function parameter)?[:\s(]+(?:parameter )?<L>",
        missing_listed,
    ),
    (r#""missingProperty"\s*:\s*<Q>"#, missing),
    (
        r"(?:the following arguments are required|must have required propert(?:y|ies)|required (?:\w+ )?(?:field|property|parameter|argument|param|key)s? (?:is |are )?(?:missing|not provided|not set))[:\s]+<L>",
        missing_listed,
    ),
    (
        r"required (?:\w+ )?(?:field|property|parameter|argument|param|key)s?:? <Q>",
        missing,
    ),
    (
        r"<F>(?: (?:field|property|parameter|argument))?:? (?:is |are )?(?:a |an )?required\b",
        missing,
    ),
    (
        r#"(?:field|argument|variable|parameter) <Q>(?:[^\n]{0,60})? (?:is required|was not provided|not present|is missing|is not present)"#,
        missing,
    ),
    (
        r"\bfield required\b|failed on the 'required' tag|missing required",
        missing_beside,
    ),
    (r"null value in column <Q>[^\n]* violates not-null", missing),
    (r"option requires an argument -- <Q>", missing_option),
    // What is not accepted.
    (
        r"unknown (?:field|parameter|argument|param|key|property|option) (?:in input: )?<Q>, (?:expected(?: one of)?|must be one of:?) <L>",
        unknown_with_known,
    ),
    (
        r"unrecognized field <Q>[^\n]*known properties: <L>",
        unknown_with_known,
    ),
    (r"unexpected keyword argument <Q>", unknown),
    (
        r#"unrecognized (?:key\(s\) in object|keys?|field|request argument supplied|arguments?|parameter|option):? <L>"#,
        unknown_listed,
    ),
    (
        r"(?:unknown|received unknown|unexpected|unsupported|invalid option|unknown option) (?:field|parameter|argument|param|key|name|property|option|input)s?(?: in input)?:? <F>",
        unknown,
    ),
    (r"(?:unknown|invalid|illegal) option:? (?:-- )?<Q>", unknown),
    (r#""additionalProperty"\s*:\s*<Q>"#, unknown),
    (
        r"additional properties are not allowed \(<L> (?:was|were) unexpected",
        unknown_listed,
    ),
    (
        r"<Q> (?:is|are) not (?:allowed|permitted|a valid parameter)\b(?: here)?(?:[.,\n]|$)",
        unknown,
    ),
    (r#""deprecated_argument"\s*:\s*<Q>"#, unknown),
    (
        r"extra (?:inputs|fields) (?:are )?not permitted",
        unknown_beside,
    ),
    (
        r"cannot (?:specify|use|set|combine|provide) both [`'\x22]?(?P<field>[\w.-]+)[`'\x22]? and [`'\x22]?(?P<other>[\w.-]+)",
        either,
    ),
    // Which values there are.
    (
        r"<F>(?: field| value| parameter)? (?:must|should|has to|needs to) be (?:one of|either|any of|in)(?: the following(?: values| options)?)?:? <L>",
        choose,
    ),
    (
        r"(?:must be one of|should be one of|one of the following|expected one of|valid (?:values|options|choices) (?:are|is)|allowed values(?: are)?|supported values(?: are)?|accepted values(?: are)?|permitted|permitted values(?: are)?|choose from|possible values(?: are)?|available options(?: are)?|is not one of|accepted for enum class|enum value set|must be one of the following options)\s*:? <L>",
        choose,
    ),
    (
        r#""(?:options|allowedValues|permitted|enum_values)"\s*:\s*\[(?P<list>[^\]]+)"#,
        choose,
    ),
    (
        r"(?:input should be|expected) (?P<list>[`'\x22][^\n]+)",
        choose,
    ),
    // Bounds.
    (
        r"<F>(?: field| value| parameter)? (?:must|should|has to|needs to) (?:be|have|contain)(?: a (?:value|length))? (?P<bound>between) <N> and (?P<upper>-?\d{1,15}(?:\.\d{1,9})?)",
        bound,
    ),
    (
        r"(?P<bound>between) <N> and (?P<upper>-?\d{1,15}(?:\.\d{1,9})?)",
        bound,
    ),
    (
        r"<F>(?: field| value| parameter)? (?:must|should|has to|needs to|can|may|cannot)(?: not)? (?:be |have |contain )?(?P<bound>greater than or equal to|less than or equal to|greater than|less than|larger than|smaller than|at least|at most|no more than|no less than|exceed|>=|<=|>|<|above|below) <N>(?: (?P<unit>items?|characters?|elements?|bytes|digits))?",
        bound,
    ),
    (
        r"(?P<bound>greater than or equal to|less than or equal to|at least|at most|no more than|no less than|maximum (?:length|value|of|is)(?: of)?|minimum (?:length|value|of|is)(?: of)?|maximum allowed(?: is)?|max allowed size:?|greater than the maximum of|less than the minimum of|expected a value >=|expected a value <=|to be <=|to be >=|to be >|to be <|greater than|less than)\s?<N>(?: (?P<unit>items?|characters?|elements?|bytes|digits|pixels))?",
        bound,
    ),
    // Formats.
    (
        r"<F>(?: field| value| parameter)? (?:must|should|has to|needs to) (?:be|match|have|follow|use)(?P<format>[^\n]+)",
        format_said,
    ),
    (
        r"(?:expected|format|does not match|not a valid|is not a|invalid|must be|should be|should match|must match|as)(?P<format>[^\n]+)",
        format_beside,
    ),
    (
        r"(?:does not match|should match|must match|doesn't match)(?: the)?(?: pattern| regex| regular expression)?:? [`'\x22/]?(?P<pattern>\^[\x21-\x7e]+?\$)",
        pattern,
    ),
    // Types.
    (
        r"cannot unmarshal \w+ into Go struct field (?:\w+\.)*?(?P<field>\w+) of type (?P<type>\w+)",
        shaped,
    ),
    (r"invalid type for <Q>: expected <T>", shaped),
    (
        r"<F>(?: field| value| parameter)? (?:must|should|has to|needs to) be (?:of type )?<T>",
        shaped,
    ),
    (r"valid types: <T>", shaped),
    (r#""expected"\s*:\s*"(?P<type>\w+)""#, shaped),
    (
        r"(?:input should be|value is not|is not of type|is not|expected|of type|must be|cannot deserialize value of type|input syntax for type|into go value of type) <T>",
        shaped,
    ),
    (
        r"invalid literal for (?P<type>int)\(|could not convert string to (?P<other>float)|strconv\.(?:atoi|parseint)",
        parsed,
    ),
    // Emptiness.
    (
        r"<F>(?: field| value| parameter)?:? (?:must not|cannot|can not|can't|may not|should not|is not allowed to) be (?:empty|blank|null|undefined)",
        fill,
    ),
    (
        r"(?:must not|cannot|can't|may not|should not) be (?:empty|blank|null)|should have at least 1|must not be empty",
        fill_beside,
    ),
    // Code and queries.
    (r"must appear in the GROUP BY clause", group_by),
    (
        r"column <Q> in (?:field list|where clause|on clause|order clause) is ambiguous|column reference <Q2> is ambiguous",
        ambiguous_column,
    ),
    (
        r#"syntax error at or near [`'"](?P<near>[^`'"\n]+)"#,
        sql_near,
    ),
    (r#"syntax to use near '(?P<near>[^\s'"]+)"#, sql_near),
    (r"near \x22(?P<near>[^\x22\s]+)\x22: syntax error", sql_near),
    (
        r"only (?P<word>select|read-only) (?:queries|statements) are allowed",
        only_select,
    ),
    (
        r"line (?P<number>\d{1,6})[^\n]*\n(?:[^\n]*\n){0,4}[^\n]*syntaxerror|syntaxerror[^\n]*line (?P<later>\d{1,6})",
        code_line,
    ),
    (
        r"(?:^|[\s:])(?P<field>[\w./+-]+): command not found",
        command,
    ),
    (r"syntax error near unexpected token", |_, _| {
        say("Fix the shell syntax: quotes, brackets and separators.")
    }),
    (
        r"tool_use[`']? ids were found without|must be followed by tool messages|function call turn comes immediately after",
        |_, _| say("Answer every tool call with its own result directly after it."),
    ),
    (
        r"multiple (?:exact )?matches|resolved to \d+ elements|found \d+ matches|matches multiple|is not unique|more than one match",
        |_, _| say("Be more specific: exactly one place may match."),
    ),
    (r"already exists|file exists|duplicate key", |_, _| {
        say("Choose another name, or change the one that exists already.")
    }),
    (
        r"dimensionality <N>|expected dim(?:ension)?:? <N2>",
        dimensions,
    ),
];

static READERS: LazyLock<Vec<Reader>> = LazyLock::new(|| table(&wordings()));

/// Compiles the wordings.
pub(super) fn prepare() {
    LazyLock::force(&READERS);
    super::fields::prepare();
    super::formats::prepare();
}

/// The correction that a refused call's text asks for.
pub(super) fn read(scene: &Scene<'_>) -> Option<Correction> {
    references::use_instead(scene)
        .or_else(|| hint(scene.text))
        .or_else(|| first(&READERS, scene))
        .or_else(|| {
            beside(scene.text).map(|field| {
                Correction::Say(format!("Correct field {field}: its value was refused."))
            })
        })
}

/// Each name may stand only once in a regex: further ones get names of their own.
fn wordings() -> Vec<(String, Make)> {
    WORDINGS
        .iter()
        .map(|(regex, make)| {
            let regex = regex
                .replace("<Q2>", r#"[`'"](?P<other>[^\s`'"]+)[`'"]"#)
                .replace("<N2>", r"(?P<later>\d{1,9})");
            (regex, *make)
        })
        .collect()
}

/// PostgreSQL's hints that say what to do.
fn hint(text: &str) -> Option<Correction> {
    let hint = text.split("HINT:").nth(1)?.lines().next()?;
    hint.contains("explicit type casts")
        .then(|| Correction::Say("Add explicit type casts to the arguments.".to_owned()))
}

fn say(sentence: &str) -> Option<Correction> {
    Some(Correction::Say(sentence.to_owned()))
}

fn about(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Name> {
    field(captures).or_else(|| beside(scene.text))
}

fn missing(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Provide(vec![field(captures)?]))
}

fn missing_beside(_: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Provide(vec![beside(scene.text)?]))
}

fn missing_listed(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let fields = names(captures);
    (!fields.is_empty()).then_some(Correction::Provide(fields))
}

fn missing_option(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let option = field(captures)?;
    Some(Correction::Say(format!(
        "Give option {option} its argument."
    )))
}

fn unknown(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Omit {
        fields: vec![field(captures)?],
        known: Vec::new(),
    })
}

fn unknown_with_known(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Omit {
        fields: vec![field(captures)?],
        known: names(captures),
    })
}

fn unknown_listed(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let fields = names(captures);
    (!fields.is_empty()).then_some(Correction::Omit {
        fields,
        known: Vec::new(),
    })
}

fn unknown_beside(_: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Omit {
        fields: vec![beside(scene.text)?],
        known: Vec::new(),
    })
}

fn either(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let one = Name::read(captures.name("field")?.as_str())?;
    let other = Name::read(captures.name("other")?.as_str())?;
    Some(Correction::Say(format!(
        "Give either {one} or {other}, not both."
    )))
}

fn choose(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let values = allowed(captures);
    (!values.is_empty()).then(|| Correction::Choose {
        field: about(captures, scene),
        values,
    })
}

fn bound(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let number = number(captures)?;
    let unit = captures.name("unit").map_or_else(String::new, |unit| {
        format!(" {}", unit.as_str().to_lowercase())
    });
    let words = captures.name("bound")?.as_str().to_lowercase();
    let words = words.trim_end_matches(':').trim();
    let bound = match words {
        "between" => format!("between {number} and {}", captures.name("upper")?.as_str()),
        "greater than or equal to"
        | "at least"
        | "no less than"
        | ">="
        | "to be >="
        | "expected a value >="
        | "less than the minimum of" => format!("at least {number}{unit}"),
        "greater than" | "larger than" | "above" | ">" | "to be >" => {
            format!("more than {number}{unit}")
        }
        "less than" | "smaller than" | "below" | "<" | "to be <" => {
            format!("less than {number}{unit}")
        }
        words if words.starts_with("minimum") => format!("at least {number}{unit}"),
        _ => format!("at most {number}{unit}"),
    };
    Some(Correction::Bound {
        field: about(captures, scene),
        bound,
    })
}

fn format_said(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let format = format(captures.name("format")?.as_str())?;
    Some(Correction::Format {
        field: about(captures, scene),
        format,
    })
}

fn format_beside(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let format = format(captures.name("format")?.as_str())?;
    Some(Correction::Format {
        field: beside(scene.text),
        format,
    })
}

fn pattern(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let pattern = captures.name("pattern")?.as_str();
    (!pattern.contains('`')).then(|| Correction::Format {
        field: beside(scene.text),
        format: format!("a match of `{pattern}`"),
    })
}

fn shaped(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let shape = shape(captures.name("type")?.as_str())?;
    Some(Correction::Shape {
        field: about(captures, scene),
        shape,
    })
}

fn parsed(captures: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let shape = if captures.name("other").is_some() {
        "a number"
    } else {
        "an integer"
    };
    Some(Correction::Shape {
        field: beside(scene.text),
        shape,
    })
}

fn fill(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Fill(Some(field(captures)?)))
}

fn fill_beside(_: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    Some(Correction::Fill(beside(scene.text)))
}

fn group_by(_: &Captures<'_>, scene: &Scene<'_>) -> Option<Correction> {
    let column = beside(scene.text).map_or_else(
        || "every selected column".to_owned(),
        |name| format!("column {name}"),
    );
    Some(Correction::Say(format!(
        "Add {column} to GROUP BY, or aggregate it."
    )))
}

fn ambiguous_column(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let column = captures.name("field").or_else(|| captures.name("other"))?;
    let column = Name::read(column.as_str())?;
    Some(Correction::Say(format!(
        "Put the table's name before column {column}: it is ambiguous."
    )))
}

fn sql_near(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let near = captures
        .name("near")
        .and_then(|near| Name::read(near.as_str()));
    Some(Correction::Say(match near {
        Some(near) => format!("Fix the SQL syntax near {near}."),
        None => "Fix the SQL syntax for this database.".to_owned(),
    }))
}

fn only_select(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    captures.name("word")?;
    say("Send only statements that read, such as SELECT.")
}

fn code_line(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let line = captures.name("number").or_else(|| captures.name("later"))?;
    Some(Correction::Say(format!(
        "Fix the syntax error at line {}.",
        line.as_str()
    )))
}

fn command(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let command = Name::read(captures.name("field")?.as_str())?;
    Some(Correction::Say(format!(
        "Use a command that exists here: {command} does not."
    )))
}

fn dimensions(captures: &Captures<'_>, _: &Scene<'_>) -> Option<Correction> {
    let number = captures.name("number").or_else(|| captures.name("later"))?;
    Some(Correction::Say(format!(
        "Use vectors of {} dimensions.",
        number.as_str()
    )))
}

/// Whether every wording compiles.
#[cfg(test)]
pub(super) fn are_sound() -> bool {
    table(&wordings()).len() == WORDINGS.len()
}
