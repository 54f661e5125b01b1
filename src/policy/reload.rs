//! The policy in force, and its exchange when the file changes.
//!
//! Readers take the whole of it at once: policy and what was built from it belong to one revision. The file is
//! compared by content, so that an editor's rename and a ConfigMap's symlink swap are seen and a touched file is not.
//!
//! A changed text counts only once it was read twice in a row, one interval apart: a half-written policy is often
//! valid and lacks just the tools that come last. What is refused leaves the old policy in force, is logged once, and
//! is looked at again when it changes. SIGHUP means that the file is complete: it is then read at once.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tracing::{error, info, warn};

use super::fault::PolicyFaults;
use super::model::Policy;
use crate::domain::Timestamp;
use crate::domain::names::named_enum;

named_enum! {
    /// How a reload ended.
    ReloadResult, "reload result" {
        /// The new policy is in force.
        Applied = "applied",
        /// It is not; the old one stays.
        Refused = "refused",
    }
}

/// Faults that are logged one by one; the rest is counted.
const MAX_LOGGED_FAULTS: usize = 20;

/// A policy in force and what was built from it (the classifier, say).
#[derive(Debug)]
pub struct ActivePolicy<T> {
    /// The policy.
    pub policy: Policy,
    /// What was built from it.
    pub built: T,
    /// Counts the policies of this process, from 1.
    pub revision: u64,
    /// When it came into force.
    pub loaded_at: Timestamp,
    /// Where it was read; `None` for one without a file.
    pub path: Option<PathBuf>,
}

/// Why a policy cannot come into force.
#[derive(Debug, thiserror::Error)]
pub enum PolicyLoadError {
    /// The file cannot be read.
    #[error("{path}: {problem}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says of it.
        problem: String,
    },
    /// The document has faults.
    #[error("{}", prefixed(path, faults))]
    Faulty {
        /// The file.
        path: PathBuf,
        /// All of them.
        faults: PolicyFaults,
    },
    /// What has to be built from it cannot be.
    #[error("{place}: {problem}", place = place(path.as_deref()))]
    Unusable {
        /// The file, where there is one.
        path: Option<PathBuf>,
        /// Why.
        problem: String,
    },
}

fn place(path: Option<&Path>) -> String {
    path.map_or_else(
        || "built-in policy".to_owned(),
        |path| path.display().to_string(),
    )
}

fn prefixed(path: &Path, faults: &PolicyFaults) -> String {
    let lines = faults
        .faults
        .iter()
        .map(|fault| format!("{}: {fault}", path.display()));
    lines.collect::<Vec<_>>().join("\n")
}

/// Builds what belongs to a policy; an error refuses the policy.
type Build<T> = Box<dyn Fn(&Policy) -> Result<T, String> + Send + Sync>;

/// The text of the file, or why there is none.
type Observed = Result<String, String>;

/// What the file held when it was last judged, and what it held at the last look if that was something else.
struct Watched {
    judged: Observed,
    candidate: Option<Observed>,
}

/// Holds the policy in force. Cheap to read, from any number of threads.
pub struct PolicyHandle<T> {
    active: ArcSwap<ActivePolicy<T>>,
    build: Build<T>,
    watched: Mutex<Watched>,
}

impl<T> std::fmt::Debug for PolicyHandle<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let active = self.active.load();
        (f.debug_struct("PolicyHandle"))
            .field("revision", &active.revision)
            .field("path", &active.path)
            .finish_non_exhaustive()
    }
}

