//! Every text that wire itself puts before a model: instructions, descriptions of tools,
//! and the notes that replace what a dialect does not support. Each has a byte cap; parts
//! that come from a client are truncated.

mod toolsets;

use serde_json::Value;

use crate::neutral::Map;
use crate::tool_names::safe_name;

pub(crate) use toolsets::toolset_member;

/// Cap of an instruction or a note, without the client's part of it.
#[cfg(test)]
const MAX_NOTE_BYTES: usize = 160;
/// Cap of a tool's description, without the client's part of it.
#[cfg(test)]
const MAX_DESCRIPTION_BYTES: usize = 800;
/// Cap of a grammar from a client.
const MAX_GRAMMAR_BYTES: usize = 16 << 10;
/// Cap of a namespace's description from a client.
const MAX_NAMESPACE_BYTES: usize = 4 << 10;
/// Cap of the schema of a response.
const MAX_SCHEMA_BYTES: usize = 32 << 10;
/// Cap of what a part of a schema demands, in its description.
const MAX_CONSTRAINTS_BYTES: usize = 1 << 10;
/// Cap of the list of skills in a client's own folders.
const MAX_SKILLS_BYTES: usize = 16 << 10;

/// For requests whose web search runs on the vendor's servers only.
pub(crate) const NO_WEB: &str = "You cannot search or read the web in this conversation. If you \
are asked to, say that you cannot; do not make up results or sources.";

/// For upstreams that cannot forbid tool calls.
pub(crate) const NO_TOOL_CALLS: &str = "Do not call any tools in this turn.";

/// For upstreams without a JSON mode.
pub(crate) const JSON_ONLY: &str = "Respond with one JSON object and nothing else: no text before \
or after it, and no code fence.";

/// The description of a tool that only past turns used.
pub(crate) const PAST_TOOL: &str = "No longer available: do not call it.";

/// Replaces a blank message of the user where a message is required.
pub(crate) const BLANK_TEXT: &str = "(blank)";

/// What the user says after the model, where servers require that the user speaks last.
pub(crate) const CONTINUE: &str = "Continue.";

/// What the model says between results and the user, where servers require it to speak.
pub(crate) const RESULTS_READ: &str = "I have read the results.";

/// The text of a tool result that has only attachments, which follow in another message.
pub(crate) const SEE_ATTACHMENTS: &str = "See the attachments below.";

/// The results of a hosted tool that are not part of the request.
pub(crate) const NO_RESULTS: &str = "(its results are not part of the conversation)";

/// A search that found nothing.
pub(crate) const NOTHING_FOUND: &str = "(no results)";

/// A call without output.
pub(crate) const NO_OUTPUT: &str = "(no output)";

/// A generated image whose bytes are not part of the request.
pub(crate) const NO_IMAGE: &str = "(the image is not available)";

/// A command that exceeded its time limit.
pub(crate) const TIMED_OUT: &str = "(timed out)";

/// A patch that was applied without output.
pub(crate) const PATCH_APPLIED: &str = "The patch was applied.";

pub(crate) const LOCAL_SHELL: &str = "Runs one command on the user's computer and returns its \
output. `command` is the program and its arguments; for shell syntax use [\"bash\", \"-lc\", \
\"...\"].";

pub(crate) const SHELL: &str = "Runs shell commands on the user's computer and returns the output \
of each. The commands of one call run one after another, in order.";

pub(crate) const APPLY_PATCH: &str = "Creates, updates or deletes one file. `type` is create_file, \
update_file or delete_file, and `path` is the path of the file. `diff` is needed to create and to \
update. To create a file, write all its lines, each with `+` before it. To update one, write only \
the parts that change: first, if needed to find the place, a line `@@ ` with a line of the file \
above it, such as the header of a function; then about three unchanged lines, each with a space \
before it, the removed lines, each with `-`, and the added lines, each with `+`; then about three \
unchanged lines. Write no line numbers and no file headers.";

pub(crate) const TOOL_SEARCH: &str = "Searches for more tools. The tools it finds can be called \
afterwards.";

pub(crate) const BASH: &str = "Runs a command in a bash session and returns its output. The \
working directory, variables and files persist between calls. Set `restart` to true, without a \
command, to start a new session.";

pub(crate) const EDITOR: &str = "Views and edits text files. `view` shows a file or lists a \
folder; `view_range` limits it to lines [first, last], counted from 1; -1 is the last line. \
`create` writes `file_text` to a file. `str_replace` replaces `old_str`, which must occur in the \
file exactly once, with `new_str`. `insert` inserts text after line `insert_line`; 0 is the start.";

pub(crate) const EDITOR_UNDO: &str = " `undo_edit` reverts the last edit of a file.";

