//! A YAML tree that remembers where everything stood.
//!
//! Built from parser events under the node and depth budget of
//! [`BundleLimits`](crate::BundleLimits), so neither an alias bomb nor deep nesting can cost
//! more than the budget says.

use std::ops::Range;

use serde_json::{Map, Number, Value};

/// One YAML node. The range is in bytes of the YAML text it was read from.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Its content.
    pub kind: NodeKind,
    /// Its location.
    pub range: Range<usize>,
}

/// The content of a node.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// A scalar.
    Scalar {
        /// The text after unescaping and folding.
        text: String,
        /// Whether it was written without quotes, block marks or a tag, and so
        /// may mean a number, a boolean or null.
        plain: bool,
    },
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping, in source order, duplicates included.
    Mapping(Vec<(Node, Node)>),
}

impl Node {
    /// The text of a scalar, however it was written.
    pub fn text(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar that means a string, a number or a boolean; `None`
    /// for null and collections.
    pub fn value_text(&self) -> Option<&str> {
        match self.to_json() {
            Value::Null => None,
            _ => self.text(),
        }
    }

    /// The boolean a scalar means, in YAML 1.2 spelling.
    pub fn as_bool(&self) -> Option<bool> {
        self.to_json().as_bool()
    }

    /// The value as JSON: plain scalars by YAML 1.2's core schema, keys as
    /// text, the last of equal keys winning.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Scalar { text, plain: true } => resolve_scalar(text),
            NodeKind::Scalar { text, plain: false } => Value::String(text.clone()),
            NodeKind::Sequence(items) => items.iter().map(Node::to_json).collect(),
            NodeKind::Mapping(entries) => {
                let pairs = entries.iter().map(|(k, v)| (k.key_text(), v.to_json()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
        }
    }

    /// Visits the range of this node and of all below it.
    pub(super) fn for_each_range(&mut self, visit: &mut impl FnMut(&mut Range<usize>)) {
        visit(&mut self.range);
        match &mut self.kind {
            NodeKind::Scalar { .. } => {}
            NodeKind::Sequence(items) => {
                items.iter_mut().for_each(|item| item.for_each_range(visit))
            }
            NodeKind::Mapping(entries) => {
                for (key, value) in entries {
                    key.for_each_range(visit);
                    value.for_each_range(visit);
                }
            }
        }
    }

    /// The node as a mapping key: a scalar's text, or a collection's JSON.
    pub fn key_text(&self) -> String {
        match self.text() {
            Some(text) => text.to_owned(),
            None => self.to_json().to_string(),
        }
    }
}

/// The core schema of YAML 1.2 for plain scalars: `no` and `017` stay text and
/// a number, never a boolean and an octal.
fn resolve_scalar(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Value::Null,
        "true" | "True" | "TRUE" => return Value::Bool(true),
        "false" | "False" | "FALSE" => return Value::Bool(false),
        _ => {}
    }
    parse_number(text).map_or_else(|| Value::String(text.to_owned()), Value::Number)
}

fn parse_number(text: &str) -> Option<Number> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let starts_as_number = digits.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    let only_number_marks = digits
        .bytes()
        .all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if !starts_as_number || !only_number_marks {
        return None;
    }
    if let Ok(whole) = text.parse::<i64>() {
        return Some(whole.into());
    }
    Number::from_f64(text.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_scalars_follow_the_core_schema() {
        let cases = [
            ("", "null"),
            ("~", "null"),
            ("true", "true"),
            ("no", "\"no\""),
            ("42", "42"),
            ("-7", "-7"),
            ("1.5", "1.5"),
            ("1.0.0", "\"1.0.0\""),
            ("1e3", "1000.0"),
            ("2026-01-01", "\"2026-01-01\""),
            ("-", "\"-\""),
            ("99999999999999999999", "1e+20"),
        ];
        for (text, json) in cases {
            assert_eq!(resolve_scalar(text).to_string(), json, "{text:?}");
        }
    }
}
