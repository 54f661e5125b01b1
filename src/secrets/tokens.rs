//! Secrets that can be told by their own form: vendors' keys, JSON web tokens, private keys.

use std::ops::Range;

use regex::{Captures, Regex};

use super::MASK;
use super::judgement::looks_random;
use super::masker::Pattern;

/// What stands behind the prefix of a token that was masked.
const PREFIXED: &str = "…[masked]";

/// Prefix (also the hint) and the regex of what follows. The prefix stays: it tells whose key to renew.
const TOKENS: &[(&str, &str)] = &[
    ("sk-ant-", r"[\w*-]{8,}"),
    ("sk-proj-", r"[\w*-]{8,}"),
    ("sk-or-v1-", r"[\w*-]{8,}"),
    ("sk-svcacct-", r"[\w*-]{8,}"),
    ("sk-lf-", r"[\w*-]{8,}"),
    ("sk-", r"[A-Za-z0-9_*-]{10,}"),
    ("sk_live_", r"\w{8,}"),
    ("sk_test_", r"\w{8,}"),
    ("rk_live_", r"\w{8,}"),
    ("rk_test_", r"\w{8,}"),
    ("whsec_", r"[A-Za-z0-9+/=]{8,}"),
    ("AKIA", r"[A-Z0-9]{16}"),
    ("ASIA", r"[A-Z0-9]{16}"),
    ("ghp_", r"\w{16,}"),
    ("gho_", r"\w{16,}"),
    ("ghu_", r"\w{16,}"),
    ("ghs_", r"\w{16,}"),
    ("ghr_", r"\w{16,}"),
    ("github_pat_", r"\w{16,}"),
    ("glpat-", r"[\w.-]{12,}"),
    ("gldt-", r"[\w-]{12,}"),
    ("glrt-", r"[\w-]{12,}"),
    ("xoxb-", r"[\w-]{8,}"),
    ("xoxp-", r"[\w-]{8,}"),
    ("xoxa-", r"[\w-]{8,}"),
    ("xoxr-", r"[\w-]{8,}"),
    ("xoxs-", r"[\w-]{8,}"),
    ("xoxe-", r"[\w-]{8,}"),
    ("xoxe.", r"[\w.-]{8,}"),
    ("xapp-", r"[\w-]{8,}"),
    ("AIza", r"[\w-]{30,}"),
    ("ya29.", r"[\w-]{16,}"),
    ("GOCSPX-", r"[\w-]{16,}"),
    ("npm_", r"[A-Za-z0-9]{30,}"),
    ("pypi-", r"[\w-]{32,}"),
    ("hf_", r"[A-Za-z0-9]{20,}"),
    ("gsk_", r"[A-Za-z0-9]{20,}"),
    ("xai-", r"[A-Za-z0-9]{20,}"),
    ("pplx-", r"[A-Za-z0-9]{20,}"),
    ("tvly-", r"[\w-]{16,}"),
    ("nvapi-", r"[\w-]{20,}"),
    ("r8_", r"[A-Za-z0-9]{30,}"),
    ("dckr_pat_", r"[\w-]{16,}"),
    ("dop_v1_", r"[a-f0-9]{32,}"),
    ("dapi", r"[a-f0-9]{32}(?:-\d)?"),
    ("shpat_", r"[a-fA-F0-9]{16,}"),
    ("shpss_", r"[a-fA-F0-9]{16,}"),
    ("lin_api_", r"[A-Za-z0-9]{16,}"),
    ("ntn_", r"[A-Za-z0-9]{20,}"),
    ("figd_", r"[\w-]{16,}"),
    ("sbp_", r"[a-f0-9]{32,}"),
    ("PMAK-", r"[a-f0-9-]{32,}"),
    ("hvs.", r"[\w-]{16,}"),
    ("glsa_", r"\w{20,}"),
    ("SG.", r"[\w-]{12,}\.[\w-]{12,}"),
    ("SK", r"[0-9a-f]{32}\b"),
    ("key-", r"[0-9a-f]{32}\b"),
    ("eyJ", r"[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?(?:\.[\w-]+){0,2}"),
    ("AGE-SECRET-KEY-1", r"[A-Z0-9]{16,}"),
];

pub(super) fn patterns() -> Vec<Pattern> {
    let private_keys = shaped(
        "-----BEGIN",
        concat!(
            r"(?P<secret>-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----",
            // A text that was cut has no end line: what looks like a key's body goes with it.
            r"(?:[^-]*?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|[A-Za-z0-9+/=\\\s:,-]*))",
        ),
        MASK,
    );
    let slack = shaped(
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[\w/-]+)",
        MASK,
    );
    let discord = shaped(
        "/api/webhooks/",
        r"/api/webhooks/(?P<secret>\d+/[\w-]+)",
        MASK,
    );
    let telegram = shaped(":AA", r"\b\d{8,10}:(?P<secret>AA[\w-]{30,})", MASK);
    let tokens = TOKENS.iter().map(|(prefix, rest)| {
        let regex = format!(r"(?-u:\b){}(?P<secret>(?-u:{rest}))", regex::escape(prefix));
        Some(Pattern {
            hints: vec![prefix],
            any_case: false,
            regex: Regex::new(&regex).ok()?,
            judge: token,
            mark: PREFIXED,
        })
    });
    [private_keys, slack, discord, telegram]
        .into_iter()
        .chain(tokens)
        .flatten()
        .collect()
}

/// How many patterns there should be, were none of them broken.
#[cfg(test)]
pub(super) const COUNT: usize = TOKENS.len() + 4;

fn shaped(hint: &'static str, regex: &str, mark: &'static str) -> Option<Pattern> {
    Some(Pattern {
        hints: vec![hint],
        any_case: false,
        regex: Regex::new(regex).ok()?,
        judge: whole,
        mark,
    })
}

fn whole(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    captures.name("secret").map(|secret| secret.range())
}

/// Real tokens hold digits or capitals; words with hyphens such as `sk-learn-contrib` do not.
fn token(captures: &Captures<'_>, _text: &str) -> Option<Range<usize>> {
    let secret = captures.name("secret")?;
    looks_random(secret.as_str()).then(|| secret.range())
}
