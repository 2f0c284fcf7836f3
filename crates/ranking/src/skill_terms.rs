//! The terms of one skill: what an index stores of it.

use std::collections::{HashMap, HashSet};

use crate::field::{Field, FieldCounts};
use crate::headings::each_line;
use crate::limits::MAX_FIELD_WORDS;
use crate::pairs::PairFinder;
use crate::query::SkillQuery;
use crate::terms::each_term;
use crate::triggers::{MAX_TRIGGERS, trigger_term};

/// The texts of a skill that are ranked.
#[derive(Debug, Clone, Copy, Default)]
pub struct SkillText<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
    /// When to use it, if it says so apart from its description.
    pub when_to_use: &'a str,
    /// Its instructions, in Markdown.
    pub body: &'a str,
    /// Phrases that are declared to be about it; [`MAX_TRIGGERS`] count.
    pub triggers: &'a [String],
}

/// The terms of a skill, with how often each occurs in each field. Name and description give
/// pairs of words too.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SkillTerms {
    /// Words of each field.
    pub(crate) lengths: FieldCounts,
    /// Sorted by term; each term once.
    pub(crate) terms: Vec<(String, FieldCounts)>,
}

impl SkillTerms {
    /// Splits the texts of a skill, each up to its limit.
    pub fn new(text: &SkillText<'_>) -> Self {
        Self::count(text, |_| true)
    }

    /// Like [`Self::new`], but with the terms of one query only: enough to rank for it, and
    /// far smaller.
    pub fn for_query(text: &SkillText<'_>, query: &SkillQuery) -> Self {
        let counted: HashSet<&str> = query.terms().iter().map(|own| own.term.as_str()).collect();
        Self::count(text, |term| counted.contains(term))
    }

    fn count(text: &SkillText<'_>, is_counted: impl Fn(&str) -> bool) -> Self {
        let mut counter = Counter {
            lengths: FieldCounts::default(),
            counts: HashMap::new(),
            is_counted,
        };
        counter.add(Field::Name, text.name);
        counter.add(Field::Description, text.description);
        counter.add(Field::Description, text.when_to_use);
        each_line(text.body, |line, is_heading| {
            let field = if is_heading {
                Field::Headings
            } else {
                Field::Body
            };
            counter.add(field, line);
        });
        for trigger in text.triggers.iter().take(MAX_TRIGGERS) {
            counter.add_trigger(trigger);
        }
        let mut terms: Vec<_> = counter.counts.into_iter().collect();
        terms.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        Self {
            lengths: counter.lengths,
            terms,
        }
    }

    /// How many words each field has.
    pub fn lengths(&self) -> FieldCounts {
        self.lengths
    }

    /// Every term with its counts, sorted by term.
    pub fn terms(&self) -> impl ExactSizeIterator<Item = (&str, FieldCounts)> {
        self.terms
            .iter()
            .map(|(term, counts)| (term.as_str(), *counts))
    }

    /// How often a term occurs in each field; `None` if it does not occur.
    pub fn get(&self, term: &str) -> Option<FieldCounts> {
        let found = self
            .terms
            .binary_search_by(|(own, _)| own.as_str().cmp(term));
        let (_, counts) = self.terms.get(found.ok()?)?;
        Some(*counts)
    }
}

struct Counter<F> {
    lengths: FieldCounts,
    counts: HashMap<String, FieldCounts>,
    is_counted: F,
}

impl<F: Fn(&str) -> bool> Counter<F> {
    fn add(&mut self, field: Field, text: &str) {
        let limit = FieldCounts::new(MAX_FIELD_WORDS).get(field) - self.lengths.get(field);
        let has_pairs = matches!(field, Field::Name | Field::Description);
        let mut pairs = PairFinder::default();
        each_term(text, usize::from(limit), |term, word| {
            self.lengths.increment(field);
            self.count_term(field, term);
            if has_pairs && let Some(pair) = pairs.push(term, word) {
                self.count_term(field, pair);
            }
        });
    }

    /// A trigger counts once, as if it were in the name: a skill without a word in its name has
    /// none.
    fn add_trigger(&mut self, trigger: &str) {
        let term = trigger_term(trigger).filter(|term| (self.is_counted)(term));
        if let Some(term) = term.filter(|_| self.lengths.get(Field::Name) > 0) {
            let mut counts = FieldCounts::default();
            counts.increment(Field::Name);
            self.counts.insert(term, counts);
        }
    }

    fn count_term(&mut self, field: Field, term: &str) {
        match self.counts.get_mut(term) {
            Some(counts) => counts.increment(field),
            None if !(self.is_counted)(term) => {}
            None => {
                let mut counts = FieldCounts::default();
                counts.increment(field);
                self.counts.insert(term.to_owned(), counts);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_counted_by_field() {
        let terms = SkillTerms::new(&SkillText {
            name: "pdf-forms",
            description: "Fills forms.",
            when_to_use: "A form is empty",
            body: "# Forms\nOpen the PDF, fill the PDF.\n",
            triggers: &["Tax form".to_owned(), "the".to_owned()],
        });
        assert_eq!(
            terms.terms().next(),
            Some(("\u{1}tax form", FieldCounts::new([1, 0, 0, 0])))
        );
        assert_eq!(terms.lengths().numbers(), [2, 6, 1, 6]);
        let count = |term| terms.get(term).map(FieldCounts::numbers);
        assert_eq!(count("form"), Some([1, 2, 1, 0]));
        assert_eq!(count("pdf"), Some([1, 0, 0, 2]));
        assert_eq!(count("pdf form"), Some([1, 0, 0, 0]));
        assert_eq!(count("fill form"), Some([0, 1, 0, 0]));
        assert_eq!(count("open pdf"), None);
        assert!(terms.terms().is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn the_terms_of_a_query_are_counted_alike() {
        let text = SkillText {
            name: "pdf-forms",
            description: "Fills forms.",
            when_to_use: "",
            body: "Open the PDF.",
            triggers: &[],
        };
        let all = SkillTerms::new(&text);
        let some = SkillTerms::for_query(&text, &SkillQuery::parse("open forms in excel"));
        assert_eq!(some.lengths(), all.lengths());
        let terms: Vec<_> = some.terms().map(|(term, _)| term).collect();
        assert_eq!(terms, ["form", "open"]);
        assert_eq!(some.get("form"), all.get("form"));
    }

    #[test]
    fn every_field_has_a_limit() {
        let long = "word ".repeat(70_000);
        let headings = "# word\n".repeat(70_000);
        let terms = SkillTerms::new(&SkillText {
            name: &long,
            description: &long,
            when_to_use: &long,
            body: &format!("{headings}{long}"),
            triggers: &[],
        });
        assert_eq!(terms.lengths().numbers(), MAX_FIELD_WORDS);
        assert_eq!(terms.get("word").unwrap().numbers(), MAX_FIELD_WORDS);
    }
}
