//! The folder of a skill in the sandbox: `/skills/FOLDER`.
//!
//! A name from a frontmatter may contain any characters. The folder is the name itself if
//! it is plain, else a plain word derived from it with a digest.

use prowess_sandbox::LAYOUT;
use prowess_skill::Skill;
use prowess_skill::manifest::Digest;

/// Longest folder name the sandbox accepts.
const MAX_FOLDER_BYTES: usize = 128;

/// Folder that code writes to.
pub(crate) const DATA_FOLDER: &str = LAYOUT.data;

/// Folder of all skills.
pub(crate) const SKILLS_FOLDER: &str = LAYOUT.skills;

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

/// The path of a skill's folder, inside the sandbox.
#[must_use]
pub fn skill_folder_path(name: &str) -> String {
    format!("{SKILLS_FOLDER}/{}", skill_folder(name))
}

/// The path of a file of a skill, inside the sandbox.
pub(crate) fn skill_path(skill: &str, file: &str) -> String {
    format!("{}/{file}", skill_folder_path(skill))
}

/// The path relative to the skill, whichever way it was written.
pub(crate) fn relative_path<'a>(skill: &'a Skill, path: &'a str) -> &'a str {
    let folder = skill_path(&skill.name, "");
    let path = path.strip_prefix(&folder).unwrap_or(path);
    let path = path.strip_prefix("./").unwrap_or(path);
    spelled_path(skill, path)
}

/// The path of a file as the skill has it. Instructions that were written where case does not
/// matter name `FORMS.md` and mean `forms.md`; no two files of a skill differ in case alone.
pub(crate) fn spelled_path<'a>(skill: &'a Skill, path: &'a str) -> &'a str {
    if skill.bundle.get(path).is_some() {
        return path;
    }
    let mut files = skill.bundle.files().map(|(file, _)| file.as_str());
    files
        .find(|file| file.eq_ignore_ascii_case(path))
        .unwrap_or(path)
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
