//! Handles of series: registered once, found again without formatting.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError, RwLock};

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, Recorder as _};
use metrics_exporter_prometheus::PrometheusRecorder;

use super::table::{Metric, OTHER};

/// Most names out of the policy that get series of their own; later ones are counted as `other`. Names go away only
/// with the process, so a policy that is reloaded with ever new names must not grow the scrape without end.
pub const MAX_POLICY_LABELS: usize = 1_000;

static METADATA: Metadata<'static> = Metadata::new("backstop", Level::INFO, None);

/// Series are registered here.
#[derive(Clone)]
pub(super) struct Registry(pub(super) Arc<PrometheusRecorder>);

impl Registry {
    pub(super) fn counter<const N: usize>(&self, metric: &Metric, values: [&str; N]) -> Counter {
        self.0.register_counter(&key(metric, values), &METADATA)
    }

    pub(super) fn gauge<const N: usize>(&self, metric: &Metric, values: [&str; N]) -> Gauge {
        self.0.register_gauge(&key(metric, values), &METADATA)
    }

    pub(super) fn histogram<const N: usize>(
        &self,
        metric: &Metric,
        values: [&str; N],
    ) -> Histogram {
        self.0.register_histogram(&key(metric, values), &METADATA)
    }
}

fn key<const N: usize>(metric: &Metric, values: [&str; N]) -> Key {
    debug_assert_eq!(metric.labels.len(), N, "{}", metric.name);
    let labels: Vec<Label> = metric
        .labels
        .iter()
        .zip(values)
        .map(|(label, value)| Label::new(label.name, value.to_owned()))
        .collect();
    Key::from_parts(metric.name, labels)
}

/// One handle for each value of a closed list, all registered from the start.
pub(super) struct ByValue<V, H> {
    handles: Vec<H>,
    values: PhantomData<fn(V)>,
}

impl<V: Copy, H> ByValue<V, H> {
    /// `all` in the order of their `position`.
    pub(super) fn new(all: &[V], mut register: impl FnMut(V) -> H) -> Self {
        ByValue {
            handles: all.iter().map(|value| register(*value)).collect(),
            values: PhantomData,
        }
    }

    /// The handle at a position; `None` is a defect of the list and records nothing.
    pub(super) fn at(&self, position: usize) -> Option<&H> {
        self.handles.get(position)
    }
}

/// Series of names that come from the policy: registered when first seen, bounded.
pub(super) struct ByName<S> {
    by_name: RwLock<HashMap<Arc<str>, Arc<S>>>,
    other: Arc<S>,
    register: Box<dyn Fn(&str) -> S + Send + Sync>,
}

impl<S> ByName<S> {
    pub(super) fn new(register: impl Fn(&str) -> S + Send + Sync + 'static) -> Self {
        ByName {
            by_name: RwLock::default(),
            other: Arc::new(register(OTHER)),
            register: Box::new(register),
        }
    }

    /// The series of a name; those of `other` once there are too many.
    pub(super) fn get(&self, name: &str) -> Arc<S> {
        if name == OTHER {
            return Arc::clone(&self.other);
        }
        // A poisoned lock only says that another thread panicked; the map is whole.
        let known = self.by_name.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(name) {
            return Arc::clone(series);
        }
        drop(known);
        let mut known = self.by_name.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(series) = known.get(name) {
            return Arc::clone(series);
        }
        if known.len() >= MAX_POLICY_LABELS {
            return Arc::clone(&self.other);
        }
        let series = Arc::new((self.register)(name));
        known.insert(name.into(), Arc::clone(&series));
        series
    }
}