pub(crate) const MEMORY: &str = "Stores notes between conversations in files under /memories. \
Start every task with `view` on /memories. `view` shows a file or lists a folder, `create` writes \
`file_text`, `str_replace` replaces `old_str` with `new_str`, `insert` inserts `insert_text` after \
line `insert_line`, `delete` removes a file or folder, `rename` moves `old_path` to `new_path`.";

pub(crate) const COMPUTER: &str = "Controls a computer by screen, mouse and keyboard. Take a \
screenshot first, and another after each action to see its effect. Coordinates are [x, y] in \
pixels from the upper left corner. `text` is the text for `type`, or the keys for `key` and \
`hold_key`, such as \"ctrl+s\". `duration` is in seconds.";

/// The screen size of a computer tool.
pub(crate) fn screen(width: u64, height: u64) -> String {
    format!(" The screen is {width} x {height} pixels.")
}

/// The view limit of an editor.
pub(crate) fn view_limit(characters: u64) -> String {
    format!(" Files of more than {characters} characters are truncated.")
}

/// Whether a tool that was found is offered.
pub(crate) fn found(name: &str, offered: bool) -> String {
    let name = safe_name(name);
    if offered {
        format!("Tool {name} is now available.")
    } else {
        format!("Tool {name} is not available.")
    }
}

/// The tools found by a search.
pub(crate) fn all_found(names: &[&str]) -> String {
    let names: Vec<_> = names.iter().map(|name| safe_name(name)).collect();
    if names.is_empty() {
        "No tools were found.".to_owned()
    } else {
        format!("These tools are now available: {}.", names.join(", "))
    }
}

/// A file that the model cannot open.
pub(crate) fn no_upload(file: &str) -> String {
    format!("(The file {file} was attached here, but cannot be opened in this conversation.)")
}

/// The summary of an earlier part of the conversation.
pub(crate) fn summary(text: &str) -> String {
    format!("Summary of the conversation so far:\n\n{text}")
}

