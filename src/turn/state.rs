//! The turn's state, and what every request to it brings along.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::causes::Charged;
use crate::domain::{Call, Cause, Effect, Origin, Outcome, Timestamp, TurnSummary};
use crate::lessons::{SpentBudget, SpentBudgetName};
use crate::policy::{Exploratory, Policy, ToolPolicy};

use super::Event;
use super::answer::Said;
use super::bounds::{MAX_CAUSES, MAX_OPERATIONS, MAX_REMEMBERED};
use super::memory::Memory;
use super::operation::{LetterState, Operation};
use super::pairs;
use super::requests::RequestMemory;

/// How long the other side remembers a key, where the policy does not say.
const KEY_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an unknown outcome is left to settle before it is looked at, where the policy does not say.
pub(super) const SETTLES_AFTER: Duration = Duration::from_secs(5);

/// The tool of a request, with what the policy says of it.
#[derive(Debug, Clone)]
pub struct Tool {
    /// The name that the worker used.
    pub name: Arc<str>,
    /// Tool or model.
    pub origin: Origin,
    /// Merged from the matching entries.
    pub policy: Arc<ToolPolicy>,
    /// Whether failing is part of its work.
    pub exploratory: Exploratory,
}

impl Tool {
    /// Looks the tool up in the policy.
    pub fn of(policy: &Policy, name: Arc<str>, origin: Origin) -> Self {
        let entry = policy.tool(&name);
        let exploratory = match origin {
            Origin::Tool => policy.is_exploratory(&entry, &name),
            Origin::Model => Exploratory::No,
        };
        Tool {
            name,
            origin,
            policy: entry,
            exploratory,
        }
    }

    /// The tool as the cause sees it.
    pub fn charged(&self) -> Charged<'_> {
        Charged {
            name: &self.name,
            origin: self.origin,
            policy: &self.policy,
            exploratory: self.exploratory,
        }
    }

    pub(super) fn is_expensive(&self) -> bool {
        self.policy.expensive == Some(true)
    }

    pub(super) fn is_irreversible(&self) -> bool {
        self.policy.irreversible == Some(true)
    }

    pub(super) fn is_atomic(&self) -> bool {
        self.policy.atomic == Some(true)
    }

    pub(super) fn is_repeatable(&self) -> bool {
        self.policy.repeatable == Some(true)
    }

    pub(super) fn key_ttl(&self) -> Duration {
        self.policy.key_ttl.unwrap_or(KEY_TTL)
    }

    pub(super) fn settles_after(&self) -> Duration {
        self.policy.settles_after.unwrap_or(SETTLES_AFTER)
    }
}

/// What is true at the moment of a request: passed in, so that the turn asks nobody.
#[derive(Debug, Clone, Copy)]
pub struct Moment<'a> {
    /// The policy in force.
    pub policy: &'a Policy,
    /// The time of receipt.
    pub now: Timestamp,
    /// Randomness for jitter and letter ids.
    pub seed: u64,
}

/// A cause as the turn keeps it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CauseState {
    pub(super) cause: Cause,
    pub(super) failures: u64,
    /// Unmet preconditions since the step that satisfies them last succeeded.
    pub(super) preconditions: u64,
    pub(super) last_precondition: u64,
    pub(super) first_event: u64,
    /// The kind that was charged last: where a limit is set by kind, this one's counts.
    pub(super) kind: crate::domain::Kind,
    /// Tools that were charged to it, each with the event of its first failure here.
    pub(super) tools: Vec<(Arc<str>, u64)>,
}

/// A tool as the turn keeps it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct ToolState {
    pub(super) calls: u64,
    /// Event of its latest success; 0 before the first.
    pub(super) last_success: u64,
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) at: Timestamp,
    /// `None`: it idled out.
    pub(super) outcome: Option<Outcome>,
    pub(super) summary: TurnSummary,
    pub(super) letter: Option<String>,
}

/// Turn-wide counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Counters {
    pub(super) failures: u64,
    pub(super) judged: u64,
    pub(super) retries: u64,
    /// Reprompts for model output.
    pub(super) reprompts: u64,
    /// All REPROMPT verdicts.
    pub(super) reprompts_given: u64,
    pub(super) preconditions: u64,
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) tokens_wasted: u64,
    pub(super) recoveries: u64,
    pub(super) attempts: usize,
    pub(super) result_bytes: usize,
    pub(super) text_bytes: usize,
    pub(super) input_bytes: usize,
}

/// One user request that an agent works on, maybe on many workers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    pub(super) tenant: Arc<str>,
    pub(super) turn_id: Arc<str>,
    pub(super) opened_at: Timestamp,
    pub(super) last_activity: Timestamp,
    pub(super) ended: Option<Ended>,
    /// Number of the latest event: what came after what.
    pub(super) event: u64,
    /// Event of the latest success of any operation; 0 before the first.
    pub(super) last_success: u64,
    pub(super) counters: Counters,
    /// An operation is being worked on.
    in_hand: bool,
    /// An operation was lost: nothing goes out any more.
    is_damaged: bool,
    #[serde(with = "pairs")]
    pub(super) operations: HashMap<Arc<str>, Box<Operation>>,
    pub(super) causes: Vec<CauseState>,
    #[serde(with = "pairs")]
    pub(super) tools: HashMap<Arc<str>, ToolState>,
    pub(super) memory: Memory,
    #[serde(with = "pairs")]
    pub(super) requests: HashMap<Arc<str>, RequestMemory>,
    /// Letters of spent budgets, by what was spent.
    #[serde(with = "pairs")]
    pub(super) budget_letters: HashMap<String, LetterState>,
}

