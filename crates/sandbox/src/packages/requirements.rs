//! What packages are asked for: read from untrusted text, with everything refused that
//! is more than a package and its version.

use super::script;
use crate::error::Error;
use crate::skills::SkillFiles;
use sha2::{Digest, Sha256};

/// Files that list what a skill needs.
const LISTS: [&str; 2] = ["requirements.txt", "scripts/requirements.txt"];

/// Most lines of requirements.
const MOST: usize = 200;

/// Checked requirements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirements {
    /// One per line, sorted, without comments.
    text: String,
}

impl Requirements {
    /// Reads the text of a `requirements.txt`.
    ///
    /// # Errors
    /// For options other than hashes, addresses, paths, and more than 200 lines.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let joined = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let lines = joined
            .lines()
            .map(without_comment)
            .filter(|line| !line.is_empty());
        Self::from_lines(lines.map(str::to_owned))
    }

    /// Takes requirements one by one.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn from_lines(lines: impl IntoIterator<Item = String>) -> Result<Self, Error> {
        let mut lines: Vec<String> = lines.into_iter().collect();
        for line in &lines {
            check(line)?;
        }
        if lines.len() > MOST {
            let name = format!("{} requirements", lines.len());
            return Err(Error::BadName {
                what: "layer",
                name,
                why: "200 is the most",
            });
        }
        lines.sort();
        lines.dedup();
        Ok(Self {
            text: lines.join("\n"),
        })
    }

    /// What a skill asks for: in its `requirements.txt`, at the top or in `scripts`, and
    /// in the inline metadata (PEP 723) of its Python scripts. `None` when that is
    /// nothing.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and for inline metadata that cannot be read; the
    /// message names the file.
    pub fn of_skill(skill: &SkillFiles) -> Result<Option<Self>, Error> {
        Self::of_skills(std::slice::from_ref(skill))
    }

    /// The same for several skills that share a session, and so one layer.
    ///
    /// # Errors
    /// As [`of_skill`](Self::of_skill).
    pub fn of_skills(skills: &[SkillFiles]) -> Result<Option<Self>, Error> {
        let mut lines = Vec::new();
        for skill in skills {
            for file in &skill.files {
                let found = of_file(&file.path, &file.bytes);
                let place = || format!("{}/{}", skill.name, file.path);
                lines.extend(found.map_err(|error| error.within(&place()))?);
            }
        }
        if lines.is_empty() {
            return Ok(None);
        }
        Self::from_lines(lines).map(Some)
    }

    /// Whether nothing is asked for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// What names the layer: these requirements, for this interpreter, from this index.
    pub(crate) fn key(&self, interpreter: &str, index: &str) -> String {
        let mut digest = Sha256::new();
        for part in ["prowess-layer-v2", interpreter, index, &self.text] {
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

/// What one file of a skill asks for.
fn of_file(path: &str, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let text = || String::from_utf8_lossy(bytes);
    if LISTS.contains(&path) {
        let parsed = Requirements::parse(&text())?;
        return Ok(parsed.text.lines().map(str::to_owned).collect());
    }
    if path.ends_with(".py") {
        return Ok(script::dependencies(&text())?.unwrap_or_default());
    }
    Ok(Vec::new())
}

fn without_comment(line: &str) -> &str {
    let line = if line.trim_start().starts_with('#') {
        ""
    } else {
        line
    };
    line.split(" #").next().unwrap_or_default().trim()
}

/// A name, extras, versions, markers and hashes; no option, address or path.
fn check(line: &str) -> Result<(), Error> {
    let bad = |why| Error::BadName {
        what: "requirement",
        name: line.to_owned(),
        why,
    };
    if line.len() > 4096 || line.chars().any(char::is_control) {
        return Err(bad("it is too long, or holds a control character"));
    }
    let mut words = line.split_whitespace();
    if !words
        .next()
        .is_some_and(|word| word.starts_with(|c: char| c.is_ascii_alphanumeric()))
    {
        return Err(bad(
            "only packages can be asked for: no options, paths or addresses",
        ));
    }
    if words.any(|word| word.starts_with('-') && !word.starts_with("--hash=")) {
        return Err(bad("the only option it can have is --hash"));
    }
    let before_marker = line.split(';').next().unwrap_or_default();
    if before_marker.contains(['@', '/']) && !before_marker.contains("--hash=") {
        return Err(bad(
            "it must come from the package index, not from an address or path",
        ));
    }
    Ok(())
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
        assert_eq!(one.key("cp311", "i"), other.key("cp311", "i"));
        assert_ne!(one.key("cp311", "i"), one.key("cp312", "i"));
    }

    #[test]
    fn hashes_extras_and_markers_are_fine() {
        let text = "a[x,y]>=1; python_version < '3.13'\nb==1 \\\n  --hash=sha256:aa/bb \\\n  --hash=sha256:cc";
        assert!(Requirements::parse(text).is_ok());
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
        ] {
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
        let found = Requirements::of_skill(&asking).unwrap().unwrap();
        assert_eq!(found, Requirements::parse("pillow>=10\nnumpy").unwrap());
        assert_eq!(
            Requirements::of_skill(&skill(&[("a.py", "")])).unwrap(),
            None
        );
        assert_eq!(
            Requirements::of_skill(&skill(&[("requirements.txt", "# none\n")])).unwrap(),
            None
        );
    }

    #[test]
    fn what_a_skill_may_not_ask_for_is_told_with_its_file() {
        let asking = skill(&[("requirements.txt", "-e .")]);
        assert_eq!(
            Requirements::of_skill(&asking).unwrap_err().to_string(),
            "requirement \"-e .\" in gif/requirements.txt: only packages can be asked for: no options, paths or addresses"
        );
        let asking = skill(&[("x.py", "# /// script\n# dependencies = ['a'\n# ///\n")]);
        let message = Requirements::of_skill(&asking).unwrap_err().to_string();
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
