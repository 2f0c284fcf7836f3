//! The best documents of a ranking, and their reciprocal ranks. It must not know what the
//! scores mean.

/// How little the first ranks differ.
const RANK_OFFSET: f64 = 10.0;

/// A ranked skill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredDocument {
    /// The number of the skill in its index.
    pub document: u32,
    /// How well it matches; comparable within one search only.
    pub score: f64,
}

/// The best `depth` documents of those that were added so far, and at most as many others.
#[derive(Debug)]
pub(crate) struct BestDocuments {
    depth: usize,
    kept: Vec<ScoredDocument>,
    /// A later document with this score is not among the best.
    threshold: f64,
}

impl BestDocuments {
    /// The best of at most so many documents.
    pub(crate) fn new(depth: usize, documents: usize) -> Self {
        Self {
            depth,
            kept: Vec::with_capacity(depth.saturating_mul(2).min(documents)),
            threshold: 0.0,
        }
    }

    /// Adds a document whose number is higher than that of all before it; one without a score
    /// is ignored.
    #[inline]
    pub(crate) fn add(&mut self, document: u32, score: f64) {
        if score > self.threshold {
            self.kept.push(ScoredDocument { document, score });
            if self.kept.len() / 2 >= self.depth {
                self.cut();
            }
        }
    }

    /// Drops all but the best.
    fn cut(&mut self) {
        cut_to_best(&mut self.kept, self.depth);
        let scores = self.kept.iter().map(|kept| kept.score);
        // Of documents with equal scores those with lower numbers are better, so that no later
        // one with the lowest score can be.
        self.threshold = scores.fold(f64::INFINITY, f64::min);
    }

    /// The best documents, each with `weight / (offset + rank)` instead of its score. Equal
    /// scores share a rank.
    pub(crate) fn into_reciprocal_ranks(mut self, weight: f64) -> Vec<ScoredDocument> {
        cut_to_best(&mut self.kept, self.depth);
        self.kept.sort_unstable_by_key(order);
        let mut rank = 0;
        let mut previous = f64::INFINITY;
        for (place, scored) in self.kept.iter_mut().enumerate() {
            if scored.score < previous {
                previous = scored.score;
                rank = place + 1;
            }
            scored.score = weight / (RANK_OFFSET + rank as f64);
        }
        self.kept
    }
}

/// The best documents first; among equals, the lowest number first.
pub(crate) fn sort_best(mut documents: Vec<ScoredDocument>, limit: usize) -> Vec<ScoredDocument> {
    cut_to_best(&mut documents, limit);
    documents.sort_unstable_by_key(order);
    documents
}

/// Drops all but the best, which are in no order.
fn cut_to_best(documents: &mut Vec<ScoredDocument>, limit: usize) {
    if documents.len() > limit {
        documents.select_nth_unstable_by_key(limit, order);
        documents.truncate(limit);
    }
}

/// A sort key: the best document has the lowest. The bits of numbers that are not negative are in
/// the order of the numbers. One integer is compared faster than a score and then a document.
#[inline]
fn order(scored: &ScoredDocument) -> u128 {
    u128::from(!scored.score.to_bits()) << 32 | u128::from(scored.document)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_best_are_those_of_all_sorted(
            scores in prop::collection::vec(0..30u8, 0..200), depth in 1..40usize
        ) {
            let mut best = BestDocuments::new(depth, scores.len());
            for (document, score) in (0..).zip(&scores) {
                best.add(document, f64::from(*score));
            }
            let scored = (0..).zip(&scores).filter(|(_, score)| **score > 0);
            let mut all: Vec<(u32, u8)> = scored.map(|(at, score)| (at, *score)).collect();
            all.sort_by_key(|(document, score)| (u8::MAX - score, *document));
            all.truncate(depth);
            let ranks = all.iter().map(|(document, score)| {
                let better = all.iter().filter(|(_, other)| other > score).count();
                (*document, 3.0 / (RANK_OFFSET + (better + 1) as f64))
            });
            let found = best.into_reciprocal_ranks(3.0).into_iter();
            let found: Vec<_> = found.map(|found| (found.document, found.score)).collect();
            prop_assert_eq!(found, ranks.collect::<Vec<_>>());
        }
    }
}
