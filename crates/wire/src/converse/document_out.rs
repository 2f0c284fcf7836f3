//! Documents for Converse, which requires a unique name for each, and some text next to
//! them.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use crate::model_text::attached;

/// The most characters of a name.
const MAX_NAME_CHARS: usize = 200;

/// How many characters of a name remain before any number.
const MAX_STEM_CHARS: usize = MAX_NAME_CHARS - 21;

/// The names of a request's documents so far.
#[derive(Debug, Default)]
pub(super) struct DocumentNames {
    /// In lower case: names that differ in nothing else count as the same.
    taken: HashSet<String>,
    /// The last number appended to names with the same beginning.
    numbers: HashMap<String, usize>,
}

impl DocumentNames {
    /// A unique name for the next document, derived from its title.
    pub(super) fn name(&mut self, title: Option<&str>) -> String {
        let base = cleaned(title.unwrap_or_default());
        let mut name = base.clone();
        if self.taken.insert(name.to_ascii_lowercase()) {
            return name;
        }
        let stem: String = base.chars().take(MAX_STEM_CHARS).collect();
        let last = self.numbers.entry(stem.to_ascii_lowercase()).or_insert(1);
        while !self.taken.insert(name.to_ascii_lowercase()) {
            *last += 1;
            let number = format!(" {last}");
            let kept: String = base.chars().take(MAX_NAME_CHARS - number.len()).collect();
            name = format!("{}{number}", kept.trim_end());
        }
        name
    }
}

/// Converse allows letters, digits, single spaces, hyphens and brackets in a name.
fn cleaned(title: &str) -> String {
    let kept: String = title
        .chars()
        .map(|c| match c {
            c if c.is_ascii_alphanumeric() || "-()[]".contains(c) => c,
            _ => ' ',
        })
        .collect();
    let words: Vec<&str> = kept.split_whitespace().collect();
    let name: String = words.join(" ").chars().take(MAX_NAME_CHARS).collect();
    match name.trim_end() {
        "" => "document".to_owned(),
        name => name.to_owned(),
    }
}

/// Adds a text with the names of the documents of a message or a result that has no other
/// text.
pub(super) fn add_text(content: &mut Vec<Value>) {
    let names: Vec<&str> = content
        .iter()
        .filter_map(|block| block.get("document")?.get("name")?.as_str())
        .collect();
    let has_text = content.iter().any(|block| block.get("text").is_some());
    if !names.is_empty() && !has_text {
        let text = attached(&names);
        content.push(json!({"text": text}));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_names_are_the_same() {
        let mut names = DocumentNames::default();
        let long = "x".repeat(300);
        let given = [
            Some("report.pdf"),
            Some("Report_pdf"),
            None,
            Some("年報"),
            Some("document 2"),
            None,
            Some(long.as_str()),
            Some(long.as_str()),
        ];
        let named: Vec<String> = given.map(|title| names.name(title)).into();
        assert_eq!(
            named[..6],
            [
                "report pdf",
                "Report pdf 2",
                "document",
                "document 2",
                "document 2 2",
                "document 3"
            ]
        );
        assert_eq!(
            (named[6].len(), named[7].len()),
            (MAX_NAME_CHARS, MAX_NAME_CHARS)
        );
        assert!(named[7].ends_with("x 2"));
    }
}
