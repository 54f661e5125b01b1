//! The table against what is scraped.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::*;
use crate::domain::{Action, EvidenceSource, Kind, LetterStatus, Reason};

/// Records everything at least once.
fn everything() -> Metrics {
    let metrics = Metrics::install().unwrap();
    metrics.record_judgement(&JudgementRecord {
        action: Action::Retry,
        reason: Reason::Transient,
        kind: Kind::RateLimited,
        source: EvidenceSource::Text,
        tool: "create_charge",
        retry_after: Some(Duration::from_millis(200)),
        tokens_spent: 7,
    });
    metrics.record_judge_time(Duration::from_micros(80));
    metrics.record_admission(true, None);
    metrics.record_admission(false, Some((Action::Escalate, Reason::CallCapReached)));
    metrics.record_success("create_charge", 2);
    metrics.record_recovery(Action::Retry, 2);
    metrics.record_turn_end(TurnEnd::Abandoned);
    metrics.record_silent_failure(SilentReason::Succeeded);
    metrics.record_store_failure(StoreName::Turns);
    metrics.record_policy_reload(ReloadOutcome::Refused);
    metrics.record_letters_logged(1);
    for _ in 0..4 {
        metrics.record_turn_open();
    }
    let by_status = BTreeMap::from([(LetterStatus::Open, 2)]);
    metrics.set_dead_letters(&by_status, Some(Duration::from_secs(9)), 4);
    metrics.set_breaker_open("payments", true);
    metrics
}

fn value(scrape: &str, series: &str) -> Option<f64> {
    let line = scrape.lines().find(|line| {
        line.strip_prefix(series)
            .is_some_and(|rest| rest.starts_with(' '))
    })?;
    line.rsplit(' ').next()?.parse().ok()
}

/// Name of the metric that a sample line belongs to, with its labels but `le`.
fn sample(line: &str) -> (String, Vec<(String, String)>) {
    let series = line.rsplit_once(' ').unwrap().0;
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let labels = labels
        .trim_end_matches('}')
        .split("\",")
        .filter(|label| !label.is_empty())
        .map(|label| label.split_once("=\"").unwrap())
        .map(|(name, value)| (name.to_owned(), value.trim_end_matches('"').to_owned()))
        .filter(|(name, _)| name != "le")
        .collect();
    (name.to_owned(), labels)
}

#[test]
fn what_is_scraped_is_what_the_table_says() {
    let scrape = everything().render();
    let mut scraped = BTreeSet::new();
    for line in scrape.lines().filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            let metric = TABLE.iter().find(|metric| metric.name == name);
            let metric = metric.unwrap_or_else(|| panic!("{name} is not in the table"));
            assert_eq!(metric.kind.name(), kind, "{name}");
            assert!(scraped.insert(name.to_owned()), "{name} twice");
        } else if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, help) = rest.split_once(' ').unwrap();
            let metric = TABLE.iter().find(|metric| metric.name == name).unwrap();
            assert_eq!(metric.help, help);
        } else {
            let (name, labels) = sample(line);
            let name = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|suffix| name.strip_suffix(suffix))
                .find(|stem| TABLE.iter().any(|metric| metric.name == *stem))
                .unwrap_or(&name);
            let metric = TABLE.iter().find(|metric| metric.name == name).unwrap();
            let expected: BTreeSet<&str> = metric.labels.iter().map(|label| label.name).collect();
            let found: BTreeSet<&str> = labels.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(found, expected, "{line}");
            for (name, value) in &labels {
                let label = metric
                    .labels
                    .iter()
                    .find(|label| label.name == name)
                    .unwrap();
                if let LabelValues::Closed(values) = label.values {
                    assert!(values().contains(&value.as_str()), "{line}");
                }
            }
        }
    }
    let table: BTreeSet<String> = TABLE.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(scraped, table);
}

#[test]
fn the_table_is_well_formed() {
    for metric in TABLE {
        assert!(metric.name.starts_with("backstop_"), "{}", metric.name);
        assert!(
            metric.help.ends_with('.'),
            "{}: {}",
            metric.name,
            metric.help
        );
        let is_counter = metric.kind == MetricKind::Counter;
        assert_eq!(
            metric.name.ends_with("_total"),
            is_counter,
            "{}",
            metric.name
        );
        let in_seconds = metric.unit == "seconds";
        assert_eq!(
            metric.name.ends_with("_seconds"),
            in_seconds,
            "{}",
            metric.name
        );
        if let MetricKind::Histogram(buckets) = metric.kind {
            assert!(buckets.is_sorted(), "{}", metric.name);
        }
    }
}

