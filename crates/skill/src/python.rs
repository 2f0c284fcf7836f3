//! Python's way of writing values, which shows in the reference validator's
//! messages and properties.

use crate::frontmatter::{Node, NodeKind};

/// `repr()` of a string.
pub(crate) fn repr(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') {
        '"'
    } else {
        '\''
    };
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if is_printable(c) => out.push(c),
            c => out.push_str(&escape(c)),
        }
    }
    out.push(quote);
    out
}

/// `str()` of a value in which every scalar is text.
pub(crate) fn to_str(node: &Node) -> String {
    match &node.kind {
        NodeKind::Scalar { text, .. } => text.clone(),
        _ => repr_node(node),
    }
}

fn repr_node(node: &Node) -> String {
    match &node.kind {
        NodeKind::Scalar { text, .. } => repr(text),
        NodeKind::Sequence(items) => {
            let items: Vec<_> = items.iter().map(repr_node).collect();
            format!("[{}]", items.join(", "))
        }
        NodeKind::Mapping(entries) => {
            let entries: Vec<_> = entries
                .iter()
                .map(|(k, v)| format!("{}: {}", repr_node(k), repr_node(v)))
                .collect();
            format!("{{{}}}", entries.join(", "))
        }
    }
}

/// `str.isprintable` for one character: no controls, separators other than the
/// space, or characters without a meaning.
fn is_printable(c: char) -> bool {
    use unicode_general_category::GeneralCategory as G;
    c == ' '
        || !matches!(
            unicode_general_category::get_general_category(c),
            G::Control
                | G::Format
                | G::Surrogate
                | G::PrivateUse
                | G::Unassigned
                | G::LineSeparator
                | G::ParagraphSeparator
                | G::SpaceSeparator
        )
}

fn escape(c: char) -> String {
    match u32::from(c) {
        n @ 0..=0xff => format!("\\x{n:02x}"),
        n @ 0x100..=0xffff => format!("\\u{n:04x}"),
        n => format!("\\U{n:08x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_quoted_as_python_does() {
        assert_eq!(repr("a"), "'a'");
        assert_eq!(repr("it's"), "\"it's\"");
        assert_eq!(repr("'\""), "'\\'\"'");
        assert_eq!(repr("\n\u{7}\u{a0}\u{200b}é"), "'\\n\\x07\\xa0\\u200bé'");
    }
}
