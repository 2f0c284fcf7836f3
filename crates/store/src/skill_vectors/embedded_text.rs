//! The text of a skill that is embedded.

use prowess_skill::Digest;

use crate::db::DbRow;
use crate::error::Result;
use crate::skill_index::when_to_use;

/// Characters of the text: some 1,500 tokens, which every embedding model accepts.
const MAX_TEXT_CHARS: usize = 6_000;

/// The text of a row of `versions` with its name, description, frontmatter and body: what it
/// is for first, then its instructions.
pub(super) fn row_text(row: &DbRow) -> Result<String> {
    let when = when_to_use(&row.text("frontmatter")?)?;
    let (name, description) = (row.text("name")?, row.text("description")?);
    let parts = [
        name,
        description,
        when.unwrap_or_default(),
        row.text("body")?,
    ];
    let filled: Vec<&str> = parts
        .iter()
        .map(|part| part.trim())
        .filter(|part| !part.is_empty())
        .collect();
    Ok(filled.join("\n").chars().take(MAX_TEXT_CHARS).collect())
}

/// Identifies a text.
pub(super) fn text_digest(text: &str) -> String {
    Digest::from_content(text.as_bytes()).hex()
}
