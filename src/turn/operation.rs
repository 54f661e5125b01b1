//! One operation of a turn: its attempts, what is known of their execution, and the key that they carry.
//!
//! Invariants: attempts are kept in ascending order of their numbers; a second word settles its attempt and all
//! before it; `executed` and `succeeded` never go back.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::{
    Action, Classification, Effect, Execution, Failure, Fingerprint, Origin, Reason, Timestamp,
    Verdict,
};

use super::CallDigest;
use super::key;

/// A person's approval, for one operation with one input.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Approval {
    pub(super) id: Arc<str>,
    pub(super) input: Option<CallDigest>,
}

/// What a judgement left with its attempt; enough to give the same answer again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Judged {
    pub(super) at: Timestamp,
    /// The turn's event number: what came after what.
    pub(super) event: u64,
    pub(super) classification: Classification,
    pub(super) failure: Failure,
    pub(super) lesson: Option<String>,
    pub(super) lesson_cut: bool,
    pub(super) tries: u32,
    pub(super) verdict: Verdict,
    /// An exploratory finding: no failure of anybody's.
    pub(super) finding: bool,
    pub(super) drew_retry: bool,
    pub(super) drew_reprompt: bool,
    pub(super) circumstances: Circumstances,
    pub(super) letter_id: Option<String>,
}

/// What was so when an attempt was judged first: kept, so that a second word is judged by it and draws nothing again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Circumstances {
    /// The operation had failed before.
    pub(super) failed_before: bool,
    /// Its previous failure had the same fingerprint.
    pub(super) same_fingerprint: bool,
    /// An unchanged call of a failure that stands, and Admit was not asked.
    pub(super) same_call: bool,
    /// The lesson of the operation's previous model-output failure said the same.
    pub(super) same_lesson: bool,
    /// A finding that was made before, with nothing succeeded since.
    pub(super) old_finding: bool,
}

/// One try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Attempt {
    pub(super) number: u32,
    pub(super) worker_id: Option<Arc<str>>,
    pub(super) admitted_at: Option<Timestamp>,
    pub(super) succeeded_at: Option<Timestamp>,
    pub(super) input: Option<CallDigest>,
    /// The key that it is taken to carry.
    pub(super) key: Arc<str>,
    /// What was heard of its execution; `None` while it is out.
    pub(super) heard: Option<Execution>,
    pub(super) judged: Option<Box<Judged>>,
    pub(super) elapsed: Option<Duration>,
    pub(super) tokens_spent: u64,
}

impl Attempt {
    /// What has to be assumed of its work: an attempt that went out and was never heard of may have executed.
    fn execution(&self) -> Execution {
        match self.heard {
            _ if self.succeeded_at.is_some() => Execution::Executed,
            Some(heard) => heard,
            None => Execution::MaybeExecuted,
        }
    }

    pub(super) fn is_finding(&self) -> bool {
        self.judged.as_ref().is_some_and(|judged| judged.finding)
    }
}

/// The last thing that the oracle said of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct LastWord {
    pub(super) event: u64,
    pub(super) action: Action,
    pub(super) reason: Reason,
    pub(super) finding: bool,
}

/// A letter as the turn knows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct LetterState {
    pub(super) id: String,
    pub(super) count: u64,
    pub(super) created_at: Timestamp,
    pub(super) open: bool,
    /// The stop that it was written for last.
    pub(super) action: Action,
    pub(super) reason: Reason,
}

/// One logical step of the turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Operation {
    pub(super) id: Arc<str>,
    /// Its place in the order in which operations were first seen.
    pub(super) order: u64,
    pub(super) tool: Arc<str>,
    pub(super) origin: Origin,
    /// The strictest so far.
    pub(super) effect: Effect,
    pub(super) attempts: Vec<Attempt>,
    /// Attempts up to this number were never seen and may have executed.
    pub(super) unseen_through: u32,
    /// Attempts up to this number were settled by a second word.
    pub(super) settled_through: u32,
    /// A second word said so; final.
    pub(super) executed: bool,
    pub(super) succeeded: bool,
    pub(super) succeeded_event: u64,
    pub(super) result: Option<Arc<str>>,
    /// Failures that drew attempts, each with its tries.
    pub(super) drawn_attempts: u64,
    /// Reprompts given for model output.
    pub(super) reprompts: u64,
    pub(super) failures: u32,
    pub(super) last_output_lesson: Option<String>,
    pub(super) last_fingerprint: Option<Fingerprint>,
    pub(super) approval: Option<Approval>,
    /// The newest input, for letters and later requests without one.
    pub(super) input: Option<Arc<str>>,
    pub(super) input_cut: bool,
    pub(super) input_digest: Option<CallDigest>,
    pub(super) last_word: Option<LastWord>,
    pub(super) letter: Option<LetterState>,
    first_used_at: Timestamp,
    /// State that decides the key may be lost: first seen at an attempt > 1, and no key came with it.
    key_may_be_lost: bool,
    pub(super) revision: u32,
    derived_key: Arc<str>,
    adopted_key: Option<Arc<str>>,
    /// The key that the last answer named: an attempt that names none is taken to carry it.
    told_key: Option<Arc<str>>,
}

