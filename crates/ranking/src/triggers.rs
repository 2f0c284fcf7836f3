//! Declared triggers: phrases that an author says are about a skill. A query that has such a
//! phrase finds the skill before all others, whatever its other words.
//!
//! In an index a trigger is one term: a mark that no word has, then the phrase's terms. So a
//! query looks up all short phrases that it has.

use crate::limits::{MAX_LOOKED_UP, MAX_TERM_BYTES, MAX_TRIGGER_TERMS};
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

/// Calls `accept` with each phrase of a text that may be a trigger, as its term and in words.
pub(crate) fn each_phrase(text: &str, mut accept: impl FnMut(&str, &str)) {
    let mut open: Vec<Phrase> = Vec::with_capacity(MAX_TRIGGER_TERMS);
    each_term(text, MAX_LOOKED_UP, |term, word| {
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
        let Some(expected) = trigger_term(trigger) else {
            return false;
        };
        let mut found = false;
        each_phrase(text, |term, _| found |= term == expected);
        found
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
    fn there_is_a_limit() {
        let (mut count, text) = (0, "word x1 ".repeat(500));
        each_phrase(&text, |_, _| count += 1);
        assert!((1..=MAX_PHRASES).contains(&count), "{count}");
        assert_eq!(trigger_term(&"x".repeat(9_000)).unwrap().len(), 41);
    }
}
