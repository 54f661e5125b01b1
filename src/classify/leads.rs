//! Fixed wordings after which something stands (a wait, an address). The one pass over the text finds them.

/// A wording that was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Found {
    /// Its place in its list.
    pub(super) lead: u32,
    pub(super) start: usize,
    pub(super) end: usize,
}

impl Found {
    /// The wording's entry in the list that it is from.
    pub(super) fn of<T>(self, list: &[T]) -> Option<&T> {
        list.get(self.lead as usize)
    }
}

/// Most places of each sort that are looked at in one text.
pub(super) const MAX_FOUND: usize = 64;

/// Every wording in the text, as the pass finds them.
#[cfg(test)]
pub(super) fn find<'a>(wordings: impl Iterator<Item = &'a str>, text: &str) -> Vec<Found> {
    let text = text.to_ascii_lowercase();
    let mut found: Vec<Found> = (0..)
        .zip(wordings)
        .flat_map(|(lead, wording)| {
            text.match_indices(wording).map(move |(start, _)| Found {
                lead,
                start,
                end: start + wording.len(),
            })
        })
        .collect();
    found.sort_by_key(|found| (found.end, found.start));
    found
}
