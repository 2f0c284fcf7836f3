//! Fuses the ranking by words with that by vectors.
//!
//! Words find what a skill says; vectors find what it means. Both are fused by reciprocal
//! rank, as their scores cannot be compared. A vector is similar to every other to some
//! degree, so vectors count only if a skill stands out from the rest: the more skills there
//! are, the further the most similar of them lies above the mean by chance alone. Then skills
//! that stand out are found without words, and skills that words have found gain by a
//! similarity that comes near. Otherwise the ranking is that by words.

use crate::best::ScoredDocument;

/// How little the first ranks differ; as in the ranking by words.
const RANK_OFFSET: f64 = 10.0;
/// How much the ranking by vectors counts, against 1 for that by words.
const VECTOR_WEIGHT: f64 = 0.9;
/// Skills of the ranking by vectors that count.
const MAX_SIMILAR: usize = 50;
/// Of few values, none lies more than `sqrt(n - 1)` deviations above the mean: this part of it
/// is enough.
const FEW_VALUES_SHARE: f64 = 0.8;
/// Standard deviations beyond chance: vectors that mean nothing then count for one query in a
/// hundred.
const MARGIN: f64 = 0.7;
/// How much of that distance above the mean a skill needs that words have found.
const NEAR_SHARE: f64 = 0.4;
/// Differences of similarities that are not meant.
const ROUNDING: f64 = 1e-6;

/// How similar the vector of a skill is to that of the query.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimilarDocument {
    /// The number of the skill in its index.
    pub document: u32,
    /// The cosine of the angle.
    pub similarity: f32,
}

/// A skill in the fused ranking.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedDocument {
    /// The number of the skill in its index.
    pub document: u32,
    /// How well it fits; comparable within one search only.
    pub score: f64,
    /// How similar its vector is, if that added to its score.
    pub similarity: Option<f32>,
}

/// The best skills of both rankings, best first; among equals, the lowest number first.
///
/// `by_words` is a ranking, best first; `similarities` has one value for each skill with a
/// vector, in any order. If no skill stands out by its vector, the result is `by_words`.
pub fn fuse(
    by_words: &[ScoredDocument],
    similarities: Vec<SimilarDocument>,
    limit: usize,
) -> Vec<FusedDocument> {
    let (mean, by_chance) = similarity_by_chance(&similarities);
    let similar = most_similar(similarities);
    let exceeds = |similar: &SimilarDocument, share: f64| {
        f64::from(similar.similarity) > mean + share * by_chance
    };
    let stands_out = |similar: &SimilarDocument| exceeds(similar, 1.0);
    let mut fused: Vec<FusedDocument> = Vec::with_capacity(by_words.len());
    if !similar.iter().any(stands_out) {
        let best = by_words.iter().take(limit);
        fused.extend(best.map(|scored| FusedDocument {
            document: scored.document,
            score: scored.score,
            similarity: None,
        }));
        return fused;
    }
    let (mut rank, mut previous) = (0, f64::INFINITY);
    for (place, scored) in by_words.iter().enumerate() {
        // Equal scores share a rank.
        if scored.score < previous {
            (rank, previous) = (place + 1, scored.score);
        }
        fused.push(FusedDocument {
            document: scored.document,
            score: 1.0 / (RANK_OFFSET + rank as f64),
            similarity: None,
        });
    }
    fused.sort_unstable_by_key(|found| found.document);
    let mut added = Vec::new();
    let (mut rank, mut previous) = (0, f32::INFINITY);
    for (place, similar) in similar.iter().enumerate() {
        if similar.similarity < previous {
            (rank, previous) = (place + 1, similar.similarity);
        }
        let score = VECTOR_WEIGHT / (RANK_OFFSET + rank as f64);
        let known = fused.binary_search_by_key(&similar.document, |found| found.document);
        match known.ok().and_then(|at| fused.get_mut(at)) {
            Some(known) if exceeds(similar, NEAR_SHARE) => {
                known.score += score;
                known.similarity = Some(similar.similarity);
            }
            None if stands_out(similar) => added.push(FusedDocument {
                document: similar.document,
                score,
                similarity: Some(similar.similarity),
            }),
            _ => {}
        }
    }
    fused.extend(added);
    let compare = |a: &FusedDocument, b: &FusedDocument| {
        let by_score = b.score.total_cmp(&a.score);
        by_score.then(a.document.cmp(&b.document))
    };
    fused.sort_unstable_by(compare);
    fused.truncate(limit);
    fused
}