#[test]
fn closed_sets_start_with_zero() {
    let scrape = Metrics::install().unwrap().render();
    for series in [
        r#"backstop_silent_failures_total{reason="succeeded"}"#,
        r#"backstop_silent_failures_total{reason="abandoned"}"#,
        r#"backstop_budget_exhausted_total{scope="turn"}"#,
        r#"backstop_budget_exhausted_total{scope="fleet"}"#,
        r#"backstop_policy_reloads_total{result="accepted"}"#,
        r#"backstop_policy_reloads_total{result="refused"}"#,
        r#"backstop_store_failures_total{store="turns"}"#,
        r#"backstop_store_failures_total{store="dead_letters"}"#,
        r#"backstop_dead_letters{status="open"}"#,
        "backstop_retries_total",
        "backstop_reprompts_total",
    ] {
        assert_eq!(value(&scrape, series), Some(0.0), "{series}\n{scrape}");
    }
}

#[test]
fn numbers_land_where_they_belong() {
    let scrape = everything().render();
    for (series, expected) in [
        (
            r#"backstop_judgements_total{action="retry",reason="transient",kind="rate_limited",family="throttle",tool="create_charge"}"#,
            1.0,
        ),
        (
            r#"backstop_admissions_total{result="admitted",reason="none"}"#,
            1.0,
        ),
        (
            r#"backstop_admissions_total{result="denied",reason="call_cap_reached"}"#,
            1.0,
        ),
        (r#"backstop_budget_exhausted_total{scope="tool"}"#, 1.0),
        (
            r#"backstop_recoveries_total{action="retry",attempt="2"}"#,
            1.0,
        ),
        (r#"backstop_turns_total{outcome="abandoned"}"#, 1.0),
        (r#"backstop_classified_by_total{source="text"}"#, 1.0),
        (r#"backstop_dead_letters{status="open"}"#, 2.0),
        (r#"backstop_breaker_open{dependency="payments"}"#, 1.0),
        ("backstop_retries_total", 1.0),
        ("backstop_wasted_tokens_total", 7.0),
        ("backstop_dead_letter_oldest_seconds", 9.0),
        ("backstop_turns_open", 3.0),
        ("backstop_retry_wait_seconds_count", 1.0),
        (r#"backstop_retry_wait_seconds_bucket{le="0.1"}"#, 0.0),
        (r#"backstop_retry_wait_seconds_bucket{le="0.25"}"#, 1.0),
        (
            r#"backstop_attempts_to_success_sum{tool="create_charge"}"#,
            2.0,
        ),
    ] {
        assert_eq!(value(&scrape, series), Some(expected), "{series}\n{scrape}");
    }
}

#[test]
fn every_value_has_a_counter_of_its_own() {
    let metrics = Metrics::install().unwrap();
    for action in Action::ALL {
        for reason in Reason::ALL {
            metrics.record_admission(false, Some((*action, *reason)));
        }
        for attempt in 0..9 {
            metrics.record_recovery(*action, attempt);
        }
    }
    for source in EvidenceSource::ALL {
        metrics.record_judgement(&JudgementRecord {
            action: Action::Escalate,
            reason: Reason::OutcomeUnknown,
            kind: Kind::Timeout,
            source: *source,
            tool: "other",
            retry_after: None,
            tokens_spent: 0,
        });
    }
    let scrape = metrics.render();
    for reason in Reason::ALL {
        let series = format!(r#"backstop_admissions_total{{result="denied",reason="{reason}"}}"#);
        assert_eq!(value(&scrape, &series), Some(4.0), "{series}");
    }
    for source in EvidenceSource::ALL {
        let series = format!(r#"backstop_classified_by_total{{source="{source}"}}"#);
        assert_eq!(value(&scrape, &series), Some(1.0), "{series}");
    }
    // Attempts 0 and 1 share a label, and so do 6, 7 and 8.
    let first = r#"backstop_recoveries_total{action="reprompt",attempt="1"}"#;
    assert_eq!(value(&scrape, first), Some(2.0));
    let late = r#"backstop_recoveries_total{action="reprompt",attempt="6+"}"#;
    assert_eq!(value(&scrape, late), Some(3.0));
}

#[test]
fn names_are_bounded() {
    let metrics = Metrics::install().unwrap();
    for number in 0..MAX_POLICY_LABELS + 5 {
        metrics.record_success(&format!("tool_{number}"), 1);
    }
    let scrape = metrics.render();
    let count = |tool: &str| {
        value(
            &scrape,
            &format!(r#"backstop_attempts_to_success_count{{tool="{tool}"}}"#),
        )
    };
    assert_eq!(count("tool_0"), Some(1.0));
    assert_eq!(count(&format!("tool_{MAX_POLICY_LABELS}")), None);
    assert_eq!(count("other"), Some(5.0));
}

#[test]
fn upkeep_loses_nothing() {
    let metrics = Metrics::install().unwrap();
    for _ in 0..3 {
        metrics.record_judge_time(Duration::from_millis(2));
        metrics.upkeep();
    }
    assert_eq!(
        value(&metrics.render(), "backstop_judge_seconds_count"),
        Some(3.0)
    );
}
