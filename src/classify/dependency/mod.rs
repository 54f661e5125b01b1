//! The dependency that a text names as failed.
//!
//! One dead back end speaks in several wordings; what they share is its address. A name counts only where the wording
//! says that *this* is what could not be reached: links to documentation and the caller's own address are not it.

mod address;
mod wordings;

use memchr::memchr_iter;

use crate::domain::{Family, Kind};

use super::leads::Found;
use super::text::{is_word, starts_word};
use Shape::{Address, FullAddress, Name, Path, Pool, Product, Remote};
use address::{LIMIT, address, digits, is_file, is_host, join, split_port};
use wordings::{COMMON, CONNECTION_LEADS, LEADS, Shape, TRAILS};

/// Whether two names mean one host: any case, with or without port on either side.
pub fn reads_as_same_host(a: &str, b: &str) -> bool {
    let (a_host, a_port) = split_port(a.trim());
    let (b_host, b_port) = split_port(b.trim());
    !a_host.is_empty()
        && a_host.eq_ignore_ascii_case(b_host)
        && match (a_port, b_port) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        }
}

/// The wordings by which a name may stand: those before it, then those after it.
pub(super) fn leads() -> impl Iterator<Item = &'static str> {
    let leads = LEADS.iter().map(|(lead, _)| *lead);
    leads.chain(TRAILS.iter().copied())
}

/// The dependency, lower-cased where it is an address; `leads` are those of [`leads`] that the text holds.
pub(super) fn read(text: &str, leads: &[Found], kind: Kind) -> Option<String> {
    let speaks = speaks_of_dependencies(kind);
    let may_be_address = kind.family().is_about_a_dependency() || kind == Kind::Misconfigured;
    let mut best: Option<(u32, String)> = None;
    let mut nothing_there = None;
    for found in leads.iter().copied() {
        // The list is in order of precision; what comes later in it cannot win any more.
        if best.as_ref().is_some_and(|(lead, _)| *lead <= found.lead) {
            continue;
        }
        let shape = found.of(LEADS).map(|(_, shape)| *shape);
        if shape.is_some() && !starts_word(text.as_bytes(), found.start) {
            continue;
        }
        // `could not connect to ` ends with `connect to `: the same place is looked at once.
        if nothing_there == Some((found.end, shape)) {
            continue;
        }
        // Who could not be reached is said whatever became of it.
        if !speaks && found.lead >= CONNECTION_LEADS {
            continue;
        }
        let value = match shape {
            Some(shape) if !speaks || may_be_address || matches!(shape, Name | Product) => {
                after_lead(text, found, shape)
            }
            Some(_) => None,
            None => subject(text, found, kind),
        };
        match value {
            Some(value) => best = Some((found.lead, value)),
            None => nothing_there = Some((found.end, shape)),
        }
    }
    best.map(|(_, value)| value)
        .or_else(|| refused_address(text, kind))
}

/// Families about a dependency, and two kinds that may name a server which is not there.
fn speaks_of_dependencies(kind: Kind) -> bool {
    kind.family().is_about_a_dependency()
        || matches!(kind, Kind::Misconfigured | Kind::PreconditionUnmet)
            && kind.family() != Family::Output
}

/// urllib3: `HTTPSConnectionPool(host='x', port=443)`.
fn pool(rest: &str) -> Option<String> {
    let (host, rest) = rest.split_once('\'')?;
    let port = rest
        .trim_start_matches([',', ' '])
        .strip_prefix("port=")
        .map(digits);
    is_host(host).then(|| join(host, port.unwrap_or_default()))
}

/// undici: `remoteAddress: '127.0.0.1', remotePort: 3000`.
fn remote_address(rest: &str) -> Option<String> {
    let (host, rest) = rest.trim_start_matches([':', ' ', '\'']).split_once('\'')?;
    let port = rest
        .split_once("remotePort")
        .map(|(_, port)| digits(port.trim_start_matches([':', ' ', '\''])));
    is_host(host).then(|| join(host, port.unwrap_or_default()))
}

fn after_lead(text: &str, found: Found, shape: Shape) -> Option<String> {
    let rest = text.get(found.end..)?;
    match shape {
        Pool => pool(rest),
        Remote => remote_address(rest),
        Address => address(rest, false),
        FullAddress => address(rest, true),
        Name => name(rest),
        Product => product(rest),
        Path => path(rest),
    }
}

/// A quoted name, or a bare one of name's characters.
fn name(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches([':', ' ']);
    let found = match rest.strip_prefix('\'') {
        Some(inner) => inner.split_once('\'')?.0,
        None => {
            let len = rest
                .bytes()
                .take_while(|b| is_word(*b) || matches!(b, b'-' | b'.'))
                .count();
            rest.get(..len)?.trim_end_matches('.')
        }
    };
    let quoted = rest.starts_with('\'');
    let telling =
        quoted || found.contains(['-', '_']) || found.bytes().any(|b| b.is_ascii_uppercase());
    (telling && !found.is_empty() && found.len() <= 80 && !found.contains('\n'))
        .then(|| found.to_owned())
}

