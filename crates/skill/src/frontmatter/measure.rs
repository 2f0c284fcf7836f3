//! What a finished node weighs, so that aliases and keys cannot cost more than the budget says.

use super::node::{Node, NodeKind};

/// A node with all below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct NodeMeasure {
    /// Scalars, sequences and mappings.
    pub(super) nodes: usize,
    /// Bytes of all scalars.
    pub(super) bytes: usize,
    /// Collections inside one another.
    pub(super) depth: usize,
    /// Collections that are keys inside one another. A key is text, so such a key is the JSON of a
    /// collection whose keys are JSON in turn: each level can double the length, as it escapes the
    /// marks of those before it.
    pub(super) key_depth: usize,
}

impl NodeMeasure {
    pub(super) fn from_node(node: &Node) -> NodeMeasure {
        match &node.kind {
            NodeKind::Scalar { text, .. } => NodeMeasure {
                nodes: 1,
                bytes: text.len(),
                ..NodeMeasure::default()
            },
            NodeKind::Sequence(items) => {
                let items = items.iter().map(NodeMeasure::from_node);
                NodeMeasure::around(items)
            }
            NodeKind::Mapping(entries) => {
                let parts = entries.iter().flat_map(|(key, value)| {
                    [
                        NodeMeasure::from_node(key).as_key(),
                        NodeMeasure::from_node(value),
                    ]
                });
                NodeMeasure::around(parts)
            }
        }
    }

    /// The same node as the key of a mapping.
    pub(super) fn as_key(self) -> NodeMeasure {
        NodeMeasure {
            key_depth: self.key_depth + usize::from(self.depth > 0),
            ..self
        }
    }

    /// A collection of these nodes.
    fn around(parts: impl Iterator<Item = NodeMeasure>) -> NodeMeasure {
        let start = NodeMeasure {
            nodes: 1,
            depth: 1,
            ..NodeMeasure::default()
        };
        parts.fold(start, |sum, part| NodeMeasure {
            nodes: sum.nodes + part.nodes,
            bytes: sum.bytes.saturating_add(part.bytes),
            depth: sum.depth.max(part.depth + 1),
            key_depth: sum.key_depth.max(part.key_depth),
        })
    }
}
