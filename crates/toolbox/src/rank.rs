//! Ranks skills for a query: BM25 over name, description and `when_to_use`,
//! where a word of the name counts three times. Pure; no index is needed: a few
//! thousand short texts are ranked in milliseconds.

use prowess_skill::Skill;
use std::collections::{BTreeMap, BTreeSet};

/// BM25 `k1`: how soon further occurrences of a word stop counting.
const SATURATION: f64 = 1.2;
/// BM25 `b`: how much longer texts are penalised.
const LENGTH_WEIGHT: f64 = 0.75;
/// How often a word of the name counts.
const NAME_WEIGHT: usize = 3;

/// The best skills for a query, best first, none of them without any of its words.
/// Equal scores keep their order.
pub(crate) fn rank<'a>(skills: &[&'a Skill], query: &str, limit: usize) -> Vec<&'a Skill> {
    let query_words: BTreeSet<String> = words(query).collect();
    let texts: Vec<SkillText> = skills
        .iter()
        .map(|skill| SkillText::new(skill, &query_words))
        .collect();
    let length = texts.iter().map(|text| text.length).sum::<usize>() as f64;
    let average = (length / texts.len().max(1) as f64).max(1.0);
    let weight = |word: &String| {
        let with = texts
            .iter()
            .filter(|text| text.counts.contains_key(word))
            .count() as f64;
        let without = texts.len() as f64 - with;
        ((without + 0.5) / (with + 0.5) + 1.0).ln()
    };
    let weights: BTreeMap<&String, f64> = query_words.iter().map(|w| (w, weight(w))).collect();
    let score = |text: &SkillText| -> f64 {
        let held_back =
            SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * text.length as f64 / average);
        let each = text.counts.iter().map(|(word, count)| {
            let count = *count as f64;
            weights.get(word).unwrap_or(&0.0) * count * (SATURATION + 1.0) / (count + held_back)
        });
        each.sum()
    };
    let mut scored: Vec<(f64, &&Skill)> = texts.iter().map(score).zip(skills).collect();
    scored.retain(|(score, _)| *score > 0.0);
    scored.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let best = scored.into_iter().take(limit);
    best.map(|(_, skill)| *skill).collect()
}

/// How often the words of the query occur in a skill's text.
struct SkillText {
    counts: BTreeMap<String, usize>,
    length: usize,
}

impl SkillText {
    fn new(skill: &Skill, query_words: &BTreeSet<String>) -> Self {
        let when = skill.invocation.when_to_use.as_deref().unwrap_or_default();
        let parts = [
            (skill.name.as_str(), NAME_WEIGHT),
            (skill.description.as_str(), 1),
            (when, 1),
        ];
        let mut text = Self {
            counts: BTreeMap::new(),
            length: 0,
        };
        for (part, weight) in parts {
            for word in words(part) {
                text.length += weight;
                if query_words.contains(&word) {
                    *text.counts.entry(word).or_default() += weight;
                }
            }
        }
        text
    }
}

/// Words in lower case, without English suffixes, so that
/// `spreadsheets` finds `spreadsheet` and `filling` finds `fill`.
fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(|word| {
        let word = word.to_lowercase();
        let stem = ["ing", "ies", "es", "ed", "s"]
            .into_iter()
            .find_map(|ending| word.strip_suffix(ending))
            .filter(|stem| stem.len() >= 3);
        stem.map(str::to_owned).unwrap_or(word)
    })
}