impl Operation {
    /// An operation that is seen for the first time.
    pub(super) fn new(
        tenant: &str,
        turn_id: &str,
        id: Arc<str>,
        order: u64,
        now: Timestamp,
    ) -> Self {
        let derived_key = key::derive(tenant, turn_id, &id, 0).into();
        Operation {
            id,
            order,
            tool: "".into(),
            origin: Origin::Tool,
            effect: Effect::Idempotent,
            attempts: Vec::new(),
            unseen_through: 0,
            settled_through: 0,
            executed: false,
            succeeded: false,
            succeeded_event: 0,
            result: None,
            drawn_attempts: 0,
            reprompts: 0,
            failures: 0,
            last_output_lesson: None,
            last_fingerprint: None,
            approval: None,
            input: None,
            input_cut: false,
            input_digest: None,
            last_word: None,
            letter: None,
            first_used_at: now,
            key_may_be_lost: false,
            revision: 0,
            derived_key,
            adopted_key: None,
            told_key: None,
        }
    }

    pub(super) fn attempt(&self, number: u32) -> Option<&Attempt> {
        let place = self.place_of(number).ok()?;
        self.attempts.get(place)
    }

    pub(super) fn attempt_mut(&mut self, number: u32) -> Option<&mut Attempt> {
        let place = self.place_of(number).ok()?;
        self.attempts.get_mut(place)
    }

    /// Where an attempt is, or where it would be: they are kept in ascending order.
    fn place_of(&self, number: u32) -> Result<usize, usize> {
        self.attempts
            .binary_search_by_key(&number, |attempt| attempt.number)
    }

    pub(super) fn judged(&self, number: u32) -> Option<&Judged> {
        self.attempt(number)?.judged.as_deref()
    }

    /// The highest number seen; 0 before the first.
    pub(super) fn latest(&self) -> u32 {
        self.attempts
            .last()
            .map_or(self.unseen_through, |a| a.number)
    }

    /// The number that an attempt of 0 stands for, where the attempt is about to go out.
    pub(super) fn next_to_go_out(&self) -> u32 {
        self.latest().saturating_add(1)
    }

    /// The number that an attempt of 0 stands for, where the attempt has come back: the one that is out, if any.
    pub(super) fn next_to_come_back(&self) -> u32 {
        match self.attempts.last() {
            Some(last) if last.judged.is_none() && last.succeeded_at.is_none() => last.number,
            _ => self.next_to_go_out(),
        }
    }

    /// Takes an attempt into the history and answers whether it is seen for the first time. Numbers that were skipped
    /// were made by somebody and never heard of: they may have executed.
    pub(super) fn see(
        &mut self,
        number: u32,
        input: Option<CallDigest>,
        named_key: Option<&Arc<str>>,
    ) -> bool {
        if let Some(named) = named_key {
            self.adopted_key = Some(named.clone());
            self.told_key = Some(named.clone());
        }
        if let Some(attempt) = self.attempt_mut(number) {
            attempt.input = input.or(attempt.input);
            if let Some(named) = named_key {
                attempt.key = named.clone();
            }
            return false;
        }
        if self.skips_attempts(number) {
            self.key_may_be_lost |= self.latest() == 0 && named_key.is_none();
            self.unseen_through = number - 1;
        }
        // It went out before this request, under the key that was told last: not under that of an earlier attempt which
        // has only since been heard to have worked, nor under one that a worker named against what it was told.
        let told = self.told_key.as_ref().or(self.adopted_key.as_ref());
        let key = named_key.or(told).unwrap_or(&self.derived_key).clone();
        let attempt = Attempt {
            number,
            worker_id: None,
            admitted_at: None,
            succeeded_at: None,
            input,
            key,
            heard: None,
            judged: None,
            elapsed: None,
            tokens_spent: 0,
        };
        let (Ok(place) | Err(place)) = self.place_of(number);
        self.attempts.insert(place, attempt);
        true
    }

    /// A first request about a later attempt that was not let out still tells that somebody made the ones before it.
    pub(super) fn note_unseen(&mut self, number: u32, named_key: Option<&Arc<str>>) {
        if self.latest() == 0 && number > 1 {
            self.key_may_be_lost |= named_key.is_none();
            self.unseen_through = number - 1;
        }
    }

    /// What an attempt number that was never seen would say of the attempts before it.
    pub(super) fn skips_attempts(&self, number: u32) -> bool {
        number > self.latest().saturating_add(1)
    }

    /// The worst that has to be assumed over all attempts that no second word has settled.
    pub(super) fn worst(&self) -> Execution {
        self.worst_where(|_| true)
    }

    /// The same, findings of exploratory tools aside: looking again is not repeating.
    pub(super) fn worst_but_findings(&self) -> Execution {
        self.worst_where(|attempt| !attempt.is_finding())
    }

