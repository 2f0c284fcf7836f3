//! Words that mix scripts to look like another word.

use super::unicode::UNI_HIDDEN;
use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::subject::Subject;
use crate::scan::view::FileView;

/// Cyrillic and Greek letters that look like Latin ones.
const LOOKALIKES: &str = "аеорсухіјѕһԁԛԝАВЕКМНОРСТХУІЈЅοΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

/// Looks for disguised words in a file's path and text.
pub(crate) fn check(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    if disguised_words(view.path).next().is_some() {
        let weight = FindingWeight(ScanSeverity::High, Confidence::High);
        let message = "The file's name mixes look-alike letters of several scripts";
        log.report_file(&UNI_HIDDEN, view.path, weight, view.path, message);
    }
    if view.text.is_ascii() {
        return;
    }
    for (start, word) in disguised_words(&view.text) {
        let weight = FindingWeight(ScanSeverity::Medium, Confidence::Medium);
        let message = "A word mixes Latin with look-alike letters of another script";
        let span = start..start + word.len();
        log.report_with_evidence(&UNI_HIDDEN, view, span, weight, &spell_out(word), message);
    }
}

/// Looks for a disguised skill name.
pub(crate) fn check_name(subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    let Some(name) = subject.name else { return };
    let all_alike =
        !name.is_ascii() && name.chars().all(|c| c.is_ascii() || LOOKALIKES.contains(c));
    if all_alike || disguised_words(name).next().is_some() {
        let weight = FindingWeight(ScanSeverity::High, Confidence::High);
        let message = "The skill's name uses look-alike letters of another script";
        log.report_file(
            &UNI_HIDDEN,
            subject.skill_file,
            weight,
            &spell_out(name),
            message,
        );
    }
}

/// Words with Latin letters whose other letters all only look Latin.
fn disguised_words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut next = 0;
    text.split_inclusive(|c: char| !c.is_alphabetic())
        .map(move |piece| {
            let start = next;
            next += piece.len();
            (start, piece.trim_end_matches(|c: char| !c.is_alphabetic()))
        })
        .filter(|(_, word)| !word.is_ascii() && is_disguised(word))
}

fn is_disguised(word: &str) -> bool {
    let latin = word.chars().filter(char::is_ascii_alphabetic).count();
    let foreign = word.chars().filter(|c| !c.is_ascii());
    latin >= 2 && foreign.clone().count() > 0 && foreign.clone().all(|c| LOOKALIKES.contains(c))
}

/// A word with its foreign letters written as code points: on paper the two
/// words look the same.
fn spell_out(word: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii() {
            c.to_string()
        } else {
            format!("{c}(U+{:04X})", u32::from(c))
        }
    };
    word.chars().map(letter).collect()
}