/// The mean of all similarities, and how far the highest of so many lies above it by chance
/// alone.
fn similarity_by_chance(all: &[SimilarDocument]) -> (f64, f64) {
    let count = all.len() as f64;
    let values = || all.iter().map(|one| f64::from(one.similarity));
    let mean = values().sum::<f64>() / count;
    let variance = values().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    // The expected maximum of so many values of a normal distribution; of very few values,
    // none can reach it.
    let by_chance = (2.0 * count.ln()).sqrt() + MARGIN;
    let possible = FEW_VALUES_SHARE * (count - 1.0).sqrt();
    // None exceeds it if there is only one, or if all are equal but for rounding.
    let deviation = variance.sqrt() * by_chance.min(possible);
    (mean, deviation + ROUNDING)
}

/// The most similar skills, the most similar first.
fn most_similar(mut all: Vec<SimilarDocument>) -> Vec<SimilarDocument> {
    let compare = |a: &SimilarDocument, b: &SimilarDocument| {
        let by_similarity = b.similarity.total_cmp(&a.similarity);
        by_similarity.then(a.document.cmp(&b.document))
    };
    if all.len() > MAX_SIMILAR + 1 {
        all.select_nth_unstable_by(MAX_SIMILAR, compare);
        all.truncate(MAX_SIMILAR + 1);
    }
    all.sort_unstable_by(compare);
    // Of skills that are equally similar, none is preferred.
    if let Some(next) = all.get(MAX_SIMILAR).map(|next| next.similarity) {
        all.retain(|one| one.similarity > next);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by_words(documents: &[u32]) -> Vec<ScoredDocument> {
        let scores = (0..).map(|place| 1.0 / f64::from(place + 1));
        let scored = documents.iter().zip(scores);
        scored
            .map(|(document, score)| ScoredDocument {
                document: *document,
                score,
            })
            .collect()
    }

    fn similar(values: &[f32]) -> Vec<SimilarDocument> {
        let values = (0..).zip(values);
        values
            .map(|(document, similarity)| SimilarDocument {
                document,
                similarity: *similarity,
            })
            .collect()
    }

    fn order(fused: &[FusedDocument]) -> Vec<u32> {
        fused.iter().map(|found| found.document).collect()
    }

    #[test]
    fn a_skill_that_stands_out_is_found_without_its_words() {
        let mut values = [0.1; 20];
        values[7] = 0.8;
        let fused = fuse(&by_words(&[3, 1, 2, 4]), similar(&values), 10);
        assert_eq!(order(&fused), [3, 1, 7, 2, 4]);
        assert_eq!(fused[2].similarity, Some(0.8));
        assert_eq!(fused[0].similarity, None);
        let fused = fuse(&by_words(&[3, 1, 7, 4]), similar(&values), 2);
        assert_eq!(order(&fused), [7, 3]);
    }

    #[test]
    fn vectors_without_information_leave_the_order_by_words() {
        let words = by_words(&[5, 0, 9, 2]);
        let noise: Vec<f32> = (0..1_000).map(|at| (at as f32 * 12.9898).sin()).collect();
        for values in [&[][..], &[0.9], &[0.5; 300], &noise] {
            let fused = fuse(&words, similar(values), 10);
            assert_eq!(order(&fused), [5, 0, 9, 2], "{} values", values.len());
            assert_eq!(fused[1].score, words[1].score);
        }
    }

    #[test]
    fn a_skill_found_by_words_gains_by_its_similarity() {
        let mut values = [0.1; 20];
        (values[7], values[3]) = (0.8, 0.4);
        // Words and vectors prefer one of them each, and both put the other next.
        let fused = fuse(&by_words(&[3, 7]), similar(&values), 10);
        assert_eq!(order(&fused), [3, 7]);
        assert_eq!(fused[0].similarity, Some(0.4));
        assert!(order(&fuse(&by_words(&[5]), similar(&values), 10)).contains(&7));
    }

    #[test]
    fn of_two_skills_the_more_similar_one_stands_out() {
        let fused = fuse(&[], similar(&[0.2, 0.6]), 10);
        assert_eq!(order(&fused), [1]);
    }

    #[test]
    fn equal_ranks_stay_equal() {
        let tied = [4, 8].map(|document| ScoredDocument {
            document,
            score: 0.5,
        });
        let fused = fuse(&tied, similar(&[0.2, 0.6]), 10);
        assert_eq!(fused[0].score, fused[1].score);
        assert_eq!(order(&fused), [4, 8, 1]);
    }
}