/// A capitalised word that ends its sentence and is no common one.
fn product(rest: &str) -> Option<String> {
    let len = rest
        .bytes()
        .take_while(|b| is_word(*b) || *b == b'-')
        .count();
    let (found, after) = rest.split_at_checked(len)?;
    let ends = after.is_empty() || after.starts_with(['\n', '.', ',', ';', ')', '\'']);
    (ends && is_proper(found)).then(|| found.to_owned())
}

fn is_proper(name: &str) -> bool {
    name.bytes().next().is_some_and(|b| b.is_ascii_uppercase())
        && name.bytes().all(|b| is_word(b) || b == b'-')
        && (3..=80).contains(&name.len())
        && !COMMON.iter().any(|word| word.eq_ignore_ascii_case(name))
}

fn path(rest: &str) -> Option<String> {
    let rest = rest.trim_start_matches(['\'', ' ']);
    let end = rest.find(['\'', ' ', ':', '\n', ')']).unwrap_or(rest.len());
    let found = rest.get(..end)?;
    (found.starts_with('/') && found.len() <= LIMIT).then(|| found.to_owned())
}

/// `Request to Figma timed out`, `Unity session not available`: a name with a capital right before the verb.
fn subject(text: &str, found: Found, kind: Kind) -> Option<String> {
    if kind.family() != Family::Outage {
        return None;
    }
    let before = text.get(..found.start)?;
    let line = before.rsplit(['\n', '.', ':', ';', '\'']).next()?;
    let mut words = line.split(' ').filter(|word| !word.is_empty()).rev();
    let name = words.next()?;
    let previous = words.next();
    let led = matches!(previous, Some("to" | "from" | "service" | "by"));
    let first_word_alone =
        previous.is_none() && text.get(found.start..found.end) == Some(" session not available");
    ((led || first_word_alone) && is_proper(name)).then(|| name.to_owned())
}

/// `10.1.2.3:5432: …` or `localhost:27017: [Errno 111] …`, where nothing better leads to it.
fn refused_address(text: &str, kind: Kind) -> Option<String> {
    if !matches!(
        kind,
        Kind::ConnectFailed | Kind::ConnectionLost | Kind::Timeout | Kind::Unavailable
    ) {
        return None;
    }
    // Most texts hold no port at all: that is seen faster than it is split.
    if !may_have_a_port(text) {
        return None;
    }
    text.split(|c: char| {
        c.is_whitespace()
            || matches!(
                c,
                '\'' | ',' | '(' | ')' | '<' | '>' | '[' | ']' | '{' | '}' | ';'
            )
    })
    // netty: `L:/127.0.0.1:60018` is the caller's own end.
    .filter(|token| may_have_a_port(token) && !token.starts_with("L:"))
    .map(|token| token.trim_end_matches([':', '.']))
    .find_map(|token| {
        let token = token
            .rsplit_once('/')
            .filter(|(_, last)| last.parse::<std::net::SocketAddr>().is_ok())
            .map_or(token, |(_, last)| last);
        let (host, port) = split_port(token);
        let port = port.filter(|port| (2..=5).contains(&port.len()))?;
        let is_address = host.parse::<std::net::IpAddr>().is_ok()
            || host.eq_ignore_ascii_case("localhost")
            || host.contains(['.', '-']) && is_host(host) && !is_file(host);
        is_address.then(|| join(host, port))
    })
}

