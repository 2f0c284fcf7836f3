//! Text of a skill for a model.
//!
//! Every text has a byte cap and a fixed order: the same skill gives the same
//! bytes, so prompt caches stay valid. A cut is always noted in the text itself. Control
//! tokens of chat templates are neutralised in names, descriptions and instructions, but not
//! in the files that a model reads ([`file()`]).

use crate::control_tokens::neutralise;
use crate::path::escape_text;
use crate::shorten::{prefix_within, shorten};
use crate::skill::Skill;

/// A text for a model, no longer than its cap (the note of a cut excepted).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CappedText {
    /// The text, with a note at its end when it was cut.
    pub text: String,
    /// Bytes that were omitted.
    pub omitted_bytes: usize,
}

/// The content of one file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileContent {
    /// Text.
    Text(CappedText),
    /// Not text.
    Binary(bytes::Bytes),
}

/// Tier one: a line `- name: description` for the catalogue. The description is
/// reduced to one line, without invisible characters, and shortened to fit; when to use the
/// skill is omitted last.
pub fn catalogue_entry(skill: &Skill, cap: usize) -> String {
    let when = skill.invocation.when_to_use.as_deref();
    catalogue_line(&skill.name, &skill.description, when, cap)
}

/// Bytes of a line in the catalogue of a request that is offered skills by what it asks for:
/// about 60 fit into the default budget.
pub const ROUTED_LINE_BYTES: usize = 250;

/// The same line, for a skill that is not loaded.
pub fn catalogue_line(
    name: &str,
    description: &str,
    when_to_use: Option<&str>,
    cap: usize,
) -> String {
    let when = when_to_use.unwrap_or_default();
    let description = to_one_line(&format!("{description} {when}"));
    let line = format!("- {}: {description}", to_one_line(name));
    // Only now: removing invisible characters may produce a token.
    shorten(&neutralise(&line), cap)
}

/// Tier two: the instructions.
pub fn body(skill: &Skill, cap: usize) -> CappedText {
    cap_text(&neutralise(&skill.body), cap, "SKILL.md")
}

/// Tier three, the table of contents: each file with its size, sorted.
pub fn file_list(skill: &Skill, cap: usize) -> CappedText {
    let mut text = String::new();
    let mut omitted_bytes = 0;
    for file in skill.manifest.files() {
        let line = format!(
            "{} ({} bytes)\n",
            neutralise(&escape_text(file.path.as_str().as_bytes())),
            file.size
        );
        if omitted_bytes == 0 && text.len() + line.len() <= cap {
            text.push_str(&line);
        } else {
            omitted_bytes += 1;
        }
    }
    if omitted_bytes > 0 {
        text.push_str(&format!("[{omitted_bytes} more files are not listed]\n"));
    }
    CappedText {
        text,
        omitted_bytes,
    }
}

/// Tier three, one file. `None` when the skill has no such file.
pub fn file(skill: &Skill, path: &str, cap: usize) -> Option<FileContent> {
    let file = skill.bundle.get(path)?;
    Some(match std::str::from_utf8(&file.data) {
        Ok(text) if !text.contains('\0') => FileContent::Text(cap_text(text, cap, path)),
        _ => FileContent::Binary(file.data.clone()),
    })
}

fn cap_text(text: &str, cap: usize, what: &str) -> CappedText {
    let kept = prefix_within(text, cap);
    let omitted_bytes = text.len() - kept.len();
    let text = if omitted_bytes == 0 {
        text.to_owned()
    } else {
        format!(
            "{kept}\n[{what} is cut here: {} of {} bytes shown]",
            kept.len(),
            text.len()
        )
    };
    CappedText {
        text,
        omitted_bytes,
    }
}

/// Folds blanks and removes characters without a glyph.
fn to_one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        let before = line.len();
        if before > 0 {
            line.push(' ');
        }
        let start = line.len();
        line.extend(word.chars().filter(|c| is_visible(*c)));
        if line.len() == start {
            line.truncate(before);
        }
    }
    line
}

fn is_visible(c: char) -> bool {
    use unicode_general_category::{GeneralCategory as G, get_general_category};
    if c.is_ascii() {
        return !c.is_ascii_control();
    }
    !matches!(
        get_general_category(c),
        G::Control | G::Format | G::Unassigned | G::PrivateUse | G::Surrogate
    )
}
