use std::borrow::Cow;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

#[test]
fn every_pattern_is_sound() {
    assert_eq!(
        Masker::builtin().patterns().len(),
        tokens::COUNT + pairs::COUNT
    );
}

/// What comes in, what goes out, and the secret that must be gone. Tokens are put together here so that no scanner
/// takes this file for a leak.
fn masked() -> Vec<(String, String, String)> {
    let hex = "0123456789abcdef0123456789abcdef";
    let mixed = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
    let upper = "A1B2C3D4E5F6G7H8";
    let case = |text: &str, out: &str, secret: &str| {
        (
            text.replace("{}", secret),
            out.to_owned(),
            secret.to_owned(),
        )
    };
    let mut cases = vec![
        case(
            "Incorrect API key provided: sk-{}. See the docs.",
            "Incorrect API key provided: sk-…[masked]. See the docs.",
            mixed,
        ),
        case(
            "key sk-ant-api03-{} is bad",
            "key sk-ant-…[masked] is bad",
            mixed,
        ),
        case("sk-proj-abc********{}", "sk-proj-…[masked]", "wxyz1234"),
        case("user AKIA{} denied", "user AKIA…[masked] denied", upper),
        case("remote: ghp_{}", "remote: ghp_…[masked]", mixed),
        case("github_pat_{}!", "github_pat_…[masked]!", mixed),
        case("xoxb-{}", "xoxb-…[masked]", "123456789012-abcdefGHIJKL"),
        case(
            "?key=AIza{}&x=1",
            "?key=AIza…[masked]&x=1",
            "SyA1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P",
        ),
        case("glpat-{}", "glpat-…[masked]", "a1B2c3D4e5F6g7H8i9J0"),
        case("npm_{}", "npm_…[masked]", mixed),
        case("hf_{}", "hf_…[masked]", mixed),
        case(
            "Stripe sk_live_{} used",
            "Stripe sk_live_…[masked] used",
            mixed,
        ),
        case(
            "POST https://hooks.slack.com/services/{} 404",
            "POST https://hooks.slack.com/services/[masked] 404",
            "T0001/B0002/a1B2c3D4",
        ),
        case("Twilio SK{}", "Twilio SK…[masked]", hex),
        case(
            "SG.{}",
            "SG.…[masked]",
            "a1B2c3D4e5F6g7H8.i9J0k1L2m3N4o5P6q7R8",
        ),
        case(
            "jwt eyJ{} expired",
            "jwt eyJ…[masked] expired",
            "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
        ),
        case(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----\nafter",
            "[masked]\nafter",
            "MIIEow+a/b\nQUJD==",
        ),
        case(
            "cut -----BEGIN PRIVATE KEY-----\\n{}",
            "cut [masked]",
            "MIIEowQUJD",
        ),
        case(
            "Authorization: Bearer {}",
            "Authorization: Bearer [masked]",
            "abcdefgh",
        ),
        case(
            "{'Authorization': 'Bearer {}', 'x': 1}",
            "{'Authorization': 'Bearer [masked]', 'x': 1}",
            "opaque",
        ),
        case(
            "authorization: Basic {}\nHost: a",
            "authorization: Basic [masked]\nHost: a",
            "dXNlcjpwYXNz",
        ),
        case(
            "curl -H 'authorization: {}'",
            "curl -H 'authorization: [masked]'",
            "abc123def456",
        ),
        case("sent bearer {}", "sent bearer [masked]", "abc123def456"),
        case("bearer bearer {}", "bearer bearer [masked]", "abc123def456"),
        case(
            "Cookie: {}\nAccept: */*",
            "Cookie: [masked]\nAccept: */*",
            "sid=1; theme=dark",
        ),
        case("set-cookie: {}", "set-cookie: [masked]", "sid=abc; Path=/"),
        case("password={} host=db", "password=[masked] host=db", "hunter"),
        case(
            "Server=db;User Id=sa;Password={};Encrypt=true",
            "Server=db;User Id=sa;Password=[masked];Encrypt=true",
            "p&ss,w0rd!",
        ),
        case(
            "AccountName=x;AccountKey={}",
            "AccountName=x;AccountKey=[masked]",
            "a1B2/c3+D4==",
        ),
        case(
            r#"{"secret": "{}", "a": 1}"#,
            r#"{"secret": "[masked]", "a": 1}"#,
            "it's 4 me",
        ),
        case(
            r#"{"client_secret":"{}"}"#,
            r#"{"client_secret":"[masked]"}"#,
            r#"a\"b"#,
        ),
        case(
            r#"{\"api_key\":\"{}\",\"n\":1}"#,
            r#"{\"api_key\":\"[masked]\",\"n\":1}"#,
            "plain",
        ),
        case(
            "{'access_token': '{}'}",
            "{'access_token': '[masked]'}",
            "plain",
        ),
        case(
            "?user=a&api_key={}&page=2",
            "?user=a&api_key=[masked]&page=2",
            "plain",
        ),
        case(
            "connect(host=h, password={}, port=1)",
            "connect(host=h, password=[masked], port=1)",
            "plain",
        ),
        case(
            "export OPENAI_API_KEY={}",
            "export OPENAI_API_KEY=[masked]",
            "plain",
        ),
        case(
            "db:\n  password: {}\n  host: h",
            "db:\n  password: [masked]\n  host: h",
            "correcthorse",
        ),
        case(
            "login with password: {} failed",
            "login with password: [masked] failed",
            "hunter2x",
        ),
        case(
            "tool --api-key {} --page 2",
            "tool --api-key [masked] --page 2",
            "plainkey",
        ),
        case(
            "curl -u admin:{} https://h/",
            "curl -u admin:[masked] https://h/",
            "hunter",
        ),
        case(
            "postgres://app:{}@db.internal:5432/x",
            "postgres://app:[masked]@db.internal:5432/x",
            "hunter",
        ),
        case(
            "redis://:{}@cache:6379",
            "redis://:[masked]@cache:6379",
            "p@ss",
        ),
        case("amqp://u:{}@mq/", "amqp://u:[masked]@mq/", "pa/ss"),
        case(
            "https://{}@o1.ingest.example.com/1",
            "https://[masked]@o1.ingest.example.com/1",
            hex,
        ),
        case(
            "invalid token: api_key=\"{}\"",
            "invalid token: api_key=\"[masked]\"",
            "plain",
        ),
        case(
            "https://x.blob.example.net/c?sv=1&sig={}&se=2",
            "https://x.blob.example.net/c?sv=1&sig=[masked]&se=2",
            "a1B2%2Fc3",
        ),
        case("password: '{}'", "password: '[masked]'", "mañana"),
    ];
    cases.push((
        "a ghp_a1B2c3D4e5F6g7H8i9J0 b password=x c".into(),
        "a ghp_…[masked] b password=[masked] c".into(),
        "a1B2c3D4e5F6g7H8i9J0".into(),
    ));
    cases
}

