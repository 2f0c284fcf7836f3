//! Keys of which an upstream repeats the ends in an error: `sk-proj-****************abcd`,
//! `sk-proj-…abcd`.

/// What stands for the hidden part of a key.
struct Mask {
    sign: &'static str,
    /// How many signs there are, at least.
    least: usize,
    /// How many characters of the key are beside them, at least. Dots are also part of sentences.
    shown: usize,
}

const MASKS: [Mask; 6] = [
    mask("*", 3, 1),
    mask("•", 3, 1),
    mask("\\u2022", 3, 1),
    mask(".", 3, 4),
    mask("…", 1, 4),
    // As some servers write it in JSON.
    mask("\\u2026", 1, 4),
];
/// How they begin.
const BEGINNINGS: [char; 5] = ['*', '•', '.', '…', '\\'];

const fn mask(sign: &'static str, least: usize, shown: usize) -> Mask {
    Mask { sign, least, shown }
}

/// Replaces what begins and ends like a key, with a mask between.
pub(crate) fn redact_masked(text: String, key: &str, instead: &str) -> String {
    if !text.contains(BEGINNINGS) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, masked)) = rest.find(BEGINNINGS).map(|at| rest.split_at(at)) {
        let Some((after, shown)) = without_mask(masked) else {
            let mut chars = masked.chars();
            chars.next();
            out.push_str(without_end(rest, chars.as_str()));
            rest = chars.as_str();
            continue;
        };
        let next = after.trim_start_matches(is_of_key);
        let lead = before.trim_end_matches(is_of_key);
        let start = before.get(lead.len()..).unwrap_or_default();
        let end = without_end(after, next);
        let is_masked = key.starts_with(start) && key.ends_with(end);
        if is_masked && start.len() + end.len() >= shown {
            out.push_str(lead);
            out.push_str(instead);
            rest = next;
        } else {
            out.push_str(without_end(rest, after));
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// What follows the mask that a text begins with, and how much of the key must be beside it.
fn without_mask(text: &str) -> Option<(&str, usize)> {
    MASKS.iter().find_map(|mask| {
        let after = text.trim_start_matches(mask.sign);
        let signs = (text.len() - after.len()) / mask.sign.len();
        (signs >= mask.least).then_some((after, mask.shown))
    })
}

/// The text before its end, which is known to be its end: comparing it each time would take a
/// time that is quadratic in the length of an error.
fn without_end<'a>(text: &'a str, end: &str) -> &'a str {
    let length = text.len().saturating_sub(end.len());
    text.get(..length).unwrap_or_default()
}

fn is_of_key(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_a_key_are_replaced_and_other_signs_stay() {
        let key = "sk-proj-0123456789abcdef-wxyz";
        for (text, expected) in [
            (
                "Incorrect API key provided: sk-proj-****************wxyz. Find it at …",
                "Incorrect API key provided: [redacted]. Find it at …",
            ),
            (
                "\"sk-p***\" and \"***xyz\"",
                "\"[redacted]\" and \"[redacted]\"",
            ),
            ("a***sk-p***", "a***[redacted]"),
            (
                "key sk-pr…xyz, sk-pr...xyz... or sk-pr•••: see api.acme.com...",
                "key [redacted], [redacted]... or [redacted]: see api.acme.com...",
            ),
            (
                r#"{"message":"\"sk-proj\u2026wxyz\" is no key\u2026"}"#,
                r#"{"message":"\"[redacted]\" is no key\u2026"}"#,
            ),
            ("sk-other-***wxyz", "sk-other-***wxyz"),
            ("sk-other-...wxyz", "sk-other-...wxyz"),
            ("größe *** **bold** ****", "größe *** **bold** ****"),
            ("wait...z s… .. •", "wait...z s… .. •"),
            ("***", "***"),
            ("no stars", "no stars"),
            ("", ""),
        ] {
            let found = redact_masked(text.to_owned(), key, "[redacted]");
            assert_eq!(found, expected, "{text}");
        }
    }
}
