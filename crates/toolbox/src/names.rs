//! Names of tools: valid for every provider, and unique.

use prowess_skill::manifest::Digest;
use std::collections::{BTreeSet, HashMap};

/// Longest name that every provider accepts.
const MAX_NAME_BYTES: usize = 64;

/// The names in use, by the client or by the toolbox.
#[derive(Debug, Default)]
pub(crate) struct NamePool {
    taken: BTreeSet<String>,
    /// The number with which the search for a free name goes on, for each name that was taken: all
    /// before are taken too. One skill can have thousands of tools that want one name.
    next_numbers: HashMap<String, u32>,
}

impl NamePool {
    /// A pool in which the client's names are in use.
    pub(crate) fn new(reserved: &[String]) -> Self {
        Self {
            taken: reserved.iter().cloned().collect(),
            next_numbers: HashMap::new(),
        }
    }

    /// Claims the first free name: `preferred`, `fallback`, then numbered ones.
    pub(crate) fn claim(&mut self, preferred: &str, fallback: &str) -> String {
        for name in [preferred, fallback] {
            let name = truncate_name(name, MAX_NAME_BYTES);
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
        let next = self.next_numbers.entry(fallback.to_owned()).or_insert(2);
        // There are more numbers than tools.
        loop {
            let suffix = format!("_{next}");
            *next += 1;
            let name = truncate_name(fallback, MAX_NAME_BYTES - suffix.len()) + &suffix;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}

/// The name of a tool of a skill: `skill_name__tool`.
pub(crate) fn tool_name(skill: &str, tool: &str) -> String {
    format!("{}__{}", to_identifier(skill), to_identifier(tool))
}

/// Letters, digits and `_` only.
pub(crate) fn to_identifier(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    text.chars().map(plain).collect()
}

/// A name within the limit: a longer one is cut and ends in a digest, so that names with
/// the same beginning stay distinct.
fn truncate_name(name: &str, max_bytes: usize) -> String {
    if name.len() <= max_bytes {
        return name.to_owned();
    }
    let digest = Digest::from_content(name.as_bytes()).hex();
    let tail: String = digest.chars().take(8).collect();
    let head: String = name.chars().take(max_bytes - tail.len() - 1).collect();
    format!("{head}_{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_never_collide_with_the_clients_nor_with_each_other() {
        let mut names = NamePool::new(&["load_skill".to_owned(), "skills_load".to_owned()]);
        assert_eq!(names.claim("load_skill", "skills_load"), "skills_load_2");
        assert_eq!(names.claim("a__b", "a__b"), "a__b");
        assert_eq!(names.claim("a__b", "a__b"), "a__b_2");
        assert_eq!(names.claim("a__b", "a__b"), "a__b_3");
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let mut names = NamePool::default();
        let (one, two) = ("x".repeat(70), "x".repeat(71));
        let (one, two) = (names.claim(&one, &one), names.claim(&two, &two));
        assert_ne!(one, two);
        assert!(one.len() <= 64 && two.len() <= 64, "{one} {two}");
    }

    #[test]
    fn a_tool_bears_the_name_of_its_skill() {
        assert_eq!(tool_name("pdf-tools", "fill_form"), "pdf_tools__fill_form");
        assert_eq!(tool_name("größe 1", "a-b"), "gr__e_1__a_b");
    }
}
