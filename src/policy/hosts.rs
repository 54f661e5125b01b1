//! Names of dependencies as workers and texts give them: `host`, `host:port`, a URL, any case.
//!
//! The operator's own list is read strictly ([`parse`]), what others say leniently ([`Host::read`]).

/// A host with the port where one was named; lower case, without brackets or a closing dot.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) port: Option<u16>,
}

impl Host {
    /// Finds the host in `text`: scheme, user, path, query and case are dropped. `None`: there is none in it.
    pub(super) fn read(text: &str) -> Option<Host> {
        let text = text.trim();
        let text = text.split_once("://").map_or(text, |(_, rest)| rest);
        let authority = text.split(['/', '?', '#']).next().unwrap_or_default();
        let authority = authority
            .rsplit_once('@')
            .map_or(authority, |(_, host)| host);
        let authority = authority.to_lowercase();
        let (name, port) = if let Some(rest) = authority.strip_prefix('[') {
            let (name, tail) = rest.split_once(']')?;
            (name, tail.strip_prefix(':'))
        } else {
            match authority.split_once(':') {
                // A second colon: an IPv6 address without brackets, which has no room for a port.
                Some((_, rest)) if rest.contains(':') => (authority.as_str(), None),
                Some((name, port)) => (name, Some(port)),
                None => (authority.as_str(), None),
            }
        };
        let name = name.trim_end_matches('.');
        if name.is_empty() {
            return None;
        }
        let port = match port {
            None | Some("") => None,
            Some(port) => Some(port.parse().ok().filter(|port| *port > 0)?),
        };
        Some(Host {
            name: name.to_owned(),
            port,
        })
    }
}

impl std::fmt::Display for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.port {
            None => f.write_str(&self.name),
            Some(port) if self.name.contains(':') => write!(f, "[{}]:{port}", self.name),
            Some(port) => write!(f, "{}:{port}", self.name),
        }
    }
}

/// Reads one entry of `hosts`, strictly: `host` or `host:port`, printed in lower case.
///
/// # Errors
/// What is wrong, with the text to write instead where that is clear.
pub(super) fn parse(text: &str) -> Result<String, String> {
    let host =
        Host::read(text).ok_or_else(|| format!("`{text}` is not a `host` or `host:port`"))?;
    if host.name.contains(['*', '?']) {
        return Err(format!(
            "`{text}` has a wildcard; hosts are matched exactly, list each"
        ));
    }
    let is_name = host
        .name
        .chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '%'));
    if !is_name || host.name.len() > 255 {
        return Err(format!("`{text}` is not a `host` or `host:port`"));
    }
    let printed = host.to_string();
    let plain = text.to_lowercase();
    let is_strict = plain == printed || plain == format!("[{printed}]");
    if is_strict {
        Ok(printed)
    } else {
        Err(format!(
            "`{text}` is more than a host and a port; write `{printed}`"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_hosts_out_of_what_others_say() {
        for (text, expected) in [
            ("crm.internal", Some("crm.internal")),
            ("CRM.internal:8443", Some("crm.internal:8443")),
            ("https://crm.internal/api?x=1", Some("crm.internal")),
            ("postgres://user:p@ss@db:5432/main", Some("db:5432")),
            ("https://crm.internal./", Some("crm.internal")),
            ("[::1]:8443", Some("[::1]:8443")),
            ("::1", Some("::1")),
            ("crm.internal:", Some("crm.internal")),
            ("crm.internal:99999", None),
            ("crm.internal:0", None),
            ("https://", None),
            ("[::1", None),
            ("", None),
        ] {
            let read = Host::read(text).map(|host| host.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn is_strict_with_the_operator() {
        assert_eq!(parse("Crm.Internal:8443"), Ok("crm.internal:8443".into()));
        assert_eq!(parse("[::1]:80"), Ok("[::1]:80".into()));
        for (text, hint) in [
            ("https://crm.internal/", "write `crm.internal`"),
            ("crm.internal/api", "write `crm.internal`"),
            ("*.internal", "wildcard"),
            ("crm:0", "not a `host`"),
            ("two words", "not a `host`"),
            ("", "not a `host`"),
        ] {
            let problem = parse(text).unwrap_err();
            assert!(problem.contains(hint), "{text}: {problem}");
        }
    }
}