    fn worst_where(&self, counts: impl Fn(&Attempt) -> bool) -> Execution {
        if self.executed || self.succeeded {
            return Execution::Executed;
        }
        let unseen = if self.unseen_through > self.settled_through {
            Execution::MaybeExecuted
        } else {
            Execution::NotExecuted
        };
        self.unsettled()
            .filter(|attempt| counts(attempt))
            .map(Attempt::execution)
            .fold(unseen, Execution::max)
    }

    /// Attempts whose execution no second word has settled.
    pub(super) fn unsettled(&self) -> impl Iterator<Item = &Attempt> {
        let settled = self.settled_through;
        self.attempts
            .iter()
            .rev()
            .take_while(move |attempt| attempt.number > settled)
    }

    /// Whether a plain repeat could do harm: the effect is unsafe or unknown, or keyed with a key that cannot be
    /// relied on.
    pub(super) fn counts_as_unsafe(&self, now: Timestamp, key_ttl: Duration) -> bool {
        match self.effect {
            Effect::Idempotent => false,
            Effect::Unknown | Effect::Unsafe => true,
            Effect::Keyed => {
                self.went_out_under_several_keys()
                    || (self.key_may_be_lost && self.unseen_through > self.settled_through)
                    || now.since(self.first_used_at) > key_ttl
            }
        }
    }

    /// Whether seeing this attempt first, without a key, would leave the key of the ones before it in doubt.
    pub(super) fn would_lose_its_key(&self, number: u32, named_key: bool) -> bool {
        let first_sight = self.latest() == 0 && number > 1 && !named_key;
        let in_doubt_again = self.key_may_be_lost && self.skips_attempts(number);
        self.effect == Effect::Keyed && (first_sight || in_doubt_again)
    }

    /// Whether an attempt under this key would be the second key of an effect that may have happened.
    pub(super) fn would_change_its_key(&self, named: Option<&Arc<str>>) -> bool {
        self.effect == Effect::Keyed
            && named.is_some_and(|named| self.keys_that_may_have_executed().any(|key| key != named))
    }

    /// The key of the first attempt that may have executed.
    pub(super) fn key_that_may_have_executed(&self) -> Option<&Arc<str>> {
        self.keys_that_may_have_executed().next()
    }

    fn went_out_under_several_keys(&self) -> bool {
        let mut keys = self.keys_that_may_have_executed();
        match keys.next() {
            Some(first) => keys.any(|key| key != first),
            None => false,
        }
    }

    /// Findings aside: looking again is not repeating, whatever key the look went out under.
    fn keys_that_may_have_executed(&self) -> impl Iterator<Item = &Arc<str>> {
        let settled = if self.executed {
            0
        } else {
            self.settled_through
        };
        self.attempts
            .iter()
            .filter(move |a| a.number > settled && !a.is_finding())
            .filter(|a| a.execution() != Execution::NotExecuted)
            .map(|a| &a.key)
    }

    /// The key that the next attempt carries. Where an attempt may have executed, its key goes before all others: a
    /// refused call beats a second charge.
    pub(super) fn key(&self) -> Arc<str> {
        self.keys_that_may_have_executed()
            .next()
            .or(self.adopted_key.as_ref())
            .unwrap_or(&self.derived_key)
            .clone()
    }

    /// Whether its last word was a failure and no success has come since.
    pub(super) fn stands_failed(&self) -> bool {
        self.last_word
            .is_some_and(|word| word.event > self.succeeded_event)
    }

    pub(super) fn last_word_event(&self) -> u64 {
        self.last_word.map_or(0, |word| word.event)
    }

    /// Notes the key that an answer, a replayed one too, names for the next attempt.
    pub(super) fn tell_key(&mut self, key: &str) {
        if self.told_key.as_deref() != Some(key) {
            self.told_key = Some(key.into());
        }
    }

    /// Takes a key over from another operation with the same effect.
    pub(super) fn adopt_key(&mut self, key: Arc<str>) {
        self.adopted_key = Some(key);
    }

    /// A reprompt brings a new input, and services refuse an old key with new parameters: the key moves, but only
    /// while no attempt may have executed, and never away from a key that the worker brought.
    pub(super) fn move_key(&mut self, tenant: &str, turn_id: &str) {
        if self.adopted_key.is_none() && self.worst() == Execution::NotExecuted {
            self.revision = self.revision.saturating_add(1);
            self.derived_key = key::derive(tenant, turn_id, &self.id, self.revision).into();
        }
    }

    /// Records an approval, with the input that it came with.
    pub(super) fn approve(&mut self, id: &Arc<str>, input: Option<CallDigest>) {
        self.approval = Some(Approval {
            id: id.clone(),
            input: input.or(self.input_digest),
        });
    }

    /// Whether this operation was approved with this input; a request without one means the approved one.
    pub(super) fn is_approved(&self, input: Option<CallDigest>) -> bool {
        match (&self.approval, input) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(approval), Some(input)) => approval.input == Some(input),
        }
    }
}
