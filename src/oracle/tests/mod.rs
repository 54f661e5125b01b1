//! The oracle over its real parts: turns in memory, letters on disk, a policy that can be exchanged; time and chance
//! are the test's.

mod judging;
mod letting_go;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::*;
use crate::domain::{Call, Kind, LetterStatus, Outcome, Reason};
use crate::letters::{LetterOptions, read_only};
use crate::policy::Policy;
use crate::server::classifier;
use crate::store::MemoryStoreOptions;

const POLICY: &str = "
tools:
  read: {effect: idempotent, dependency: files}
  send: {effect: unsafe}
";
const START: Timestamp = Timestamp::from_secs(1_000_000);

/// An oracle, its clock, and its directory, which goes with it.
struct World {
    oracle: Oracle,
    clock: Arc<AtomicU64>,
    data: tempfile::TempDir,
}

impl World {
    fn new() -> Self {
        World::with(MemoryStoreOptions::default(), patient(), None)
    }

    fn with_room_for(max_turns: usize) -> Self {
        let options = MemoryStoreOptions {
            max_turns,
            ..MemoryStoreOptions::default()
        };
        World::with(options, patient(), None)
    }

    fn with(turns: MemoryStoreOptions, letters: LetterOptions, policy: Option<&Path>) -> Self {
        let data = tempfile::tempdir().unwrap();
        let policy = match policy {
            Some(path) => PolicyHandle::open(Some(path.to_owned()), START, classifier),
            None => {
                let policy = Policy::parse(POLICY).unwrap();
                PolicyHandle::with_policy(policy, None, START, classifier)
            }
        };
        let clock = Arc::new(AtomicU64::new(START.0));
        let time = clock.clone();
        let sources = Sources {
            now: Arc::new(move || Timestamp(time.load(Ordering::Relaxed))),
            // The same for every request: ids must differ all the same where it matters.
            seed: Arc::new(|| 7),
        };
        let oracle = Oracle::new(
            MemoryStore::new(turns),
            LetterStore::open(data.path(), letters).unwrap(),
            Arc::new(policy.unwrap()),
            turns.lifetimes,
            sources,
            Metrics::install().unwrap(),
        );
        World {
            oracle,
            clock,
            data,
        }
    }

    fn pass(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap();
        self.clock.fetch_add(micros, Ordering::Relaxed);
    }

    async fn judge(&self, turn: &str, request: JudgeRequest) -> Judgement {
        let judged = self.oracle.judge("default", turn, request).await;
        judged.unwrap()
    }

    /// What is on disk, seen through a connection of its own.
    fn on_disk(&self, id: &str) -> Option<DeadLetter> {
        let reader = read_only(self.data.path()).unwrap();
        reader.get("default", id).unwrap()
    }

    /// Every letter on disk.
    fn all_on_disk(&self) -> Vec<DeadLetter> {
        let path = self.data.path().join(crate::letters::FILE_NAME);
        let connection = rusqlite::Connection::open(path).unwrap();
        let mut ids = connection.prepare("SELECT id FROM letters").unwrap();
        let ids = ids.query_map([], |row| row.get::<_, String>(0)).unwrap();
        ids.map(|id| self.on_disk(&id.unwrap()).unwrap()).collect()
    }

    fn metric(&self, line: &str) -> bool {
        let text = self.oracle.metrics.render();
        text.lines().any(|known| known == line)
    }
}

/// No test here is about a slow disk.
fn patient() -> LetterOptions {
    LetterOptions {
        patience: Duration::from_secs(60),
        ..LetterOptions::default()
    }
}

fn failed(operation: &str, attempt: u32, tool: &str, message: &str) -> JudgeRequest {
    JudgeRequest {
        call: Call {
            operation_id: operation.into(),
            attempt,
            tool: tool.into(),
            origin: Origin::Tool,
            effect: None,
            input: None,
            approval_id: None,
            idempotency_key: None,
            worker_id: None,
            deadline: None,
            request_id: None,
        },
        failure: Failure {
            message: message.into(),
            ..Failure::default()
        },
        lesson: None,
        distill: false,
        elapsed: None,
        tries: 1,
        tokens_spent: 0,
    }
}

/// A call of an unsafe tool that got no answer: a stop.
fn lost() -> JudgeRequest {
    failed("send-it", 1, "send", TIMEOUT)
}

/// A retry that nobody will make.
fn left() -> JudgeRequest {
    failed("read-it", 1, "read", "503 Service Unavailable")
}

const TIMEOUT: &str = "Read timed out. (read timeout=10)";
