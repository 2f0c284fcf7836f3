//! Pairs of neighbouring words: `pull request` says more than both words apart.

use crate::stop_words::is_stop_word;

/// Finds the pairs in a sequence of terms. Two common words are no pair.
#[derive(Debug, Default)]
pub(crate) struct PairFinder {
    previous: String,
    is_previous_common: bool,
    pair: String,
}

impl PairFinder {
    /// The pair that the next term of a text makes with the one before. `word` is what the
    /// term stems from.
    pub(crate) fn push(&mut self, term: &str, word: &str) -> Option<&str> {
        let is_common = is_stop_word(word);
        let is_pair = !(self.previous.is_empty() || is_common && self.is_previous_common);
        self.pair.clear();
        self.pair.push_str(&self.previous);
        self.pair.push(' ');
        self.pair.push_str(term);
        self.previous.clear();
        self.previous.push_str(term);
        self.is_previous_common = is_common;
        is_pair.then_some(self.pair.as_str())
    }
}

/// Whether a term is a pair.
pub(crate) fn is_pair(term: &str) -> bool {
    term.contains(' ')
}
