//! Layers over each other, each setting through each layer, and all faults at once.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use super::fields::FIELDS;
use super::layers::variable;
use super::*;

fn env(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn faults(flags: &Flags, pairs: &[(&str, &str)]) -> Vec<String> {
    match Settings::load(flags, env(pairs)) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

/// A file in a directory that lives as long as the test; faults name it without the directory.
struct Written {
    dir: tempfile::TempDir,
    flags: Flags,
}

impl Written {
    fn new(name: &str, text: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let config = dir.path().join(name);
        fs::write(&config, text).unwrap();
        let flags = Flags {
            config: Some(config),
            ..Flags::default()
        };
        Written { dir, flags }
    }

    fn faults(&self, pairs: &[(&str, &str)]) -> Vec<String> {
        let dir = format!("{}/", self.dir.path().display());
        let faults = faults(&self.flags, pairs).into_iter();
        faults.map(|fault| fault.replace(&dir, "")).collect()
    }
}

/// A value for each setting that is not the built-in one.
const OTHER: &[(&str, &str)] = &[
    ("server.listen", "127.0.0.2:1"),
    ("server.http_listen", "[::1]:2"),
    ("server.insecure", "true"),
    ("server.drain_timeout", "20s"),
    ("server.max_message_bytes", "16 MiB"),
    ("policy.file", "p.yaml"),
    ("policy.poll_interval", "5s"),
    ("data_dir", "elsewhere"),
    ("store.max_turns", "7"),
    ("store.idle_timeout", "1m"),
    ("store.keep_ended", "2m"),
    ("dead_letters.patience", "1s"),
    ("dead_letters.spool_letters", "8"),
    ("dead_letters.spool_bytes", "2 MiB"),
    ("dead_letters.max_file_bytes", "3 GiB"),
    ("log.format", "json"),
    ("log.level", "warn,backstop=debug"),
];

fn other() -> Settings {
    let mut settings = Settings::default();
    for (path, text) in OTHER {
        let field = FIELDS.iter().find(|field| field.path == *path).unwrap();
        (field.set)(&mut settings, text).unwrap();
    }
    settings
}

/// Without the origins, which differ by layer.
fn values(mut settings: Settings) -> Settings {
    settings.origins.clear();
    settings
}

#[test]
fn every_setting_can_be_set_by_the_environment() {
    let listed: Vec<&str> = OTHER.iter().map(|(path, _)| *path).collect();
    let known: Vec<&str> = FIELDS.iter().map(|field| field.path).collect();
    assert_eq!(listed, known, "each setting needs a value in this test");
    for (path, text) in OTHER {
        let field = FIELDS.iter().find(|field| field.path == *path).unwrap();
        let settings = Settings::load(&Flags::default(), [(variable(path), (*text).to_owned())])
            .unwrap_or_else(|error| panic!("{error}"));
        assert_ne!(
            (field.get)(&settings),
            (field.get)(&Settings::default()),
            "{path}"
        );
        assert_eq!(settings.origin(path).to_string(), variable(path));
        // And nothing else moved.
        let mut expected = Settings::default();
        (field.set)(&mut expected, text).unwrap();
        assert_eq!(values(settings), expected, "{path}");
    }
    assert_eq!(variable("server.listen"), "BACKSTOP__SERVER__LISTEN");
}

/// A struct printed by `Debug` names all its fields, so one without a row in the table is found.
#[test]
fn every_field_has_a_row_in_the_table() {
    let leaves = |text: &str| {
        text.lines()
            .filter(|line| line.contains(": ") && !line.ends_with(" {"))
            .filter(|line| !line.trim_start().starts_with("origins"))
            .count()
    };
    let default = Settings::default();
    let printed = format!("{default:#?}");
    assert_eq!(leaves(&printed), FIELDS.len(), "{printed}");
}

#[test]
fn what_is_printed_sets_the_same_again() {
    for settings in [Settings::default(), other()] {
        let file = Written::new("backstop.yaml", &settings.to_string());
        let again = Settings::load(&file.flags, []).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(values(again), settings);
    }
    let pairs = env(&[("BACKSTOP__SERVER__DRAIN_TIMEOUT", "20s")]);
    let printed = Settings::load(&Flags::default(), pairs)
        .unwrap()
        .to_string();
    assert!(
        printed.contains("\n  drain_timeout: 20s  # BACKSTOP__SERVER__DRAIN_TIMEOUT\n"),
        "{printed}"
    );
    assert!(
        printed.contains("\n  insecure: false  # built in\n"),
        "{printed}"
    );
}

#[test]
fn the_later_layer_wins_setting_by_setting() {
    let file = Written::new(
        "backstop.yaml",
        "server: {listen: 127.0.0.1:1, http_listen: 127.0.0.1:2, drain_timeout: 3s}\ndata_dir: four\n",
    );
    let flags = Flags {
        listen: Some("127.0.0.1:9".parse().unwrap()),
        policy: Some(PathBuf::from("flag.yaml")),
        ..file.flags.clone()
    };
    let pairs = env(&[
        ("BACKSTOP__SERVER__LISTEN", "127.0.0.1:5"),
        ("BACKSTOP__SERVER__HTTP_LISTEN", "127.0.0.1:6"),
        ("BACKSTOP__POLICY__FILE", "env.yaml"),
    ]);
    let settings = Settings::load(&flags, pairs).unwrap();
    assert_eq!(settings.server.listen.port(), 9);
    assert_eq!(settings.server.http_listen.port(), 6);
    assert_eq!(settings.server.drain_timeout, Duration::from_secs(3));
    assert_eq!(settings.data_dir, PathBuf::from("four"));
    assert_eq!(settings.policy.file, Some(PathBuf::from("flag.yaml")));
    assert_eq!(settings.store, Settings::default().store);
}

#[test]
fn toml_and_yaml_say_the_same() {
    let toml = r#"
data_dir = "elsewhere"
[server]
listen = "127.0.0.1:1"
insecure = true
max_message_bytes = 16777216
[store]
max_turns = 7
"#;
    let yaml = "data_dir: elsewhere\nserver:\n  listen: 127.0.0.1:1\n  insecure: true\n  max_message_bytes: 16777216\n\
                store: {max_turns: 7}\npolicy:\n";
    let (toml, yaml) = (Written::new("a.toml", toml), Written::new("a.yml", yaml));
    let load = |file: &Written| values(Settings::load(&file.flags, []).unwrap());
    assert_eq!(load(&toml), load(&yaml));
    assert_eq!(load(&toml).store.max_turns, 7);
}

#[test]
fn all_faults_of_all_layers_at_once() {
    let file = Written::new(
        "backstop.yaml",
        "server:\n  lisen: 127.0.0.1:1\n  drain_timeout: 10\nstore: {max_turns: 0}\nlogs: {level: info}\n",
    );
    let found = file.faults(&[
        ("BACKSTOP__SERVER__HTTP_LISTN", "x"),
        ("BACKSTOP__LOG__LEVEL", "inof"),
        ("BACKSTOP__STORE", "x"),
        ("BACKSTOP__NOTHING__LIKE_IT", "x"),
        ("BACKSTOP_PORT", "tcp://10.0.0.1:50051"),
        ("HOME", "anywhere"),
    ]);
    assert_eq!(
        found,
        [
            "backstop.yaml: line 2, server.lisen: unknown setting; did you mean `server.listen`?",
            "backstop.yaml: line 3, server.drain_timeout: `10` has no unit; write `10s` or `10ms`",
            "backstop.yaml: line 4, store.max_turns: 0 is not between 1 and 10000000",
            "backstop.yaml: line 5, logs.level: unknown setting; did you mean `log.level`?",
            "BACKSTOP__LOG__LEVEL, log.level: `inof` is not one of off, error, warn, info, debug, trace; did you mean `info`?",
            "BACKSTOP__NOTHING__LIKE_IT: unknown setting",
            "BACKSTOP__SERVER__HTTP_LISTN: unknown setting; did you mean `BACKSTOP__SERVER__HTTP_LISTEN`?",
            "BACKSTOP__STORE: is a section; set what is in it, e.g. `BACKSTOP__STORE__MAX_TURNS`",
        ]
    );
}

#[test]
fn files_that_cannot_be_read_say_why() {
    for (name, text, expected) in [
        (
            "a.json",
            "{}",
            "a.json: is of no known format; name it `.yaml` or `.toml`",
        ),
        (
            "a.yaml",
            "data_dir: a\ndata_dir: b",
            "a.yaml: line 2, data_dir: appears twice, first on line 1; keep one",
        ),
        (
            "a.yaml",
            "server: 5",
            "a.yaml: line 1, server: is a section; set what is in it, e.g. `server.listen`",
        ),
        (
            "a.yaml",
            "data_dir: [a]",
            "a.yaml: line 1, data_dir: is a list, not a single value",
        ),
        (
            "a.yaml",
            "data_dir: {}",
            "a.yaml: line 1, data_dir: is a mapping, not a single value",
        ),
        (
            "a.yaml",
            "logs: {}",
            "a.yaml: line 1, logs: unknown setting",
        ),
        (
            "a.yaml",
            "data_dir:",
            "a.yaml: line 1, data_dir: has no value; give it one or leave it out",
        ),
        (
            "a.toml",
            "[server]\nlisen = 5",
            "a.toml: line 2, server.lisen: unknown setting; did you mean `server.listen`?",
        ),
    ] {
        assert_eq!(Written::new(name, text).faults(&[]), [expected], "{text}");
    }
    for (name, text) in [
        ("a.yaml", "server: {"),
        ("a.yaml", "- a"),
        ("a.toml", "server ="),
        ("a.toml", "a = 1\na = 2"),
    ] {
        let found = Written::new(name, text).faults(&[]);
        assert!(
            found.len() == 1 && found[0].starts_with(name),
            "{text}: {found:?}"
        );
    }
    let missing = Flags {
        config: Some(PathBuf::from("no-such-file.yaml")),
        ..Flags::default()
    };
    let found = faults(&missing, &[]);
    assert!(
        found[0].starts_with("no-such-file.yaml: cannot be read: "),
        "{found:?}"
    );
    assert_eq!(
        Written::new("empty.yaml", "# nothing\n").faults(&[]),
        Vec::<String>::new()
    );
    assert_eq!(
        Written::new("empty.toml", "").faults(&[]),
        Vec::<String>::new()
    );
}

#[test]
fn absurd_values_are_refused() {
    for (path, texts) in [
        (
            "server.listen",
            &["50051", "localhost:50051", "127.0.0.1", ":1"][..],
        ),
        ("server.insecure", &["yes", "1", "True"]),
        ("server.drain_timeout", &["0s", "5", "11m"]),
        ("server.max_message_bytes", &["0", "4 MiB", "1 GiB", "-1"]),
        ("policy.poll_interval", &["1ms", "2h"]),
        ("store.max_turns", &["0", "-1", "1.5", "10000001"]),
        ("store.idle_timeout", &["0s", "8d"]),
        ("dead_letters.patience", &["0s", "11s"]),
        ("dead_letters.spool_bytes", &["0", "1000"]),
        ("log.format", &["xml"]),
        ("log.level", &["loud", "backstop=loud", "info,,"]),
        ("data_dir", &["", " "]),
    ] {
        for text in texts {
            let found = faults(&Flags::default(), &[(&variable(path), text)]);
            assert_eq!(found.len(), 1, "{path} = {text}: {found:?}");
        }
    }
}

#[test]
fn strangers_are_kept_out_unless_it_is_said() {
    let listen = |text: &str| Flags {
        listen: Some(text.parse().unwrap()),
        ..Flags::default()
    };
    for address in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
        let found = faults(&listen(address), &[]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("--listen, server.listen: "),
            "{found:?}"
        );
        assert!(found[0].contains("server.insecure: true"), "{found:?}");
        let insecure = Flags {
            insecure: true,
            ..listen(address)
        };
        assert!(Settings::load(&insecure, []).is_ok());
        assert!(
            Settings::load(
                &listen(address),
                env(&[("BACKSTOP__SERVER__INSECURE", "true")])
            )
            .is_ok()
        );
    }
    for address in [
        "127.0.0.1:1",
        "127.9.9.9:1",
        "[::1]:1",
        "[::ffff:127.0.0.1]:1",
    ] {
        assert!(Settings::load(&listen(address), []).is_ok(), "{address}");
    }
    let found = faults(
        &Flags::default(),
        &[("BACKSTOP__SERVER__HTTP_LISTEN", "0.0.0.0:9464")],
    );
    assert!(
        found[0].starts_with("BACKSTOP__SERVER__HTTP_LISTEN, server.http_listen: "),
        "{found:?}"
    );
    let same = faults(&listen("127.0.0.1:9464"), &[]);
    assert_eq!(
        same,
        ["built in, server.http_listen: is the address of `server.listen`; give each its own port"]
    );
}

#[test]
fn rust_log_wins_over_every_layer() {
    let pairs = env(&[
        ("BACKSTOP__LOG__LEVEL", "warn"),
        ("RUST_LOG", "backstop=trace"),
    ]);
    let settings = Settings::load(&Flags::default(), pairs).unwrap();
    assert_eq!(settings.log.level, "backstop=trace");
    let pairs = env(&[("BACKSTOP__LOG__LEVEL", "warn"), ("RUST_LOG", "")]);
    let settings = Settings::load(&Flags::default(), pairs).unwrap();
    assert_eq!(settings.log.level, "warn");
}
