//! What every reading of any failure must be.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use backstop::classify::{Classifier, Context};
use backstop::domain::{Execution, Failure, Origin, Reading, Timestamp};

/// Far above what a read costs, even with the fuzzer's counters in the code: what takes longer is not linear.
const LONGEST: Duration = Duration::from_millis(200);

/// Reads it twice: a pure function, within bounds and time.
pub fn read(failure: &Failure) -> Reading {
    static CLASSIFIER: OnceLock<Classifier> = OnceLock::new();
    let classifier =
        CLASSIFIER.get_or_init(|| Classifier::new(&[]).expect("the built-in rules compile"));
    let context = Context {
        tool: "tool",
        origin: Origin::Tool,
        tries: 1,
        received_at: Timestamp(1_700_000_000_000_000),
    };
    let start = Instant::now();
    let reading = classifier.read(failure, &context);
    let took = start.elapsed();
    assert!(took < LONGEST, "took {took:?}");
    assert_eq!(reading, classifier.read(failure, &context));
    assert!((0.0..=1.0).contains(&reading.confidence));
    assert!(
        reading
            .retry_after
            .is_none_or(|wait| wait <= Duration::from_secs(86_400))
    );
    assert!(reading.evidence.len() <= 160 && !reading.rule.is_empty());
    assert!(
        reading
            .dependency
            .as_ref()
            .is_none_or(|name| !name.is_empty() && name.len() <= 256)
    );
    // Nothing but a claim of the worker's makes a failure with several tries a refused one.
    let several = Context {
        tries: 2,
        ..context
    };
    let read = classifier.read(failure, &several);
    assert!(failure.execution.is_some() || read.execution != Execution::NotExecuted);
    reading
}
