//! Package requirements: parsed from untrusted text by strict rules, and rendered again for
//! the installer.

use super::npm::NpmProject;
use super::pep508::{self, Requirement};
use super::script;
use crate::error::Error;
use crate::skills::SkillFiles;
use sha2::{Digest, Sha256};

/// Files with the requirements of a skill.
const LISTS: [&str; 2] = ["requirements.txt", "scripts/requirements.txt"];

/// Maximum requirements of one layer.
const MAX_REQUIREMENTS: usize = 200;

/// Maximum bytes of a `requirements.txt`: that many requirements with their digests.
const MAX_LIST_BYTES: usize = MAX_REQUIREMENTS * pep508::MAX_REQUIREMENT_BYTES;

/// Maximum characters of a refused requirement in an error.
const MAX_QUOTED_CHARS: usize = 120;

/// Checked requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirements {
    /// One per line, each rendered from its parsed parts, sorted.
    text: String,
    npm: NpmRequirements,
}

/// The npm packages that are required.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum NpmRequirements {
    #[default]
    None,
    Project(NpmProject),
    /// What is required is not allowed, and why.
    Refused(String),
}

impl Requirements {
    /// Parses the text of a `requirements.txt`.
    ///
    /// # Errors
    /// For options other than `--hash=sha256:`, URLs, paths, whatever is not a
    /// requirement of PEP 508, and more than 200 of them.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::join(read_list(text)?)
    }

    /// Parses single requirements of PEP 508.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_lines(lines: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let lines = lines.into_iter();
        let read =
            |line: String| Requirement::parse(&line).map_err(|why| refused_requirement(&line, why));
        Self::join(lines.map(read).collect::<Result<_, _>>()?)
    }

    fn join(requirements: Vec<Requirement>) -> Result<Self, Error> {
        if requirements.len() > MAX_REQUIREMENTS {
            return Err(Error::BadName {
                what: "layer",
                name: format!("{} requirements", requirements.len()),
                why: "the limit is 200",
            });
        }
        let mut lines: Vec<String> = requirements.iter().map(ToString::to_string).collect();
        lines.sort();
        lines.dedup();
        Ok(Self {
            text: lines.join("\n"),
            npm: NpmRequirements::None,
        })
    }

    /// The requirements of a skill: of its `requirements.txt`, at the top or in `scripts`,
    /// and of the inline metadata (PEP 723) of its Python scripts; and the dependencies of
    /// its `package.json`. `None` if there are none.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for inline metadata that cannot be read; the
    /// message names the file.
    pub fn from_skill(skill: &SkillFiles) -> Result<Option<Self>, Error> {
        Self::from_skills(std::slice::from_ref(skill))
    }

    /// The same for several skills that share a container and its layer.
    ///
    /// # Errors
    /// As [`from_skill`](Self::from_skill).
    pub fn from_skills(skills: &[SkillFiles]) -> Result<Option<Self>, Error> {
        let mut found_all = Vec::new();
        for skill in skills {
            for file in &skill.files {
                let found = requirements_in_file(&file.path, &file.bytes);
                let place = || format!("{}/{}", skill.name, file.path);
                found_all.extend(found.map_err(|error| error.with_file(&place()))?);
            }
        }
        let npm = match NpmProject::from_skills(skills) {
            Ok(None) => NpmRequirements::None,
            Ok(Some(project)) => NpmRequirements::Project(project),
            // The skills' Python packages can be installed nevertheless.
            Err(error) => NpmRequirements::Refused(error.to_string()),
        };
        if found_all.is_empty() && npm == NpmRequirements::None {
            return Ok(None);
        }
        let python = Self::join(found_all)?;
        Ok(Some(Self { npm, ..python }))
    }

    /// Whether there are no requirements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.has_python() && self.npm == NpmRequirements::None
    }

    /// Whether Python packages are required.
    pub(crate) fn has_python(&self) -> bool {
        !self.text.is_empty()
    }

    pub(crate) fn npm(&self) -> &NpmRequirements {
        &self.npm
    }

    /// The same with these npm packages.
    pub(super) fn with_npm(self, npm: NpmRequirements) -> Self {
        Self { npm, ..self }
    }

    /// The same without npm packages.
    pub(crate) fn without_npm(&self) -> Self {
        Self {
            text: self.text.clone(),
            npm: NpmRequirements::None,
        }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The key of the layer: these requirements, for this interpreter, from this index and
    /// this npm registry.
    pub(crate) fn key(&self, interpreter: &str, index: &str, registry: &str) -> String {
        let mut digest = Sha256::new();
        let mut parts = vec!["prowess-layer-v3", interpreter, index, &self.text];
        if let NpmRequirements::Project(project) = &self.npm {
            let lock = project.lock.as_deref().unwrap_or_default();
            parts.extend(["npm", registry, &project.manifest, lock]);
        }
        for part in parts {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
        digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// The requirements in one file of a skill.
fn requirements_in_file(path: &str, bytes: &[u8]) -> Result<Vec<Requirement>, Error> {
    let text = || String::from_utf8_lossy(bytes);
    if LISTS.contains(&path) {
        return read_list(&text());
    }
    if path.ends_with(".py") {
        let lines = script::dependencies(&text())?.unwrap_or_default();
        let read =
            |line: &String| Requirement::parse(line).map_err(|why| refused_requirement(line, why));
        return lines.iter().map(read).collect();
    }
    Ok(Vec::new())
}

/// Parses the lines of a `requirements.txt`, joined and without comments as pip does it.
fn read_list(text: &str) -> Result<Vec<Requirement>, Error> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > MAX_LIST_BYTES {
        return Err(refused_requirement(text, "the list is longer than 800 KiB"));
    }
    let text = text.replace("\r\n", "\n");
    // Characters that pip or a person could read as the end of a line.
    if let Some(line) = text.split('\n').find(|line| line.contains(is_separator)) {
        let why = "it holds a control character, or one that separates lines";
        return Err(refused_requirement(line, why));
    }
    let mut found = Vec::new();
    let mut joined = String::new();
    for line in text.split('\n') {
        let comment = line.trim_start_matches([' ', '\t']).starts_with('#');
        match line.strip_suffix('\\') {
            Some(part) if !comment => joined.push_str(part),
            _ => {
                // A comment that ends a joined line must not become part of its last word.
                joined.push_str(if comment { " " } else { "" });
                joined.push_str(line);
                found.extend(read_line(&std::mem::take(&mut joined))?);
            }
        }
        if found.len() > MAX_REQUIREMENTS {
            break;
        }
    }
    found.extend(read_line(&joined)?);
    Ok(found)
}

fn read_line(line: &str) -> Result<Option<Requirement>, Error> {
    let line = without_comment(line).trim_matches([' ', '\t']);
    if line.is_empty() {
        return Ok(None);
    }
    let read = Requirement::parse_line(line).map(Some);
    read.map_err(|why| refused_requirement(line, why))
}

/// Whether a character may separate lines, or is invisible.
fn is_separator(c: char) -> bool {
    (c.is_control() && c != '\t') || matches!(c, '\u{2028}' | '\u{2029}')
}

/// A comment begins with a `#` that is first in its line or follows white space.
fn without_comment(line: &str) -> &str {
    let starts = |(at, _): &(usize, &str)| {
        let before = line.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with([' ', '\t'])
    };
    let comment = line.match_indices('#').find(starts);
    let end = comment.map_or(line.len(), |(at, _)| at);
    line.get(..end).unwrap_or_default()
}

/// The error for a refused requirement, quoted in part.
fn refused_requirement(line: &str, why: &'static str) -> Error {
    let mut name: String = line.chars().take(MAX_QUOTED_CHARS).collect();
    if name.len() < line.len() {
        name.push('…');
    }
    Error::BadName {
        what: "requirement",
        name,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::SkillFile;

    #[test]
    fn the_same_packages_in_any_order_are_the_same_layer() {
        let one = Requirements::parse("# c\npillow>=10\n\nnumpy==2.0 # fast\n").unwrap();
        let other = Requirements::parse("numpy==2.0\r\npillow>=10").unwrap();
        assert_eq!(one, other);
        assert_eq!(one.key("cp311", "i", ""), other.key("cp311", "i", "r"));
        assert_ne!(one.key("cp311", "i", ""), one.key("cp312", "i", ""));
    }

    #[test]
    fn hashes_extras_and_markers_are_fine() {
        let (one, two) = ("ab".repeat(32), "cd".repeat(32));
        let text = format!(
            "a[x,y]>=1; python_version < '3.13'\nb==1 \\\n  --hash=sha256:{two} \\\r\n  --hash=sha256:{one}"
        );
        assert_eq!(
            Requirements::parse(&text).unwrap().text(),
            format!(
                "a[x,y]>=1 ; python_version < \"3.13\"\nb==1 --hash=sha256:{one} --hash=sha256:{two}"
            )
        );
    }

    #[test]
    fn lines_are_joined_and_comments_left_out_as_pip_does_it() {
        let text = "\u{feff}a \\\n>=1\n  # a\u{e4} comment \\\nb#c\n";
        let message = Requirements::parse(text).unwrap_err().to_string();
        assert!(message.starts_with("requirement \"b#c\""), "{message}");
        let text = "a \\\n>=1 # why\n#x\\\nb \\\n# end\nc\\\n";
        assert_eq!(Requirements::parse(text).unwrap().text(), "a>=1\nb\nc");
    }

    #[test]
    fn nothing_that_could_separate_lines_is_read() {
        for c in [
            "\r", "\u{b}", "\u{c}", "\u{1c}", "\u{85}", "\u{2028}", "\u{2029}", "\0",
        ] {
            for text in [
                format!("a{c}--pre"),
                format!("a # b{c}--pre"),
                format!("a{c}b\n"),
            ] {
                let refused = Requirements::parse(&text).unwrap_err();
                assert_eq!(refused.code(), "bad-name", "{text:?}");
            }
            assert!(
                Requirements::from_lines([format!("a{c}--pre")]).is_err(),
                "{c:?}"
            );
        }
    }

    #[test]
    fn a_refused_line_is_quoted_only_in_part() {
        let message = Requirements::parse(&format!("@{}", "x".repeat(4000))).unwrap_err();
        assert!(message.to_string().len() < 300, "{message}");
    }

    #[test]
    fn options_addresses_and_paths_are_refused() {
        for line in [
            "-e .",
            "--index-url http://evil",
            "-r other.txt",
            "./local",
            "/abs",
            "git+https://x/y",
            "a @ https://evil/a.whl",
            "a --config-settings=x",
            "--find-links=/",
            "evilpkg @ http://index.test/f/evilpkg-1.0.tar.gz#--hash=",
            "http://index.test/f/evilpkg-1.0.tar.gz --hash=sha256:00",
        ] {
            let script = format!("# /// script\n# dependencies = ['{line}']\n# ///\n");
            let asking = skill(&[("x.py", script.as_str())]);
            assert!(Requirements::from_skill(&asking).is_err(), "{line}");
            assert_eq!(
                Requirements::parse(line).unwrap_err().code(),
                "bad-name",
                "{line}"
            );
        }
    }

    fn skill(files: &[(&str, &str)]) -> SkillFiles {
        let file = |(path, text): &(&str, &str)| SkillFile {
            path: (*path).into(),
            bytes: text.as_bytes().to_vec().into(),
            executable: false,
        };
        SkillFiles {
            name: "gif".into(),
            digest: "d".into(),
            files: files.iter().map(file).collect(),
        }
    }

    #[test]
    fn a_skill_asks_by_its_list_and_by_its_scripts() {
        let script = "# /// script\n# dependencies = ['numpy']\n# ///\n";
        let asking = skill(&[
            ("SKILL.md", "numpy"),
            ("requirements.txt", "pillow>=10"),
            ("scripts/a.py", script),
            ("scripts/b.py", "import os"),
        ]);
        let found = Requirements::from_skill(&asking).unwrap().unwrap();
        assert_eq!(found, Requirements::parse("pillow>=10\nnumpy").unwrap());
        assert_eq!(
            Requirements::from_skill(&skill(&[("a.py", "")])).unwrap(),
            None
        );
        assert_eq!(
            Requirements::from_skill(&skill(&[("requirements.txt", "# none\n")])).unwrap(),
            None
        );
    }

    #[test]
    fn what_a_skill_may_not_require_is_reported_with_its_file() {
        let asking = skill(&[("requirements.txt", "-e .")]);
        assert_eq!(
            Requirements::from_skill(&asking).unwrap_err().to_string(),
            "requirement \"-e .\" in gif/requirements.txt: only package requirements are allowed: no options, paths or URLs"
        );
        let asking = skill(&[("x.py", "# /// script\n# dependencies = ['a'\n# ///\n")]);
        let message = Requirements::from_skill(&asking).unwrap_err().to_string();
        assert!(message.contains("gif/x.py"), "{message}");
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = Requirements::parse(&text);
            let _ = script::dependencies(&format!("# /// script\n# dependencies = [{text}\n# ///"));
        }
    }
}
