//! What holds where the operator says nothing: the built-in policy and the profiles (design, section 5).

use std::collections::BTreeMap;
use std::time::Duration;

use super::model::{
    Backoff, BreakerSettings, BudgetLimits, FleetSettings, Mode, OnExhausted, Policy, Profile,
};
use crate::domain::Limit;

impl Profile {
    /// The profile's limits.
    pub fn budgets(self) -> BudgetLimits {
        let assistant = BudgetLimits {
            max_attempts: Limit::At(3),
            max_reprompts: Limit::At(2),
            operation_on_exhausted: OnExhausted::Escalate,
            cause_max_failures: Limit::At(3),
            cause_on_exhausted: OnExhausted::Escalate,
            turn_max_failures: Limit::At(6),
            turn_max_retries: Limit::At(6),
            turn_max_reprompts: Limit::At(4),
            max_preconditions: Limit::At(3),
            max_preconditions_total: Limit::At(12),
            turn_max_calls: Limit::At(40),
            turn_max_tokens: Limit::Unlimited,
            turn_max_elapsed: None,
            tool_max_calls: Limit::Unlimited,
            turn_max_depth: Limit::At(3),
            turn_on_exhausted: OnExhausted::FailLoud,
        };
        match self {
            Profile::Assistant => assistant,
            Profile::Coding => BudgetLimits {
                turn_max_failures: Limit::Unlimited,
                turn_max_retries: Limit::At(30),
                turn_max_reprompts: Limit::Unlimited,
                turn_max_calls: Limit::At(500),
                ..assistant
            },
            Profile::Batch => BudgetLimits {
                turn_max_failures: Limit::At(30),
                turn_max_retries: Limit::At(60),
                turn_max_reprompts: Limit::At(20),
                turn_max_calls: Limit::At(5_000),
                cause_max_failures: Limit::At(5),
                ..assistant
            },
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            base: Duration::from_millis(200),
            cap: Duration::from_secs(30),
            max_wait: Duration::from_secs(60),
        }
    }
}

impl Default for FleetSettings {
    fn default() -> Self {
        FleetSettings {
            retry_ratio: 0.2,
            retry_floor_per_second: 10.0,
            breaker: BreakerSettings {
                turns: 5,
                failure_ratio: 0.5,
                window: Duration::from_secs(10),
                cooldown: Duration::from_secs(5),
            },
        }
    }
}

impl Policy {
    /// The policy that holds without a document: profile `assistant`, no tool described.
    pub fn builtin() -> Policy {
        Policy {
            mode: Mode::Enforce,
            profile: Profile::Assistant,
            budgets: Profile::Assistant.budgets(),
            backoff: Backoff::default(),
            dependencies: BTreeMap::new(),
            groups: BTreeMap::new(),
            tools: Vec::new(),
            kinds: BTreeMap::new(),
            rules: Vec::new(),
            fleet: FleetSettings::default(),
            source: String::new(),
            index: Default::default(),
        }
    }
}

impl Default for Policy {
    fn default() -> Self {
        Policy::builtin()
    }
}
