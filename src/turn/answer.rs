//! What a request to a turn gives back.

use std::sync::Arc;

use crate::domain::Timestamp;
use crate::letters::Parking;

use super::Event;

/// The same `request_id` came with another request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "request_id `{request_id}` was used for another request of this turn ({earlier}); use a fresh one for each request"
)]
pub struct RequestIdReused {
    /// The id.
    pub request_id: Arc<str>,
    /// What it was used for.
    pub earlier: String,
}

/// An answer, with what has to be parked before it is given and what is to be counted.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered<T> {
    /// The answer.
    pub answer: Result<T, RequestIdReused>,
    /// To be parked first.
    pub parkings: Vec<Parking>,
    /// To be counted.
    pub events: Vec<Event>,
}

impl<T> Answered<T> {
    pub(super) fn refused(error: RequestIdReused) -> Self {
        Answered {
            answer: Err(error),
            parkings: Vec::new(),
            events: Vec::new(),
        }
    }
}

/// What gathers beside an answer while it is made, and the randomness that it may use.
pub(super) struct Said {
    pub(super) parkings: Vec<Parking>,
    pub(super) events: Vec<Event>,
    random: fastrand::Rng,
}

impl Said {
    pub(super) fn new(seed: u64) -> Self {
        Said {
            parkings: Vec::new(),
            events: Vec::new(),
            random: fastrand::Rng::with_seed(seed),
        }
    }

    /// A number from 0 to `most`, all alike.
    pub(super) fn up_to(&mut self, most: u64) -> u64 {
        self.random.u64(0..=most)
    }

    /// A time-ordered id for a letter.
    pub(super) fn letter_id(&mut self, now: Timestamp) -> String {
        let mut random = [0; 10];
        self.random.fill(&mut random);
        uuid::Builder::from_unix_timestamp_millis(now.0 / 1_000, &random)
            .into_uuid()
            .to_string()
    }

    pub(super) fn answered<T>(self, answer: T) -> Answered<T> {
        Answered {
            answer: Ok(answer),
            parkings: self.parkings,
            events: self.events,
        }
    }
}
