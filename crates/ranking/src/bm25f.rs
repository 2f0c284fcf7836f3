//! BM25F: a term counts by how rare it is and how often it occurs, where the count of each
//! field is weighted, and divided by the field's relative length, before the sum saturates.
//! So a long body cannot outweigh a name.
//!
//! The numbers were chosen by recall on half of some thousand public queries to 10,000
//! skills, and checked on the other half; small changes make little difference.

use crate::corpus::CorpusStats;
use crate::field::FieldCounts;

/// How much an occurrence in each field counts.
const WEIGHTS: [f64; 4] = [8.0, 3.0, 1.4, 0.9];
/// How much longer fields are penalised, from 0 (not at all) to 1 (in proportion).
const LENGTH_SHARES: [f64; 4] = [0.5, 0.6, 0.3, 0.3];
/// How soon further occurrences in any field stop counting.
const WHOLE_SATURATION: f64 = 0.4;
/// How soon further occurrences in name and description stop counting.
const SUMMARY_SATURATION: f64 = 2.4;

/// Weighted and saturated counts of one term in one skill, from 0 to 1. An index may keep them
/// for millions of postings, so they are narrower than the sums of scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WeighedCounts {
    /// In all fields.
    pub whole: f32,
    /// In name and description; 0 if and only if neither has the term.
    pub summary: f32,
}

/// Counts weighted by field and length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FieldNorms {
    documents: f64,
    averages: [f64; 4],
}

impl FieldNorms {
    /// For the skills that are ranked.
    pub fn new(corpus: &CorpusStats) -> Self {
        Self {
            documents: corpus.documents() as f64,
            averages: corpus.average_lengths(),
        }
    }

    /// The weighted counts of a term.
    ///
    /// There is no branch: a processor weighs several fields and postings at once, and a field
    /// without the term gives exactly 0.
    #[inline]
    pub fn weigh(&self, counts: FieldCounts, lengths: FieldCounts) -> WeighedCounts {
        let (counts, lengths) = (counts.numbers(), lengths.numbers());
        let mut weighed = [0.0; 4];
        let rows = counts.iter().zip(&lengths).zip(&self.averages);
        let settings = WEIGHTS.iter().zip(&LENGTH_SHARES);
        for (result, (((count, length), average), (weight, share))) in
            weighed.iter_mut().zip(rows.zip(settings))
        {
            let relative = 1.0 - share + share * f64::from(*length) / average;
            *result = weight * f64::from(*count) / relative;
        }
        let [name, description, headings, body] = weighed;
        let summary = name + description;
        WeighedCounts {
            whole: saturate(summary + headings + body, WHOLE_SATURATION) as f32,
            summary: saturate(summary, SUMMARY_SATURATION) as f32,
        }
    }

    /// Whether both weigh any counts alike: what was weighed by one is right for the other.
    pub fn weighs_like(&self, other: &Self) -> bool {
        self.averages == other.averages
    }

    /// The weight of a term that so many skills have.
    pub(crate) fn rarity(&self, having: u64) -> f64 {
        let having = having as f64;
        let lacking = (self.documents - having).max(0.0);
        ((lacking + 0.5) / (having + 0.5) + 1.0).ln()
    }
}

#[inline]
fn saturate(weighed: f64, saturation: f64) -> f64 {
    weighed / (weighed + saturation)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(found: impl Into<f64>, expected: f64) {
        let found = found.into();
        assert!((found - expected).abs() < 1e-7, "{found} {expected}");
    }

    #[test]
    fn counts_are_weighted_by_field_and_length() {
        // Two skills; names of 2 and 4 words, bodies of 100 and 300.
        let norms = FieldNorms::new(&CorpusStats::new(2, [6, 20, 0, 400]));
        let lengths = FieldCounts::new([2, 10, 0, 100]);
        // In the name: 8 / (0.5 + 0.5 * 2/3) = 9.6.
        let counts = norms.weigh(FieldCounts::new([1, 0, 0, 0]), lengths);
        assert_near(counts.whole, 9.6 / 10.0);
        assert_near(counts.summary, 9.6 / 12.0);
        // Twice in the body: 1.8 / (0.7 + 0.3 * 1/2) = 1.8 / 0.85.
        let counts = norms.weigh(FieldCounts::new([0, 0, 0, 2]), lengths);
        assert_near(counts.whole, (1.8 / 0.85) / (1.8 / 0.85 + 0.4));
        assert_near(counts.summary, 0.0);
        // In description and body: 3 / 1 + 0.9 / 0.85.
        let counts = norms.weigh(FieldCounts::new([0, 1, 0, 1]), lengths);
        assert_near(counts.whole, (3.0 + 0.9 / 0.85) / (3.4 + 0.9 / 0.85));
        assert_near(counts.summary, 3.0 / 5.4);
    }

    #[test]
    fn what_was_weighed_is_right_as_long_as_the_mean_lengths_are_the_same() {
        let norms = FieldNorms::new(&CorpusStats::new(2, [6, 20, 0, 400]));
        let doubled = FieldNorms::new(&CorpusStats::new(4, [12, 40, 0, 800]));
        let longer = FieldNorms::new(&CorpusStats::new(2, [6, 20, 0, 401]));
        assert!(norms.weighs_like(&doubled) && !norms.weighs_like(&longer));
        // The least that can be: it still counts.
        let least = norms.weigh(
            FieldCounts::new([0, 1, 0, 0]),
            FieldCounts::new([u16::MAX; 4]),
        );
        assert!(least.summary > 0.0 && least.whole > 0.0, "{least:?}");
    }

    #[test]
    fn rare_terms_count_more_and_none_counts_less_than_nothing() {
        let norms = FieldNorms::new(&CorpusStats::new(10, [0; 4]));
        assert_near(norms.rarity(1), (9.5f64 / 1.5 + 1.0).ln());
        assert_near(norms.rarity(10), (0.5f64 / 10.5 + 1.0).ln());
        assert!(norms.rarity(11) > 0.0);
    }
}
