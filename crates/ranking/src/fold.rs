//! Folds characters, so that texts that differ only in form have the same words.
//!
//! Compatibility forms become ordinary characters (`ﬁ`, full-width letters) and Latin,
//! Greek and Cyrillic letters lose their accents. Case remains: identifiers are split by it.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::{decompose_canonical, is_combining_mark};

/// Calls `accept` with each folded character of a text.
pub(crate) fn each_folded(text: &str, mut accept: impl FnMut(char)) {
    if text.is_ascii() {
        text.chars().for_each(accept);
        return;
    }
    for composed in text.nfkc() {
        // Syllables of Korean and Japanese letters with marks are letters of their own, so
        // only other characters are decomposed.
        if composed.is_ascii() || is_unspaced(composed) {
            accept(composed);
            continue;
        }
        decompose_canonical(composed, |c| {
            if !is_accent(c) {
                accept(c);
            }
        });
    }
}

/// Whether a character can be a part of a word. Vowel signs of Indian scripts are.
pub(crate) fn is_word_character(c: char) -> bool {
    c.is_alphanumeric() || (!c.is_ascii() && is_combining_mark(c))
}

/// Accents, and the optional vowel points of Arabic and Hebrew.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}'
        | '\u{670}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// Whether a character belongs to a script without blanks between words, or, as Korean, with
/// words that have particles attached: Chinese, Japanese, Korean, Thai, Lao, Burmese, Khmer.
pub(crate) fn is_unspaced(c: char) -> bool {
    matches!(c, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1100}'..='\u{11ff}'
        | '\u{1780}'..='\u{17ff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{318f}'
        | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3ffff}')
        && is_word_character(c)
}
