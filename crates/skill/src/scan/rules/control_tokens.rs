//! Control tokens that some model servers treat as boundaries between messages.

use crate::control_tokens::find_all;
use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::layout::TextRoles;
use crate::scan::rule::ScanRule;
use crate::scan::subject::Subject;
use crate::scan::view::FileView;

pub(crate) static INJ_TOKEN: ScanRule = ScanRule {
    id: "INJ-TOKEN",
    title: "Control tokens of chat templates",
    description: "Words such as <|im_start|> or [INST] separate the messages of a conversation. \
                  Where a model's server reads them inside a text, the text can pass as a message \
                  of another participant. Prowess neutralises them before a model sees them; \
                  other hosts may not.",
    severity: ScanSeverity::Medium,
    help: "Remove the tokens, or move examples of them into a file next to SKILL.md.",
    hostile: false,
};

/// Characters of a token that are shown.
const MAX_SHOWN_CHARS: usize = 40;

/// Checks the file that a model gets as instructions. Others are read as what
/// they are: files.
pub(crate) fn check(view: &FileView<'_>, subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    if view.path != subject.skill_file {
        return;
    }
    let text = &view.text;
    let is_words = |at: &usize| TextRoles::WORDS.has(view.layout.area_at(*at).role);
    let in_words = find_all(text).find(is_words);
    let weight = match in_words {
        Some(_) => FindingWeight(ScanSeverity::Medium, Confidence::Medium),
        // An example in a code block.
        None => FindingWeight(ScanSeverity::Low, Confidence::Low),
    };
    if let Some(at) = in_words.or_else(|| find_all(text).next()) {
        let span = at..at + shown_token(text, at).len();
        let message = "The instructions contain a control token of chat templates";
        log.report_at(&INJ_TOKEN, view, span, weight, message);
    }
}

/// Checks the description, which is in every request.
pub(crate) fn check_description(subject: &Subject<'_>, log: &mut FindingCollector<'_>) {
    for text in [subject.name, subject.description].into_iter().flatten() {
        if let Some(at) = find_all(text).next() {
            let weight = FindingWeight(ScanSeverity::High, Confidence::High);
            let message = "The name or description contains a control token of chat templates";
            log.report_file(
                &INJ_TOKEN,
                subject.skill_file,
                weight,
                shown_token(text, at),
                message,
            );
        }
    }
}

/// The token that begins there, about.
fn shown_token(text: &str, at: usize) -> &str {
    let rest = text.get(at..).unwrap_or_default();
    let past_end = rest.char_indices().skip(1).find(|(index, c)| {
        c.is_whitespace() || *index > MAX_SHOWN_CHARS || rest.get(..*index).is_some_and(is_closed)
    });
    let end = past_end.map_or(rest.len(), |(index, _)| index);
    rest.get(..end).unwrap_or(rest)
}

fn is_closed(token: &str) -> bool {
    token.ends_with(['>', '＞', ']'])
}
