//! What a model is told in words: each text is short, and what comes from a client in it
//! is cut at a bound.

use serde_json::Value;

use crate::neutral::Map;
use crate::tool_names::safe_name;

/// The most bytes of a grammar, of a namespace's description, and of the skills of a shell.
const MAX_GRAMMAR_BYTES: usize = 16 << 10;
const MAX_NAMESPACE_BYTES: usize = 4 << 10;
const MAX_SKILLS_BYTES: usize = 16 << 10;

/// When a search that only a vendor's servers make was left out.
pub(super) const NO_WEB: &str = "You cannot search or read the web in this conversation. If you \
are asked to, say that you cannot; do not make up results or sources.";

pub(super) const LOCAL_SHELL: &str = "Runs one command on the user's computer and returns its \
output. `command` is the program and its arguments; for shell syntax use [\"bash\", \"-lc\", \
\"...\"].";

pub(super) const SHELL: &str = "Runs shell commands on the user's computer and returns the output \
of each. The commands of one call run one by one, in their order.";

pub(super) const APPLY_PATCH: &str = "Creates, updates or deletes one file. `type` is create_file, \
update_file or delete_file, and `path` is the path of the file. `diff` is needed to create and to \
update. To create a file, write all its lines, each with `+` before it. To update one, write only \
the parts that change: first, if needed to find the place, a line `@@ ` with a line of the file \
above it, such as the header of a function; then about three unchanged lines, each with a space \
before it, the removed lines, each with `-`, and the added lines, each with `+`; then about three \
unchanged lines. Write no line numbers and no file headers.";

pub(super) const TOOL_SEARCH: &str = "Searches for tools that are not offered yet. Those it finds \
can be called from then on.";

pub(super) const BASH: &str = "Runs a command in a bash session and returns its output. Folder, \
variables and files stay from call to call. With `restart` set to true, and no command, a new \
session begins.";

pub(super) const EDITOR: &str = "Shows and edits text files. `view` shows a file, or lists a \
folder; `view_range` limits it to lines [first, last], counted from 1, and -1 is the last line. \
`create` writes `file_text` to a file. `str_replace` replaces `old_str`, which must stand in the \
file exactly once, by `new_str`. `insert` puts text after line `insert_line`; 0 is the beginning.";

pub(super) const EDITOR_UNDO: &str = " `undo_edit` takes back the last edit of a file.";

pub(super) const MEMORY: &str = "Keeps notes from one conversation to the next in files beneath \
/memories. Before any other work, look with `view` at /memories for what is known. `view` shows a \
file or lists a folder, `create` writes `file_text`, `str_replace` replaces `old_str` by \
`new_str`, `insert` puts `insert_text` after line `insert_line`, `delete` removes a file or \
folder, `rename` moves `old_path` to `new_path`.";

pub(super) const COMPUTER: &str = "Controls a computer by its screen, mouse and keyboard. Take a \
screenshot to see what is there, and another after each action to see what it did. Coordinates \
are [x, y] in pixels from the upper left corner. `text` is what `type` types, and the keys that \
`key` and `hold_key` press, such as \"ctrl+s\". `duration` is in seconds.";

/// The size of the screen.
pub(super) fn screen(width: u64, height: u64) -> String {
    format!(" The screen is {width} pixels wide and {height} high.")
}

/// The bound on what an editor shows.
pub(super) fn view_limit(characters: u64) -> String {
    format!(" A file of more than {characters} characters is shown in part.")
}

/// A tool that was found, or is not offered after all.
pub(super) fn found(name: &str, offered: bool) -> String {
    let name = safe_name(name);
    if offered {
        format!("Tool {name} is now available.")
    } else {
        format!("Tool {name} is not available.")
    }
}

/// The tools that a search found.
pub(super) fn all_found(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| safe_name(name)).collect();
    if names.is_empty() {
        "No tools were found.".to_owned()
    } else {
        format!("These tools are now available: {}.", names.join(", "))
    }
}

/// A file that the model cannot open.
pub(super) fn no_upload(file: &str) -> String {
    format!("(The file {file} was attached here, but cannot be opened in this conversation.)")
}

/// The summary of what was said before.
pub(super) fn summary(text: &str) -> String {
    format!("Summary of the conversation so far:\n\n{text}")
}

/// The grammar of a free-form tool, as words for its description.
pub(super) fn grammar(format: &Value) -> Option<String> {
    let text = |key: &str| format.get(key).and_then(Value::as_str);
    match text("type") {
        Some("text") => Some(String::new()),
        Some("grammar") => {
            let definition = truncate(text("definition")?, MAX_GRAMMAR_BYTES);
            let syntax = text("syntax").unwrap_or("lark");
            Some(format!(
                "\n\nThe input must follow this {syntax} grammar:\n{definition}"
            ))
        }
        _ => None,
    }
}

/// What a namespace says of its tools, for the description of one of them.
pub(super) fn namespace(name: &str, about: &str) -> Option<String> {
    let generic = format!("Tools in the {name} namespace.");
    if about.trim().is_empty() || about == generic {
        return None;
    }
    let about = truncate(about, MAX_NAMESPACE_BYTES);
    Some(format!("\n\nAbout the tools of {name}: {about}"))
}

/// The skills in the client's own folders, for the description of its shell.
pub(super) fn skills(environment: Option<&Value>) -> String {
    let skills = environment.and_then(|environment| environment.get("skills")?.as_array());
    let mut out = String::new();
    for skill in skills.into_iter().flatten().filter_map(Value::as_object) {
        let line = skill_line(skill);
        if out.len() + line.len() > MAX_SKILLS_BYTES {
            break;
        }
        out.push_str(&line);
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n\nSkills on this computer; read the SKILL.md in a skill's folder before its use:{out}"
    )
}

fn skill_line(skill: &Map) -> String {
    let text = |key: &str| skill.get(key).and_then(Value::as_str).unwrap_or_default();
    format!(
        "\n- {} ({}): {}",
        text("name"),
        text("path"),
        text("description")
    )
}

/// The beginning of a text, at most this many bytes of it.
fn truncate(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_from_a_client_is_cut_at_a_bound() {
        let long = "ä".repeat(20 << 10);
        let grammar = grammar(&json!({"type": "grammar", "syntax": "lark", "definition": long}));
        assert!(grammar.unwrap().len() < MAX_GRAMMAR_BYTES + 100);
        assert!(namespace("n", &long).unwrap().len() < MAX_NAMESPACE_BYTES + 100);
        let skill = json!({"name": "a", "path": "/a", "description": "ä".repeat(1000)});
        let skills = skills(Some(&json!({"skills": vec![skill; 30]})));
        assert!(skills.len() < MAX_SKILLS_BYTES + 100 && skills.contains("- a (/a): ä"));
    }
}
