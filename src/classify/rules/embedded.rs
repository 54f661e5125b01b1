//! The rule files that are built in; a test checks that every file under `rules/` is in this list.

/// Stem and content of each file.
pub(in crate::classify) const FILES: &[(&str, &str)] = &[
    ("grpc", include_str!("../../../rules/grpc.yaml")),
    (
        "http-clients",
        include_str!("../../../rules/http-clients.yaml"),
    ),
    (
        "http-status",
        include_str!("../../../rules/http-status.yaml"),
    ),
    ("proxies", include_str!("../../../rules/proxies.yaml")),
];
