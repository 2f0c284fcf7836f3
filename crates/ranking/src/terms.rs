//! Splits text into terms, for skills and queries alike.
//!
//! A word is a run of letters and digits, lower-case, without accents and English endings.
//! Identifiers give their parts and themselves (`parseHttpUrl`: `parse`, `http`, `url`,
//! `parsehttpurl`); scripts without blanks give each pair of neighbouring characters. Short
//! names of technologies give their long ones too.

use crate::aliases::alias;
use crate::fold::{each_folded, is_unspaced, is_word_character};
use crate::limits::MAX_WORD_CHARS;
use crate::stem::stem;

/// Calls `accept` with the first `limit` terms of a text, in order, each with the word that
/// it stems from.
pub(crate) fn each_term(text: &str, limit: usize, accept: impl FnMut(&str, &str)) {
    let mut splitter = Splitter {
        word: Vec::new(),
        pair: Vec::new(),
        buffer: String::new(),
        after_dot: false,
        left: limit,
        accept,
    };
    each_folded(text, |c| splitter.push(c));
    splitter.end_word();
    splitter.end_pairs();
}

struct Splitter<F> {
    /// The word so far, in its own case.
    word: Vec<char>,
    /// The last characters of a script without blanks: one if it is the first of its run,
    /// else two, which were accepted.
    pair: Vec<char>,
    buffer: String,
    /// Whether the word follows a full stop that no word precedes, as in `.NET`.
    after_dot: bool,
    left: usize,
    accept: F,
}

impl<F: FnMut(&str, &str)> Splitter<F> {
    fn push(&mut self, c: char) {
        if self.left == 0 {
            return;
        }
        if is_unspaced(c) {
            self.end_word();
            if self.pair.len() == 2 {
                self.pair.remove(0);
            }
            self.pair.push(c);
            if self.pair.len() == 2 {
                self.accept_pair();
            }
            return;
        }
        self.end_pairs();
        if is_word_character(c) || self.is_language_sign(c) {
            if self.word.len() < MAX_WORD_CHARS {
                self.word.push(c);
            }
        } else if !matches!(c, '\'' | '’') {
            let ends_word = !self.word.is_empty();
            self.end_word();
            self.after_dot = c == '.' && !ends_word;
        }
    }

    /// `C#`, `F#` and `C++` are not `C` and `F`.
    fn is_language_sign(&self, c: char) -> bool {
        match (self.word.as_slice(), c) {
            ([letter], '#') => letter.is_ascii_alphabetic(),
            (['C' | 'c'] | ['C' | 'c', '+'], '+') => true,
            _ => false,
        }
    }

    fn end_pairs(&mut self) {
        if self.pair.len() == 1 {
            self.accept_pair();
        }
        self.pair.clear();
    }

    fn accept_pair(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.buffer.clear();
        self.buffer.extend(&self.pair);
        (self.accept)(&self.buffer, &self.buffer);
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let mut is_split = false;
        let mut start = 0;
        for end in 1..word.len() {
            if is_boundary(&word, end) {
                is_split = true;
                self.accept_word(word.get(start..end).unwrap_or_default());
                start = end;
            }
        }
        if is_split {
            self.accept_word(word.get(start..).unwrap_or_default());
        }
        self.accept_word(&word);
        if let Some(alias) = alias(&word, std::mem::take(&mut self.after_dot)) {
            self.accept_word(&alias.chars().collect::<Vec<_>>());
        }
        self.word = word;
        self.word.clear();
    }

    fn accept_word(&mut self, characters: &[char]) {
        if characters.is_empty() || self.left == 0 {
            return;
        }
        self.left -= 1;
        self.buffer.clear();
        let lower = characters.iter().flat_map(|c| c.to_lowercase());
        self.buffer.extend(lower.take(MAX_WORD_CHARS));
        let mut term = self.buffer.clone();
        stem(&mut term);
        (self.accept)(&term, &self.buffer);
    }
}

/// Whether an identifier is split before its character at `end`: `camel|Case`, `HTTP|Server`,
/// but not `PDFs`.
fn is_boundary(word: &[char], end: usize) -> bool {
    let at = |index: usize| word.get(index).copied().unwrap_or_default();
    let (before, here, after) = (at(end - 1), at(end), at(end + 1));
    let ends_acronym = after.is_lowercase() && !(after == 's' && end + 2 == word.len());
    here.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && ends_acronym))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        each_term(text, 100, |term, _| found.push(term.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_lower_case_runs_of_letters_and_digits() {
        check(
            "Fill-in PDF_forms, now!",
            &["fill", "in", "pdf", "form", "now"],
        );
        check("the user's file", &["the", "user", "fil"]);
    }

    #[test]
    fn endings_do_not_matter() {
        check("creates created creating create", &["creat"; 4]);
        check("queries query", &["query"; 2]);
        check("planned planning plan", &["plan"; 3]);
        check("fills filled filling fill", &["fill"; 4]);
        check("classes class", &["class"; 2]);
        check("deployment deployer deploys", &["deploy"; 3]);
        check("migration migrator migrates", &["migrat"; 3]);
        check("paper user nation", &["paper", "user", "nation"]);
        check(
            "status string bring bus",
            &["status", "string", "bring", "bus"],
        );
    }

    #[test]
    fn accents_and_forms_do_not_matter() {
        check("Résumé ﬁles ＰＤＦ", &["resum", "fil", "pdf"]);
        check("İstanbul", &["istanbul"]);
    }

    #[test]
    fn identifiers_give_their_parts_and_themselves() {
        check("parseHttpUrl", &["pars", "http", "url", "parsehttpurl"]);
        check("HTTPServer", &["http", "serv", "httpserv"]);
        check("snake_case-name", &["snak", "cas", "nam"]);
        check("net8 s3", &["net8", "s3"]);
        check("PDFs APIs", &["pdf", "api"]);
    }

    #[test]
    fn languages_keep_their_signs() {
        check("C# and C++, F#", &["c#", "and", "c++", "f#"]);
        check("a # b + c", &["a", "b", "c"]);
    }

    #[test]
    fn short_names_give_long_ones_too() {
        check("K8s", &["k8s", "kubernet"]);
        check("Go, go", &["go", "golang", "go"]);
        check("a .NET app", &["a", "net", "dotnet", "app"]);
        check("example.net net", &["exampl", "net", "net"]);
    }

    #[test]
    fn scripts_without_blanks_give_pairs_of_characters() {
        check("表计算 excel 表", &["表计", "计算", "excel", "表"]);
        check("ガイド", &["ガイ", "イド"]);
        check("ｶﾞｲﾄﾞ", &["ガイ", "イド"]);
        check("한국어", &["한국", "국어"]);
    }

    #[test]
    fn vowel_signs_stay_in_their_words() {
        check("हिन्दी भाषा", &["हिन्दी", "भाषा"]);
    }

    #[test]
    fn long_words_are_cut_and_texts_too() {
        let mut found = Vec::new();
        each_term(&"x".repeat(500), 9, |term, _| found.push(term.to_owned()));
        assert_eq!(found, ["x".repeat(MAX_WORD_CHARS)]);
        found.clear();
        each_term("aa bb cc 表计算", 4, |term, _| {
            found.push(term.to_owned())
        });
        assert_eq!(found, ["aa", "bb", "cc", "表计"]);
    }
}