const UNMASKED: &[&str] = &[
    "",
    "Error code: 429 - {'error': {'message': 'Rate limit reached for gpt-4 on tokens per min (TPM): Limit 10000'}}",
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9125 tokens.",
    "SyntaxError: Unexpected token < in JSON at position 0",
    "SyntaxError: Unexpected token: 'else' at line 3",
    "Unexpected token: identifier",
    "password must be at least 8 characters",
    r#"{"errors":{"password":"must be at least 8 characters"}}"#,
    "password: field required",
    "api_key: Field required",
    "api_key=None",
    r#""token": null, "secret": """#,
    "The api_key client option must be set either by passing api_key to the client or by setting OPENAI_API_KEY",
    "401 Unauthorized: Basic authentication required; bearer authentication failed",
    "www-authenticate: Bearer realm=\"x\", error=\"invalid_token\"",
    "Authorization: header missing",
    "Authorization: Bearer token required",
    "connect ECONNREFUSED 127.0.0.1:9222",
    "https://api.example.com:8443/v1/users/@me?page=2",
    "ssh://git@github.com:22/a/b.git",
    "mail to someone@example.com failed",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 not found",
    "request 550e8400-e29b-41d4-a716-446655440000 failed",
    "SQLSTATE[42P01]: relation \"permissions\" does not exist",
    "task-based-runner-12345-failed, disk-usage-0123456789",
    "max_tokens: 4096, total_tokens: 128",
    "secrets \"db\" is forbidden",
    "duplicate key value violates unique constraint \"users_email_key\"",
    "missing required key: name",
    "password=${DB_PASSWORD} token=<token> secret=********",
    "--password is required; --token must be given",
    "idempotency key: order-1234",
    "pip install sk-learn-contrib-packages",
    "x-ratelimit-remaining-tokens: 150000",
    "KeyError: 'token'",
];

