//! What packages are asked for: read from untrusted text, with everything refused that
//! is more than a package and its version.

use crate::error::Error;
use sha2::{Digest, Sha256};

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
        for part in ["prowess-layer-v1", interpreter, index, &self.text] {
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

/// The `dependencies` of a script's inline metadata (PEP 723), if it has any.
#[must_use]
pub fn from_script(source: &str) -> Option<Vec<String>> {
    let mut lines = source
        .lines()
        .skip_while(|line| line.trim_end() != "# /// script")
        .skip(1);
    let mut block = String::new();
    loop {
        let line = lines.next()?;
        if line.trim_end() == "# ///" {
            break;
        }
        let text = line.strip_prefix('#')?;
        block += text.strip_prefix(' ').unwrap_or(text);
        block.push('\n');
    }
    let assigned = block.lines().position(|line| {
        line.strip_prefix("dependencies")
            .is_some_and(|rest| rest.trim_start().starts_with('='))
    })?;
    let rest: String = block
        .lines()
        .skip(assigned)
        .map(|line| format!("{line}\n"))
        .collect();
    strings(rest.split_once('[')?.1)
}

/// The quoted strings of a list, up to its closing bracket.
fn strings(list: &str) -> Option<Vec<String>> {
    let (mut found, mut open, mut comment) = (Vec::new(), None::<(char, String)>, false);
    for letter in list.chars() {
        match (&mut open, letter) {
            (Some((quote, text)), letter) if *quote == letter => {
                found.push(std::mem::take(text));
                open = None;
            }
            (Some(_), '\n' | '\\') => return None,
            (Some((_, text)), letter) => text.push(letter),
            (None, '\n') => comment = false,
            (None, _) if comment => {}
            (None, '#') => comment = true,
            (None, ']') => return Some(found),
            (None, '"' | '\'') => open = Some((letter, String::new())),
            (None, _) => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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

    #[test]
    fn a_scripts_own_dependencies_are_found() {
        let script = "#!/usr/bin/env python3\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n#   \"numpy>=2\", # fast\n#   'pillow',\n# ]\n# ///\nimport numpy\n";
        assert_eq!(from_script(script).unwrap(), ["numpy>=2", "pillow"]);
        assert_eq!(from_script("import os"), None);
        assert_eq!(from_script("# /// script\n# dependencies = [\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            let _ = Requirements::parse(&text);
            let _ = from_script(&format!("# /// script\n# dependencies = [{text}\n# ///"));
        }
    }
}
