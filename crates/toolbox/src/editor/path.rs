//! Paths as a model writes them, to places it may see or change.

use crate::folder::{DATA_FOLDER, SKILLS_FOLDER};

/// A place.
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
    /// For a path that goes up, or leads elsewhere.
    pub(super) fn parse(path: &str) -> Result<Self, String> {
        let full = match path.starts_with('/') {
            true => path.to_owned(),
            false => format!("{DATA_FOLDER}/{path}"),
        };
        let parts: Vec<&str> = full
            .split('/')
            .filter(|part| !part.is_empty() && *part != ".")
            .collect();
        if parts.contains(&"..") {
            return Err(format!(
                "{path:?} goes up with `..`; write the path without it"
            ));
        }
        match parts.as_slice() {
            ["mnt", "data", rest @ ..] => Ok(Self::Data(rest.join("/"))),
            ["skills"] => Ok(Self::Skills),
            ["skills", skill, rest @ ..] => Ok(Self::Skill((*skill).to_owned(), rest.join("/"))),
            _ => Err(format!(
                "{path:?} is out of reach; files are in {DATA_FOLDER} and {SKILLS_FOLDER}"
            )),
        }
    }

    /// The path of a file that may be changed, relative to `/mnt/data`.
    ///
    /// # Errors
    /// When it may not be changed.
    pub(super) fn parse_writable(path: &str) -> Result<String, String> {
        match Self::parse(path)? {
            Self::Data(path) if !path.is_empty() => Ok(path),
            Self::Data(_) => Err(format!("{DATA_FOLDER} is a folder")),
            Self::Skills | Self::Skill(..) => Err(format!(
                "{path:?} cannot be changed: skills are read-only; copy it to {DATA_FOLDER} first"
            )),
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
