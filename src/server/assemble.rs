//! Puts the server together from its settings: policy, stores, metrics, oracle, and the tasks that let time pass.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;

use super::{PolicyDesk, PolicyOrigin};
use crate::classify::Classifier;
use crate::lessons;
use crate::letters::{LetterEvents, LetterOptions, LetterStore, LetterStoreError, Masking};
use crate::metrics::{Metrics, MetricsError, ReloadOutcome, StoreName};
use crate::oracle::{Oracle, Sources};
use crate::policy::{Policy, PolicyFault, PolicyHandle, PolicyLoadError, ReloadResult};
use crate::secrets;
use crate::settings::Settings;
use crate::store::{MemoryStore, MemoryStoreOptions};
use crate::turn::Lifetimes;

/// How often turns that have idled out are looked for.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);
/// Turns that one sweep looks at before others get their turn.
const SWEEP_BATCH: usize = 1_000;

/// Why the server cannot be put together.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    /// The policy cannot be used.
    #[error(transparent)]
    Policy(#[from] PolicyLoadError),
    /// The dead-letter store cannot be opened.
    #[error(transparent)]
    Letters(#[from] LetterStoreError),
    /// The metrics cannot be set up.
    #[error(transparent)]
    Metrics(#[from] MetricsError),
}

/// Everything that a server serves.
#[derive(Debug)]
pub struct Assembly {
    /// Judges.
    pub oracle: Arc<Oracle>,
    /// The policy in force.
    pub policy: Arc<PolicyHandle<Classifier>>,
    /// Counts.
    pub metrics: Metrics,
    lifetimes: Lifetimes,
    poll_interval: Duration,
}

/// Tells the metrics of what goes wrong with the dead letters.
struct LettersToMetrics(Metrics);

impl LetterEvents for LettersToMetrics {
    fn on_store_failure(&self, _error: &LetterStoreError) {
        self.0.record_store_failure(StoreName::DeadLetters);
    }

    fn on_letters_logged(&self, letters: u64) {
        self.0.record_letters_logged(letters);
    }
}

/// The classifier of a policy: the built-in rules, our own words, and the operator's rules before them.
///
/// # Errors
/// An operator's rule that cannot be compiled.
pub fn classifier(policy: &Policy) -> Result<Classifier, String> {
    Classifier::with_own_texts(&policy.rules, lessons::own_text_fragments())
        .map_err(|error| error.to_string())
}

/// Builds the oracle over its stores. Opens files, so it may block.
///
/// # Errors
/// A policy with faults, a data directory that cannot be used.
pub fn assemble(settings: &Settings, sources: Sources) -> Result<Assembly, AssembleError> {
    let metrics = Metrics::install()?;
    let now = (sources.now)();
    // The rules are compiled while the letters' file is opened: each takes its time.
    let (policy, letters) = std::thread::scope(|scope| {
        let policy =
            scope.spawn(|| PolicyHandle::open(settings.policy.file.clone(), now, classifier));
        let letters = open_letters(settings, &metrics);
        (policy.join(), letters)
    });
    let policy = match policy {
        Ok(policy) => Arc::new(policy?),
        Err(panic) => std::panic::resume_unwind(panic),
    };
    let letters = letters?;
    let lifetimes = Lifetimes {
        idle: settings.store.idle_timeout,
        keep_ended: settings.store.keep_ended,
    };
    let turns = MemoryStore::new(MemoryStoreOptions {
        max_turns: settings.store.max_turns,
        lifetimes,
    });
    let oracle = Oracle::new(
        turns,
        letters,
        policy.clone(),
        lifetimes,
        sources,
        metrics.clone(),
    );
    Ok(Assembly {
        oracle: Arc::new(oracle),
        policy,
        metrics,
        lifetimes,
        poll_interval: settings.policy.poll_interval,
    })
}

fn open_letters(settings: &Settings, metrics: &Metrics) -> Result<LetterStore, LetterStoreError> {
    let options = LetterOptions {
        patience: settings.dead_letters.patience,
        spool_letters: settings.dead_letters.spool_letters,
        spool_bytes: settings.dead_letters.spool_bytes,
        max_file_bytes: settings.dead_letters.max_file_bytes,
        masking: Masking {
            text: secrets::mask,
            failure: secrets::mask_failure,
        },
        events: Arc::new(LettersToMetrics(metrics.clone())),
        ..LetterOptions::default()
    };
    LetterStore::open(&settings.data_dir, options)
}

impl Assembly {
    /// Starts the tasks that let time pass; they end with the set.
    pub fn start_tasks(&self) -> JoinSet<()> {
        // The texts' tables are compiled at their first use, which no judgement should have to wait for.
        std::thread::spawn(lessons::prepare);
        let mut tasks = JoinSet::new();
        tasks.spawn(self.metrics.clone().keep_up());
        tasks.spawn(sweep_for_ever(self.oracle.clone()));
        let hangup = Arc::new(Notify::new());
        tasks.spawn(heed_hangups(hangup.clone()));
        let (metrics, oracle) = (self.metrics.clone(), self.oracle.clone());
        tasks.spawn(self.policy.clone().watch(
            self.poll_interval,
            hangup,
            move || oracle.now(),
            move |result| {
                metrics.record_policy_reload(match result {
                    ReloadResult::Applied => ReloadOutcome::Accepted,
                    ReloadResult::Refused => ReloadOutcome::Refused,
                });
            },
        ));
        tasks
    }

    /// The text of `/metrics`, with the gauges as they stand.
    pub fn scrape(&self) -> String {
        let stats = self.oracle.letters().stats();
        let oldest = stats
            .oldest_open
            .map(|oldest| self.oracle.now().since(oldest));
        self.metrics
            .set_dead_letters(&stats.by_status, oldest, stats.spooled);
        self.metrics.render()
    }

    /// Lets the stores finish, once nothing is served any more.
    pub async fn close(&self) {
        self.oracle.letters().close().await;
    }

    /// How long turns are kept.
    pub fn lifetimes(&self) -> Lifetimes {
        self.lifetimes
    }
}

impl PolicyDesk for Assembly {
    fn origin(&self) -> PolicyOrigin {
        let active = self.policy.current();
        PolicyOrigin {
            origin: active
                .path
                .as_ref()
                .map_or_else(|| "built-in".to_owned(), |path| path.display().to_string()),
            loaded_at: active.loaded_at,
        }
    }

    fn faults(&self, document: &str) -> Vec<PolicyFault> {
        match Policy::parse(document).map_err(|faults| faults.faults) {
            Ok(policy) => match classifier(&policy) {
                Ok(_) => Vec::new(),
                Err(problem) => vec![PolicyFault {
                    line: 0,
                    column: 0,
                    field: "rules".to_owned(),
                    problem,
                    suggestion: None,
                }],
            },
            Err(faults) => faults,
        }
    }
}

async fn sweep_for_ever(oracle: Arc<Oracle>) {
    let mut interval = tokio::time::interval(SWEEP_INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        loop {
            match oracle.sweep(SWEEP_BATCH).await {
                Ok(SWEEP_BATCH) => tokio::task::yield_now().await,
                Ok(_) => break,
                Err(error) => {
                    tracing::error!(%error, "turns that have idled out cannot be looked for");
                    break;
                }
            }
        }
    }
}

/// Each SIGHUP asks for the policy to be read at once.
async fn heed_hangups(hangup: Arc<Notify>) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::hangup()) {
            Ok(mut signals) => {
                while signals.recv().await.is_some() {
                    hangup.notify_one();
                }
            }
            Err(error) => {
                tracing::warn!(%error, "SIGHUP cannot be heard; the policy is still read when its file changes");
            }
        }
    }
    std::future::pending::<()>().await;
}
