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

/// Terms at the beginning of a query whose phrases are looked up.
pub(crate) const MAX_LOOKED_UP: usize = 64;

/// Phrases of a query.
pub(crate) const MAX_PHRASES: usize = MAX_TRIGGER_TERMS * MAX_LOOKED_UP;

/// Terms of a query: words, pairs of words, and phrases that may be triggers.
pub const MAX_QUERY_TERMS: usize = 2 * MAX_QUERY_WORDS + MAX_PHRASES;
