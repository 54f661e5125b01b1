//! Look-ups on the hot path: a tool's merged entry, the dependency behind a name, the tools that share a fate.
//!
//! Built once from a policy, on its first use; the policy is immutable from then on. Exact names are merged
//! beforehand. Other names are matched against the globs and remembered, at most 4,096 of them and never replaced:
//! invented names can fill the memory of it, but not grow it, and what is not remembered is computed anew.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use dashmap::DashMap;

use super::hosts::Host;
use super::merge::{globs_in_order, lay_over};
use super::model::{Policy, ToolEntry, ToolPolicy};
use super::pattern::is_glob;
use crate::domain::Subject;

const MAX_REMEMBERED: usize = 4_096;
/// Longer names are matched each time.
const MAX_REMEMBERED_NAME: usize = 256;

/// The look-ups of a policy. `Default` is: not built yet. A clone is built anew, so that a changed copy of a policy
/// never answers from the old one.
#[derive(Default)]
pub struct PolicyIndex(OnceLock<Index>);

impl Clone for PolicyIndex {
    fn clone(&self) -> Self {
        PolicyIndex::default()
    }
}

impl PartialEq for PolicyIndex {
    /// Nothing of its own: it follows from the policy's other fields.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl std::fmt::Debug for PolicyIndex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PolicyIndex")
    }
}

struct Index {
    exact: HashMap<Arc<str>, Arc<ToolPolicy>>,
    globs: Vec<ToolEntry>,
    undescribed: Arc<ToolPolicy>,
    remembered: DashMap<Box<str>, Arc<ToolPolicy>>,
    remembered_count: AtomicUsize,
    dependencies: HashMap<Arc<str>, Arc<str>>,
    /// As they are listed.
    hosts: HashMap<Host, Arc<str>>,
    /// By name alone; `None` where several dependencies are on the host and the port has to tell.
    sole_owners: HashMap<String, Option<Arc<str>>>,
    sharing: HashMap<Subject, Vec<Arc<str>>>,
}

impl Index {
    fn build(policy: &Policy) -> Index {
        let globs: Vec<ToolEntry> = (globs_in_order(&policy.tools).into_iter().cloned()).collect();
        let mut exact = HashMap::new();
        let mut sharing: HashMap<Subject, Vec<Arc<str>>> = HashMap::new();
        for entry in policy.tools.iter().filter(|entry| !is_glob(&entry.pattern)) {
            let name = &entry.pattern;
            let whole = lay_over(globs.iter(), Some(entry), name);
            let dependency = whole.dependency.clone().map(Subject::Dependency);
            for subject in dependency
                .into_iter()
                .chain(whole.group.clone().map(Subject::Group))
            {
                sharing.entry(subject).or_default().push(name.clone());
            }
            exact.insert(name.clone(), Arc::new(whole));
        }
        let mut hosts = HashMap::new();
        let mut sole_owners: HashMap<String, Option<Arc<str>>> = HashMap::new();
        for (name, dependency) in &policy.dependencies {
            for host in dependency.hosts.iter().filter_map(|host| Host::read(host)) {
                sole_owners
                    .entry(host.name.clone())
                    .and_modify(|owner| *owner = owner.take().filter(|owner| owner == name))
                    .or_insert_with(|| Some(name.clone()));
                hosts.insert(host, name.clone());
            }
        }
        Index {
            exact,
            globs,
            undescribed: Arc::default(),
            remembered: DashMap::new(),
            remembered_count: AtomicUsize::new(0),
            dependencies: dependency_names(policy),
            hosts,
            sole_owners,
            sharing,
        }
    }

    fn tool(&self, name: &str) -> Arc<ToolPolicy> {
        if let Some(found) = self.exact.get(name) {
            return found.clone();
        }
        if self.globs.is_empty() {
            return self.undescribed.clone();
        }
        if let Some(found) = self.remembered.get(name) {
            return found.clone();
        }
        let whole = lay_over(self.globs.iter(), None, name);
        if whole.entry.is_none() {
            return self.undescribed.clone();
        }
        let whole = Arc::new(whole);
        // Counted before it is put in, so that concurrent callers cannot pass the bound together.
        let has_room = name.len() <= MAX_REMEMBERED_NAME
            && self.remembered_count.load(Ordering::Relaxed) < MAX_REMEMBERED
            && self.remembered_count.fetch_add(1, Ordering::Relaxed) < MAX_REMEMBERED;
        if has_room {
            self.remembered.insert(name.into(), whole.clone());
        }
        whole
    }

    /// The policy's dependency that is meant by `named`.
    fn dependency(&self, named: &str) -> Option<Arc<str>> {
        let by_name = |name: &str| self.dependencies.get(name).cloned();
        by_name(named)
            .or_else(|| by_name(&named.to_lowercase()))
            .or_else(|| self.owner_of(Host::read(named)?))
    }

    /// As it is listed; with a port, then as listed without one; without a port, then whoever alone is on the host.
    fn owner_of(&self, host: Host) -> Option<Arc<str>> {
        if let Some(owner) = self.hosts.get(&host) {
            return Some(owner.clone());
        }
        match host.port {
            Some(_) => self.hosts.get(&Host { port: None, ..host }).cloned(),
            None => self.sole_owners.get(&host.name).cloned().flatten(),
        }
    }
}

fn dependency_names(policy: &Policy) -> HashMap<Arc<str>, Arc<str>> {
    let implied = (policy.tools.iter()).filter_map(|entry| entry.policy.dependency.as_ref());
    let names: Vec<&Arc<str>> = policy.dependencies.keys().chain(implied).collect();
    let lower = names
        .iter()
        .map(|name| (Arc::from(name.to_lowercase()), (*name).clone()));
    // Behind the lower-case forms, so that a name as it is written always is itself.
    let exact = names.iter().map(|name| ((*name).clone(), (*name).clone()));
    lower.chain(exact).collect()
}

impl Policy {
    fn index(&self) -> &Index {
        self.index.0.get_or_init(|| Index::build(self))
    }

    /// What the policy says of a tool: all matching entries merged field by field. More literal characters win, of
    /// equally many the later entry, an exact name wins over every glob. A tool that no entry matches gets the
    /// default: `entry` is `None` and nothing is said.
    ///
    /// A field that would name the tool itself (`requires`, `status_tool` of a glob that matches it) is dropped.
    pub fn tool(&self, name: &str) -> Arc<ToolPolicy> {
        self.index().tool(name)
    }

    /// The dependency that a worker or a text means: the policy's dependency of that name (any case), else the one
    /// with that host (name or URL; a port only has to agree where both sides have one), else the name itself in
    /// lower case.
    pub fn resolve_dependency(&self, named: &str) -> Arc<str> {
        let named = named.trim();
        (self.index().dependency(named)).unwrap_or_else(|| Arc::from(named.to_lowercase()))
    }

    /// Whether the policy itself knows a dependency of exactly this name.
    pub fn knows_dependency(&self, name: &str) -> bool {
        (self.index().dependencies.get(name)).is_some_and(|known| &**known == name)
    }

    /// The tools that share the subject, as far as they are described by their exact names, in the order of the
    /// document: those of the dependency or the group; for a tool itself.
    pub fn tools_sharing(&self, subject: &Subject) -> Vec<Arc<str>> {
        match subject {
            Subject::Tool(name) => vec![name.clone()],
            other => self.index().sharing.get(other).cloned().unwrap_or_default(),
        }
    }
}
