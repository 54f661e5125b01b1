//! The rule files that are built in; a test checks that every file under `rules/` is in this list.

/// Stem and content of each file.
pub(in crate::classify) const FILES: &[(&str, &str)] = &[
    ("anthropic", include_str!("../../../rules/anthropic.yaml")),
    ("auth", include_str!("../../../rules/auth.yaml")),
    ("browser", include_str!("../../../rules/browser.yaml")),
    ("cloud", include_str!("../../../rules/cloud.yaml")),
    ("databases", include_str!("../../../rules/databases.yaml")),
    ("edits", include_str!("../../../rules/edits.yaml")),
    ("frameworks", include_str!("../../../rules/frameworks.yaml")),
    ("google-ai", include_str!("../../../rules/google-ai.yaml")),
    ("grpc", include_str!("../../../rules/grpc.yaml")),
    (
        "http-clients",
        include_str!("../../../rules/http-clients.yaml"),
    ),
    (
        "http-status",
        include_str!("../../../rules/http-status.yaml"),
    ),
    ("json", include_str!("../../../rules/json.yaml")),
    ("languages", include_str!("../../../rules/languages.yaml")),
    ("llm-common", include_str!("../../../rules/llm-common.yaml")),
    ("llm-limits", include_str!("../../../rules/llm-limits.yaml")),
    (
        "llm-vendors",
        include_str!("../../../rules/llm-vendors.yaml"),
    ),
    ("mcp", include_str!("../../../rules/mcp.yaml")),
    ("openai", include_str!("../../../rules/openai.yaml")),
    ("posix", include_str!("../../../rules/posix.yaml")),
    ("process", include_str!("../../../rules/process.yaml")),
    ("proxies", include_str!("../../../rules/proxies.yaml")),
    ("queues", include_str!("../../../rules/queues.yaml")),
    ("references", include_str!("../../../rules/references.yaml")),
    ("saas", include_str!("../../../rules/saas.yaml")),
    ("sqlstate", include_str!("../../../rules/sqlstate.yaml")),
    ("tongues", include_str!("../../../rules/tongues.yaml")),
    ("validation", include_str!("../../../rules/validation.yaml")),
    ("wording", include_str!("../../../rules/wording.yaml")),
];
