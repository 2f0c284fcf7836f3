//! What a finding may show: bounded, escaped, redacted.

use std::ops::Range;

use sha2::{Digest, Sha256};
use unicode_general_category::{GeneralCategory, get_general_category};

/// Bytes of context shown before the place of a finding.
const LEAD_BYTES: usize = 60;

/// The part of `text` around `span` that is worth showing, on its own line,
/// with every range of `masks` redacted.
pub(crate) fn excerpt(
    text: &str,
    span: Range<usize>,
    masks: &[Range<usize>],
    chars: usize,
) -> String {
    let from = line_start(text, span.start, LEAD_BYTES);
    let bound = text.floor_char_boundary(span.start.saturating_add(chars.saturating_mul(4)));
    let line_end = text
        .get(span.end.min(bound)..bound)
        .and_then(|rest| rest.find('\n'))
        .map_or(bound, |at| span.end.min(bound) + at);
    escape(mask_secrets(text, from..line_end, masks).trim(), chars)
}

/// A part of `text` with every range of `masks` redacted.
pub(crate) fn mask_secrets(text: &str, span: Range<usize>, masks: &[Range<usize>]) -> String {
    let mut shown = String::new();
    let mut at = span.start;
    for mask in masks
        .iter()
        .filter(|mask| mask.end > span.start && mask.start < span.end)
    {
        shown.push_str(text.get(at..mask.start).unwrap_or_default());
        shown.push_str(&redact(text.get(mask.clone()).unwrap_or_default()));
        at = at.max(mask.end);
    }
    shown.push_str(text.get(at..span.end).unwrap_or_default());
    shown
}

/// The start of the line that holds `at`, but at most `reach` bytes before it.
pub(crate) fn line_start(text: &str, at: usize, reach: usize) -> usize {
    let floor = text.ceil_char_boundary(at.saturating_sub(reach));
    text.get(floor..at)
        .and_then(|before| before.rfind('\n'))
        .map_or(floor, |newline| floor + newline + 1)
}

/// A secret's stand-in: enough to find it again and to tell two apart, far too
/// little to use it. Sixteen bits of digest confirm no guess.
pub(crate) fn redact(secret: &str) -> String {
    let count = secret.chars().count();
    let kept = (count / 6).min(4);
    let prefix: String = secret.chars().take(kept).collect();
    let digest = hex(&Sha256::digest(secret.as_bytes()));
    let tag: String = digest.chars().take(4).collect();
    format!("{prefix}…[redacted, {count} characters, #{tag}]")
}

/// Text with everything invisible written out, cut to `chars` characters.
pub(crate) fn escape(text: &str, chars: usize) -> String {
    let mut shown = String::new();
    for (count, c) in text.chars().enumerate() {
        if count == chars {
            shown.push('…');
            break;
        }
        match c {
            '\n' => shown.push_str("\\n"),
            '\t' | '\r' => shown.push(' '),
            c if is_invisible(c) => shown.push_str(&format!("\\u{{{:04X}}}", u32::from(c))),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a character shows nothing, or changes how others show.
fn is_invisible(c: char) -> bool {
    let variation = matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}');
    let filler = matches!(
        c,
        '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}'
    );
    variation
        || filler
        || matches!(
            get_general_category(c),
            GeneralCategory::Control
                | GeneralCategory::Format
                | GeneralCategory::Unassigned
                | GeneralCategory::PrivateUse
                | GeneralCategory::LineSeparator
                | GeneralCategory::ParagraphSeparator
        )
}

/// SHA-256 over the parts, each ended by a NUL so that they cannot run together.
pub(crate) fn fingerprint(parts: [&str; 3]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
