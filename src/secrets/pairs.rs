//! Secrets that can be told by what stands before them: a telling name, an authentication scheme, a URL's user.

use std::ops::Range;

use regex::{Captures, Match, Regex};

use super::MASK;
use super::judgement::{is_placeholder, is_prose, looks_random};
use super::masker::Pattern;

type Judge = fn(&Captures<'_>, &str) -> Option<Range<usize>>;

/// Names behind which a secret stands.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    "jwt",
    "api[ _-]?key",
    "access[ _-]?key",
    "account[ _-]?key",
    "private[ _-]?key",
    "secret[ _-]?key",
    "signing[ _-]?key",
    "encryption[ _-]?key",
    "subscription[ _-]?key",
    "auth[ _-]?key",
    "shared[ _-]?access[ _-]?(?:key|signature)",
    "connection[ _-]?string",
];

/// Literals of which one stands in each of [`NAMES`].
const NAME_HINTS: &[&str] = &[
    "passw",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "credential",
    "jwt",
    "key",
    "sharedaccesssignature",
    "shared_access_signature",
    "shared access signature",
    "shared-access-signature",
    "connectionstring",
    "connection_string",
    "connection string",
    "connection-string",
];

pub(super) fn patterns() -> Vec<Pattern> {
    let names = NAMES.join("|");
    // A value in quotes, escaped or not, or bare. Escaped quotes are those of JSON inside a JSON string.
    let pair = format!(
        r#"(?i)(?P<lead>(?:unexpected|illegal|invalid|unknown|reserved|missing)\s+)?(?P<name>(?:{names})(?:_?\d{{1,3}})?)(?:\\*["'`])?\]?(?P<separator>\s*(?::=|=>|[:=])\s*)(?:b?"(?P<double>(?:[^"\\\r\n]|\\.)*)|b?'(?P<single>(?:[^'\\\r\n]|\\.)*)|\\+["'](?P<escaped>[^"'\\\r\n]*)|(?P<bare>[^\s"'`;\[{{\\][^\s"'`;\\]*))"#
    );
    let list: [(&[&'static str], &str, Judge); 9] = [
        (
            &["authorization"],
            r#"(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|apikey|key|digest|negotiate)\s+)(?P<secret>[^\s"',;\\]+)"#,
            behind_a_scheme,
        ),
        (
            &["authorization"],
            r#"(?i)authorization\\*["']?\s*[:=]\s*\\*["']?(?P<secret>[^\s"',;\\]{8,})"#,
            random,
        ),
        (
            &["bearer", "basic"],
            r"(?i)\b(?:bearer|basic)\s+(?P<secret>[\w.~+/-]{6,})",
            random,
        ),
        (
            &["cookie"],
            r#"(?i)\bcookies?\\*["']?\s*:\s*\\*["']?(?P<secret>[^\r\n"'\\=;]+=[^\r\n"'\\]*)"#,
            unless_masked,
        ),
        (
            &["://"],
            r#"://[^\s:/@?\#"'<>`]*:(?P<secret>[^\s/"'<>?\#`]+|[0-9]*[^\s/"'<>0-9?\#`][^\s"'<>`]*?)@[\w\[.%-]"#,
            unless_masked,
        ),
        (
            &["://"],
            r#"://(?P<secret>[^\s:/@?\#"'<>`]{16,})@[\w\[.-]"#,
            random,
        ),
        (
            &[
                "key=",
                "sig=",
                "auth=",
                "code=",
                "sid=",
                "signature=",
                "credential=",
            ],
            r#"(?i)(?:[?&]|,\s?)(?:key|sig|auth|code|sid|(?:x-amz-|x-goog-)?(?:signature|credential))=(?P<secret>[^\s&"'<>\#;]+)"#,
            random,
        ),
        (
            &["--"],
            r#"(?i)--[\w-]*(?:password|passwd|token|api-?key|secret)[ \t]+["']?(?P<secret>[^\s"'=-][^\s"']*)"#,
            an_option,
        ),
        (
            &["-u ", "--user "],
            r#"(?:^|\s)(?:-u|--user)\s+["']?[^\s:"'/]+:(?P<secret>[^\s"'/@]+)"#,
            unless_masked,
        ),
    ];
    let named = Regex::new(&pair).ok().map(|regex| Pattern {
        hints: NAME_HINTS.to_vec(),
        any_case: true,
        regex,
        judge: named_value,
        mark: MASK,
    });
    list.into_iter()
        .map(|(hints, regex, judge)| {
            Some(Pattern {
                hints: hints.to_vec(),
                any_case: true,
                regex: Regex::new(regex).ok()?,
                judge,
                mark: MASK,
            })
        })
        .chain([named])
        .flatten()
        .collect()
}

/// How many patterns there should be, were none of them broken.
#[cfg(test)]
pub(super) const COUNT: usize = 10;

fn unless_masked(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    let secret = captures.name("secret")?;
    (!is_placeholder(secret.as_str())).then(|| secret.range())
}

fn random(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    let secret = captures.name("secret")?;
    (looks_random(secret.as_str()) && !is_placeholder(secret.as_str())).then(|| secret.range())
}

fn behind_a_scheme(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    let secret = captures.name("secret")?;
    (!is_placeholder(secret.as_str()) && !is_prose(secret.as_str())).then(|| secret.range())
}

fn an_option(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    behind_a_scheme(captures, "")
}

fn named_value(captures: &Captures<'_>, text: &str) -> Option<Range<usize>> {
    for group in ["double", "single", "escaped"] {
        if let Some(value) = captures.name(group) {
            return quoted(captures, &value);
        }
    }
    bare(captures, &captures.name("bare")?, text)
}

/// `Unexpected token: 'else'` speaks of a parser's token.
fn is_a_parsers(captures: &Captures<'_>) -> bool {
    captures.name("lead").is_some()
        && captures
            .name("name")
            .is_some_and(|name| name.as_str().eq_ignore_ascii_case("token"))
}

fn quoted(captures: &Captures<'_>, value: &Match<'_>) -> Option<Range<usize>> {
    let short = value.len() <= 16;
    let kept = is_placeholder(value.as_str())
        || is_prose(value.as_str())
        || (is_a_parsers(captures) && short);
    (!kept).then(|| value.range())
}

fn bare(captures: &Captures<'_>, value: &Match<'_>, text: &str) -> Option<Range<usize>> {
    let name = captures.name("name")?;
    let separator = captures.name("separator")?.as_str();
    let in_query = text
        .get(..captures.get(0)?.start())
        .is_some_and(|before| before.ends_with(['?', '&']));
    let secret = without_neighbours(value.as_str(), in_query);
    if secret.is_empty() || is_placeholder(secret) || is_prose(secret) || is_a_parsers(captures) {
        return None;
    }
    let assigned = separator == "=" && !name.as_str().contains(' ');
    let range = value.start()..value.start() + secret.len();
    (assigned || looks_random(secret) || fills_its_line(text, name.start(), range.end))
        .then_some(range)
}

/// The value without what follows it: the next pair of a query or an argument list, closing brackets, a full stop.
fn without_neighbours(value: &str, in_query: bool) -> &str {
    let value = if in_query {
        value.split('&').next().unwrap_or(value)
    } else {
        value
    };
    let end = value
        .match_indices(',')
        .find(|(at, _)| {
            let next = value.get(at + 1..).unwrap_or("");
            let word = next.trim_start_matches(|character: char| {
                character.is_alphanumeric() || character == '_'
            });
            next.is_empty() || (word.len() < next.len() && word.starts_with(['=', ':']))
        })
        .map_or(value.len(), |(at, _)| at);
    value
        .get(..end)
        .unwrap_or(value)
        .trim_end_matches([',', '.', ')', ']', '}', '>', ':'])
}

/// Whether a pair stands alone on its line, as in YAML: `password: correcthorse`.
fn fills_its_line(text: &str, start: usize, end: usize) -> bool {
    /// More indentation than this is no configuration file, and the search backwards has to be bounded.
    const FURTHEST: usize = 80;
    let from = text.floor_char_boundary(start.saturating_sub(FURTHEST));
    let before = text.get(from..start).unwrap_or("");
    let line = match before.rsplit_once('\n') {
        Some((_, line)) => line,
        None if from == 0 => before,
        None => return false,
    };
    let key = line.trim_start().trim_start_matches("- ");
    let after = text
        .get(end..)
        .unwrap_or("")
        .trim_start_matches([' ', '\t', '\r']);
    !key.contains(char::is_whitespace) && (after.is_empty() || after.starts_with('\n'))
}
