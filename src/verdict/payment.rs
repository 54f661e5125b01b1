//! Whether the turn can pay for what the failure deserves. Only retry and reprompt cost anything; the first stop of
//! the list, in the design's order, replaces the verdict.

use std::time::Duration;

use crate::domain::{Action, Reason};
use crate::lessons::SpentBudget;
use crate::policy::OnExhausted;

use super::Deserved;

/// The wait that a retry would ask for, and what stands against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitFacts {
    /// The wait.
    pub wait: Duration,
    /// Time to the deadline, zero if it is past; `None` without one.
    pub time_left: Option<Duration>,
    /// Longest wait that is given out.
    pub max_wait: Duration,
    /// The server asked not to be asked again.
    pub server_says_no: bool,
}

/// Everything that the payment list looks at. A budget is given where it is spent and this verdict draws on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaymentFacts {
    /// The unchanged call of a failure that stands (section 5), judged without Admit.
    pub same_call_again: bool,
    /// The lesson equals that of the operation's previous model-output failure.
    pub repeated_lesson: bool,
    /// The first spent budget of the turn.
    pub turn: Option<(SpentBudget, OnExhausted)>,
    /// The cause's failures, spent.
    pub cause: Option<(SpentBudget, OnExhausted)>,
    /// The cause's or the turn's preconditions, spent.
    pub preconditions: Option<SpentBudget>,
    /// The operation's attempts or reprompts, spent.
    pub operation: Option<(SpentBudget, OnExhausted)>,
    /// The tool's calls, spent.
    pub tool_calls: Option<(SpentBudget, OnExhausted)>,
    /// What a retry would wait.
    pub wait: WaitFacts,
}

/// Why a verdict cannot be paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stop {
    /// Escalate or fail loud.
    pub action: Action,
    /// Why.
    pub reason: Reason,
    /// The budget, where one is spent.
    pub spent: Option<SpentBudget>,
}

impl Stop {
    const fn escalate(reason: Reason, spent: Option<SpentBudget>) -> Self {
        Stop {
            action: Action::Escalate,
            reason,
            spent,
        }
    }

    /// The stop of a spent budget, as the policy sets it.
    pub const fn exhausted(reason: Reason, spent: SpentBudget, then: OnExhausted) -> Self {
        Stop {
            action: match then {
                OnExhausted::Escalate => Action::Escalate,
                OnExhausted::FailLoud => Action::FailLoud,
            },
            reason,
            spent: Some(spent),
        }
    }
}

/// The first thing that stands against a verdict; `None` where the turn can pay.
pub fn stop_for(deserved: &Deserved, facts: &PaymentFacts) -> Option<Stop> {
    match deserved.action {
        Action::Escalate | Action::FailLoud => None,
        Action::Reprompt => repeated(deserved, facts).or_else(|| budgets(facts)),
        Action::Retry => budgets(facts).or_else(|| wait(&facts.wait)),
    }
}

fn repeated(deserved: &Deserved, facts: &PaymentFacts) -> Option<Stop> {
    let call = matches!(
        deserved.reason,
        Reason::Exploratory | Reason::ModelOutput | Reason::PolicyOverride
    ) && facts.same_call_again;
    let lesson = matches!(
        deserved.reason,
        Reason::ModelOutput | Reason::PolicyOverride
    ) && facts.repeated_lesson;
    (call || lesson).then_some(Stop::escalate(Reason::RepeatedLesson, None))
}

fn budgets(facts: &PaymentFacts) -> Option<Stop> {
    let exhausted = |reason, budget: Option<(SpentBudget, OnExhausted)>| {
        budget.map(|(spent, then)| Stop::exhausted(reason, spent, then))
    };
    exhausted(Reason::TurnBudgetExhausted, facts.turn)
        .or_else(|| exhausted(Reason::CauseBudgetExhausted, facts.cause))
        .or_else(|| {
            facts
                .preconditions
                .map(|spent| Stop::escalate(Reason::PreconditionLoop, Some(spent)))
        })
        .or_else(|| exhausted(Reason::OperationBudgetExhausted, facts.operation))
        .or_else(|| exhausted(Reason::CallCapReached, facts.tool_calls))
}

fn wait(facts: &WaitFacts) -> Option<Stop> {
    // A wait that ends at the deadline leaves no time for the call itself.
    let too_late = facts.time_left.is_some_and(|left| facts.wait >= left);
    if too_late {
        Some(Stop::escalate(Reason::DeadlineTooClose, None))
    } else if facts.wait > facts.max_wait {
        Some(Stop::escalate(Reason::WaitTooLong, None))
    } else if facts.server_says_no {
        Some(Stop::escalate(Reason::ServerSaysNo, None))
    } else {
        None
    }
}
