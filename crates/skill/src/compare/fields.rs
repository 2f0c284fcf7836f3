//! Fields of the frontmatter that differ.

use serde::Serialize;
use serde_json::{Map, Value};

use super::ChangeKind;

/// Bytes of a value as JSON; of a longer one only the beginning is shown, as text.
const MAX_VALUE_BYTES: usize = 8 << 10;
/// Fields that are listed before all others.
const FIRST: [&str; 2] = ["name", "description"];

/// A field of the frontmatter that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FieldChange {
    /// Its name.
    pub field: String,
    /// How it differs.
    pub change: ChangeKind,
    /// Its value in the first skill; null if it has none.
    pub from: Value,
    /// Its value in the second.
    pub to: Value,
}

pub(super) fn compare_fields(
    from: &Map<String, Value>,
    to: &Map<String, Value>,
) -> Vec<FieldChange> {
    let first = FIRST.iter().map(|name| (*name).to_owned());
    let all = first.chain(to.keys().cloned()).chain(from.keys().cloned());
    let mut changes: Vec<FieldChange> = Vec::new();
    for field in all {
        if changes.iter().any(|change| change.field == field) {
            continue;
        }
        let (before, after) = (from.get(&field), to.get(&field));
        let change = match (before, after) {
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Removed,
            (Some(before), Some(after)) if before != after => ChangeKind::Changed,
            _ => continue,
        };
        changes.push(FieldChange {
            field,
            change,
            from: bounded(before),
            to: bounded(after),
        });
    }
    changes
}

fn bounded(value: Option<&Value>) -> Value {
    let Some(value) = value else {
        return Value::Null;
    };
    let mut text = value.to_string();
    if text.len() <= MAX_VALUE_BYTES {
        return value.clone();
    }
    text.truncate(text.floor_char_boundary(MAX_VALUE_BYTES));
    text.push('…');
    Value::String(text)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_listed_once_with_the_most_important_first() {
        let map = |value: Value| value.as_object().cloned().unwrap();
        let from = map(json!({"license": "MIT", "description": "a", "name": "x", "tags": [1]}));
        let long = "y".repeat(MAX_VALUE_BYTES);
        let to = map(json!({"when_to_use": long, "name": "x", "tags": [2], "description": "b"}));
        let changes = compare_fields(&from, &to);
        let shown: Vec<_> = changes
            .iter()
            .map(|change| (change.field.as_str(), change.change.as_str()))
            .collect();
        let expected = [
            ("description", "changed"),
            ("when_to_use", "added"),
            ("tags", "changed"),
            ("license", "removed"),
        ];
        assert_eq!(shown, expected);
        let cut = changes[1].to.as_str().unwrap();
        assert!(cut.ends_with('…') && cut.len() <= MAX_VALUE_BYTES + 3);
    }
}
