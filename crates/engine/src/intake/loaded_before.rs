//! Skills that earlier runs of a conversation loaded, by name, as far as the conversation
//! shows it. Only calls of Prowess's own tools count.

use prowess_sandbox::LAYOUT;
use prowess_wire::neutral::{Content, Message};
use serde_json::Value;

use crate::ids;

/// Names that are looked for.
const MAX_NAMES: usize = 20;

/// The names, in order, each once.
pub(crate) fn loaded_before(messages: &[Message], load_tool: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for block in messages.iter().flat_map(|message| &message.content) {
        let name = match &block.content {
            Content::ToolUse { name, input, .. } if name == load_tool => text(input, "name"),
            Content::ServerToolUse { id, input, .. } if ids::is_server_call(id) => {
                called_skill(input, load_tool)
            }
            _ => None,
        };
        let is_new = |name: &&str| !names.iter().any(|known| known == name);
        if let Some(name) = name.filter(is_new) {
            names.push(name.to_owned());
        }
        if names.len() == MAX_NAMES {
            break;
        }
    }
    names
}

/// The skill that a call in its native form is about: the call itself is beside it, or it
/// views a file of the skill.
fn called_skill<'a>(input: &'a Value, load_tool: &str) -> Option<&'a str> {
    if text(input, "tool") == Some(load_tool) {
        return text(input.get("arguments")?, "name");
    }
    let path = match (text(input, "command"), text(input, "path")) {
        (Some("view"), path) => path?,
        // The form that Responses clients receive.
        (Some(command), None) => command.strip_prefix("cat ")?,
        _ => return None,
    };
    let (folder, _) = LAYOUT.below_skills(path)?.split_once('/')?;
    Some(folder)
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;
    use prowess_wire::neutral::{Block, Role};
    use serde_json::json;

    #[test]
    fn skills_are_found_in_every_form_that_clients_send_back() {
        let server_call = |id: &str, input: Value| {
            Block::new(Content::ServerToolUse {
                id: id.to_owned(),
                name: "text_editor_code_execution".to_owned(),
                input,
            })
        };
        let content = vec![
            Block::tool_use("toolu_1", "load_skill", json!({"name": "plain"})),
            Block::tool_use("toolu_2", "other", json!({"name": "no"})),
            server_call(
                "srvtoolu_pw1",
                json!({"command": "view", "path": "/skills/viewed/SKILL.md"}),
            ),
            server_call(
                "srvtoolu_pw2",
                json!({"command": "cat /skills/cat/SKILL.md"}),
            ),
            server_call(
                "srvtoolu_pw3",
                json!({"tool": "load_skill", "arguments": {"name": "original"}}),
            ),
            server_call("srvtoolu_pw4", json!({"command": "cat /skills/cat/a.txt"})),
            server_call(
                "srvtoolu_01",
                json!({"command": "cat /skills/theirs/SKILL.md"}),
            ),
        ];
        let messages = [Message::new(Role::Assistant, content)];
        let names = loaded_before(&messages, "load_skill");
        assert_eq!(names, ["plain", "viewed", "cat", "original"]);
    }
}
