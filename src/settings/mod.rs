//! How the server runs: built-in values, then a file, then the environment, then flags; the later layer wins.
//!
//! Settings cannot lie: what nobody knows is refused with the nearest name, all faults of all layers at once, each
//! naming its layer, and zero or absurd bounds do not pass. One table (`fields`) says which settings exist; reading,
//! printing and the environment's names all follow from it. What agents may do is not said here but in the policy.

mod fault;
mod fields;
mod layers;
mod size;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

pub use fault::{SettingsError, SettingsFault};
use fields::FIELDS;
pub use layers::Flags;
use layers::{Assignment, Layer};

use crate::domain::names::named_enum;

named_enum! {
    /// How log lines look.
    LogFormat, "log format" {
        /// Pretty on a terminal, JSON elsewhere.
        Auto = "auto",
        /// For people.
        Pretty = "pretty",
        /// One JSON object a line.
        Json = "json",
    }
}

/// Everything that can be set about the server, as it is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Sockets.
    pub server: ServerSettings,
    /// Where the policy comes from.
    pub policy: PolicySettings,
    /// Where dead letters are kept; `data` below the working directory.
    pub data_dir: PathBuf,
    /// Turns.
    pub store: StoreSettings,
    /// Dead letters.
    pub dead_letters: DeadLetterSettings,
    /// Logs.
    pub log: LogSettings,
    /// Which layer set what; a setting without an entry is built in.
    origins: BTreeMap<&'static str, Layer>,
}

/// Sockets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerSettings {
    /// gRPC; 127.0.0.1:50051. Port 0 takes a free one.
    pub listen: SocketAddr,
    /// Metrics and probes; 127.0.0.1:9464. Port 0 takes a free one.
    pub http_listen: SocketAddr,
    /// Listening beyond loopback is meant, though callers are not authenticated.
    pub insecure: bool,
    /// How long requests in flight may take once the server is asked to stop; 10 s.
    pub drain_timeout: Duration,
    /// Largest request, in bytes; 8 MiB, so that a failure's text of 4 MB passes.
    pub max_message_bytes: usize,
}

/// Where the policy comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PolicySettings {
    /// The document; without one the built-in policy holds.
    pub file: Option<PathBuf>,
    /// How often the file is looked at; 1 s.
    pub poll_interval: Duration,
}

/// Turns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreSettings {
    /// Turns that a tenant may have at once, ended ones that are still kept included; 100,000.
    pub max_turns: usize,
    /// When a turn without calls idles out; 15 min.
    pub idle_timeout: Duration,
    /// How long an ended turn is kept; 15 min.
    pub keep_ended: Duration,
}

/// Dead letters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetterSettings {
    /// How long a verdict waits for its letter to be on disk; 250 ms.
    pub patience: Duration,
    /// Most letters that wait in memory while the store fails; 10,000.
    pub spool_letters: usize,
    /// Most bytes that wait in memory while the store fails; 64 MiB.
    pub spool_bytes: usize,
    /// Largest size of the store's file, in bytes; no bound where absent.
    pub max_file_bytes: Option<u64>,
}

/// Logs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    /// How lines look; auto.
    pub format: LogFormat,
    /// A level, or directives such as `info,backstop=debug`; info. `RUST_LOG` wins over every layer.
    pub level: String,
}

impl Default for Settings {
    fn default() -> Self {
        let quarter = Duration::from_secs(15 * 60);
        Settings {
            server: ServerSettings {
                listen: SocketAddr::from(([127, 0, 0, 1], 50_051)),
                http_listen: SocketAddr::from(([127, 0, 0, 1], 9_464)),
                insecure: false,
                drain_timeout: Duration::from_secs(10),
                max_message_bytes: 8 << 20,
            },
            policy: PolicySettings {
                file: None,
                poll_interval: Duration::from_secs(1),
            },
            data_dir: PathBuf::from("data"),
            store: StoreSettings {
                max_turns: 100_000,
                idle_timeout: quarter,
                keep_ended: quarter,
            },
            dead_letters: DeadLetterSettings {
                patience: Duration::from_millis(250),
                spool_letters: 10_000,
                spool_bytes: 64 << 20,
                max_file_bytes: None,
            },
            log: LogSettings {
                format: LogFormat::Auto,
                level: "info".to_owned(),
            },
            origins: BTreeMap::new(),
        }
    }
}

