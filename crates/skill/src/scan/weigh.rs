//! Weighs matches by context: higher, lower, or not at all.

use std::ops::Range;

use super::evidence::line_start;
use super::finding::{Confidence, FindingWeight, ScanSeverity};
use super::layout::{TextArea, TextRole};
use super::view::FileView;

/// A match before it is weighed.
pub(crate) struct Hit<'v> {
    pub(crate) view: &'v FileView<'v>,
    pub(crate) span: Range<usize>,
    pub(crate) area: TextArea,
    pub(crate) weight: FindingWeight,
}

/// How far a hit's own line is read on either side of it.
const REACH_BYTES: usize = 300;

impl Hit<'_> {
    /// The matched text.
    pub(crate) fn text(&self) -> &str {
        self.view.text.get(self.span.clone()).unwrap_or_default()
    }

    /// The line up to the match.
    pub(crate) fn before(&self) -> &str {
        let start = line_start(&self.view.text, self.span.start, REACH_BYTES);
        self.view
            .text
            .get(start..self.span.start)
            .unwrap_or_default()
    }

    /// The line from the end of the match.
    pub(crate) fn after(&self) -> &str {
        let end = self
            .view
            .text
            .floor_char_boundary(self.span.end + REACH_BYTES);
        let rest = self.view.text.get(self.span.end..end).unwrap_or_default();
        rest.split('\n').next().unwrap_or_default()
    }

    /// The text within `reach` bytes on both sides, lines or not.
    pub(crate) fn around(&self, reach: usize) -> &str {
        let start = self
            .view
            .text
            .floor_char_boundary(self.span.start.saturating_sub(reach));
        let end = self.view.text.floor_char_boundary(self.span.end + reach);
        self.view.text.get(start..end).unwrap_or_default()
    }

    /// Whether one of the words stands on the match's line, but outside it.
    pub(crate) fn has_any_near(&self, words: &[&str]) -> bool {
        let line = format!("{}\n{}", self.before(), self.after()).to_ascii_lowercase();
        words.iter().any(|word| line.contains(word))
    }

    /// Whether the match is between quotes or backticks on its line.
    pub(crate) fn is_quoted(&self) -> bool {
        let marks = ['"', '\'', '`', '“', '”', '‘', '’', '«', '»'];
        let opened = self.before().trim_end().ends_with(marks);
        let closed = self
            .after()
            .trim_start_matches(['.', '!', ',', '…'])
            .starts_with(marks);
        opened && closed || self.before().contains('"') && self.after().contains('"')
    }
}

/// The pattern's own weight, wherever it is.
pub(crate) fn as_is(hit: &Hit<'_>) -> Option<FindingWeight> {
    Some(hit.weight)
}

/// Code counts in scripts; in a code block it is one step milder, and words
/// about it are hardly more than a mention.
pub(crate) fn code(hit: &Hit<'_>) -> Option<FindingWeight> {
    let FindingWeight(severity, confidence) = hit.weight;
    Some(match hit.area.role {
        TextRole::Script => hit.weight,
        TextRole::Block => FindingWeight(severity.lower(), confidence),
        _ => FindingWeight(severity.lower().lower(), Confidence::Low),
    })
}

/// A command a model may copy: a code block counts like a script, prose one
/// step less, and a warning against it least.
pub(crate) fn command(hit: &Hit<'_>) -> Option<FindingWeight> {
    let FindingWeight(severity, confidence) = hit.weight;
    if is_warned_against(hit) {
        return Some(FindingWeight(severity.lower().lower(), Confidence::Low));
    }
    if hit.area.role != TextRole::Hidden && teaches_attacks(hit) {
        return Some(FindingWeight(severity.lower(), Confidence::Low));
    }
    Some(match hit.area.role {
        TextRole::Script | TextRole::Block => hit.weight,
        TextRole::Hidden => FindingWeight(severity, Confidence::High),
        TextRole::Comment => FindingWeight(severity.lower().lower(), Confidence::Low),
        _ => FindingWeight(severity.lower(), confidence.min(Confidence::Medium)),
    })
}

/// Words meant for a model. In hidden text there is no excuse for them; quoted,
/// or beside talk of attacks, they are most likely a lesson about them.
pub(crate) fn words(hit: &Hit<'_>) -> Option<FindingWeight> {
    let FindingWeight(severity, confidence) = hit.weight;
    if hit.area.role == TextRole::Hidden {
        return Some(FindingWeight(severity, Confidence::High));
    }
    if is_mentioned(hit) {
        return Some(FindingWeight(
            severity.lower().min(ScanSeverity::Medium),
            Confidence::Low,
        ));
    }
    Some(match hit.area.role {
        TextRole::Prose | TextRole::Header => FindingWeight(severity, confidence),
        _ => FindingWeight(severity.lower(), Confidence::Low),
    })
}

/// Whether the line mentions the words rather than using them.
pub(crate) fn is_mentioned(hit: &Hit<'_>) -> bool {
    const ABOUT: &[&str] = &[
        "example",
        "e.g",
        "such as",
        "detect",
        "attack",
        "inject",
        "jailbreak",
        "malicious",
        "adversar",
        "attempt",
        "red team",
        "red flag",
        "threat",
        "phrase",
        "flag ",
        "block ",
        "refuse",
        "suspicious",
        "untrusted",
        "exploit",
        "vulnerab",
        "social engineering",
        "payload",
        "scan for",
        "look for",
        "watch for",
        "check for",
        "reject",
        "never obey",
        "bad:",
        "wrong:",
        "anti-pattern",
        "❌",
        "🚫",
        "grep",
        "regex",
        "defen",
    ];
    let table = hit.before().trim_start().starts_with('|');
    table || hit.is_quoted() || hit.has_any_near(ABOUT) || is_warned_against(hit)
}

/// Whether a command is shown to those who defend against it or are paid to
/// attack: it names a stand-in for the attacker, or stands in a search for it.
fn teaches_attacks(hit: &Hit<'_>) -> bool {
    const STAND_INS: &[&str] = &["attacker", "evil.", "<ip>", "your_ip", "lhost", "redteam"];
    const LESSONS: &[&str] = &[
        "detect",
        "indicator",
        "malicious",
        "suspicious",
        "hunt",
        "grep",
        "match(",
    ];
    let text = hit.text().to_ascii_lowercase();
    STAND_INS.iter().any(|word| text.contains(word))
        || hit.has_any_near(LESSONS)
        || hit.has_any_near(STAND_INS)
}

/// Whether the line forbids what it names.
pub(crate) fn is_warned_against(hit: &Hit<'_>) -> bool {
    const AGAINST: &[&str] = &[
        "never ",
        "don't ",
        "do not ",
        "avoid ",
        "must not ",
        "should not ",
        "shouldn't ",
        "not allowed",
        "forbidden",
        "prohibited",
        "❌",
        "🚫",
        "dangerous",
        "instead of ",
        "rather than ",
        "unsafe",
        "insecure",
        "bad:",
        "refuse",
        "blocked",
        "reject",
    ];
    let before = hit.before().to_ascii_lowercase();
    AGAINST.iter().any(|word| before.contains(word))
}
