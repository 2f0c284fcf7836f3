//! `allowed-tools`: which tools a skill may use while it is active.

use serde::Serialize;

use super::FieldReader;
use crate::frontmatter::{Node, NodeKind};
use crate::rules;

/// What a skill says about the tools it may use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum AllowedTools {
    /// Nothing is said: the defaults of the host hold.
    #[default]
    Unstated,
    /// Only these patterns, such as `Read` or `Bash(git diff *)`.
    Only(Vec<String>),
    /// Something was said, but in YAML that had to be mended or said twice.
    /// Nothing may be granted on the strength of it.
    Distrusted,
}

pub(crate) fn read(reader: &mut FieldReader<'_>) -> AllowedTools {
    let key = "allowed-tools";
    let Some(entry) = reader.get(key) else {
        return AllowedTools::Unstated;
    };
    if reader.frontmatter.is_repaired() || reader.frontmatter.is_duplicate(key) {
        let message = "`allowed-tools` is ignored: the frontmatter is not valid YAML";
        reader.report(&rules::PERMISSIONS_IGNORED, &entry.key_range, message);
        return AllowedTools::Distrusted;
    }
    match read_patterns(&entry.value) {
        Some(patterns) => AllowedTools::Only(patterns),
        None => {
            let message = "`allowed-tools` must be text or a list of text";
            reader.report(&rules::ALLOWED_TOOLS_INVALID, &entry.value.range, message);
            AllowedTools::Distrusted
        }
    }
}

/// The three spellings: separated by blanks, by commas, or a list.
fn read_patterns(value: &Node) -> Option<Vec<String>> {
    match &value.kind {
        NodeKind::Scalar { text, .. } => Some(split_patterns(text)),
        NodeKind::Sequence(items) => items
            .iter()
            .map(|item| item.text().map(|text| text.trim().to_owned()))
            .filter(|item| item.as_ref().is_none_or(|text| !text.is_empty()))
            .collect(),
        NodeKind::Mapping(_) => None,
    }
}

/// Splits at commas and blanks that are not inside parentheses.
fn split_patterns(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let separator = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && (c == ',' || c.is_whitespace())
    };
    text.split(separator)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_split_outside_parentheses_only() {
        let expected = ["Bash(git diff *)", "Read", "Write"];
        assert_eq!(split_patterns("Bash(git diff *) Read Write"), expected);
        assert_eq!(split_patterns("Bash(git diff *), Read,Write"), expected);
        assert_eq!(
            split_patterns(" Bash(git diff *)\n Read\n Write "),
            expected
        );
        assert_eq!(split_patterns("Bash(a,(b c)) X("), ["Bash(a,(b c))", "X("]);
        assert_eq!(split_patterns(""), Vec::<String>::new());
    }
}
