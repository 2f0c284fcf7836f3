//! Where a skill lies in the sandbox: `/skills/FOLDER`.
//!
//! A name from a frontmatter is a label and may hold anything. The folder is the name
//! where that is a plain word, else a word made from it that no other name gives.

use prowess_skill::manifest::Digest;

/// Longest folder name the sandbox takes.
const MAX_FOLDER_BYTES: usize = 128;

/// Folder of what a session writes.
pub(crate) const DATA_FOLDER: &str = "/mnt/data";

/// Folder of all skills.
pub(crate) const SKILLS_FOLDER: &str = "/skills";

/// The folder of the skill of this name, below `/skills`.
#[must_use]
pub fn skill_folder(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= MAX_FOLDER_BYTES && name.chars().all(plain) {
        return name.to_owned();
    }
    let worded = name.chars().map(|c| if plain(c) { c } else { '-' });
    let start: String = worded.take(48).collect();
    let digest = Digest::from_content(name.as_bytes()).hex();
    let tail: String = digest.chars().take(12).collect();
    format!("{start}-{tail}")
}

/// The path of a file of a skill, inside the sandbox.
pub(crate) fn skill_path(skill: &str, file: &str) -> String {
    format!("{SKILLS_FOLDER}/{}/{file}", skill_folder(skill))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_name_is_its_own_folder_and_any_other_becomes_a_word() {
        assert_eq!(skill_folder("pdf-tools_2"), "pdf-tools_2");
        assert_ne!(skill_folder("a b"), skill_folder("a/b"));
        for name in ["", "..", "../../etc", "a b", "ü", "a\0b", &"x".repeat(300)] {
            let folder = skill_folder(name);
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            assert!(
                folder.len() <= MAX_FOLDER_BYTES && folder.chars().all(plain),
                "{folder}"
            );
        }
    }
}
