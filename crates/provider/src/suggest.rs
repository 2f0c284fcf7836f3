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

/// What is suggested for a name, of pairs of a known name and what is suggested if that was meant:
/// the nearest ones, the shortest first.
pub(crate) fn nearest_of(
    name: &str,
    known: impl Iterator<Item = (String, String)>,
    count: usize,
) -> Vec<String> {
    let limit = MAX_EDIT_DISTANCE.min(name.len() / 2);
    let near = known.filter_map(|(known, suggested)| {
        let distance = edit_distance(&known, name);
        (distance <= limit).then_some((distance, suggested.len(), suggested))
    });
    let mut near: Vec<_> = near.collect();
    near.sort();
    let best = near.first().map(|(distance, ..)| *distance);
    near.retain(|(distance, ..)| Some(*distance) == best);
    let mut suggestions: Vec<String> = Vec::new();
    for (_, _, suggested) in near {
        if !suggestions.contains(&suggested) {
            suggestions.push(suggested);
        }
    }
    suggestions.truncate(count);
    suggestions
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
