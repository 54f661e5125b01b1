//! The demo as `backstop demo` plays it: a real server, real gRPC.

use super::*;

/// The numbers of a story's line: calls, twice, and shown of failures, without and with the oracle.
fn columns(table: &str, story: &str) -> [Vec<u64>; 2] {
    let line = table.lines().find(|line| line.starts_with(story));
    let numbers: Vec<u64> = line
        .unwrap_or_else(|| panic!("no line `{story}` in\n{table}"))
        .trim_start_matches(story)
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    let [naive, obedient] = [&numbers[..4], &numbers[4..]];
    [naive.to_vec(), obedient.to_vec()]
}

#[tokio::test(flavor = "multi_thread")]
async fn the_oracle_spares_calls_duplicates_and_silence() {
    let mut out = Vec::new();
    run_in_process(&mut out, Look::Plain).await.expect("plays");
    let table = String::from_utf8(out).expect("is text");
    assert!(table.lines().all(|line| line.chars().count() <= 80));

    let titles = stories().into_iter().map(|story| story.title);
    for title in titles.chain(["together"]) {
        let [naive, obedient] = columns(&table, title);
        let [calls, twice, shown, failures] = obedient[..] else {
            panic!("{table}");
        };
        assert_eq!(twice, 0, "{title}\n{table}");
        assert_eq!(shown, failures, "{title}\n{table}");
        // One payment and its retry are two calls for everybody.
        let spared = calls < naive[0] || title == "The card charged twice";
        assert!(spared && calls <= naive[0], "{title}\n{table}");
    }
    let [naive, obedient] = columns(&table, "together");
    assert_eq!(naive[1], 1);
    assert_eq!((obedient[0], obedient[3]), (11, 9), "{table}");
    for verdict in [
        "retry (keyed_retry), then it succeeded",
        "reprompt (model_output), then it succeeded",
        "escalate (cause_budget_exhausted)",
    ] {
        assert!(table.contains(verdict), "{verdict}\n{table}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_output_that_cannot_be_written_stops_the_demo_in_order() {
    struct Full;
    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("full"))
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let error = run_in_process(&mut Full, Look::Plain).await.unwrap_err();
    assert!(matches!(error, InProcessError::Story(DemoError::Output(_))));
}
