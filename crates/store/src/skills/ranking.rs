//! Ranks skills for a search query.
//!
//! The score depends on where the words of the query occur: in the name, in the
//! description, or in the body only; and on how much of the name or description they make
//! up. It is computed here and not by the databases: both then give the same order, and
//! only the skills found are read. (The databases' own ranking weighs a word by how many
//! skills have it, so it reads all of them.)

use crate::words::words;

const NAME_WEIGHT: f64 = 8.0;
const DESCRIPTION_WEIGHT: f64 = 3.0;
const BODY_WEIGHT: f64 = 1.0;
/// Words of a name or a description that count.
pub(super) const MAX_LINE_WORDS: usize = 400;

/// The score of a skill in which every term is the prefix of some word; higher is better.
pub(super) fn score(terms: &[String], name: &str, description: &str) -> f64 {
    let name: Vec<_> = words(name, MAX_LINE_WORDS).collect();
    let description: Vec<_> = words(description, MAX_LINE_WORDS).collect();
    let term_score = |term: &String| {
        let shown =
            NAME_WEIGHT * term_fit(term, &name) + DESCRIPTION_WEIGHT * term_fit(term, &description);
        if shown > 0.0 { shown } else { BODY_WEIGHT }
    };
    terms.iter().map(term_score).sum()
}

/// 0 if no word begins with the term; up to 2 if there is no other word.
fn term_fit(term: &str, words: &[String]) -> f64 {
    let word_score = |word: &String| match word.strip_prefix(term) {
        Some("") => 1.0,
        Some(_) => 0.5,
        None => 0.0,
    };
    let found: f64 = words.iter().map(word_score).sum();
    if found > 0.0 {
        1.0 + found / words.len() as f64
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_fits_the_better_the_more_of_the_query_its_name_has() {
        let terms = ["pdf".to_owned()];
        let best_first = [
            ("pdf", "Reads PDF."),
            ("pdf", "Reads files."),
            ("pdf-forms", "Fills in forms."),
            ("pdfs-to-go", "A title of a word more."),
            ("pdfium-build", "Builds a library."),
            ("forms", "PDF forms."),
            ("forms", "Fills in forms, among them those of PDF files."),
            ("forms", "Only the body says it."),
        ];
        let scores = best_first.map(|(name, description)| score(&terms, name, description));
        assert!(scores.is_sorted_by(|a, b| a > b), "{scores:?}");
    }

    #[test]
    fn every_term_counts() {
        let both = ["pdf".to_owned(), "merge".to_owned()];
        assert!(
            score(&both, "pdf-merge", "Of files.") > score(&both, "pdf-tools", "To merge files.")
        );
    }
}
