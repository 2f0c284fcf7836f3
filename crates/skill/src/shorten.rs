//! Shortens the description of a skill so that a model still reads when to use it. It must not
//! know what a skill is.

use memchr::memmem;

/// How authors begin the part about when to use a skill, in lower case.
const USAGE_PHRASES: [&str; 12] = [
    "use when",
    "use this",
    "use it when",
    "use for",
    "used when",
    "should be used",
    "invoke when",
    "activate when",
    "when the user",
    "when asked",
    "when you need",
    "trigger",
];

/// Stands between the beginning and the part about when to use the skill.
const GAP: &str = " … ";

/// A shorter text is not worth two parts.
const MIN_SPLIT_BYTES: usize = 120;

/// At most `cap` bytes of a text, with a `…` where something was omitted: its middle if the
/// part about when to use the skill comes late, else its end.
pub(crate) fn shorten(text: &str, cap: usize) -> String {
    shorten_with(text, cap, cut_end)
}

/// The same, but cut at the end of a sentence or a word.
pub(crate) fn shorten_at_word(text: &str, cap: usize) -> String {
    shorten_with(text, cap, cut_end_at_word)
}

fn shorten_with(text: &str, cap: usize, cut: fn(&str, usize) -> String) -> String {
    if text.len() <= cap {
        return text.to_owned();
    }
    let usage = find_usage(text).filter(|at| *at > cap / 2 && cap >= MIN_SPLIT_BYTES);
    let Some((start, usage)) = usage.and_then(|at| text.split_at_checked(at)) else {
        return cut(text, cap);
    };
    let start = cut_at_sentence(start, cap * 2 / 5);
    let left = cap.saturating_sub(start.len() + GAP.len());
    let end = if usage.len() <= left {
        usage.to_owned()
    } else {
        cut(usage, left)
    };
    format!("{start}{GAP}{end}")
}

/// Where the first phrase about when to use the skill begins.
pub(crate) fn find_usage(text: &str) -> Option<usize> {
    // As many bytes as the text.
    let lower = text.to_ascii_lowercase();
    USAGE_PHRASES
        .iter()
        .filter_map(|phrase| memmem::find(lower.as_bytes(), phrase.as_bytes()))
        .min()
}

fn cut_end(text: &str, cap: usize) -> String {
    let kept = prefix_within(text, cap.saturating_sub('…'.len_utf8()));
    format!("{}…", kept.trim_end())
}

/// The same, up to the end of a sentence if little more would be kept, else of a word.
fn cut_end_at_word(text: &str, cap: usize) -> String {
    let kept = prefix_within(text, cap.saturating_sub('…'.len_utf8()));
    let sentence = kept.rfind(". ").map(|at| at + 2);
    if let Some(end) = sentence.filter(|end| end * 3 > kept.len() * 2) {
        return format!("{}…", kept.get(..end).unwrap_or_default());
    }
    let rest = text.get(kept.len()..).unwrap_or_default();
    let word = if rest.starts_with(' ') {
        Some(kept.len())
    } else {
        kept.rfind(' ')
    };
    // A very long word is cut, and a text without blanks.
    let end = word.filter(|end| end * 2 > kept.len());
    let kept = kept
        .get(..end.unwrap_or(kept.len()))
        .unwrap_or_default()
        .trim_end_matches([' ', ',', ';', ':', '(', '-']);
    format!("{kept}…")
}

/// The start of a text, up to the end of a sentence if one ends late enough, else of a word.
fn cut_at_sentence(text: &str, cap: usize) -> &str {
    let kept = prefix_within(text, cap);
    let sentence = kept.rfind(". ").map(|at| at + 1);
    let sentence = sentence.filter(|end| *end > cap / 3);
    let end = sentence.or_else(|| kept.rfind(' ')).unwrap_or(kept.len());
    kept.get(..end).unwrap_or_default().trim_end()
}

/// The longest start of `text` with at most `cap` bytes.
pub(crate) fn prefix_within(text: &str, cap: usize) -> &str {
    text.get(..text.floor_char_boundary(cap))
        .unwrap_or_default()
}
