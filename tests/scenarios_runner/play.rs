//! Makes the calls of a planned scenario and collects what was not as expected.

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result};
use prost_reflect::DynamicMessage;
use serde_json::Value as Json;
use tokio::task::JoinSet;
use tonic::{Code, Status};

use super::matcher::shown;
use super::path::look_up;
use super::plan::{Expectation, Plan, PlannedCall, place};
use super::request::{self, Fill};
use crate::support::wire::{Wire, to_json};

/// One thing that was not as expected.
#[derive(Debug)]
pub(crate) struct Miss {
    place: String,
    path: String,
    wanted: String,
    got: String,
    answer: String,
}

impl fmt::Display for Miss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Miss {
            place,
            path,
            wanted,
            got,
            answer,
        } = self;
        writeln!(f, "{place}, {path}")?;
        writeln!(f, "  wanted: {wanted}")?;
        writeln!(f, "  got:    {got}")?;
        write!(f, "  answer: {answer}")
    }
}

/// Answers by the name that their step gave them.
type Named = BTreeMap<String, Json>;

/// Plays all steps, then reads the metrics page, which may take `patience` to catch up with the answers. Misses do
/// not end the play: what follows is often telling.
pub(crate) async fn play(
    plan: &Plan,
    wire: &Wire,
    page: impl Fn() -> Result<String>,
    patience: Duration,
) -> Result<Vec<Miss>> {
    let mut misses = Vec::new();
    let mut named = Named::new();
    for (index, step) in plan.steps.iter().enumerate() {
        if let Some(pause) = step.sleep {
            tokio::time::sleep(pause).await;
        }
        if let Some(call) = &step.call {
            let place = place(index, Some(call.method.name()));
            let answers = send(call, wire, &named)
                .await
                .with_context(|| place.clone())?;
            misses.extend(compare(call, &place, answers, &mut named)?);
        }
    }
    misses.extend(compare_metrics(plan, page, patience).await?);
    Ok(misses)
}

async fn send(call: &PlannedCall, wire: &Wire, named: &Named) -> Result<Vec<Result<Json, Status>>> {
    let mut answers = Vec::new();
    if call.concurrent {
        let mut flying = JoinSet::new();
        for i in 1..=call.repeat {
            let (wire, method, request) = (wire.clone(), call.method.clone(), nth(call, i, named)?);
            flying.spawn(async move { (i, wire.call(&method, request).await) });
        }
        let mut landed = flying.join_all().await;
        landed.sort_by_key(|(i, _)| *i);
        for (_, answer) in landed {
            answers.push(as_json(answer)?);
        }
    } else {
        for i in 1..=call.repeat {
            answers.push(as_json(
                wire.call(&call.method, nth(call, i, named)?).await,
            )?);
        }
    }
    Ok(answers)
}

fn nth(call: &PlannedCall, i: u32, named: &Named) -> Result<DynamicMessage> {
    let earlier = |name: &str, path: &str| {
        let answer = named.get(name)?;
        Some(match look_up(answer, path) {
            Some(Json::String(text)) => Ok(text.clone()),
            Some(other) => Ok(other.to_string()),
            None => Err(format!("the answer `{name}` has no `{path}`: {answer}")),
        })
    };
    let fill = Fill {
        i,
        now: SystemTime::now(),
        earlier: &earlier,
    };
    request::build(&call.method.input(), &call.request, &fill).map_err(anyhow::Error::msg)
}

fn as_json(answer: Result<DynamicMessage, Status>) -> Result<Result<Json, Status>> {
    Ok(match answer {
        Ok(message) => Ok(to_json(&message)?),
        Err(status) => Err(status),
    })
}

fn compare(
    call: &PlannedCall,
    place: &str,
    answers: Vec<Result<Json, Status>>,
    named: &mut Named,
) -> Result<Vec<Miss>> {
    let mut misses = Vec::new();
    let mut good = Vec::new();
    let wanted_code = call.error.unwrap_or(Code::Ok);
    for (i, answer) in (1..).zip(answers) {
        let place = if call.repeat > 1 {
            format!("{place}, answer {i} of {}", call.repeat)
        } else {
            place.to_owned()
        };
        match answer {
            Ok(answer) if call.error.is_none() => {
                check_all(&call.each, &place, &answer, named, &mut misses);
                good.push(answer);
            }
            Ok(answer) => misses.push(Miss {
                place,
                path: "code".to_owned(),
                wanted: format!("{wanted_code:?}"),
                got: "an answer".to_owned(),
                answer: answer.to_string(),
            }),
            Err(status) if Some(status.code()) == call.error => {}
            Err(status) => misses.push(Miss {
                place,
                path: "code".to_owned(),
                wanted: format!("{wanted_code:?}"),
                got: format!("{:?}: {}", status.code(), status.message()),
                answer: "none".to_owned(),
            }),
        }
    }
    if let Some(counts) = &call.counts {
        let mut got: BTreeMap<String, u64> = BTreeMap::new();
        for answer in &good {
            *got.entry(shown(look_up(answer, &counts.path))).or_default() += 1;
        }
        if got != counts.wanted {
            misses.push(Miss {
                place: place.to_owned(),
                path: format!("counts of {}", counts.path),
                wanted: format!("{:?}", counts.wanted),
                got: format!("{got:?}"),
                answer: shown(good.last()),
            });
        }
    }
    if let Some(last) = good.pop() {
        check_all(
            &call.last,
            &format!("{place}, last answer"),
            &last,
            named,
            &mut misses,
        );
        if let Some(name) = &call.name {
            named.insert(name.clone(), last);
        }
    }
    Ok(misses)
}

fn check_all(
    expectations: &[Expectation],
    place: &str,
    answer: &Json,
    named: &Named,
    misses: &mut Vec<Miss>,
) {
    for Expectation {
        path,
        target,
        matcher,
    } in expectations
    {
        let got = look_up(answer, path);
        let earlier = |name: &str, path: &str| look_up(named.get(name)?, path);
        if let Err(wanted) = matcher.check(got, target, earlier) {
            misses.push(Miss {
                place: place.to_owned(),
                path: path.clone(),
                wanted,
                got: shown(got),
                answer: answer.to_string(),
            });
        }
    }
}

async fn compare_metrics(
    plan: &Plan,
    page: impl Fn() -> Result<String>,
    patience: Duration,
) -> Result<Vec<Miss>> {
    if plan.metrics.is_empty() {
        return Ok(Vec::new());
    }
    let start = Instant::now();
    loop {
        let text = page().context("the metrics page")?;
        let misses: Vec<Miss> = plan
            .metrics
            .iter()
            .filter_map(|(written, series, wanted)| {
                let (wanted, got) = series.check(wanted, &text).err()?;
                Some(Miss {
                    place: "metrics".to_owned(),
                    path: written.clone(),
                    wanted,
                    got,
                    answer: "see /metrics".to_owned(),
                })
            })
            .collect();
        if misses.is_empty() || start.elapsed() > patience {
            return Ok(misses);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
