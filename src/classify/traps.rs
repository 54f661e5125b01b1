//! Traps that users of other classifiers fell into, each with the reading that is right.
//!
//! Collected from public issue reports; the number is that of the trap. The tenth, an error that is what the tool was
//! asked to find, is no matter of reading: such tools are declared exploratory.

use super::tests::{CONTEXT, classifier, failure, read};
use super::*;

fn kind(message: &str) -> Kind {
    read(&failure(message, None, "")).kind
}

/// 1. Numbers inside ids, paths, ports, lines, token counts and echoed prompts.
#[test]
fn a_bare_number_is_no_status() {
    for message in [
        "run_id=req_8f429a503 finished without a result",
        "see /var/data/500/503/part-0429.parquet",
        "worker listens on 10.0.0.5:503",
        "main.py:429 in step",
        "prompt_tokens=429, completion_tokens=500",
        "the user wrote: what does error five hundred mean, and is 429 a prime?",
        "429 files copied",
        "order 500 has 503 items",
    ] {
        let reading = read(&failure(message, None, ""));
        assert_eq!(reading.kind, Kind::Unknown, "{message}: {}", reading.rule);
    }
    assert_eq!(kind("upstream answered: HTTP 429"), Kind::RateLimited);
    assert_eq!(kind("Error code: 503 - {'detail': 'x'}"), Kind::Unavailable);
}

/// 2. One vendor's code is another vendor's opposite.
#[test]
fn codes_mean_what_their_vendor_means() {
    let code = |message: &str, status, code: &str| read(&failure(message, Some(status), code)).kind;
    assert_eq!(
        code(
            "You exceeded your current quota, please check your plan and billing details.",
            429,
            "insufficient_quota"
        ),
        Kind::QuotaExhausted
    );
    assert_eq!(
        code(
            "dashscope.common.error: Requests rate limit exceeded, please try again later.",
            429,
            "insufficient_quota"
        ),
        Kind::RateLimited
    );
    assert_eq!(
        code("xAI: your team has used all available credits", 403, ""),
        Kind::QuotaExhausted
    );
    assert_eq!(
        code("You have exceeded a secondary rate limit", 403, ""),
        Kind::RateLimited
    );
}

/// 3. The same sentence for the minute's and the day's quota: the quota's id tells.
#[test]
fn the_quotas_id_tells_the_minute_from_the_day() {
    let text = |id: &str| {
        format!(
            "429 RESOURCE_EXHAUSTED. {{'error': {{'code': 429, 'message': 'You exceeded your current quota', 'details': \
             [{{'violations': [{{'quotaId': '{id}'}}]}}, {{'retryDelay': '36s'}}]}}}}"
        )
    };
    assert_eq!(
        kind(&text(
            "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
        )),
        Kind::RateLimited
    );
    assert_eq!(
        kind(&text("GenerateRequestsPerDayPerProjectPerModel-FreeTier")),
        Kind::QuotaExhausted
    );
}

/// 4. The case of exceptions' names.
#[test]
fn the_first_letter_of_an_exceptions_name_varies() {
    for name in ["ThrottlingException", "throttlingException"] {
        let typed = Failure {
            exception_type: name.to_owned(),
            ..Failure::default()
        };
        assert_eq!(read(&typed).kind, Kind::RateLimited, "{name}");
        assert_eq!(
            kind(&format!(
                "An error occurred ({name}) when calling InvokeModel"
            )),
            Kind::RateLimited
        );
    }
}

