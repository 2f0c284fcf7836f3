//! Text of a skill for a model.
//!
//! Every text has a byte cap and a fixed order: the same skill gives the same
//! bytes, so prompt caches stay valid. A cut is always noted in the text itself. Control
//! tokens of chat templates are neutralised in names, descriptions and instructions, but not
//! in the files that a model reads ([`file()`]).

use std::borrow::Cow;

use crate::control_tokens::neutralise;
use crate::path::escape_text;
use crate::shorten::{prefix_within, shorten, shorten_at_word};
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

/// The same line for a catalogue with little space: the name is kept, and the description cut at
/// the end of a sentence or a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueLine {
    /// `- name: `
    head: String,
    /// The description, and when to use the skill.
    text: String,
}

/// A longer name is not kept whole: nothing bounds the names of skills in folders.
const MAX_HEAD_BYTES: usize = 100;

impl CatalogueLine {
    /// The line of a skill.
    #[must_use]
    pub fn new(skill: &Skill) -> CatalogueLine {
        let line = catalogue_entry(skill, usize::MAX);
        let head = neutralise(&format!("- {}: ", to_one_line(&skill.name))).into_owned();
        let text = line.strip_prefix(head.as_str()).map(str::to_owned);
        match text {
            Some(text) if head.len() <= MAX_HEAD_BYTES => CatalogueLine { head, text },
            _ => CatalogueLine {
                head: String::new(),
                text: line,
            },
        }
    }

    /// Bytes that are always kept.
    #[must_use]
    pub fn head_bytes(&self) -> usize {
        self.head.len()
    }

    /// Bytes of the rest.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.text.len()
    }

    /// The line with at most `cap` bytes of the rest.
    #[must_use]
    pub fn shortened(&self, cap: usize) -> String {
        format!("{}{}", self.head, shorten_at_word(&self.text, cap))
    }
}

/// What stands for the folder of a skill in its instructions: Claude Code's variable, and the
/// name that several other clients replace.
const FOLDER_PLACEHOLDERS: [&str; 2] = ["${CLAUDE_SKILL_DIR}", "{baseDir}"];

/// Tier two: the instructions, for a model that finds the skill's files in `folder`.
pub fn body(skill: &Skill, folder: &str, cap: usize) -> CappedText {
    let text = neutralise(&skill.body);
    // What cannot be shown is left as it is: the folder may be longer than what stands for it.
    let start = prefix_within(&text, cap);
    let left = text.len() - start.len();
    cap_part(&with_folder(start, folder), left, cap, "SKILL.md")
}

/// The text with a skill's folder in place of what stands for it. No program replaces it later:
/// the variable is not set where commands run.
pub fn with_folder<'a>(text: &'a str, folder: &str) -> Cow<'a, str> {
    let places = FOLDER_PLACEHOLDERS.iter().flat_map(|placeholder| {
        text.match_indices(placeholder).filter(move |(at, found)| {
            let before = text.get(..*at).unwrap_or_default();
            // `${baseDir}` and `{{baseDir}}` belong to code and templates.
            !(found.starts_with('{') && before.ends_with(['$', '{']))
        })
    });
    let mut places: Vec<(usize, &str)> = places.collect();
    if places.is_empty() {
        return Cow::Borrowed(text);
    }
    places.sort_unstable();
    let mut placed = String::with_capacity(text.len());
    let mut end = 0;
    for (at, found) in places {
        placed.push_str(text.get(end..at).unwrap_or_default());
        placed.push_str(folder);
        end = at + found.len();
    }
    placed.push_str(text.get(end..).unwrap_or_default());
    Cow::Owned(placed)
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
    cap_part(text, 0, cap, what)
}

/// The same for the start of a text, of which `left` more bytes follow.
fn cap_part(text: &str, left: usize, cap: usize, what: &str) -> CappedText {
    let kept = prefix_within(text, cap);
    let total = text.len() + left;
    let omitted_bytes = total - kept.len();
    let text = if omitted_bytes == 0 {
        text.to_owned()
    } else {
        format!(
            "{kept}\n[{what} is cut here: {} of {total} bytes shown]",
            kept.len()
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
