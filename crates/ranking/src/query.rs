//! A query: the terms of a task, each with its weight.

use std::collections::HashMap;

use crate::limits::{MAX_QUERY_CHARS, MAX_QUERY_WORDS};
use crate::pairs::PairFinder;
use crate::stop_words::is_stop_word;
use crate::terms::each_term;
use crate::triggers::each_phrase;

/// How much less the last word of a query counts than the first: what a task is about is
/// said at its beginning, and pasted texts follow.
const POSITION_SHARE: f64 = 0.5;
/// How much a pair of words counts.
const PAIR_WEIGHT: f64 = 0.25;
/// How much a trigger counts: more than all words together.
const TRIGGER_WEIGHT: f64 = 1_000.0;

/// A task or a question, split into terms.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SkillQuery {
    terms: Vec<QueryTerm>,
}

/// A term of a query.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryTerm {
    /// As it is in an index.
    pub term: String,
    /// The first word of the query, or two, that gave this term; in lower case.
    pub word: String,
    /// How much it counts.
    pub(crate) weight: f64,
}

impl SkillQuery {
    /// Splits a text. Common words of English count only if there are no others; repeated
    /// words count once.
    pub fn parse(text: &str) -> Self {
        let end = text.char_indices().nth(MAX_QUERY_CHARS);
        let text = end.and_then(|(end, _)| text.get(..end)).unwrap_or(text);
        let mut words = FirstTerms::default();
        let mut pairs = FirstTerms::default();
        let mut finder = PairFinder::default();
        let mut previous = String::new();
        let mut position = 0.0;
        each_term(text, usize::MAX, |term, word| {
            position += 1.0;
            words.add(term, word, position);
            if let Some(pair) = finder.push(term, word) {
                pairs.add(pair, &format!("{previous} {word}"), position);
            }
            word.clone_into(&mut previous);
        });
        let is_common = |term: &QueryTerm| is_stop_word(&term.word);
        if !words.terms.iter().all(is_common) {
            words.terms.retain(|term| !is_common(term));
        }
        let by_position = |first: f64| 1.0 - POSITION_SHARE * first / position;
        let mut terms = words.cut();
        for term in &mut terms {
            term.weight = by_position(term.weight);
        }
        terms.extend(pairs.cut().into_iter().map(|pair| QueryTerm {
            weight: PAIR_WEIGHT,
            ..pair
        }));
        let mut phrases = FirstTerms::default();
        each_phrase(text, |term, words| phrases.add(term, words, TRIGGER_WEIGHT));
        terms.extend(phrases.terms);
        Self { terms }
    }

    /// The terms: first words, then pairs of words, then phrases that may be triggers, all in
    /// their order in the text;
    /// [`MAX_QUERY_TERMS`](crate::MAX_QUERY_TERMS) at most.
    pub fn terms(&self) -> &[QueryTerm] {
        &self.terms
    }

    /// Whether there is nothing to search for.
    pub fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// Different terms; each has as its weight the position where it occurs first.
#[derive(Default)]
struct FirstTerms {
    terms: Vec<QueryTerm>,
    places: HashMap<String, usize>,
}

impl FirstTerms {
    fn add(&mut self, term: &str, word: &str, position: f64) {
        if !self.places.contains_key(term) {
            self.places.insert(term.to_owned(), self.terms.len());
            self.terms.push(QueryTerm {
                term: term.to_owned(),
                word: word.to_owned(),
                weight: position,
            });
        }
    }

    /// Of too many terms, the first and the last: what a long text is about is said at its
    /// beginning, what to do often at its end.
    fn cut(mut self) -> Vec<QueryTerm> {
        let excess = self.terms.len().saturating_sub(MAX_QUERY_WORDS);
        if excess > 0 {
            let start = MAX_QUERY_WORDS / 2;
            self.terms.drain(start..start + excess);
        }
        self.terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_QUERY_TERMS;
    use crate::triggers::is_trigger;

    fn parsed(text: &str) -> Vec<String> {
        let terms = SkillQuery::parse(text).terms.into_iter();
        let terms = terms.map(|term| term.term);
        terms.filter(|term| !is_trigger(term)).collect()
    }

    #[test]
    fn common_words_are_dropped_unless_there_are_no_others() {
        let terms = ["fill", "form", "i fill", "fill the", "the form"];
        assert_eq!(parsed("how do I fill the forms"), terms);
        assert_eq!(parsed("how do I"), ["how", "do", "i"]);
        assert!(SkillQuery::parse(" ,.! ").is_empty());
    }

    #[test]
    fn common_words_of_other_languages_are_dropped_too() {
        let words = |text: &str| {
            let terms = parsed(text).into_iter();
            let words: Vec<_> = terms.filter(|term| !term.contains(' ')).collect();
            words.join(" ")
        };
        assert_eq!(
            words("Bitte erstelle eine Tabelle für die Rechnung"),
            "erstell tabell die rechnung"
        );
        assert_eq!(
            words("Convierte el archivo para mi equipo"),
            "conviert archivo equipo"
        );
        assert_eq!(
            words("Traduis le contrat dans une lettre"),
            "tradui contrat lettr"
        );
    }

    #[test]
    fn words_come_before_pairs_and_each_once() {
        let query = SkillQuery::parse("Pull requests: review the pull request");
        let terms = query.terms().iter().map(|own| own.term.as_str());
        let terms: Vec<_> = terms.filter(|term| !is_trigger(term)).collect();
        assert_eq!(
            terms,
            [
                "pull",
                "request",
                "review",
                "pull request",
                "request review",
                "review the",
                "the pull"
            ]
        );
        assert_eq!(query.terms()[1].word, "requests");
        assert_eq!(query.terms()[3].word, "pull requests");
    }

    #[test]
    fn the_first_words_count_most() {
        let query = SkillQuery::parse("pdf form");
        let weights: Vec<f64> = query.terms().iter().map(|own| own.weight).collect();
        assert_eq!(weights[..3], [0.75, 0.5, 0.25]);
        assert_eq!(weights[3..], [TRIGGER_WEIGHT; 3]);
    }

    #[test]
    fn a_long_query_is_cut_in_the_middle() {
        let words: Vec<_> = (0..1_000).map(|number| format!("w{number}x")).collect();
        let terms = parsed(&words.join(" "));
        assert_eq!(terms.len(), 2 * MAX_QUERY_WORDS);
        assert!(SkillQuery::parse(&words.join(" ")).terms.len() <= MAX_QUERY_TERMS);
        assert_eq!(terms[0], "w0x");
        assert_eq!(terms[MAX_QUERY_WORDS - 1], "w999x");
        assert_eq!(parsed(&"x ".repeat(1 << 20)).len(), 2);
    }
}
