//! Paths as a model writes them, resolved to what it may view or change.

use crate::folder::DATA_FOLDER;
use crate::model_text;
use prowess_sandbox::LAYOUT;

/// What a path names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum EditorPath {
    /// A file or folder in `/mnt/data`, relative to it; empty for itself.
    Data(String),
    /// `/skills` itself.
    Skills,
    /// A file or folder of a skill: the skill's folder, and the path in it.
    Skill(String, String),
}

impl EditorPath {
    /// Resolves a path; one that is not absolute is relative to `/mnt/data`.
    ///
    /// # Errors
    /// For a path with `..`, or outside the two folders.
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let full = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{DATA_FOLDER}/{path}")
        };
        let parts: Vec<&str> = full
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.contains(&"..") {
            return Err(model_text::parent_path(path));
        }
        // With a final slash, so that a folder itself is below it, with an empty rest.
        let full = format!("/{}/", parts.join("/"));
        if let Some(rest) = LAYOUT.below_data(&full) {
            return Ok(Self::Data(rest.trim_end_matches('/').to_owned()));
        }
        let Some(rest) = LAYOUT.below_skills(&full) else {
            return Err(model_text::path_outside(path));
        };
        Ok(match rest.trim_end_matches('/').split_once('/') {
            Some((skill, file)) => Self::Skill(skill.to_owned(), file.to_owned()),
            None if rest.is_empty() => Self::Skills,
            None => Self::Skill(rest.trim_end_matches('/').to_owned(), String::new()),
        })
    }

    /// The path of a file that may be changed, relative to `/mnt/data`.
    ///
    /// # Errors
    /// When it may not be changed.
    pub(super) fn parse_writable(path: &str) -> Result<String, String> {
        match Self::parse(path)? {
            Self::Data(path) if !path.is_empty() => Ok(path),
            Self::Data(_) => Err(format!("{DATA_FOLDER} is a folder")),
            Self::Skills | Self::Skill(..) => Err(model_text::read_only_path(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_the_two_folders_or_nowhere() {
        let data = |path: &str| Ok(EditorPath::Data(path.into()));
        assert_eq!(EditorPath::parse("/mnt/data/a/b.txt"), data("a/b.txt"));
        assert_eq!(EditorPath::parse("a//./b.txt"), data("a/b.txt"));
        assert_eq!(EditorPath::parse("/mnt/data/"), data(""));
        assert_eq!(EditorPath::parse("/skills"), Ok(EditorPath::Skills));
        let skill = EditorPath::Skill("pdf".into(), "x/y".into());
        assert_eq!(EditorPath::parse("/skills/pdf/x/y"), Ok(skill));
        for path in [
            "/etc/passwd",
            "../x",
            "/mnt/data/../../etc",
            "/skills/../etc",
            "/mnt",
        ] {
            assert!(EditorPath::parse(path).is_err(), "{path}");
        }
        for path in ["/skills/pdf/SKILL.md", "/skills", "/mnt/data", "/etc/x"] {
            assert!(EditorPath::parse_writable(path).is_err(), "{path}");
        }
    }
}
