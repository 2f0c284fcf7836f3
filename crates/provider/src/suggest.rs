//! Suggestions for misspelled names.

/// More edits than this are not a typing error.
const MAX_EDIT_DISTANCE: usize = 3;

/// The name that was most likely meant.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> Option<&'k str> {
    known
        .map(|known| (edit_distance(known, name), known.as_str()))
        .min()
        .filter(|(distance, _)| *distance <= MAX_EDIT_DISTANCE.min(name.len() / 2))
        .map(|(_, known)| known)
}

/// The number of edits between two names.
fn edit_distance(a: &str, b: &str) -> usize {
    // Clients choose the name; its length must not determine the work done here.
    if a.len().abs_diff(b.len()) > MAX_EDIT_DISTANCE {
        return usize::MAX;
    }
    strsim::levenshtein(a, b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_is_recognised_and_a_different_name_is_not() {
        let known = ["small".to_owned(), "large-v2".to_owned()];
        for (name, expected) in [
            ("smal", Some("small")),
            ("samll", Some("small")),
            ("large_v2", Some("large-v2")),
            ("gigantic", None),
            ("s", None),
            ("", None),
        ] {
            assert_eq!(nearest(name, known.iter()), expected, "{name}");
        }
    }
}
