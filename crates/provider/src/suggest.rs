//! Names that are nearly the same.

/// More changes than this are no slip of the hand.
const NEAR: usize = 3;

/// The name that was most likely meant.
pub(crate) fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k String>) -> Option<&'k str> {
    known
        .map(|known| (distance(known, name), known.as_str()))
        .min()
        .filter(|(distance, _)| *distance <= NEAR.min(name.len() / 2))
        .map(|(_, known)| known)
}

/// How many letters must change to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
    // Clients choose the name; its length must not choose our work.
    if a.len().abs_diff(b.len()) > NEAR {
        return usize::MAX;
    }
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (slot, y) in row.iter_mut().skip(1).zip(&b) {
            let up = *slot;
            let change = diagonal + usize::from(x != *y);
            left = change.min(up + 1).min(left + 1);
            diagonal = up;
            *slot = left;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_hand_is_recognised_and_a_stranger_is_not() {
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
