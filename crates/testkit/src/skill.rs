//! Small skills, as files in memory or in a folder.

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tempfile::TempDir;

/// A skill to be: a name, a frontmatter, a body and some files.
#[derive(Debug, Clone)]
pub struct SkillFixture {
    name: String,
    frontmatter: String,
    body: String,
    files: Vec<(String, Bytes, bool)>,
}

impl SkillFixture {
    /// A valid skill of this name with a description and a short body.
    pub fn new(name: &str) -> Self {
        SkillFixture {
            name: name.to_owned(),
            frontmatter: String::new(),
            body: format!("# {name}\n\nDo what the name says.\n"),
            files: Vec::new(),
        }
        .field("name", name)
        .field("description", "Does one thing well. Use it when asked to.")
    }

    /// The skill's name, which is also its folder's.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Adds a line to the frontmatter, or replaces the one with that key. The
    /// value is written as it is.
    pub fn field(mut self, key: &str, value: &str) -> Self {
        let own = format!("{key}:");
        let kept = self.frontmatter.lines().filter(|l| !l.starts_with(&own));
        let mut lines: Vec<String> = kept.map(str::to_owned).collect();
        lines.push(format!("{own} {value}"));
        self.frontmatter = lines.join("\n");
        self
    }

    /// Replaces the body.
    pub fn body(mut self, text: &str) -> Self {
        self.body = text.to_owned();
        self
    }

    /// Adds a file.
    pub fn file(mut self, path: &str, content: impl Into<Bytes>) -> Self {
        self.files.push((path.to_owned(), content.into(), false));
        self
    }

    /// Adds a file that may be executed.
    pub fn script(mut self, path: &str, content: impl Into<Bytes>) -> Self {
        self.files.push((path.to_owned(), content.into(), true));
        self
    }

    /// The text of `SKILL.md`.
    pub fn skill_md(&self) -> String {
        format!("---\n{}\n---\n\n{}", self.frontmatter, self.body)
    }

    /// All files: path below the skill's folder, content, executable.
    pub fn files(&self) -> Vec<(String, Bytes, bool)> {
        let skill_md = ("SKILL.md".to_owned(), self.skill_md().into(), false);
        std::iter::once(skill_md)
            .chain(self.files.iter().cloned())
            .collect()
    }

    /// Writes the skill as a folder of its name below `parent`, and returns that
    /// folder's path.
    pub fn write_to(&self, parent: &Path) -> PathBuf {
        let root = parent.join(&self.name);
        for (path, content, executable) in self.files() {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, content).unwrap();
            if executable {
                make_executable(&path);
            }
        }
        root
    }

    /// Writes the skill below a new temporary folder, which is deleted when the value
    /// does.
    pub fn in_temp_dir(&self) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        self.write_to(dir.path());
        dir
    }
}

#[cfg(unix)]
fn make_executable(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[cfg(not(unix))]
fn make_executable(_: &Path) {}
