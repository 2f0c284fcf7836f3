//! Words that some model servers take for the seams between messages.

use crate::control_tokens::find_all;
use crate::scan::collector::Collector;
use crate::scan::finding::{Confidence, Severity, Weight};
use crate::scan::layout::Roles;
use crate::scan::rule::Rule;
use crate::scan::subject::Subject;
use crate::scan::view::View;

pub(crate) static INJ_TOKEN: Rule = Rule {
    id: "INJ-TOKEN",
    title: "Control tokens of chat templates",
    description: "Words such as <|im_start|> or [INST] separate the messages of a conversation. \
                  Where a model's server reads them inside a text, the text can pose as a message \
                  of somebody else. Prowess takes them apart before a model sees them; other \
                  hosts may not.",
    severity: Severity::Medium,
    help: "Remove the tokens, or move examples of them into a file beside SKILL.md.",
    hostile: false,
};

/// Characters of a token that are shown.
const MAX_SHOWN_CHARS: usize = 40;

/// Looks through the file that a model is given as instructions. Others are read as what
/// they are: files.
pub(crate) fn check(view: &View<'_>, subject: &Subject<'_>, log: &mut Collector<'_>) {
    if view.path != subject.skill_file {
        return;
    }
    let text = &view.text;
    let is_words = |at: &usize| Roles::WORDS.has(view.layout.at(*at).role);
    let in_words = find_all(text).find(is_words);
    let weight = match in_words {
        Some(_) => Weight(Severity::Medium, Confidence::Medium),
        // An example in a code block.
        None => Weight(Severity::Low, Confidence::Low),
    };
    if let Some(at) = in_words.or_else(|| find_all(text).next()) {
        let span = at..at + shown(text, at).len();
        let message = "The instructions hold a control token of chat templates";
        log.at(&INJ_TOKEN, view, span, weight, message);
    }
}

/// Looks at what every request says of the skill.
pub(crate) fn check_description(subject: &Subject<'_>, log: &mut Collector<'_>) {
    for text in [subject.name, subject.description].into_iter().flatten() {
        if let Some(at) = find_all(text).next() {
            let weight = Weight(Severity::High, Confidence::High);
            let message = "Name or description hold a control token of chat templates";
            log.whole(
                &INJ_TOKEN,
                subject.skill_file,
                weight,
                shown(text, at),
                message,
            );
        }
    }
}

/// The token that begins there, about.
fn shown(text: &str, at: usize) -> &str {
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
