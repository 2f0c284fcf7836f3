//! Keys of which an upstream repeats the ends in an error: `sk-proj-****************abcd`.

/// Replaces what begins and ends like a key, with stars between.
pub(crate) fn redact_masked(text: String, key: &str, instead: &str) -> String {
    if !text.contains(STARS) {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, stars)) = rest.find(STARS).map(|at| rest.split_at(at)) {
        let after = stars.trim_start_matches('*');
        let next = after.trim_start_matches(is_of_key);
        let lead = before.trim_end_matches(is_of_key);
        let start = before.get(lead.len()..).unwrap_or_default();
        let end = without_end(after, next);
        let is_masked = key.starts_with(start) && key.ends_with(end);
        if is_masked && start.len() + end.len() > 0 {
            out.push_str(lead);
            out.push_str(instead);
        } else {
            out.push_str(without_end(rest, next));
        }
        rest = next;
    }
    out.push_str(rest);
    out
}

/// The hidden part, at least.
const STARS: &str = "***";

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
    fn the_ends_of_a_key_are_replaced_and_other_stars_stay() {
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
            ("sk-other-***wxyz", "sk-other-***wxyz"),
            ("größe *** **bold** ****", "größe *** **bold** ****"),
            ("***", "***"),
            ("no stars", "no stars"),
        ] {
            let found = redact_masked(text.to_owned(), key, "[redacted]");
            assert_eq!(found, expected, "{text}");
        }
    }
}
