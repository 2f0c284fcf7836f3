//! The set of a block's documents that were replaced or deleted: one bit per place.

/// Dead documents of a block. No bytes: none are dead.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct DeadSet(Vec<u8>);

impl DeadSet {
    pub(super) fn from_bytes(bytes: Vec<u8>) -> Self {
        DeadSet(bytes)
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub(super) fn contains(&self, place: u32) -> bool {
        let byte = self.0.get(place as usize / 8);
        byte.is_some_and(|byte| byte >> (place % 8) & 1 == 1)
    }

    pub(super) fn insert(&mut self, place: u32) {
        let at = place as usize / 8;
        if self.0.len() <= at {
            self.0.resize(at + 1, 0);
        }
        if let Some(byte) = self.0.get_mut(at) {
            *byte |= 1 << (place % 8);
        }
    }

    pub(super) fn len(&self) -> u64 {
        self.0.iter().map(|byte| u64::from(byte.count_ones())).sum()
    }

    /// The dead places, in order.
    pub(super) fn places(&self) -> impl Iterator<Item = u32> {
        // Most documents are live.
        let bytes = self.0.iter().enumerate().filter(|(_, byte)| **byte != 0);
        bytes.flat_map(|(at, byte)| {
            let first = u32::try_from(at * 8).unwrap_or(u32::MAX);
            (0..8)
                .filter(move |bit| byte >> bit & 1 == 1)
                .map(move |bit| first + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_in_the_set_once_they_were_inserted() {
        let mut dead = DeadSet::default();
        assert!(dead.len() == 0 && !dead.contains(0));
        for place in [17, 3, 8, 3] {
            dead.insert(place);
        }
        let dead = DeadSet::from_bytes(dead.into_bytes());
        assert_eq!(dead.places().collect::<Vec<_>>(), [3, 8, 17]);
        assert_eq!(dead.len(), 3);
        assert!(dead.contains(8) && !dead.contains(9) && !dead.contains(1_000));
    }
}
