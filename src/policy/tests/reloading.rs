//! Exchange of the policy in force. No test waits: files are looked at by calls, and the task that watches runs in virtual time.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::domain::Timestamp;
use crate::policy::*;

const SEARCH: &str = "tools: {search: {effect: idempotent}}\n";
const LETTER: &str = "tools: {send_letter: {effect: unsafe}}\n";

/// Builds the number of described tools.
fn open(path: &Path) -> PolicyHandle<usize> {
    let build = |policy: &Policy| match policy.tools.len() {
        13 => Err("thirteen tools bring bad luck".to_owned()),
        tools => Ok(tools),
    };
    PolicyHandle::open(Some(path.to_owned()), Timestamp::from_secs(1), build).unwrap()
}

fn first_tool(handle: &PolicyHandle<usize>) -> String {
    handle.load().policy.tools[0].pattern.to_string()
}

/// The results of so many looks at the file.
fn looks(handle: &PolicyHandle<usize>, count: u64) -> Vec<ReloadResult> {
    (0..count)
        .filter_map(|look| handle.poll_once(Timestamp::from_secs(100 + look)))
        .collect()
}

#[test]
fn a_change_is_applied_once_it_has_settled() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = open(&path);
    assert_eq!(looks(&handle, 3), []);

    fs::write(&path, LETTER).unwrap();
    assert_eq!(handle.poll_once(Timestamp::from_secs(5)), None);
    assert_eq!(first_tool(&handle), "search");
    assert_eq!(
        handle.poll_once(Timestamp::from_secs(6)),
        Some(ReloadResult::Applied)
    );
    assert_eq!(first_tool(&handle), "send_letter");
    let active = handle.current();
    assert_eq!((active.revision, active.built), (2, 1));
    assert_eq!(active.loaded_at, Timestamp::from_secs(6));
    assert_eq!(looks(&handle, 3), []);
}

#[test]
fn a_text_that_still_grows_is_never_applied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = open(&path);
    let whole = "tools:\n  a: {effect: keyed}\n  b: {irreversible: true}\n";
    for cut in 1..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        assert_eq!(looks(&handle, 1), []);
    }
    fs::write(&path, whole).unwrap();
    assert_eq!(looks(&handle, 3), [ReloadResult::Applied]);
    assert_eq!(handle.load().built, 2);
}

#[test]
fn what_cannot_be_used_is_refused_once_and_the_old_one_stays() {
    let thirteen: String = (0..13).map(|n| format!("  t{n}: {{}}\n")).collect();
    for bad in [
        "tools: {search: {efect: keyed}}".to_owned(),
        "tools: {".to_owned(),
        String::new(),
        format!("tools:\n{thirteen}"),
        "x".repeat(Policy::MAX_BYTES + 100),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("policy.yaml");
        fs::write(&path, SEARCH).unwrap();
        let handle = open(&path);
        fs::write(&path, &bad).unwrap();
        assert_eq!(looks(&handle, 5), [ReloadResult::Refused]);
        assert_eq!(
            (&*first_tool(&handle), handle.load().revision),
            ("search", 1)
        );
        // Back to what is in force: nothing to do. Then a good one.
        fs::write(&path, SEARCH).unwrap();
        assert_eq!(looks(&handle, 5), []);
        fs::write(&path, LETTER).unwrap();
        assert_eq!(looks(&handle, 5), [ReloadResult::Applied]);
    }
}

#[test]
fn a_vanished_or_unreadable_file_keeps_the_old_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = open(&path);
    fs::remove_file(&path).unwrap();
    assert_eq!(looks(&handle, 5), [ReloadResult::Refused]);
    fs::create_dir(&path).unwrap();
    assert_eq!(looks(&handle, 5), [ReloadResult::Refused]);
    fs::remove_dir(&path).unwrap();
    fs::write(&path, [0xff, 0xfe, 0x00]).unwrap();
    assert_eq!(looks(&handle, 5), [ReloadResult::Refused]);
    assert_eq!(first_tool(&handle), "search");
    fs::write(&path, LETTER).unwrap();
    assert_eq!(looks(&handle, 5), [ReloadResult::Applied]);
}

#[test]
fn an_editor_s_rename_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = open(&path);
    let fresh = dir.path().join("policy.yaml.tmp");
    fs::write(&fresh, LETTER).unwrap();
    fs::rename(&fresh, &path).unwrap();
    assert_eq!(looks(&handle, 3), [ReloadResult::Applied]);
}

