//! Overlap: which skills are found before a skill, or close behind it, by a query that is about
//! that skill. It must not know where the query comes from.

use std::cmp::Ordering;

use crate::explanation::MatchedWord;

/// How deep a ranking is searched for the skill itself.
pub const OVERLAP_DEPTH: usize = 50;

/// Rivals that are reported of one skill: the first ones.
pub const MAX_RIVALS: usize = 5;

/// Words that are reported of a rival: those that say most.
pub const MAX_SHARED_WORDS: usize = 20;

/// A skill behind the one that is meant is close if it has so much of its score.
const CLOSE_SHARE: f64 = 0.8;

/// A skill that takes queries of another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rival {
    /// Its place in the ranking, from 0.
    pub place: usize,
    /// The ranks of both.
    pub ranks: OverlapRanks,
}

/// The ranks of a skill and a rival for a query about the skill.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OverlapRanks {
    /// The rank of the skill, 1 for the best; `None` if it is not among the first
    /// [`OVERLAP_DEPTH`].
    pub own: Option<usize>,
    /// The rank of the rival.
    pub rival: usize,
    /// The rival's share of the skill's score over all fields. `None` if the skill was not
    /// found.
    pub score_ratio: Option<f64>,
}

impl OverlapRanks {
    /// The worst first: skills that were not found, then those with a rival before them, then
    /// by the share of the score.
    pub fn compare_severity(&self, other: &Self) -> Ordering {
        let key = |ranks: &Self| {
            let is_after = ranks.own.is_none_or(|own| own > ranks.rival);
            (ranks.own.is_none(), is_after)
        };
        let ratio = |ranks: &Self| ranks.score_ratio.unwrap_or_default();
        let by_ratio = ratio(other).total_cmp(&ratio(self));
        key(other)
            .cmp(&key(self))
            .then(by_ratio)
            .then(self.rival.cmp(&other.rival))
    }
}

/// The rivals of the skill at place `own` of a ranking, which has the matched words of each
/// result: those before it, and those close behind it; [`MAX_RIVALS`] at most.
pub fn find_rivals<'a>(
    ranking: impl IntoIterator<Item = &'a [MatchedWord]>,
    own: Option<usize>,
) -> Vec<Rival> {
    let scores: Vec<f64> = ranking.into_iter().map(score).collect();
    let own_score = own.and_then(|own| scores.get(own)).copied();
    let own = own.filter(|_| own_score.is_some());
    let ratio = |score: f64| own_score.filter(|own| *own > 0.0).map(|own| score / own);
    let mut rivals = Vec::new();
    for (place, score) in scores.iter().enumerate() {
        let score_ratio = ratio(*score);
        let is_before = own.is_none_or(|own| place < own);
        let is_close = score_ratio.is_some_and(|ratio| ratio >= CLOSE_SHARE);
        if Some(place) == own || !(is_before || is_close) {
            continue;
        }
        rivals.push(Rival {
            place,
            ranks: OverlapRanks {
                own: own.map(|own| own + 1),
                rival: place + 1,
                score_ratio,
            },
        });
        if rivals.len() == MAX_RIVALS {
            break;
        }
    }
    rivals
}

/// The score over all fields. A trigger is no field, and would outweigh them.
fn score(words: &[MatchedWord]) -> f64 {
    let in_fields = words.iter().filter(|word| !word.fields.is_empty());
    in_fields.map(|word| word.contribution).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranking(scores: &[f64]) -> Vec<Vec<MatchedWord>> {
        let words = scores.iter().map(|score| {
            vec![MatchedWord {
                word: "word".to_owned(),
                fields: vec![crate::Field::Body],
                contribution: *score,
            }]
        });
        words.collect()
    }

    fn rivals(scores: &[f64], own: Option<usize>) -> Vec<(usize, Option<f64>)> {
        let ranking = ranking(scores);
        let found = find_rivals(ranking.iter().map(Vec::as_slice), own);
        let ranks = found.iter().map(|rival| rival.ranks);
        ranks
            .map(|ranks| (ranks.rival, ranks.score_ratio))
            .collect()
    }

    #[test]
    fn those_before_a_skill_and_close_behind_it_are_rivals() {
        let scores = [5.0, 4.0, 3.0, 3.5, 1.0];
        assert_eq!(
            rivals(&scores, Some(1)),
            [(1, Some(1.25)), (4, Some(0.875))]
        );
        assert_eq!(rivals(&[5.0, 1.0], Some(0)), []);
        assert_eq!(rivals(&[5.0, 1.0], None), [(1, None), (2, None)]);
        assert_eq!(rivals(&[5.0], Some(7)), [(1, None)]);
        assert_eq!(rivals(&[1.0; 9], None).len(), MAX_RIVALS);
        assert_eq!(rivals(&[], None), []);
    }

    #[test]
    fn the_worst_comes_first() {
        let ranks = |own, rival, score_ratio| OverlapRanks {
            own,
            rival,
            score_ratio,
        };
        let mut all = [
            ranks(Some(1), 2, Some(0.95)),
            ranks(Some(1), 2, Some(0.85)),
            ranks(Some(3), 1, Some(0.9)),
            ranks(Some(2), 1, Some(1.5)),
            ranks(None, 2, None),
            ranks(None, 1, None),
        ];
        all.sort_by(OverlapRanks::compare_severity);
        let order = all.map(|ranks| (ranks.own, ranks.rival));
        let expected = [
            (None, 1),
            (None, 2),
            (Some(2), 1),
            (Some(3), 1),
            (Some(1), 2),
            (Some(1), 2),
        ];
        assert_eq!(order, expected);
        assert!(all[4].score_ratio > all[5].score_ratio);
    }
}