impl Settings {
    /// Puts the layers over each other. `env` is the environment as name and value; variables that do not begin with
    /// `BACKSTOP__` belong to others, except `RUST_LOG`.
    ///
    /// # Errors
    /// All faults of all layers: unknown names, values that cannot be, an unreadable file, settings that contradict
    /// each other.
    pub fn load(
        flags: &Flags,
        env: impl IntoIterator<Item = (String, String)>,
    ) -> Result<Settings, SettingsError> {
        let mut faults = Vec::new();
        let mut assignments = Vec::new();
        if let Some(file) = &flags.config {
            assignments.extend(layers::file(file, &mut faults));
        }
        let env: Vec<(String, String)> = env.into_iter().collect();
        assignments.extend(layers::environment(&env, &mut faults));
        assignments.extend(flags.assignments());
        let mut settings = Settings::default();
        for assignment in assignments {
            settings.assign(assignment, &mut faults);
        }
        let rust_log = env.iter().find(|(name, _)| name == "RUST_LOG");
        if let Some((_, level)) = rust_log.filter(|(_, level)| !level.trim().is_empty()) {
            settings.log.level.clone_from(level);
            settings.origins.insert("log.level", Layer::RustLog);
        }
        settings.check(&mut faults);
        if faults.is_empty() {
            Ok(settings)
        } else {
            Err(SettingsError { faults })
        }
    }

    fn assign(&mut self, assignment: Assignment, faults: &mut Vec<SettingsFault>) {
        let Assignment { layer, path, value } = assignment;
        let Some(field) = FIELDS.iter().find(|field| field.path == path) else {
            faults.push(layers::unknown(layer, &path));
            return;
        };
        let set = value.and_then(|value| (field.set)(self, &value));
        match set {
            Ok(()) => {
                self.origins.insert(field.path, layer);
            }
            Err(problem) => faults.push(SettingsFault::at(&layer, field.path, problem)),
        }
    }

    /// Faults between settings.
    fn check(&self, faults: &mut Vec<SettingsFault>) {
        let server = &self.server;
        for (path, address) in [
            ("server.listen", server.listen),
            ("server.http_listen", server.http_listen),
        ] {
            if !server.insecure && !address.ip().to_canonical().is_loopback() {
                let problem = format!(
                    "{address} can be reached from other machines, and callers are not authenticated; listen on \
                     127.0.0.1, or set `server.insecure: true` (--insecure) if the network in front of it keeps \
                     strangers out"
                );
                faults.push(SettingsFault::at(&self.origin(path), path, problem));
            }
        }
        if server.listen == server.http_listen && server.listen.port() != 0 {
            let path = "server.http_listen";
            let problem = "is the address of `server.listen`; give each its own port".to_owned();
            faults.push(SettingsFault::at(&self.origin(path), path, problem));
        }
    }

    /// Which layer a setting comes from.
    fn origin(&self, path: &str) -> Layer {
        self.origins.get(path).cloned().unwrap_or(Layer::BuiltIn)
    }
}

/// The settings in force as a YAML file that sets just them, each with the layer that it comes from.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut section = "";
        for field in FIELDS {
            let (parent, name) = field.path.rsplit_once('.').unwrap_or(("", field.path));
            if parent != section && !parent.is_empty() {
                writeln!(f, "{parent}:")?;
            }
            section = parent;
            let indent = if parent.is_empty() { "" } else { "  " };
            let (value, origin) = ((field.get)(self), self.origin(field.path));
            writeln!(f, "{indent}{name}: {value}  # {origin}")?;
        }
        Ok(())
    }
}