/// The grammar of a free-form tool, for its description.
pub(crate) fn grammar(format: &Value) -> Option<String> {
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

/// For upstreams with a JSON mode, but without schemas of responses.
pub(crate) fn json_schema(schema: &Value) -> String {
    let schema = schema.to_string();
    let schema = truncate(&schema, MAX_SCHEMA_BYTES);
    format!("{JSON_ONLY} The object must follow this JSON Schema:\n{schema}")
}

/// The description of a part of a schema, with what it demands and a vendor cannot enforce.
pub(crate) fn with_constraints(description: Option<&str>, demands: Map) -> String {
    let demands = Value::Object(demands).to_string();
    let demands = truncate(&demands, MAX_CONSTRAINTS_BYTES);
    match description {
        Some(text) if !text.is_empty() => format!("{text}\n\n{demands}"),
        _ => demands.to_owned(),
    }
}

/// The description of a namespace, for the description of its first tool.
pub(crate) fn namespace(name: &str, about: &str) -> Option<String> {
    let generic = format!("Tools in the {name} namespace.");
    if about.trim().is_empty() || about == generic {
        return None;
    }
    let about = truncate(about, MAX_NAMESPACE_BYTES);
    Some(format!("\n\nAbout the tools of {name}: {about}"))
}

/// The result of a patch that failed.
pub(crate) fn patch_failed(output: &str) -> String {
    format!("Error: the patch was not applied. {output}")
}

/// The result of a tool that failed.
pub(crate) fn error(text: &str) -> String {
    format!("Error: {text}")
}

/// The exit code of a command.
pub(crate) fn exit_code(code: i64) -> String {
    format!("(exit code {code})")
}

/// A file whose content is not text.
pub(crate) fn file_of_type(media_type: &str) -> String {
    format!("(a file of type {media_type:?})")
}

/// The heading of a tool's attachments, which follow in a message of the user.
pub(crate) fn output_of(call_id: &str) -> String {
    format!("The output of {call_id}:")
}

/// The names of documents that a message sends without a text.
pub(crate) fn attached(names: &[&str]) -> String {
    format!("Attached: {}", names.join(", "))
}

/// An image of which only the address is known.
pub(crate) fn image_at(url: &str) -> String {
    format!("[image: {url}]")
}

/// What another agent of the client says.
pub(crate) fn agent_message(author: &str, text: &str) -> String {
    format!("Message from {author}:\n\n{text}")
}

/// A request to approve a call of an MCP server's tool.
pub(crate) fn approval_request(tool: &str, server: &str, arguments: &str) -> String {
    format!("May I call the tool {tool} of the server {server} with {arguments}?")
}

/// The user's decision on an approval request.
pub(crate) fn approval_response(approved: bool, reason: Option<&str>) -> String {
    let decision = if approved { "Yes." } else { "No." };
    match reason {
        Some(reason) => format!("{decision} {reason}"),
        None => decision.to_owned(),
    }
}

/// Instructions in a message of the user, for models that accept no system message there.
pub(crate) fn tagged_system(text: &str) -> String {
    format!("<system>\n{text}\n</system>")
}

/// A text document inside a message.
pub(crate) fn document_text(title: Option<&str>, text: &str) -> String {
    match title {
        Some(title) => format!("<document title={title:?}>\n{text}\n</document>"),
        None => format!("<document>\n{text}\n</document>"),
    }
}

/// A result of the client's own search.
pub(crate) fn search_result(title: &str, source: &str, content: &str) -> String {
    format!("<search_result title={title:?} source={source:?}>\n{content}\n</search_result>")
}

/// The state of the client's browser after a call.
pub(crate) fn browser(lines: &[String]) -> String {
    format!("<browser_state>\n{}\n</browser_state>", lines.join("\n"))
}

/// A tab of the client's browser.
pub(crate) fn browser_tab(id: &str, title: &str, url: &str, is_active: bool) -> String {
    let active = if is_active { " (active)" } else { "" };
    format!("tab {id}{active}: {title:?} {url}")
}

/// What happened in the client's browser, and to what.
pub(crate) fn browser_change(kind: &str, about: &[&str]) -> String {
    let about: Vec<&str> = about
        .iter()
        .copied()
        .filter(|text| !text.is_empty())
        .collect();
    format!("{kind}: {}", about.join(" "))
}

/// The skills in the client's own folders, for the description of its shell.
pub(crate) fn skills(environment: Option<&Value>) -> String {
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
        "\n\nSkills on this computer; read the SKILL.md in a skill's folder before you use it:{out}"
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

/// The first bytes of a text, at most this many.
fn truncate(text: &str, limit: usize) -> &str {
    text.get(..text.floor_char_boundary(limit))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_is_within_its_cap() {
        let notes = [
            NO_WEB,
            NO_TOOL_CALLS,
            JSON_ONLY,
            PAST_TOOL,
            BLANK_TEXT,
            CONTINUE,
            RESULTS_READ,
            SEE_ATTACHMENTS,
            NO_RESULTS,
            NOTHING_FOUND,
            NO_OUTPUT,
            NO_IMAGE,
            TIMED_OUT,
            PATCH_APPLIED,
            &found("", true),
            &found("", false),
            &all_found(&[]),
            &all_found(&[""]),
            &no_upload(""),
            &summary(""),
            &patch_failed(""),
            &error(""),
            &exit_code(i64::MIN),
            &file_of_type(""),
            &output_of(""),
            &attached(&[]),
            &image_at(""),
            &browser(&[]),
            &browser_tab("", "", "", true),
            &browser_change("", &[]),
            &agent_message("", ""),
            &approval_request("", "", ""),
            &approval_response(false, None),
            &tagged_system(""),
            &document_text(Some(""), ""),
            &search_result("", "", ""),
        ];
        for text in notes {
            assert!(text.len() <= MAX_NOTE_BYTES, "{}: {text}", text.len());
        }
        let editor = format!("{EDITOR}{EDITOR_UNDO}{}", view_limit(u64::MAX));
        let computer = format!("{COMPUTER}{}", screen(u64::MAX, u64::MAX));
        let descriptions = [
            LOCAL_SHELL,
            SHELL,
            APPLY_PATCH,
            TOOL_SEARCH,
            BASH,
            &editor,
            MEMORY,
            &computer,
        ];
        for text in descriptions {
            assert!(
                text.len() <= MAX_DESCRIPTION_BYTES,
                "{}: {text}",
                text.len()
            );
        }
    }

    #[test]
    fn what_comes_from_a_client_is_cut_at_a_bound() {
        let long = "ä".repeat(20 << 10);
        let grammar = grammar(&json!({"type": "grammar", "syntax": "lark", "definition": long}));
        assert!(grammar.unwrap().len() < MAX_GRAMMAR_BYTES + 100);
        assert!(namespace("n", &long).unwrap().len() < MAX_NAMESPACE_BYTES + 100);
        let demands = Map::from_iter([("pattern".to_owned(), long.as_str().into())]);
        let schema = json!({"description": "ä".repeat(20 << 10)});
        assert!(json_schema(&schema).len() < MAX_SCHEMA_BYTES + JSON_ONLY.len() + 100);
        assert!(with_constraints(Some("n"), demands).len() < MAX_CONSTRAINTS_BYTES + 100);
        let skill = json!({"name": "a", "path": "/a", "description": "ä".repeat(1000)});
        let skills = skills(Some(&json!({"skills": vec![skill; 30]})));
        assert!(skills.len() < MAX_SKILLS_BYTES + 100 && skills.contains("- a (/a): ä"));
    }
}
