//! Hosts and ports, as texts write them.

use std::net::{IpAddr, SocketAddr};

/// Longest name, in bytes.
pub(super) const LIMIT: usize = 200;

pub(super) fn split_port(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once(':') {
        Some((host, port))
            if !port.is_empty()
                && port.bytes().all(|b| b.is_ascii_digit())
                && (!host.contains(':') || host.ends_with(']')) =>
        {
            (host, Some(port))
        }
        _ => (name, None),
    }
}

pub(super) fn digits(text: &str) -> &str {
    let len = text.bytes().take_while(u8::is_ascii_digit).count();
    text.get(..len).unwrap_or_default()
}

pub(super) fn join(host: &str, port: &str) -> String {
    let host = host.to_ascii_lowercase();
    if port.is_empty() {
        host
    } else {
        format!("{host}:{port}")
    }
}

/// A host, `host:port`, `host (ip), port n`, `host port n`, or a URL's authority.
pub(super) fn address(rest: &str, full: bool) -> Option<String> {
    let mut rest = rest.trim_start_matches(['\'', '(', '[', '<', ' ']);
    for filler in [
        "url ",
        "host ",
        "the server: ",
        "ipv4:",
        "ipv4#",
        "ipv6:",
        "tcp://",
    ] {
        rest = rest
            .strip_prefix(filler)
            .unwrap_or(rest)
            .trim_start_matches('\'');
    }
    let scheme = rest
        .bytes()
        .take(12)
        .take_while(|b| b.is_ascii_alphanumeric() || *b == b'+')
        .count();
    let (scheme, rest) = match rest.get(scheme..).and_then(|rest| rest.strip_prefix("://")) {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let end = rest
        .find(|c: char| {
            !(c.is_ascii_alphanumeric()
                || matches!(c, '.' | '-' | '_' | ':' | '@' | '[' | ']' | '/'))
        })
        .unwrap_or(rest.len());
    let (token, after) = rest.split_at_checked(end)?;
    // netty: `R:host/1.2.3.4:443]`; an address of version 6 has its own brackets.
    let token = match token.contains('[') {
        true => token,
        false => token.trim_end_matches(']'),
    };
    let authority = if scheme || !token.contains('/') {
        token.split('/').next().unwrap_or(token)
    } else {
        // Java and etcd: `localhost/127.0.0.1:8080`, `0xc0…/127.0.0.1:2379`; a path: `host/path`.
        match token.split_once('/') {
            Some((first, second)) if second.parse::<SocketAddr>().is_ok() => {
                if first.contains('.') && is_host(first) && first.parse::<IpAddr>().is_err() {
                    return Some(join(first, split_port(second).1.unwrap_or_default()));
                }
                second
            }
            Some((first, _)) => first,
            None => token,
        }
    };
    let authority = authority
        .rsplit('@')
        .next()
        .unwrap_or(authority)
        .trim_end_matches(['.', ':', '-', ']']);
    let (host, port) = split_port(authority);
    let port = port
        .or_else(|| port_in_words(after))
        .or_else(|| port_said_again(host, after));
    let host = host.trim_matches(['[', ']']);
    let marked = scheme || port.is_some() || text_was_url(rest, end);
    if !is_host(host) || full && !marked {
        return None;
    }
    let named = marked || host.contains('.') || host == "localhost" || after.starts_with('\'');
    named.then(|| join(host, port.unwrap_or_default()))
}

/// `<url host>` as recorded traces write it.
pub(super) fn text_was_url(rest: &str, end: usize) -> bool {
    rest.get(end..).is_some_and(|after| after.starts_with('>'))
}

/// `', 5432)`, ` port 443`, ` (10.0.0.1), port 5432`; libpq: ` (10.0.0.1) and accepting TCP/IP connections on port 5432`.
pub(super) fn port_in_words(after: &str) -> Option<&str> {
    // Prisma: `at 'localhost':'5432'`.
    if let Some(port) = after
        .strip_prefix("':'")
        .map(digits)
        .filter(|p| !p.is_empty())
    {
        return Some(port);
    }
    let mut rest = after.trim_start_matches('\'');
    if let Some((_, tail)) = rest
        .trim_start()
        .strip_prefix('(')
        .and_then(|inner| inner.split_once(')'))
    {
        rest = tail;
    }
    let rest = rest
        .strip_prefix(" and accepting")
        .and_then(|rest| rest.split_once(" connections on"))
        .map_or(rest, |(_, rest)| rest)
        .trim_start_matches([',', ' ']);
    let rest = rest
        .strip_prefix("port ")
        .or_else(|| rest.strip_prefix("port: "))
        .unwrap_or({
            // `('127.0.0.1', 5432)`: a bare number counts only in such a pair.
            if after.starts_with("', ") { rest } else { "" }
        });
    Some(digits(rest)).filter(|port| (2..=5).contains(&port.len()))
}

/// Older versions of Node: `getaddrinfo ENOTFOUND example.com example.com:443`.
fn port_said_again<'a>(host: &str, after: &'a str) -> Option<&'a str> {
    let rest = after.strip_prefix(' ')?.strip_prefix(host)?;
    Some(digits(rest.strip_prefix(':')?)).filter(|port| !port.is_empty())
}

/// A host's characters, and at least one letter or a dotted number; not a file's name.
pub(super) fn is_host(host: &str) -> bool {
    let fits = !host.is_empty()
        && host.len() <= LIMIT
        && host
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_' | b':'))
        && host
            .bytes()
            .next()
            .is_some_and(|b| b.is_ascii_alphanumeric() || b == b':');
    let is_number = host.bytes().all(|b| b.is_ascii_digit());
    let word = [
        "the",
        "a",
        "server",
        "host",
        "database",
        "http",
        "https",
        "localhost:",
        "all",
        "any",
        "your",
    ];
    fits && !is_number && !word.iter().any(|w| w.eq_ignore_ascii_case(host))
}

/// `server.go:125` is a line of a file.
pub(super) fn is_file(host: &str) -> bool {
    const ENDS: &[&str] = &[
        "go", "py", "rs", "js", "ts", "mjs", "cjs", "jsx", "tsx", "java", "kt", "rb", "php", "cs",
        "c", "cc", "cpp", "h", "sh", "sql", "json", "yaml", "yml", "html", "lua", "scala", "swift",
        "ex", "exs",
    ];
    host.rsplit('.')
        .next()
        .is_some_and(|end| ENDS.iter().any(|e| e.eq_ignore_ascii_case(end)))
}