impl<T: Send + Sync + 'static> PolicyHandle<T> {
    /// Brings the file's policy into force, the built-in one without a file.
    ///
    /// # Errors
    /// The file cannot be read, has faults, or `build` refuses it.
    pub fn open(
        path: Option<PathBuf>,
        now: Timestamp,
        build: impl Fn(&Policy) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, PolicyLoadError> {
        let policy = match &path {
            None => Policy::builtin(),
            Some(path) => {
                let text = observe(path).map_err(|problem| PolicyLoadError::Unreadable {
                    path: path.clone(),
                    problem,
                })?;
                read(path, &text)?
            }
        };
        PolicyHandle::with_policy(policy, path, now, build)
    }

    /// Brings a policy into force that was made elsewhere; with a path it is watched for changes to `policy.source`.
    ///
    /// # Errors
    /// `build` refuses it.
    pub fn with_policy(
        policy: Policy,
        path: Option<PathBuf>,
        now: Timestamp,
        build: impl Fn(&Policy) -> Result<T, String> + Send + Sync + 'static,
    ) -> Result<Self, PolicyLoadError> {
        let built = build(&policy).map_err(|problem| PolicyLoadError::Unusable {
            path: path.clone(),
            problem,
        })?;
        let watched = Watched {
            judged: Ok(policy.source.clone()),
            candidate: None,
        };
        let active = ActivePolicy {
            policy,
            built,
            revision: 1,
            loaded_at: now,
            path,
        };
        Ok(PolicyHandle {
            active: ArcSwap::from_pointee(active),
            build: Box::new(build),
            watched: Mutex::new(watched),
        })
    }

    /// The policy in force, for the length of one judgement.
    pub fn load(&self) -> Guard<Arc<ActivePolicy<T>>> {
        self.active.load()
    }

    /// The policy in force, to keep.
    pub fn current(&self) -> Arc<ActivePolicy<T>> {
        self.active.load_full()
    }

    /// Looks at the file once. A change is judged when the same text is met at the next look; `None`: nothing was
    /// judged. Reads the file, so it may block.
    pub fn poll_once(&self, now: Timestamp) -> Option<ReloadResult> {
        self.look(now, false)
    }

    /// Looks at the file and judges it at once, also one that was refused before. May block.
    pub fn reload_now(&self, now: Timestamp) -> Option<ReloadResult> {
        self.look(now, true)
    }

    fn look(&self, now: Timestamp, at_once: bool) -> Option<ReloadResult> {
        let in_force = self.current();
        let path = in_force.path.as_deref()?;
        // Held over the exchange, so that two callers cannot judge the same change twice.
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let observed = observe(path);
        if !at_once {
            if observed == watched.judged {
                watched.candidate = None;
                return None;
            }
            if watched.candidate.as_ref() != Some(&observed) {
                watched.candidate = Some(observed);
                return None;
            }
        }
        watched.candidate = None;
        watched.judged = observed.clone();
        if observed.as_ref() == Ok(&in_force.policy.source) {
            return None;
        }
        Some(match self.judge(path, observed, &in_force, now) {
            Ok(()) => ReloadResult::Applied,
            Err(refusal) => {
                log_refusal(&refusal, in_force.revision);
                ReloadResult::Refused
            }
        })
    }

    fn judge(
        &self,
        path: &Path,
        observed: Observed,
        in_force: &ActivePolicy<T>,
        now: Timestamp,
    ) -> Result<(), PolicyLoadError> {
        let unreadable = |problem: String| PolicyLoadError::Unreadable {
            path: path.to_owned(),
            problem,
        };
        let text = observed.map_err(unreadable)?;
        // A truncated file would otherwise silently lift every rule that was in force.
        if text.trim().is_empty() && !in_force.policy.source.trim().is_empty() {
            let problem = "is empty now; write `{}` if the built-in policy is meant";
            return Err(unreadable(problem.to_owned()));
        }
        let policy = read(path, &text)?;
        let built = (self.build)(&policy).map_err(|problem| PolicyLoadError::Unusable {
            path: Some(path.to_owned()),
            problem,
        })?;
        let revision = in_force.revision.saturating_add(1);
        self.active.store(Arc::new(ActivePolicy {
            policy,
            built,
            revision,
            loaded_at: now,
            path: Some(path.to_owned()),
        }));
        info!(path = %path.display(), revision, "policy reloaded");
        Ok(())
    }

    /// Looks at the file every `interval` and at every `hangup`, for ever; ends at once where there is no file.
    /// `now` is the clock of `loaded_at`. Each judged change is told to `on_reload`.
    pub async fn watch(
        self: Arc<Self>,
        interval: Duration,
        hangup: Arc<Notify>,
        now: impl Fn() -> Timestamp,
        on_reload: impl Fn(ReloadResult),
    ) {
        if self.load().path.is_none() {
            return;
        }
        let mut ticks = interval_at(Instant::now() + interval, interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let at_once = tokio::select! {
                _ = ticks.tick() => false,
                () = hangup.notified() => true,
            };
            let (handle, now) = (self.clone(), now());
            // The file may live on a slow network mount.
            let looked = tokio::task::spawn_blocking(move || handle.look(now, at_once)).await;
            if let Ok(Some(result)) = looked {
                on_reload(result);
            }
        }
    }
}

/// Reads the file as text, at most one byte more than a policy may have.
fn observe(path: &Path) -> Observed {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let limit = u64::try_from(Policy::MAX_BYTES).unwrap_or(u64::MAX);
        (File::open(path)?.take(limit.saturating_add(1))).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().map_err(|error| format!("cannot be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())
}

/// Parses the text; what is allowed but likely not meant is logged.
fn read(path: &Path, text: &str) -> Result<Policy, PolicyLoadError> {
    let (policy, warnings) =
        Policy::parse_with_warnings(text).map_err(|faults| PolicyLoadError::Faulty {
            path: path.to_owned(),
            faults,
        })?;
    for warning in warnings {
        warn!(path = %path.display(), "policy: {warning}");
    }
    Ok(policy)
}

fn log_refusal(refusal: &PolicyLoadError, revision: u64) {
    match refusal {
        PolicyLoadError::Faulty { path, faults } => {
            let path = path.display();
            for fault in faults.faults.iter().take(MAX_LOGGED_FAULTS) {
                let (line, field) = (fault.line, &fault.field);
                error!(%path, line, %field, "policy fault: {fault}");
            }
            let faults = faults.faults.len();
            error!(%path, faults, revision, "policy refused whole; the old one stays in force");
        }
        other => error!(
            revision,
            "policy not reloaded, the old one stays in force: {other}"
        ),
    }
}
