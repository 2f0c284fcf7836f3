//! Characters that a person does not see and a model reads.

use std::collections::BTreeMap;
use std::ops::Range;

use unicode_general_category::{GeneralCategory, get_general_category};

use crate::misleading::{is_right_to_left, takes_joiners};
use crate::scan::collector::FindingCollector;
use crate::scan::finding::{Confidence, FindingWeight, ScanSeverity};
use crate::scan::rule::ScanRule;
use crate::scan::view::FileView;

pub(crate) static UNI_TAG: ScanRule = ScanRule {
    id: "UNI-TAG",
    title: "Text in Unicode tag characters",
    description: "Tag characters (U+E0000 to U+E007F) mirror ASCII, show nothing, and are read by \
                  models as text. Outside the flags of England, Scotland and Wales they smuggle \
                  instructions past a reviewer.",
    severity: ScanSeverity::Critical,
    help: "Remove the tag characters; the evidence shows what they say.",
    hostile: true,
};

pub(crate) static UNI_HIDDEN: ScanRule = ScanRule {
    id: "UNI-HIDDEN",
    title: "Invisible or misleading characters",
    description: "Zero-width and other invisible characters, direction overrides, control \
                  characters, chains of variation selectors, and letters of another script that \
                  look Latin hide text from a reviewer or disguise names.",
    severity: ScanSeverity::Medium,
    help: "Remove the characters, or spell the word in one script.",
    hostile: true,
};

/// What kind of hiding a character is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Trick {
    ZeroWidth,
    Direction,
    Override,
    Selectors,
    Filler,
    Control,
    Escape,
}

impl Trick {
    fn message(self) -> &'static str {
        match self {
            Trick::ZeroWidth => "Zero-width characters inside text",
            Trick::Direction => "Direction marks in text without right-to-left script",
            Trick::Override => {
                "A direction override makes text show in another order than it is read"
            }
            Trick::Selectors => "A chain of variation selectors, which can carry hidden bytes",
            Trick::Filler => "Characters that look empty but are letters",
            Trick::Control => "Control characters in text",
            Trick::Escape => "Terminal escape sequences in text",
        }
    }
}

/// The first location of a trick, its count, and its longest run.
struct TrickOccurrences {
    first: Range<usize>,
    count: usize,
    longest: usize,
}

/// Looks for invisible characters in a text.
pub(crate) fn check(view: &FileView<'_>, log: &mut FindingCollector<'_>) {
    let plain = |b: &u8| matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t' | 0x0c);
    if view.text.as_bytes().iter().all(plain) {
        return;
    }
    let right_to_left = view.text.chars().any(is_right_to_left);
    let mut seen: BTreeMap<Trick, TrickOccurrences> = BTreeMap::new();
    let mut text = Cursor {
        text: &view.text,
        at: 0,
        before: None,
    };
    while let Some(c) = text.peek() {
        let start = text.at;
        if is_tag(c) {
            report_tags(view, &mut text, log);
        } else if c.is_ascii_graphic() || c == ' ' {
            text.pass_plain();
        } else if let Some(trick) = trick_of(c, &text, right_to_left) {
            let run = text.skip(|next| next == c || is_selector(c) && is_selector(next));
            note_trick(&mut seen, trick, start..text.at, run);
        } else {
            text.next();
        }
    }
    report(view, &seen, log);
}

fn report(
    view: &FileView<'_>,
    seen: &BTreeMap<Trick, TrickOccurrences>,
    log: &mut FindingCollector<'_>,
) {
    for (trick, seen_here) in seen {
        let alarming = match trick {
            Trick::Override => true,
            Trick::Selectors | Trick::ZeroWidth => seen_here.longest >= 8,
            _ => false,
        };
        let severity = if alarming || seen.len() >= 3 {
            ScanSeverity::High
        } else {
            ScanSeverity::Medium
        };
        let confidence = match trick {
            Trick::Override | Trick::Selectors => Confidence::High,
            Trick::Control | Trick::Direction => Confidence::Low,
            _ => Confidence::Medium,
        };
        let message = format!("{} ({} in this file)", trick.message(), seen_here.count);
        log.report_at(
            &UNI_HIDDEN,
            view,
            seen_here.first.clone(),
            FindingWeight(severity, confidence),
            message,
        );
    }
}

