//! What the reference refuses only once a whole document is read.

use super::marked_error::MarkedYamlError;
use super::text::column;
use crate::frontmatter::node::{Node, NodeKind};

/// What the reference refuses only once the whole document is read.
pub(super) fn check_node(text: &str, node: &Node) -> Result<(), MarkedYamlError> {
    match &node.kind {
        NodeKind::Scalar { .. } => Ok(()),
        NodeKind::Sequence(items) => items.iter().try_for_each(|item| check_node(text, item)),
        NodeKind::Mapping(entries) => check_mapping(text, node, entries),
    }
}

fn check_mapping(text: &str, node: &Node, entries: &[(Node, Node)]) -> Result<(), MarkedYamlError> {
    let merge = entries.iter().find(|(key, _)| key.text() == Some("<<"));
    if let Some((_, value)) = merge.filter(|(_, value)| value.text().is_some()) {
        let problem = "expected a mapping or list of mappings for merging, but found scalar";
        return Err(MarkedYamlError::new(problem, value.range.start)
            .during("while constructing a mapping", node.range.start));
    }
    let mut seen = std::collections::HashSet::new();
    for (key, value) in entries {
        if key.text().is_none() {
            return Err(
                MarkedYamlError::new("found unhashable key", key.range.start)
                    .during("while constructing a mapping", node.range.start),
            );
        }
        check_node(text, value)?;
        let name = key.key_text();
        if !seen.insert(name.clone()) {
            let problem = format!("Duplicate key '{name}' found");
            return Err(MarkedYamlError::new(problem, key.range.end)
                .during("While parsing", key.range.start));
        }
    }
    check_indentation(text, entries)
}

/// The reference requires the mappings inside a mapping to begin in one column.
fn check_indentation(text: &str, entries: &[(Node, Node)]) -> Result<(), MarkedYamlError> {
    let mut inner = entries
        .iter()
        .map(|(_, value)| value)
        .filter(|value| matches!(value.kind, NodeKind::Mapping(_)));
    let Some(first) = inner.next() else {
        return Ok(());
    };
    let expected = column(text, first.range.start);
    match inner.find(|value| column(text, value.range.start) != expected) {
        None => Ok(()),
        Some(value) => {
            let problem = "Found mapping with indentation inconsistent with previous mapping";
            Err(MarkedYamlError::new(problem, value.range.end)
                .during("While parsing", value.range.start))
        }
    }
}
