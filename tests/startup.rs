//! From nothing to SERVING. The number is for people; the bound is generous, since debug builds and busy machines count.

mod support;

use std::time::{Duration, Instant};

use anyhow::Result;
use support::process::{Server, Setup};
use tonic_health::pb::health_check_response::ServingStatus;

/// What no start may take, even of a debug build on a busy machine.
const BOUND: Duration = Duration::from_secs(10);

#[tokio::test]
async fn the_server_serves_soon_after_its_start() -> Result<()> {
    let mut starts = Vec::new();
    for _ in 0..3 {
        let start = Instant::now();
        let server = Server::serving(&Setup::default()).await?;
        starts.push(start.elapsed());
        // Ready means ready on both sides.
        assert_eq!(server.health().await?, ServingStatus::Serving);
        for path in ["/healthz", "/readyz", "/metrics"] {
            assert_eq!(server.get(path)?.0, 200, "{path}");
        }
    }
    starts.sort();
    println!("cold start to SERVING: {starts:?}");
    let best = starts.first().copied().unwrap_or(BOUND);
    assert!(best < BOUND, "{starts:?}");
    Ok(())
}