/// Whether a colon with a digit behind it is there: most words have none, and need no closer look.
fn may_have_a_port(token: &str) -> bool {
    let bytes = token.as_bytes();
    memchr_iter(b':', bytes).any(|at| bytes.get(at + 1).is_some_and(u8::is_ascii_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(kind: Kind, text: &str) -> Option<String> {
        let mut folded = String::new();
        super::super::text::fold(text, &mut folded);
        let found = super::super::leads::find(leads(), &folded);
        read(&folded, &found, kind)
    }

    #[test]
    fn texts_name_what_failed() {
        let cases = [
            ("connect ECONNREFUSED 127.0.0.1:9222", "127.0.0.1:9222"),
            (
                "could not list orders: dial tcp 10.1.2.3:5432: connect: connection refused",
                "10.1.2.3:5432",
            ),
            ("dial tcp 10.1.2.3:5432: i/o timeout", "10.1.2.3:5432"),
            (
                "dial tcp: lookup db.internal on 10.0.0.2:53: no such host",
                "db.internal",
            ),
            (
                "could not translate host name \"db.internal\" to address: Name or service not known",
                "db.internal",
            ),
            (
                "could not connect to server: Connection refused\n\tIs the server running on host \"db.internal\" \
                 (10.1.2.3) and accepting\n\tTCP/IP connections on port 5432?",
                "db.internal:5432",
            ),
            (
                "Failed to connect to api.stripe.com port 443 after 21 ms: Connection refused",
                "api.stripe.com:443",
            ),
            (
                "HTTPSConnectionPool(host='API.x.com', port=443): Max retries exceeded",
                "api.x.com:443",
            ),
            (
                "Get \"https://172.18.0.3:30003/peers\": EOF",
                "172.18.0.3:30003",
            ),
            (
                "Cannot connect to host example.com:443 ssl:default [Name or service not known]",
                "example.com:443",
            ),
            (
                "[Errno 111] Connect call failed ('127.0.0.1', 5432)",
                "127.0.0.1:5432",
            ),
            (
                "connection to server at \"db.x\" (10.0.0.1), port 5432 failed: Connection refused",
                "db.x:5432",
            ),
            ("getaddrinfo ENOTFOUND api.example.com", "api.example.com"),
            (
                "Connect to localhost:9200 [localhost/127.0.0.1] failed: Connection refused",
                "localhost:9200",
            ),
            (
                "java.net.UnknownHostException: search.internal",
                "search.internal",
            ),
            (
                "ssh: connect to host github.com port 22: Connection timed out",
                "github.com:22",
            ),
            ("Could not resolve host: github.com", "github.com"),
            (
                "connect to server ipv4:127.0.0.1:50051: Failed",
                "127.0.0.1:50051",
            ),
            (
                "page.goto: net::ERR_CONNECTION_REFUSED at http://localhost:3000/",
                "localhost:3000",
            ),
            (
                "Error 111 connecting to localhost:6379. Connection refused.",
                "localhost:6379",
            ),
            (
                "getaddrinfo ENOTFOUND ms.example.com ms.example.com:443",
                "ms.example.com:443",
            ),
            (
                "[id: 0x07, L:/127.0.0.1:60018 ! R:127.0.0.1/127.0.0.1:9999] The connection observed an error",
                "127.0.0.1:9999",
            ),
            (
                "[id: 0x33, L:0.0.0.0/0.0.0.0:53320 ! R:a.blob.example.net/52.239.169.100:443] connection observed",
                "a.blob.example.net:443",
            ),
            (
                "ORA-12541: host 10.0.0.11 port 1521 has no listener",
                "10.0.0.11:1521",
            ),
            (
                "ReadTimeoutError(HTTPConnectionPool(host=u'bc10-05', port=9200): Read timed out.",
                "bc10-05:9200",
            ),
            (
                "Could not connect to the endpoint URL: \"https://codebuild.example.com/\"",
                "codebuild.example.com",
            ),
            ("attempt 5 failed: Could not connect to Unity", "Unity"),
            ("an error occurred with our connection to Stripe.", "Stripe"),
            (
                "Can't reach database server at `localhost`:`5432`",
                "localhost:5432",
            ),
            (
                "[thrd:localhost:9092/bootstrap]: Connect to ipv4#127.0.0.1:9092 failed: Connection refused",
                "localhost:9092",
            ),
            (
                "Read timeout on endpoint URL: \"https://lambda.example.com/f\"",
                "lambda.example.com",
            ),
            (
                "deadline exceeded after 59s. [remote_addr=pubsub.example.com/142.251.8.95:443]",
                "pubsub.example.com:443",
            ),
            (
                "wget: unable to resolve host address 'a.b.example'",
                "a.b.example",
            ),
            (
                "page: net::ERR_FAILED at https://www.example.com/",
                "www.example.com",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(
                named(Kind::ConnectFailed, text).as_deref(),
                Some(want),
                "{text}"
            );
        }
    }

    #[test]
    fn links_and_lines_of_code_are_no_dependency() {
        let texts = [
            "rate limited. Visit https://platform.openai.com/account/rate-limits to learn more.",
            "boom at server.go:125",
            "connection to the server was lost",
            "Connection reset by peer",
            "request timed out",
            "Could not connect to MCP",
            "could not connect to the Internet",
            "Unable to connect to Redis server",
            "[id: 0x07, L:/127.0.0.1:60018] The connection observed an error",
        ];
        for text in texts {
            assert_eq!(named(Kind::ConnectionLost, text), None, "{text}");
        }
    }

    #[test]
    fn who_could_not_be_reached_is_named_for_every_kind() {
        let text = "OSError: We couldn't connect to 'https://hub.example.com' to load it, couldn't find it in the cache";
        assert_eq!(
            named(Kind::WrongReference, text).as_deref(),
            Some("hub.example.com")
        );
        let page = "404 Client Error: Not Found for url: https://hub.example.com/x";
        assert_eq!(named(Kind::WrongReference, page), None);
        let last = LEADS[CONNECTION_LEADS as usize - 1].0;
        assert_eq!(last, "no connection to ");
    }

    #[test]
    fn hosts_are_the_same_with_or_without_port() {
        let cases = [
            ("crm.internal", "CRM.internal:8443", true),
            ("crm.internal:8443", "crm.internal:8443", true),
            ("crm.internal:8443", "crm.internal:80", false),
            ("crm.internal", "erp.internal", false),
            ("", "", false),
            ("[::1]:80", "[::1]", true),
        ];
        for (a, b, want) in cases {
            assert_eq!(reads_as_same_host(a, b), want, "{a} {b}");
            assert_eq!(reads_as_same_host(b, a), want, "{b} {a}");
        }
    }
}
