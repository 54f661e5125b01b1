//! A scenario held against the descriptors: everything that can be wrong in the file is found here, before any call.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use prost_reflect::{MessageDescriptor, MethodDescriptor};
use serde_json::{Map, Value as Json};
use tonic::Code;

use super::format::{Counts, Scenario, Step};
use super::matcher::{Matcher, check_value, parse_duration};
use super::path::{Target, resolve};
use super::request::{self, Fill};
use super::series::{Series, number};
use crate::support::wire::Wire;

/// What is wrong with the file, and where.
#[derive(Debug, thiserror::Error)]
#[error("the scenario itself is wrong: {place}: {what}")]
pub(crate) struct Fault {
    place: String,
    what: String,
}

/// A scenario that can be played.
#[derive(Debug)]
pub(crate) struct Plan {
    /// In order.
    pub(crate) steps: Vec<PlannedStep>,
    /// What /metrics shows afterwards.
    pub(crate) metrics: Vec<(String, Series, Json)>,
}

/// A step that can be played.
#[derive(Debug)]
pub(crate) struct PlannedStep {
    /// The pause before the call.
    pub(crate) sleep: Option<Duration>,
    /// The call, where there is one.
    pub(crate) call: Option<PlannedCall>,
}

/// A call and what is expected of it.
#[derive(Debug)]
pub(crate) struct PlannedCall {
    /// What is called.
    pub(crate) method: MethodDescriptor,
    /// The message as written.
    pub(crate) request: Map<String, Json>,
    /// How often, at least once.
    pub(crate) repeat: u32,
    /// All at once.
    pub(crate) concurrent: bool,
    /// Name for later reference.
    pub(crate) name: Option<String>,
    /// Of every answer.
    pub(crate) each: Vec<Expectation>,
    /// Of the last.
    pub(crate) last: Vec<Expectation>,
    /// Of all together.
    pub(crate) counts: Option<PlannedCounts>,
    /// The code that it must fail with.
    pub(crate) error: Option<Code>,
}

/// A path and what must be there.
#[derive(Debug)]
pub(crate) struct Expectation {
    /// As written.
    pub(crate) path: String,
    /// What the path points at.
    pub(crate) target: Target,
    /// What must be there.
    pub(crate) matcher: Matcher,
}

/// How many answers have which value; `None` is absent.
#[derive(Debug)]
pub(crate) struct PlannedCounts {
    /// The field.
    pub(crate) path: String,
    /// Shown value to number of answers.
    pub(crate) wanted: BTreeMap<String, u64>,
}

impl Plan {
    /// Checks a scenario against what the server reflects.
    pub(crate) fn new(scenario: &Scenario, wire: &Wire) -> Result<Self, Fault> {
        let mut named = BTreeMap::new();
        let mut steps = Vec::new();
        for (index, step) in scenario.steps.iter().enumerate() {
            let planned = plan_step(step, wire, &named).map_err(|what| Fault {
                place: place(index, step.call.as_deref()),
                what,
            })?;
            if let Some(call) = &planned.call
                && let Some(name) = &call.name
                && named.insert(name.clone(), call.method.output()).is_some()
            {
                return Err(Fault {
                    place: place(index, step.call.as_deref()),
                    what: format!("`as: {name}` is taken"),
                });
            }
            steps.push(planned);
        }
        let metrics = scenario
            .metrics
            .iter()
            .map(|(written, wanted)| {
                let series = Series::parse(written)?;
                Matcher::compile(wanted, &number())?;
                Ok((written.clone(), series, wanted.clone()))
            })
            .collect::<Result<_, String>>()
            .map_err(|what| Fault {
                place: "metrics".to_owned(),
                what,
            })?;
        Ok(Plan { steps, metrics })
    }
}

impl Plan {
    /// Refuses metrics that the program does not have.
    pub(crate) fn check_series(&self) -> Result<(), Fault> {
        self.metrics.iter().try_for_each(|(_, series, _)| {
            series.check_known().map_err(|what| Fault {
                place: "metrics".to_owned(),
                what,
            })
        })
    }
}

/// Where a step stands, for a person: counted from 1.
pub(crate) fn place(index: usize, call: Option<&str>) -> String {
    format!("step {} ({})", index + 1, call.unwrap_or("sleep"))
}

fn plan_step(
    step: &Step,
    wire: &Wire,
    named: &BTreeMap<String, MessageDescriptor>,
) -> Result<PlannedStep, String> {
    let sleep = step
        .sleep
        .as_deref()
        .map(|text| parse_duration(text).ok_or_else(|| format!("`sleep: {text}` is no duration")))
        .transpose()?;
    let call = match &step.call {
        Some(call) => Some(plan_call(step, call, wire, named)?),
        None if sleep.is_none() => return Err("a step has a `call` or a `sleep`".to_owned()),
        None if has_call_keys(step) => {
            return Err("a step without a `call` has nothing but `sleep`".to_owned());
        }
        None => None,
    };
    Ok(PlannedStep { sleep, call })
}

fn has_call_keys(step: &Step) -> bool {
    !step.request.is_empty()
        || step.name.is_some()
        || step.repeat.is_some()
        || step.concurrent
        || has_expectations(step)
        || step.expect_error.is_some()
}

