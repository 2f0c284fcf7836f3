//! Every text of this crate that a model reads: the system prompt about skills, notes in
//! messages and results, and errors of calls. Each has a cap in bytes, which the tests hold.
//! What skills and tools themselves write is capped where it comes from.

use prowess_sandbox::LAYOUT;

/// A call that was not run because the response before it is incomplete.
pub(crate) const CUT_SHORT: &str = "Error: not run, because the response was cut off before it";
/// A call that was not run because the run reached a limit.
pub(crate) const LIMIT_REACHED: &str =
    "Error: not run, because the run has reached its limit; call it again to continue";
/// A call that was stopped because the run's time is over.
pub(crate) const TIME_OVER: &str = "Error: stopped, because the time limit of this run is reached";
/// A call that may have been made by a server that died.
pub(crate) const INTERRUPTED: &str =
    "Error: interrupted; it may have had effects outside of the sandbox. Its files are lost";
/// A call of an earlier run without a result.
pub(crate) const RESULT_LOST: &str = "Error: not run, or its result was lost";
/// Results of the text editor.
pub(crate) const FILE_CREATED: &str = "The file was created.";
pub(crate) const FILE_REPLACED: &str = "The file was replaced.";
pub(crate) const FILE_EDITED: &str = "The file was edited.";
/// A command that wrote nothing.
pub(crate) const NO_OUTPUT: &str = "[no output]";
/// Cap of each constant text above.
#[cfg(test)]
const MAX_CONSTANT_BYTES: usize = 96;

/// The part of the system prompt before the catalogue of skills.
pub(crate) fn skills_intro(load_tool: &str, code_execution: bool) -> String {
    format!(
        "You have skills: folders of instructions and files for particular tasks. When a task \
         matches a skill's description, load that skill first with the tool `{load_tool}` and \
         follow its instructions.{}{}\n\nSkills:\n",
        if code_execution { " " } else { "" },
        sandbox_hint(code_execution)
    )
}
/// Cap of [`skills_intro`], with a tool's name of 64 bytes.
#[cfg(test)]
const MAX_INTRO_BYTES: usize = 448;

/// The heading of the system prompt when every SKILL.md is in it, as LiteLLM writes it, so
/// that skills tuned there read the same here.
pub(crate) fn full_intro(code_execution: bool) -> String {
    format!(
        "# Available Skills{}{}\n\n",
        if code_execution { "\n\n" } else { "" },
        sandbox_hint(code_execution)
    )
}
/// Cap of [`full_intro`].
#[cfg(test)]
const MAX_FULL_INTRO_BYTES: usize = 192;

/// Where skills and results are, if code can be run.
fn sandbox_hint(code_execution: bool) -> String {
    if !code_execution {
        return String::new();
    }
    format!(
        "Skill files are read-only in {}/NAME. Code runs in {}; files left there are given to \
         the user.",
        LAYOUT.skills, LAYOUT.data
    )
}

/// Follows a catalogue that lists only some of the skills.
pub(crate) fn more_skills(count: usize) -> String {
    format!("({count} more: find them with `search_skills`)")
}
/// Cap of [`more_skills`].
#[cfg(test)]
pub(crate) const MAX_MORE_SKILLS_BYTES: usize = 60;

/// Ends a catalogue of routed skills.
pub(crate) fn search_hint(search_tool: &str) -> String {
    format!(
        "(Other skills may be stored. If none of these fits the task, find one with \
         `{search_tool}`.)"
    )
}
/// Cap of [`search_hint`], with a tool's name of 64 bytes.
#[cfg(test)]
const MAX_SEARCH_HINT_BYTES: usize = 160;

/// Follows a user's text for which more skills are offered. The lines have caps of their own.
pub(crate) fn skills_note(lines: &[&str]) -> String {
    format!("{SKILLS_NOTE}\n{}]", lines.join("\n"))
}
/// The first line of [`skills_note`].
pub(crate) const SKILLS_NOTE: &str = "[More skills that may fit:";

/// A run has loaded too many skills.
pub(crate) fn too_many_loaded(max: usize) -> String {
    format!("{max} skills are loaded; no more can be loaded in this run")
}

/// Stored skills cannot be read.
pub(crate) const SKILLS_UNAVAILABLE: &str = "the stored skills are unavailable now; try again";

/// Replaces a file that the client attached.
pub(crate) fn upload_location(name: &str) -> String {
    format!("[The file {name} is at {}]", LAYOUT.data_path(name))
}
/// Cap of [`upload_location`]: a name has at most 100 characters.
#[cfg(test)]
const MAX_UPLOAD_LOCATION_BYTES: usize = 832;

/// Follows a result whose file could not be stored.
pub(crate) fn file_not_stored(path: &str, why: &str) -> String {
    format!("[the file {} could not be stored: {}]", cut(path), cut(why))
}
/// Cap of [`file_not_stored`].
#[cfg(test)]
const MAX_FILE_NOT_STORED_BYTES: usize = 2448;

/// Replaces content that models cannot read.
pub(crate) fn binary_content(mime: &str, bytes: usize) -> String {
    format!("[{}, {bytes} bytes: not shown]", cut(mime))
}
/// Cap of [`binary_content`].
#[cfg(test)]
const MAX_BINARY_CONTENT_BYTES: usize = 1248;

/// Characters of a value in a note.
const MAX_VALUE_CHARS: usize = 300;

fn cut(text: &str) -> &str {
    let end = text.char_indices().nth(MAX_VALUE_CHARS);
    end.map_or(text, |(end, _)| text.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_stays_within_its_cap() {
        let constants = [
            CUT_SHORT,
            LIMIT_REACHED,
            TIME_OVER,
            INTERRUPTED,
            RESULT_LOST,
            FILE_CREATED,
            FILE_REPLACED,
            FILE_EDITED,
            NO_OUTPUT,
            SKILLS_UNAVAILABLE,
        ];
        for text in constants {
            assert!(text.len() <= MAX_CONSTANT_BYTES, "{text}");
        }
        let long = "\u{10ffff}".repeat(10_000);
        let name = "\u{1f600}".repeat(100);
        for (text, cap) in [
            (skills_intro(&"x".repeat(64), true), MAX_INTRO_BYTES),
            (full_intro(true), MAX_FULL_INTRO_BYTES),
            (more_skills(usize::MAX), MAX_MORE_SKILLS_BYTES),
            (search_hint(&"x".repeat(64)), MAX_SEARCH_HINT_BYTES),
            (too_many_loaded(usize::MAX), MAX_CONSTANT_BYTES),
            (upload_location(&name), MAX_UPLOAD_LOCATION_BYTES),
            (file_not_stored(&long, &long), MAX_FILE_NOT_STORED_BYTES),
            (binary_content(&long, usize::MAX), MAX_BINARY_CONTENT_BYTES),
        ] {
            assert!(text.len() <= cap, "{} of {cap} bytes: {text}", text.len());
        }
    }
}
