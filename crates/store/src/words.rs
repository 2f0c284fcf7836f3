//! Splits text into words, for full-text search.
//!
//! Both databases receive words that were split here, so a query finds the same skills on
//! both. A word is a run of letters and digits, lower-case, without accents and plural
//! endings; in scripts without spaces each character is a word.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Characters of a word that count; the rest is ignored.
const MAX_WORD_CHARS: usize = 40;

/// The first `limit` words of a text, in order.
pub(crate) fn words(text: &str, limit: usize) -> impl Iterator<Item = String> {
    letter_runs(text).map(stem).take(limit)
}

fn letter_runs(text: &str) -> impl Iterator<Item = String> {
    let mut letters = text
        .nfkd()
        .filter(|c| !is_combining_mark(*c))
        .flat_map(char::to_lowercase)
        .peekable();
    std::iter::from_fn(move || {
        let first = letters.find(|c| c.is_alphanumeric())?;
        let mut word = String::from(first);
        if stands_alone(first) {
            return Some(word);
        }
        let mut length = 1;
        while let Some(c) = letters.next_if(|c| c.is_alphanumeric() && !stands_alone(*c)) {
            if length < MAX_WORD_CHARS {
                word.push(c);
                length += 1;
            }
        }
        Some(word)
    })
}

/// Whether a character belongs to a script without spaces between words.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Removes the endings of English plurals. Words that only look like a plural lose a
/// letter too; so do queries, so it does no harm.
fn stem(mut word: String) -> String {
    if word.len() > 4 && word.ends_with("ies") {
        word.truncate(word.len() - 3);
        word.push('y');
    } else if word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") {
        word.pop();
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        assert_eq!(words(text, 100).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn words_are_lower_case_runs_of_letters_and_digits() {
        check(
            "Fill-in PDF_forms, v2!",
            &["fill", "in", "pdf", "form", "v2"],
        );
    }

    #[test]
    fn accents_and_plurals_do_not_matter() {
        check("Résumés queries", &["resume", "query"]);
        check("class gas", &["class", "gas"]);
    }

    #[test]
    fn scripts_without_blanks_give_a_word_for_each_character() {
        check("表计算 excel", &["表", "计", "算", "excel"]);
    }

    #[test]
    fn long_words_are_cut_and_texts_too() {
        assert_eq!(
            words(&"x".repeat(500), 9).next().unwrap().len(),
            MAX_WORD_CHARS
        );
        assert_eq!(words("a b c", 2).count(), 2);
    }
}
