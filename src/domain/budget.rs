//! How much was used of how much.

use serde::{Deserialize, Serialize};

/// A limit that can be lifted: `none` in the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Limit {
    /// No limit.
    Unlimited,
    /// At most so many.
    At(u64),
}

impl Limit {
    /// Whether `used` has reached the limit.
    pub const fn is_reached_by(self, used: u64) -> bool {
        match self {
            Limit::Unlimited => false,
            Limit::At(limit) => used >= limit,
        }
    }

    /// The number, where there is one.
    pub const fn get(self) -> Option<u64> {
        match self {
            Limit::Unlimited => None,
            Limit::At(limit) => Some(limit),
        }
    }
}

/// One counter against its limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// What has been drawn.
    pub used: u64,
    /// The limit, where there is one.
    pub limit: Option<u64>,
}

impl Budget {
    /// A counter against a limit.
    pub const fn new(used: u64, limit: Limit) -> Self {
        Budget {
            used,
            limit: limit.get(),
        }
    }
}

/// All budgets that a judgement looked at, as they stand after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budgets {
    /// Failures of the operation that are neither model output nor precondition, with their `tries`.
    pub operation_attempts: Budget,
    /// Reprompts given to the operation for model output.
    pub operation_reprompts: Budget,
    /// Failures charged to the cause in this turn.
    pub cause_failures: Budget,
    /// All charged failures of the turn.
    pub turn_failures: Budget,
    /// Retries given in the turn.
    pub turn_retries: Budget,
    /// Reprompts given in the turn for model output.
    pub turn_reprompts: Budget,
    /// Unmet preconditions of the cause since its step last succeeded.
    pub preconditions: Budget,
    /// Calls of the tool in the turn.
    pub tool_calls: Budget,
    /// Calls of the turn.
    pub turn_calls: Budget,
    /// Tokens reported in the turn.
    pub turn_tokens: Budget,
    /// Wall time since the first call, in milliseconds.
    pub turn_elapsed_ms: Budget,
}
