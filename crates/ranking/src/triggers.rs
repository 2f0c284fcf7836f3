//! Declared triggers: phrases that an author says are about a skill. A query that has such a
//! phrase finds the skill before all others, whatever its other words.
//!
//! In an index a trigger is one term: a mark that no word has, then the phrase's terms. So a
//! query looks up all short phrases that it has; of a long query, those at its beginning and at
//! its end.

use std::collections::HashSet;

use crate::limits::{MAX_TERM_BYTES, MAX_TRIGGER_TERMS, PHRASES_END_TERMS, PHRASES_START_TERMS};
use crate::stop_words::is_stop_word;
use crate::terms::each_term;

/// Triggers of a skill that count.
pub const MAX_TRIGGERS: usize = 32;
/// Characters of a trigger in ASCII, and in other scripts: shorter ones would be everywhere.
const MIN_ASCII_CHARS: usize = 3;
const MIN_CHARS: usize = 2;

/// Sorts before all words.
const MARK: char = '\u{1}';

/// Whether a term is a trigger.
pub(crate) fn is_trigger(term: &str) -> bool {
    term.starts_with(MARK)
}

/// The term of a declared trigger; `None` for one that does not count.
pub(crate) fn trigger_term(trigger: &str) -> Option<String> {
    let min_chars = if trigger.is_ascii() {
        MIN_ASCII_CHARS
    } else {
        MIN_CHARS
    };
    if trigger.trim().chars().count() < min_chars {
        return None;
    }
    let mut phrase = Phrase::default();
    each_term(trigger, MAX_TRIGGER_TERMS + 1, |term, word| {
        phrase.push(term, word);
    });
    phrase.is_complete().then_some(phrase.term)
}

/// Calls `accept` with each phrase of a text that may be a trigger, as its term and in words. Of a
/// long text, these are the phrases at its beginning and at its end.
pub(crate) fn each_phrase(text: &str, mut accept: impl FnMut(&str, &str)) {
    let mut terms = 0_usize;
    each_term(text, usize::MAX, |_, _| terms += 1);
    let end = terms.saturating_sub(PHRASES_END_TERMS);
    let mut at = 0;
    let mut open: Vec<Phrase> = Vec::with_capacity(MAX_TRIGGER_TERMS);
    each_term(text, usize::MAX, |term, word| {
        at += 1;
        if at > PHRASES_START_TERMS && at <= end {
            open.clear();
            return;
        }
        open.push(Phrase::default());
        for phrase in &mut open {
            phrase.push(term, word);
            if phrase.is_complete() {
                accept(&phrase.term, &phrase.words);
            }
        }
        open.retain(|phrase| phrase.terms < MAX_TRIGGER_TERMS);
    });
}

/// The phrases of a text that may be triggers.
#[derive(Debug, Clone, Default)]
pub struct TriggerPhrases(HashSet<String>);

impl TriggerPhrases {
    /// Those that a query with this text looks up.
    pub fn new(text: &str) -> Self {
        let mut phrases = HashSet::new();
        each_phrase(text, |term, _| {
            if !phrases.contains(term) {
                phrases.insert(term.to_owned());
            }
        });
        Self(phrases)
    }

    /// Whether the text has a declared trigger, perhaps with other endings of words.
    pub fn has(&self, trigger: &str) -> bool {
        trigger_term(trigger).is_some_and(|term| self.0.contains(&term))
    }
}

/// Neighbouring terms, and the words that they stem from.
#[derive(Default)]
struct Phrase {
    term: String,
    words: String,
    terms: usize,
    has_content: bool,
}

impl Phrase {
    fn push(&mut self, term: &str, word: &str) {
        if self.terms == 0 {
            self.term.push(MARK);
        } else {
            self.term.push(' ');
            self.words.push(' ');
        }
        self.term.push_str(term);
        self.words.push_str(word);
        self.terms += 1;
        self.has_content |= !is_stop_word(word);
    }

    /// Whether it can be a trigger: it is short, and not of common words only.
    fn is_complete(&self) -> bool {
        self.has_content && self.terms <= MAX_TRIGGER_TERMS && self.term.len() <= MAX_TERM_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::MAX_PHRASES;

    fn has(text: &str, trigger: &str) -> bool {
        TriggerPhrases::new(text).has(trigger)
    }

    #[test]
    fn a_text_has_a_trigger_as_whole_words() {
        let text = "Please write the monthly reports, for K8s";
        for trigger in [
            "monthly report",
            "Monthly-Report",
            "k8s",
            "write",
            "the monthly",
        ] {
            assert!(has(text, trigger), "{trigger}");
        }
        for trigger in ["mon", "report monthly", "reports for us", "the", "", "k8"] {
            assert!(!has(text, trigger), "{trigger}");
        }
        assert!(has("请生成月度报表", "月度报表"));
        assert!(has("请生成月度报表", "报表"));
        assert!(!has("a b c d e f", "a b c d e"));
    }

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_read() {
        let text = |words: usize| {
            let words: Vec<_> = (1..=words).map(|number| format!("w{number}x")).collect();
            words.join(" ")
        };
        let all = text(PHRASES_START_TERMS + PHRASES_END_TERMS);
        for trigger in ["w1x w2x", "w192x w193x", "w255x w256x"] {
            assert!(has(&all, trigger), "{trigger}");
        }
        let long = text(1_000);
        for trigger in ["w191x w192x", "w937x w938x", "w999x w1000x"] {
            assert!(has(&long, trigger), "{trigger}");
        }
        for trigger in ["w192x w193x", "w500x", "w936x w937x", "w192x w937x"] {
            assert!(!has(&long, trigger), "{trigger}");
        }
    }

    #[test]
    fn there_is_a_limit() {
        let (mut count, text) = (0, "word x1 ".repeat(500));
        each_phrase(&text, |_, _| count += 1);
        assert!((1..=MAX_PHRASES).contains(&count), "{count}");
        assert_eq!(trigger_term(&"x".repeat(9_000)).unwrap().len(), 41);
    }
}
