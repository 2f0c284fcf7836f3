//! What ranking must know of all skills together.

use crate::field::FieldCounts;

/// Number and lengths of all skills that are ranked. Its numbers are integers, so they do
/// not depend on the order in which skills were added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CorpusStats {
    documents: u64,
    words: [u64; 4],
}

impl CorpusStats {
    /// From the number of skills and the sum of their lengths by field, in the order of
    /// [`Field::ALL`](crate::Field::ALL).
    pub fn new(documents: u64, words: [u64; 4]) -> Self {
        Self { documents, words }
    }

    /// Adds a skill.
    pub fn add(&mut self, lengths: FieldCounts) {
        self.documents += 1;
        for (sum, length) in self.words.iter_mut().zip(lengths.numbers()) {
            *sum += u64::from(length);
        }
    }

    /// Adds the skills of another part of an index.
    pub fn merge(&mut self, other: &Self) {
        self.documents += other.documents;
        for (sum, words) in self.words.iter_mut().zip(other.words) {
            *sum += words;
        }
    }

    /// Removes a skill that was added.
    pub fn remove(&mut self, lengths: FieldCounts) {
        self.documents = self.documents.saturating_sub(1);
        for (sum, length) in self.words.iter_mut().zip(lengths.numbers()) {
            *sum = sum.saturating_sub(u64::from(length));
        }
    }

    /// How many skills there are.
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// The sum of their lengths by field.
    pub fn words(&self) -> [u64; 4] {
        self.words
    }

    /// The mean length of each field, at least one word.
    pub(crate) fn average_lengths(&self) -> [f64; 4] {
        let documents = self.documents.max(1) as f64;
        self.words.map(|words| (words as f64 / documents).max(1.0))
    }
}