fn note_trick(
    seen: &mut BTreeMap<Trick, TrickOccurrences>,
    trick: Trick,
    span: Range<usize>,
    run: usize,
) {
    let entry = seen.entry(trick).or_insert(TrickOccurrences {
        first: span,
        count: 0,
        longest: 0,
    });
    entry.count += run;
    entry.longest = entry.longest.max(run);
}

/// Decodes a run of tag characters and reports its text.
fn report_tags(view: &FileView<'_>, text: &mut Cursor<'_>, log: &mut FindingCollector<'_>) {
    let flag = text.before == Some('\u{1F3F4}');
    let start = text.at;
    text.skip(is_tag);
    let run = view.text.get(start..text.at).unwrap_or_default();
    let hidden: String = run.chars().filter_map(tag_letter).collect();
    if flag && matches!(hidden.as_str(), "gbeng" | "gbsct" | "gbwls") {
        return;
    }
    let readable = hidden.chars().filter(|c| !c.is_control()).count() >= 2;
    let confidence = if readable {
        Confidence::High
    } else {
        Confidence::Medium
    };
    let weight = FindingWeight(UNI_TAG.severity, confidence);
    let evidence = format!("hidden text: {hidden}");
    log.report_with_evidence(
        &UNI_TAG,
        view,
        start..text.at,
        weight,
        &evidence,
        "Invisible tag characters spell text",
    );
}

fn is_tag(c: char) -> bool {
    matches!(c, '\u{E0000}'..='\u{E007F}')
}

fn tag_letter(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xE0000)?;
    char::from_u32(code).filter(|c| (' '..='~').contains(c))
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Whether a character, where it stands, hides something.
fn trick_of(c: char, text: &Cursor<'_>, right_to_left: bool) -> Option<Trick> {
    let second = || text.peek_second();
    match c {
        '\n' | '\r' | '\t' | '\u{0c}' | ' '..='~' => None,
        '\u{1b}' => Some(Trick::Escape),
        // Byte order mark, soft hyphen, Arabic signs: ordinary uses.
        '\u{FEFF}' if text.at == 0 => None,
        '\u{AD}' | '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{70F}' | '\u{8E2}' => None,
        '\u{200C}' | '\u{200D}' => {
            let joins =
                text.before.is_some_and(takes_joiners) || second().is_some_and(takes_joiners);
            (!joins).then_some(Trick::ZeroWidth)
        }
        // Keeps a fence inside a fence from closing it; authors know no better way.
        '\u{200B}' if second() == Some('`') => None,
        '\u{202D}' | '\u{202E}' => Some(Trick::Override),
        '\u{200E}' | '\u{200F}' | '\u{61C}' | '\u{202A}'..='\u{202C}' | '\u{2066}'..='\u{2069}' => {
            (!right_to_left).then_some(Trick::Direction)
        }
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' | '\u{34F}' => Some(Trick::Filler),
        c if is_selector(c) => {
            (second().is_some_and(is_selector) || text.before.is_none()).then_some(Trick::Selectors)
        }
        c => match get_general_category(c) {
            GeneralCategory::Format => Some(Trick::ZeroWidth),
            GeneralCategory::Control => Some(Trick::Control),
            _ => None,
        },
    }
}

/// A walk over characters that remembers the one before.
struct Cursor<'t> {
    text: &'t str,
    at: usize,
    before: Option<char>,
}

impl Cursor<'_> {
    fn rest(&self) -> std::str::Chars<'_> {
        self.text.get(self.at..).unwrap_or_default().chars()
    }

    fn peek(&self) -> Option<char> {
        self.rest().next()
    }

    fn peek_second(&self) -> Option<char> {
        self.rest().nth(1)
    }

    fn next(&mut self) {
        if let Some(c) = self.peek() {
            self.at += c.len_utf8();
            self.before = Some(c);
        }
    }

    /// Passes a run of printable ASCII at once: nearly all of nearly every text.
    fn pass_plain(&mut self) {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let plain = |b: &u8| !matches!(b, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        self.at += rest.iter().position(plain).unwrap_or(rest.len());
        self.before = Some(' ');
    }

    /// Passes the first character and those after it that fit; returns how many.
    fn skip(&mut self, fits: impl Fn(char) -> bool) -> usize {
        self.next();
        let mut count = 1;
        while self.peek().is_some_and(&fits) {
            self.next();
            count += 1;
        }
        count
    }
}
