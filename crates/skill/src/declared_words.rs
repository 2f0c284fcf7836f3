//! Lists of words in a frontmatter that are not fields of the standard: tags and triggers. They
//! may be lists or text with commas, and in `metadata` too.

use serde_json::{Map, Value};

/// Phrases that are declared to be about a skill.
pub fn declared_triggers(frontmatter: &Map<String, Value>) -> Vec<String> {
    declared_words(frontmatter, &["triggers", "keywords"])
}

/// The words of fields of a frontmatter, or of its `metadata`: lists, or text with commas.
pub fn declared_words(frontmatter: &Map<String, Value>, fields: &[&str]) -> Vec<String> {
    let metadata = frontmatter.get("metadata").and_then(Value::as_object);
    let holders = [Some(frontmatter), metadata].into_iter().flatten();
    let values = holders.flat_map(|holder| fields.iter().filter_map(|field| holder.get(*field)));
    let mut words = Vec::new();
    for value in values {
        match value {
            Value::String(text) => words.extend(text.split(',').map(str::to_owned)),
            Value::Array(items) => {
                let texts = items.iter().filter_map(Value::as_str);
                words.extend(texts.map(str::to_owned));
            }
            _ => {}
        }
    }
    for word in &mut words {
        *word = word.trim().to_owned();
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_and_texts_are_read_here_and_in_metadata() {
        let frontmatter = json!({
            "triggers": ["monthly report", " ", 7],
            "keywords": "a, b",
            "metadata": {"triggers": "c"},
        });
        let found = declared_triggers(frontmatter.as_object().unwrap());
        assert_eq!(found, ["monthly report", "a", "b", "c"]);
    }
}
