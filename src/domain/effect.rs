//! What repeating a call does to the world, and whether the work happened.

use super::names::named_enum;

named_enum! {
    /// What a repeat of the call does; in ascending order of strictness.
    Effect, "effect" {
        /// Repeat freely.
        Idempotent = "idempotent",
        /// Dedupes by an idempotency key that every attempt carries.
        Keyed = "keyed",
        /// Nobody said; counts as unsafe.
        Unknown = "unknown",
        /// Each call does the work again.
        Unsafe = "unsafe",
    }
}

named_enum! {
    /// Did the work happen; in ascending order of what has to be assumed.
    Execution, "execution" {
        /// The request never started or was refused whole.
        NotExecuted = "not_executed",
        /// Nobody can tell.
        MaybeExecuted = "maybe_executed",
        /// It did, only the answer was lost.
        Executed = "executed",
    }
}

named_enum! {
    /// Which step failed.
    Origin, "origin" {
        /// A tool call (also where the worker does not say).
        Tool = "tool",
        /// The model call itself; `tool` is then the model's name.
        Model = "model",
    }
}

impl Effect {
    /// Whether the operator or the worker stated that a plain repeat does harm.
    pub const fn is_declared_harmful(self) -> bool {
        matches!(self, Effect::Keyed | Effect::Unsafe)
    }
}
