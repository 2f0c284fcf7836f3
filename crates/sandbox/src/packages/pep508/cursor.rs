//! The position of a parser in its text.

/// The error is a message for the author of the requirement.
pub(super) type Result<T> = std::result::Result<T, &'static str>;

/// The remaining text.
pub(super) struct RequirementCursor<'a> {
    rest: &'a str,
}

impl<'a> RequirementCursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Whether one of these characters is next.
    pub(super) fn starts_with<const N: usize>(&self, characters: [char; N]) -> bool {
        self.rest.starts_with(characters)
    }

    /// Skips spaces and tabs, and returns whether there were any.
    pub(super) fn skip_space(&mut self) -> bool {
        !self.take_while(|c| matches!(c, ' ' | '\t')).is_empty()
    }

    /// Skips this text if it is next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Skips the first of these texts that is next.
    pub(super) fn take_any(&mut self, texts: &[&'static str]) -> Option<&'static str> {
        texts.iter().copied().find(|text| self.take(text))
    }

    /// Takes characters for as long as they are of a kind.
    pub(super) fn take_while(&mut self, kind: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !kind(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    /// Takes a word of letters, digits, `_` and `.` if it is one of `words`.
    pub(super) fn take_word<T: Copy>(&mut self, words: &[(&str, T)]) -> Option<T> {
        let before = self.rest;
        let word = self.take_while(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        let found = words.iter().find(|(name, _)| *name == word);
        if found.is_none() {
            self.rest = before;
        }
        found.map(|(_, value)| *value)
    }
}