/// Kubernetes mounts `policy.yaml -> ..data/policy.yaml` and exchanges where `..data` points.
#[cfg(unix)]
#[test]
fn a_config_map_s_symlink_swap_is_seen() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    for (version, text) in [("..v1", SEARCH), ("..v2", LETTER)] {
        fs::create_dir(dir.path().join(version)).unwrap();
        fs::write(dir.path().join(version).join("policy.yaml"), text).unwrap();
    }
    let data = dir.path().join("..data");
    symlink("..v1", &data).unwrap();
    let path = dir.path().join("policy.yaml");
    symlink("..data/policy.yaml", &path).unwrap();
    let handle = open(&path);
    assert_eq!(first_tool(&handle), "search");

    let swapped = dir.path().join("..data_tmp");
    symlink("..v2", &swapped).unwrap();
    fs::rename(&swapped, &data).unwrap();
    assert_eq!(looks(&handle, 3), [ReloadResult::Applied]);
    assert_eq!(first_tool(&handle), "send_letter");
}

#[test]
fn reload_now_does_not_wait_and_judges_a_refused_one_anew() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = open(&path);
    let now = Timestamp::from_secs(9);
    assert_eq!(handle.reload_now(now), None);
    fs::write(&path, LETTER).unwrap();
    assert_eq!(handle.reload_now(now), Some(ReloadResult::Applied));
    fs::write(&path, "mode: 7").unwrap();
    assert_eq!(handle.reload_now(now), Some(ReloadResult::Refused));
    assert_eq!(handle.reload_now(now), Some(ReloadResult::Refused));
    assert_eq!(looks(&handle, 3), []);
}

#[test]
fn opening_names_the_file_and_every_fault() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    let open = || PolicyHandle::open(Some(path.clone()), Timestamp::default(), |_| Ok(()));
    let missing = open().unwrap_err().to_string();
    assert!(missing.contains("policy.yaml: cannot be read"), "{missing}");
    fs::write(&path, "mode: x\nprofil: y").unwrap();
    let faults = open().unwrap_err().to_string();
    assert_eq!(faults.lines().count(), 2, "{faults}");
    assert!(
        faults
            .lines()
            .all(|line| line.contains("policy.yaml: line")),
        "{faults}"
    );

    let builtin = PolicyHandle::open(None, Timestamp::default(), |_| Ok(())).unwrap();
    assert_eq!(builtin.load().policy, Policy::builtin());
    assert_eq!(builtin.poll_once(Timestamp::default()), None);
    let refused = PolicyHandle::open(None, Timestamp::default(), |_| Err::<(), _>("no".into()));
    assert_eq!(refused.unwrap_err().to_string(), "built-in policy: no");
}

#[tokio::test(start_paused = true)]
async fn watching_follows_the_interval_and_the_hangup() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("policy.yaml");
    fs::write(&path, SEARCH).unwrap();
    let handle = Arc::new(open(&path));
    let hangup = Arc::new(Notify::new());
    let (sender, mut results) = tokio::sync::mpsc::unbounded_channel();
    let started = Instant::now();
    let task = tokio::spawn(handle.clone().watch(
        Duration::from_secs(1),
        hangup.clone(),
        move || Timestamp::default().plus(started.elapsed()),
        move |result| sender.send(result).unwrap(),
    ));
    // The clock only moves on when there is nothing left to do: two looks, one interval apart.
    fs::write(&path, LETTER).unwrap();
    assert_eq!(results.recv().await, Some(ReloadResult::Applied));
    assert_eq!(handle.load().loaded_at, Timestamp::from_secs(2));
    assert_eq!(first_tool(&handle), "send_letter");

    fs::write(&path, "mode: 7").unwrap();
    hangup.notify_one();
    assert_eq!(results.recv().await, Some(ReloadResult::Refused));
    assert_eq!(started.elapsed(), Duration::from_secs(2), "at once");
    assert_eq!(first_tool(&handle), "send_letter");
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn nothing_is_watched_without_a_file() {
    let handle = PolicyHandle::open(None, Timestamp::default(), |_| Ok(())).unwrap();
    let watching = Arc::new(handle).watch(
        Duration::from_secs(1),
        Arc::default(),
        Timestamp::default,
        |_| {},
    );
    watching.await;
}