impl Turn {
    /// A turn that its first call opens.
    pub fn open(tenant: Arc<str>, turn_id: Arc<str>, now: Timestamp) -> Self {
        Turn {
            tenant,
            turn_id,
            opened_at: now,
            last_activity: now,
            ended: None,
            event: 0,
            last_success: 0,
            counters: Counters::default(),
            in_hand: false,
            is_damaged: false,
            operations: HashMap::new(),
            causes: Vec::new(),
            tools: HashMap::new(),
            memory: Memory::default(),
            requests: HashMap::new(),
            budget_letters: HashMap::new(),
        }
    }

    /// A number that differs from turn to turn, the same in every process.
    pub fn name_hash(&self) -> u64 {
        let bytes = self.tenant.bytes().chain([0]).chain(self.turn_id.bytes());
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }

    /// When the turn was last asked anything.
    pub fn last_activity(&self) -> Timestamp {
        self.last_activity
    }

    /// When the turn ended, if it did.
    pub fn ended_at(&self) -> Option<Timestamp> {
        self.ended.as_ref().map(|ended| ended.at)
    }

    /// Whether an operation may have done its work and nobody has settled it: such turns are evicted last.
    pub fn has_unknown_outcome(&self) -> bool {
        use crate::domain::Execution;
        self.operations.values().any(|operation| {
            operation.effect != Effect::Idempotent
                && !operation.succeeded
                && operation.worst_but_findings() == Execution::MaybeExecuted
        })
    }

    /// Begins an answer: marks the time of the call, numbers its event, and says so where it opens the turn.
    pub(super) fn begin(&mut self, moment: &Moment<'_>) -> Said {
        let mut said = Said::new(moment.seed);
        if self.touch(moment.now) == 1 {
            said.events.push(Event::TurnOpened);
        }
        said
    }

    /// Marks the time of a call and numbers its event.
    fn touch(&mut self, now: Timestamp) -> u64 {
        self.last_activity = self.last_activity.max(now);
        self.event = self.event.saturating_add(1);
        // A request that ended without putting its operation back broke off (a panic): what it knew is lost.
        self.is_damaged |= self.in_hand;
        self.in_hand = false;
        self.event
    }

    /// Takes an operation out to work on it; `put_back` returns it. `None` where the turn may not grow any further.
    pub(super) fn take_operation(&mut self, call: &Call, now: Timestamp) -> Option<Box<Operation>> {
        if let Some(operation) = self.operations.remove(&call.operation_id) {
            self.in_hand = true;
            return Some(operation);
        }
        if self.operations.len() >= MAX_OPERATIONS || self.is_full() {
            return None;
        }
        Some(self.passing_operation(call, now))
    }

    /// An operation that the turn has no room for: it is answered and not kept.
    pub(super) fn passing_operation(&self, call: &Call, now: Timestamp) -> Box<Operation> {
        Box::new(Operation::new(
            &self.tenant,
            &self.turn_id,
            call.operation_id.clone(),
            self.event,
            now,
        ))
    }

    pub(super) fn put_back(&mut self, operation: Box<Operation>) {
        self.in_hand = false;
        self.operations.insert(operation.id.clone(), operation);
    }

    /// Whether a bound is reached at which the turn stops instead of forgetting.
    pub(super) fn is_full(&self) -> bool {
        self.is_damaged || self.remembered() >= MAX_REMEMBERED || self.causes.len() >= MAX_CAUSES
    }

    fn remembered(&self) -> usize {
        self.memory.len() + self.requests.len() + self.counters.attempts
    }

    /// Which bound is reached, where one is.
    pub(super) fn reached_bound(&self) -> SpentBudget {
        let (name, used, limit) = if self.remembered() >= MAX_REMEMBERED {
            let name = SpentBudgetName::TurnRememberedCalls;
            (name, self.remembered(), MAX_REMEMBERED)
        } else if self.causes.len() >= MAX_CAUSES {
            (SpentBudgetName::TurnCauses, self.causes.len(), MAX_CAUSES)
        } else {
            let name = SpentBudgetName::TurnOperations;
            (name, self.operations.len(), MAX_OPERATIONS)
        };
        let number = |count| u64::try_from(count).unwrap_or(u64::MAX);
        SpentBudget {
            name,
            used: number(used),
            limit: number(limit),
        }
    }

    pub(super) fn tool(&self, name: &str) -> ToolState {
        self.tools.get(name).cloned().unwrap_or_default()
    }

    pub(super) fn tool_mut(&mut self, name: &Arc<str>) -> &mut ToolState {
        self.tools.entry(name.clone()).or_default()
    }

    /// Tells the operation what this request says of its tool and effect. What the operator says outranks what the
    /// worker claims; over the attempts the strictest stands, and a request that says nothing loosens nothing.
    pub(super) fn describe(operation: &mut Operation, tool: &Tool, call: &Call) {
        let said = tool.policy.effect.or(call.effect);
        // What was said of one tool says nothing of another one under the same operation.
        let is_known = operation.tool == tool.name && operation.origin == tool.origin;
        let effect = match (said, is_known, tool.origin) {
            (Some(said), _, _) => said,
            (None, true, _) => operation.effect,
            (None, false, Origin::Model) => Effect::Idempotent,
            (None, false, Origin::Tool) => Effect::Unknown,
        };
        operation.effect = operation.effect.max(effect);
        operation.tool = tool.name.clone();
        operation.origin = tool.origin;
    }
}