#[test]
fn masks_the_secret_and_nothing_else() {
    for (text, expected, secret) in masked() {
        let out = mask(&text);
        assert_eq!(out, expected, "from {text:?}");
        assert!(!out.contains(&secret), "{secret:?} is left in {out:?}");
        assert_eq!(mask(&out), expected, "masked twice");
    }
}

#[test]
fn keeps_what_readers_need() {
    for text in UNMASKED {
        let out = mask(text);
        assert_eq!(out, *text);
        assert!(matches!(out, Cow::Borrowed(_)), "copied {text:?}");
    }
}

#[test]
fn masks_every_text_of_a_failure() {
    let failure = Failure {
        message: "password=hunter failed".into(),
        code: "token=abc".into(),
        exception_type: "requests.exceptions.ReadTimeout".into(),
        dependency: "postgres://a:b@db:5432".into(),
        headers: [
            ("authorization", "Bearer x"),
            ("cookie", "a"),
            ("x-api-key", "k"),
            ("x-auth-token", "t"),
            ("retry-after", "30"),
            ("x-ratelimit-remaining-tokens", "12"),
            ("idempotency-key", "order-1"),
            ("location", "https://u:p@h/"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec(),
        http_status: Some(401),
        ..Failure::default()
    };
    let out = mask_failure(&failure);
    assert_eq!(out.message, "password=[masked] failed");
    assert_eq!(out.code, "token=[masked]");
    assert_eq!(out.exception_type, failure.exception_type);
    assert_eq!(out.dependency, "postgres://a:[masked]@db:5432");
    assert_eq!(out.http_status, Some(401));
    let values: Vec<&str> = out
        .headers
        .iter()
        .map(|(_, value)| value.as_str())
        .collect();
    assert_eq!(
        values,
        [
            MASK,
            MASK,
            MASK,
            MASK,
            "30",
            "12",
            "order-1",
            "https://u:[masked]@h/"
        ]
    );
}

#[test]
fn takes_linear_time_on_hostile_text() {
    let pieces = [
        "token:",
        "token: token ",
        "password=\"",
        "://a:b",
        "://a:1@",
        "-----BEGIN PRIVATE KEY-----",
        "Bearer ",
        "authorization:",
        "cookie: a=",
        "sk-a",
        "eyJa.",
        "--password a ",
        "x",
        "\u{301}password=",
    ];
    for piece in pieces {
        let text = piece.repeat(262_144 / piece.len());
        let began = Instant::now();
        let _ = mask(&text);
        // Debug builds take half a second for the worst of them; quadratic time would take minutes.
        assert!(
            began.elapsed() < Duration::from_secs(20),
            "{piece:?} took {:?}",
            began.elapsed()
        );
    }
}

fn fragment() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        prop::sample::select(
            masked()
                .into_iter()
                .map(|(text, ..)| text)
                .collect::<Vec<_>>()
        ),
        prop::sample::select(
            UNMASKED
                .iter()
                .map(|text| (*text).to_owned())
                .collect::<Vec<_>>()
        ),
        "[ =:;,&?@'\"\\\\`\\[\\]{}\n]{1,4}",
        prop::sample::select(vec![
            "password",
            "token",
            "Bearer ",
            "://",
            "sk-",
            "[masked]",
            "…[masked]",
            "cookie: "
        ])
        .prop_map(str::to_owned),
    ]
}

proptest! {
    #[test]
    fn masking_twice_is_masking_once(parts in prop::collection::vec(fragment(), 1..6)) {
        let text = parts.concat();
        let once = mask(&text).into_owned();
        let twice = mask(&once).into_owned();
        prop_assert_eq!(once, twice);
    }

    #[test]
    fn finds_secrets_in_any_surroundings(
        before in "[ a-z\n]{0,40}", after in "[ a-z\n.]{0,40}", at in 0..masked().len(),
    ) {
        let (text, _, secret) = masked().swap_remove(at);
        let out = mask(&format!("{before}\n{text} \n{after}")).into_owned();
        prop_assert!(!out.contains(&secret), "{} in {}", secret, out);
    }
}