/// 5. HTTP 200 with an error inside.
#[test]
fn an_error_may_come_with_a_success() {
    let ok = |message: &str| read(&failure(message, Some(200), "")).kind;
    assert_eq!(
        ok(r#"{"ok": false, "error": "ratelimited"}"#),
        Kind::RateLimited
    );
    assert_eq!(
        ok(r#"{"ok":false,"error":"channel_not_found"}"#),
        Kind::WrongReference
    );
    assert_eq!(
        ok(r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#),
        Kind::Overloaded
    );
    assert_eq!(
        ok(r#"{"error":{"message":"Provider returned error","code":429}}"#),
        Kind::RateLimited
    );
}

/// 6. Wrapped errors: the innermost typed one, and the outer status only where the inner says nothing.
#[test]
fn the_innermost_cause_counts() {
    assert_eq!(
        kind(
            "litellm.APIConnectionError: litellm.RateLimitError: AnthropicException - \
            {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 210000 tokens > \
            200000 maximum\"}}"
        ),
        Kind::ContextOverflow
    );
    let wrapped = read(&failure(
        "upstream failed: {\"error\": {\"message\": \"{\\\"error\\\": {\\\"code\\\": \\\"insufficient_quota\\\"}}\"}}",
        Some(500),
        "",
    ));
    assert_eq!(wrapped.kind, Kind::QuotaExhausted);
    assert_eq!(
        read(&failure("{\"error\": {}}", Some(503), "")).kind,
        Kind::Unavailable
    );
}

/// 7. Settings and help texts are no evidence; nor are parts of words.
#[test]
fn help_texts_are_no_evidence() {
    for message in [
        "Tip: increase the timeout setting in config.yaml",
        "The request failed. See the docs on how to configure retry and timeout.",
        "separate moderate corporate iterate",
        "set max_retries=5 to change how often the client tries",
    ] {
        let kind = kind(message);
        assert!(
            !matches!(kind, Kind::Timeout | Kind::RateLimited | Kind::Unavailable),
            "{message}: {kind}"
        );
    }
}

/// 8. An overloaded method in a compiler's message is no load.
#[test]
fn an_overloaded_method_is_no_load() {
    for message in [
        "error TS2769: No overload matches this call.",
        "error: call of overloaded 'max(int, double)' is ambiguous",
    ] {
        assert_eq!(kind(message), Kind::InvalidArguments, "{message}");
    }
    assert_ne!(
        kind("reference to overloaded function could not be resolved; did you mean to call it?"),
        Kind::Overloaded
    );
    assert_eq!(
        kind("The model is overloaded. Please try again later."),
        Kind::Overloaded
    );
}

/// 9. "Not found" for a tool, a model, a file and a page are four things.
#[test]
fn not_found_has_four_meanings() {
    assert_eq!(kind("Tool 'search_web' not found"), Kind::UnknownTool);
    assert_eq!(
        read(&failure(
            "The model `gpt-9` does not exist or you do not have access to it.",
            Some(404),
            "model_not_found"
        ))
        .kind,
        Kind::Misconfigured
    );
    assert_eq!(
        kind("FileNotFoundError: [Errno 2] No such file or directory: 'a.csv'"),
        Kind::WrongReference
    );
    assert_eq!(
        read(&failure(
            "No such customer: 'cus_1'",
            Some(404),
            "resource_missing"
        ))
        .kind,
        Kind::WrongReference
    );
}

/// 11. A veto of our own that comes back is no failure.
#[test]
fn our_own_veto_is_known_again() {
    let reading = read(&failure(
        "backstop verdict fail_loud/turn_budget_exhausted: HTTP 503",
        Some(503),
        "",
    ));
    assert_eq!(&*reading.rule, "backstop/own-verdict");
}

/// 12. A unique violation after a try of unknown outcome: nobody may say that nothing was done.
#[test]
fn what_exists_already_may_be_ones_own_work() {
    let several = Context {
        tries: 2,
        ..CONTEXT
    };
    let exists = failure(
        "duplicate key value violates unique constraint \"payments_key\"",
        None,
        "23505",
    );
    assert_eq!(
        classifier().read(&exists, &several).execution,
        Execution::MaybeExecuted
    );
}

/// 13. Waits: negative, huge, past, in other units.
#[test]
fn absurd_waits_are_dropped() {
    let wait = |name: &str, value: &str| {
        let mut limited = failure("slow down", Some(429), "");
        limited.headers = vec![(name.to_owned(), value.to_owned())];
        read(&limited).retry_after.map(|wait| wait.as_millis())
    };
    assert_eq!(wait("retry-after", "-5"), None);
    assert_eq!(wait("retry-after", "99999999"), None);
    assert_eq!(wait("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT"), None);
    assert_eq!(wait("retry-after", "NaN"), None);
    assert_eq!(wait("retry-after", "0"), Some(0));
    assert_eq!(wait("retry-after", "7"), Some(7_000));
    assert_eq!(wait("retry-after-ms", "634"), Some(634));
    assert_eq!(wait("x-ratelimit-reset-requests", "6m0s"), Some(360_000));
}

/// 14. Localised messages.
#[test]
fn other_languages_are_read() {
    for (message, wanted) in [
        ("您的账户余额不足，请充值", Kind::QuotaExhausted),
        ("请求过于频繁，请稍后再试", Kind::RateLimited),
        ("该模型当前访问量过大，请您稍后再试", Kind::Overloaded),
        ("API密钥无效", Kind::Unauthenticated),
        (
            "リクエストが多すぎます。しばらくしてからもう一度お試しください",
            Kind::RateLimited,
        ),
        ("ファイルが見つかりません", Kind::WrongReference),
        ("Zugriff verweigert", Kind::PermissionDenied),
        ("Die Datei wurde nicht gefunden", Kind::WrongReference),
        ("Zeitüberschreitung der Anforderung", Kind::Timeout),
    ] {
        assert_eq!(kind(message), wanted, "{message}");
    }
}
