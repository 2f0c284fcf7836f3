//! Short names of technologies: who writes one means the other.

/// Lower-case short names, and the names that they stand for. Sorted.
const ALIASES: &[(&str, &str)] = &[
    ("cpp", "c++"),
    ("csharp", "c#"),
    ("js", "javascript"),
    ("k8s", "kubernetes"),
    ("postgres", "postgresql"),
    ("ts", "typescript"),
];

/// The long name of a word in its own case, which may follow a full stop.
pub(crate) fn alias(word: &[char], after_dot: bool) -> Option<&'static str> {
    match word {
        // In lower case it is mostly a verb.
        ['G', 'o'] => return Some("golang"),
        ['N' | 'n', 'E' | 'e', 'T' | 't'] if after_dot => return Some("dotnet"),
        _ => {}
    }
    let lower: String = word.iter().flat_map(|c| c.to_lowercase()).take(9).collect();
    let found = ALIASES.binary_search_by(|(short, _)| (*short).cmp(&lower));
    ALIASES.get(found.ok()?).map(|(_, long)| *long)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted() {
        assert!(ALIASES.is_sorted_by(|a, b| a.0 < b.0));
        assert_eq!(alias(&['J', 'S'], false), Some("javascript"));
        assert_eq!(alias(&['x'], true), None);
    }
}
