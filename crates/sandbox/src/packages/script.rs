//! A script's inline metadata (PEP 723): TOML in a comment block, of which only the
//! `dependencies` are read.

use crate::error::Error;
use serde::Deserialize;

#[derive(Deserialize)]
struct InlineMetadata {
    #[serde(default)]
    dependencies: Vec<String>,
}

/// The dependencies of a script; `None` if it has no metadata.
pub(super) fn dependencies(source: &str) -> Result<Option<Vec<String>>, Error> {
    let Some(text) = find_block(source)? else {
        return Ok(None);
    };
    let metadata: InlineMetadata = toml::from_str(&text)
        .map_err(|error| invalid_metadata(error.message(), "its inline metadata is not TOML"))?;
    Ok(Some(metadata.dependencies))
}

/// The text of the block of kind `script`, of which there can be one.
fn find_block(source: &str) -> Result<Option<String>, Error> {
    let lines: Vec<&str> = source.lines().map(str::trim_end).collect();
    let mut starts = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| **line == "# /// script");
    let Some((start, _)) = starts.next() else {
        return Ok(None);
    };
    let rest = lines.iter().skip(start + 1);
    let comment: Vec<&str> = rest
        .take_while(|line| **line == "#" || line.starts_with("# "))
        .copied()
        .collect();
    // Only the last one closes: text in the block may look like an end.
    let Some(end) = comment.iter().rposition(|line| *line == "# ///") else {
        // Without its end it is only a comment.
        return Ok(None);
    };
    if starts.any(|(another, _)| another > start + end + 1) {
        return Err(invalid_metadata(
            "# /// script",
            "a script has one block of inline metadata",
        ));
    }
    let text = comment.iter().take(end).map(|line| {
        let text = line.strip_prefix("# ").unwrap_or_default();
        format!("{text}\n")
    });
    Ok(Some(text.collect()))
}

fn invalid_metadata(name: &str, why: &'static str) -> Error {
    Error::BadName {
        what: "script",
        name: name.to_owned(),
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scripts_own_dependencies_are_found() {
        let script = "#!/usr/bin/env python3\n# /// script\n# requires-python = '>=3.11'\n# dependencies = [\n#   \"numpy>=2\", # fast\n#   'pillow',\n# ]\n#\n# [tool.x]\n# dependencies = ['not-these']\n# ///\nimport numpy\n";
        let found = dependencies(script).unwrap().unwrap();
        assert_eq!(found, ["numpy>=2", "pillow"]);
    }

    #[test]
    fn a_script_without_a_whole_block_has_none() {
        for script in [
            "import os",
            "# /// script\n# dependencies = [\n",
            "# /// other\n# ///\n",
        ] {
            assert_eq!(dependencies(script).unwrap(), None, "{script}");
        }
        let nothing = dependencies("# /// script\n# ///\n").unwrap();
        assert_eq!(nothing, Some(Vec::new()));
    }

    #[test]
    fn two_blocks_and_bad_toml_are_reported() {
        let one = "# /// script\n# dependencies = []\n# ///\n";
        for script in [
            format!("{one}\n{one}"),
            "# /// script\n# a b\n# ///\n".into(),
        ] {
            assert_eq!(
                dependencies(&script).unwrap_err().code(),
                "bad-name",
                "{script}"
            );
        }
    }
}
