//! What the scanner is given: plain borrowed data, so that it depends on no
//! other part of the crate and can be fed from anywhere.

/// One file of the skill under scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubjectFile<'a> {
    /// Path relative to the skill's root, with `/` between its parts.
    pub path: &'a str,
    /// The content.
    pub data: &'a [u8],
    /// Whether the file may be executed.
    pub executable: bool,
}

/// The scanner's input: a skill.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subject<'a> {
    /// Every file, in any order; the report is sorted anyway.
    pub files: Vec<SubjectFile<'a>>,
    /// Path of the file with the frontmatter, usually `SKILL.md`.
    pub skill_file: &'a str,
    /// The frontmatter's `name`, when it could be read.
    pub name: Option<&'a str>,
    /// The frontmatter's `description`, when it could be read.
    pub description: Option<&'a str>,
    /// The entries of `allowed-tools`; `None` when the key is absent.
    pub allowed_tools: Option<Vec<&'a str>>,
    /// All top-level keys of the frontmatter.
    pub frontmatter_keys: Vec<&'a str>,
}
