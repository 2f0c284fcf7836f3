//! Bounds on what a text may cost.

/// Characters of a word that count; the rest is ignored.
pub(crate) const MAX_WORD_CHARS: usize = 40;

/// Bytes of a term: at most two words.
pub(crate) const MAX_TERM_BYTES: usize = 2 * MAX_WORD_CHARS * 4 + 1;

/// Words of the name, the description, the headings and the body that count.
pub(crate) const MAX_FIELD_WORDS: [u16; 4] = [64, 2_048, 2_048, 16_384];

/// Characters of a query: callers refuse a longer one. [`SkillQuery::parse`](crate::SkillQuery::parse)
/// reads the beginning only.
pub const MAX_QUERY_CHARS: usize = 16 * 1024;

/// Different words of a query; the others do not count.
pub(crate) const MAX_QUERY_WORDS: usize = 128;

/// Terms of a trigger; a longer one does not count.
pub(crate) const MAX_TRIGGER_TERMS: usize = 4;

/// Terms of a query whose phrases are looked up: at its beginning, and at its end.
pub(crate) const PHRASES_START_TERMS: usize = 192;
pub(crate) const PHRASES_END_TERMS: usize = 64;

/// Phrases of a query.
pub(crate) const MAX_PHRASES: usize = MAX_TRIGGER_TERMS * (PHRASES_START_TERMS + PHRASES_END_TERMS);

/// Terms of a query: words, pairs of words, and phrases that may be triggers.
pub const MAX_QUERY_TERMS: usize = 2 * MAX_QUERY_WORDS + MAX_PHRASES;