fn has_expectations(step: &Step) -> bool {
    !step.expect.is_empty()
        || !step.expect_each.is_empty()
        || !step.expect_last.is_empty()
        || step.expect_counts.is_some()
}

fn plan_call(
    step: &Step,
    call: &str,
    wire: &Wire,
    named: &BTreeMap<String, MessageDescriptor>,
) -> Result<PlannedCall, String> {
    let method = wire.method(call).map_err(|error| error.to_string())?;
    // Built once here for its faults alone; earlier answers are not there yet, but their fields must exist.
    let earlier = |name: &str, path: &str| {
        let message: &MessageDescriptor = named.get(name)?;
        Some(resolve(message, path).map(|_| String::new()))
    };
    let fill = Fill {
        i: 1,
        now: SystemTime::now(),
        earlier: &earlier,
    };
    request::build(&method.input(), &step.request, &fill)?;
    let answer = method.output();
    if step.repeat == Some(0) {
        return Err("`repeat: 0` plays nothing".to_owned());
    }
    let many = !step.expect_each.is_empty()
        || !step.expect_last.is_empty()
        || step.expect_counts.is_some()
        || step.concurrent;
    if step.repeat.is_none() && many {
        return Err(
            "`concurrent`, `expect_each`, `expect_counts` and `expect_last` go with `repeat`"
                .to_owned(),
        );
    }
    let error = step.expect_error.as_deref().map(code_named).transpose()?;
    if error.is_some() && (has_expectations(step) || step.name.is_some()) {
        return Err("a call that must fail has no answer to look at".to_owned());
    }
    let mut each = expectations(&step.expect, &answer, named)?;
    each.extend(expectations(&step.expect_each, &answer, named)?);
    let repeat = step.repeat.unwrap_or(1);
    let counts = step
        .expect_counts
        .as_ref()
        .map(|counts| plan_counts(counts, &answer, repeat))
        .transpose()?;
    Ok(PlannedCall {
        method,
        request: step.request.clone(),
        repeat,
        concurrent: step.concurrent,
        name: step.name.clone(),
        each,
        last: expectations(&step.expect_last, &answer, named)?,
        counts,
        error,
    })
}

fn expectations(
    written: &Map<String, Json>,
    answer: &MessageDescriptor,
    named: &BTreeMap<String, MessageDescriptor>,
) -> Result<Vec<Expectation>, String> {
    let mut planned = Vec::new();
    for (path, wanted) in written {
        let at = |what: String| format!("path `{path}`: {what}");
        let target = resolve(answer, path).map_err(at)?;
        let matcher = Matcher::compile(wanted, &target).map_err(at)?;
        for (name, other) in matcher.references() {
            let message = named
                .get(name)
                .ok_or_else(|| at(format!("no earlier step is named `{name}`")))?;
            resolve(message, other).map_err(at)?;
        }
        planned.push(Expectation {
            path: path.clone(),
            target,
            matcher,
        });
    }
    Ok(planned)
}

fn plan_counts(
    counts: &Counts,
    answer: &MessageDescriptor,
    repeat: u32,
) -> Result<PlannedCounts, String> {
    let at = |what: String| format!("path `{}`: {what}", counts.path);
    let target = resolve(answer, &counts.path).map_err(at)?;
    let mut wanted = BTreeMap::new();
    for (value, count) in &counts.counts {
        let count = count
            .as_u64()
            .ok_or_else(|| at(format!("`{count:?}` is no number of answers")))?;
        let value: Option<Json> =
            serde_yaml_ng::from_value(value.clone()).map_err(|error| at(error.to_string()))?;
        if let Some(value) = &value {
            check_value(value, &target.shape).map_err(at)?;
        }
        wanted.insert(super::matcher::shown(value.as_ref()), count);
    }
    let total: u64 = wanted.values().sum();
    if total != u64::from(repeat) {
        return Err(at(format!("the counts add up to {total}, not to {repeat}")));
    }
    wanted.retain(|_, count| *count > 0);
    Ok(PlannedCounts {
        path: counts.path.clone(),
        wanted,
    })
}

fn code_named(name: &str) -> Result<Code, String> {
    // By number, as tonic shows names in another case.
    const NAMES: [&str; 17] = [
        "OK",
        "CANCELLED",
        "UNKNOWN",
        "INVALID_ARGUMENT",
        "DEADLINE_EXCEEDED",
        "NOT_FOUND",
        "ALREADY_EXISTS",
        "PERMISSION_DENIED",
        "RESOURCE_EXHAUSTED",
        "FAILED_PRECONDITION",
        "ABORTED",
        "OUT_OF_RANGE",
        "UNIMPLEMENTED",
        "INTERNAL",
        "UNAVAILABLE",
        "DATA_LOSS",
        "UNAUTHENTICATED",
    ];
    (1_i32..)
        .zip(NAMES.iter().skip(1))
        .find(|(_, known)| **known == name)
        .map(|(number, _)| Code::from_i32(number))
        .ok_or_else(|| format!("`{name}` is no gRPC error code"))
}
