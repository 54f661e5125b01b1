//! What a second parking of the same letter changes: the one rule, for the file and for the spool alike.
//!
//! A letter is its content (the story) and its standing (status, count, times). Parkings carry absolute states and may
//! arrive out of order, since they leave the turn's lock before they get here. So counts and times only rise, and
//! content gives way only to newer content; applying two parkings one after the other, or joined into one, is the same.

use super::Parking;
use crate::domain::{DeadLetter, LetterStatus, Timestamp};

/// What changes about a letter apart from its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Standing {
    pub(super) status: LetterStatus,
    /// Whether a person set the status, not a verdict.
    pub(super) by_hand: bool,
    pub(super) count: u64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    /// When the content was current; the epoch where it came with a parking that does not replace content.
    pub(super) content_at: Timestamp,
    pub(super) resolution: Option<String>,
    pub(super) resolved_by: Option<String>,
}

impl Standing {
    /// Whether somebody took the letter into their hands: then the oracle no longer rewrites it. What a verdict
    /// resolved, a later stop opens again.
    fn is_settled(&self) -> bool {
        match self.status {
            LetterStatus::Open => false,
            LetterStatus::Resolved => self.by_hand,
            LetterStatus::Requeued | LetterStatus::Claimed | LetterStatus::Discarded => true,
        }
    }

    /// The standing after `incoming`, and whether its content replaces the stored one.
    pub(super) fn after(&self, incoming: &Standing) -> (Standing, bool) {
        let replaces = incoming.content_at > Timestamp(0)
            && incoming.content_at >= self.content_at
            && (!self.is_settled() || incoming.status == LetterStatus::Resolved);
        let mut next = self.clone();
        next.count = self.count.max(incoming.count);
        next.updated_at = self.updated_at.max(incoming.updated_at);
        if replaces {
            next.status = incoming.status;
            next.content_at = incoming.content_at;
            if !self.is_settled() || self.resolution.is_none() {
                next.resolution.clone_from(&incoming.resolution);
                next.resolved_by.clone_from(&incoming.resolved_by);
            }
        }
        (next, replaces)
    }
}

/// A letter with what the rule needs to know of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Entry {
    pub(super) letter: DeadLetter,
    pub(super) by_hand: bool,
    pub(super) content_at: Timestamp,
}

impl From<Parking> for Entry {
    fn from(parking: Parking) -> Self {
        let content_at = if parking.replace {
            // Never the epoch: that stands for content nobody vouched for.
            parking.letter.updated_at.max(Timestamp(1))
        } else {
            Timestamp(0)
        };
        Entry {
            letter: parking.letter,
            by_hand: false,
            content_at,
        }
    }
}

impl Entry {
    pub(super) fn standing(&self) -> Standing {
        Standing {
            status: self.letter.status,
            by_hand: self.by_hand,
            count: self.letter.count,
            created_at: self.letter.created_at,
            updated_at: self.letter.updated_at,
            content_at: self.content_at,
            resolution: self.letter.resolution.clone(),
            resolved_by: self.letter.resolved_by.clone(),
        }
    }

    /// Puts a standing onto the letter.
    pub(super) fn stand(&mut self, standing: Standing) {
        self.by_hand = standing.by_hand;
        self.content_at = standing.content_at;
        self.letter.status = standing.status;
        self.letter.count = standing.count;
        self.letter.created_at = standing.created_at;
        self.letter.updated_at = standing.updated_at;
        self.letter.resolution = standing.resolution;
        self.letter.resolved_by = standing.resolved_by;
    }

    /// What `self` is once `newer`, a later parking of the same letter, has been applied.
    pub(super) fn absorb(&mut self, newer: &Entry) {
        let (standing, replaces) = self.standing().after(&newer.standing());
        if replaces {
            self.letter = newer.letter.clone();
        }
        self.stand(standing);
    }

    /// Roughly what it takes in memory, in bytes.
    pub(super) fn weight(&self) -> usize {
        let letter = &self.letter;
        let texts = letter.input.as_ref().map_or(0, String::len)
            + letter.explanation.len()
            + letter.guidance.as_ref().map_or(0, String::len)
            + letter.user_message.as_ref().map_or(0, String::len)
            + letter.evidence.as_ref().map_or(0, String::len);
        let attempts: usize = letter
            .attempts
            .iter()
            .map(|attempt| {
                let failure = attempt.failure.as_ref().map_or(0, |failure| {
                    let headers: usize =
                        failure.headers.iter().map(|(k, v)| k.len() + v.len()).sum();
                    failure.message.len() + headers
                });
                512 + failure + attempt.lesson.as_ref().map_or(0, String::len)
            })
            .sum();
        1_024 + texts + attempts
    }
}
