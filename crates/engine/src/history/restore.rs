//! Restores a conversation that a client sends back: server tool calls and results of earlier
//! runs become ordinary calls and results of Prowess's tools, which any model accepts.
//!
//! Blocks of the upstream's own servers stay as they are; their ids differ.

use prowess_sandbox::LAYOUT;
use prowess_toolbox::{Member, skill_folder};
use prowess_wire::neutral::{Block, Content, Message, Role};
use serde_json::{Value, json};

use crate::history::citations::strip_citations;
use crate::history::originals::CallRecords;
use crate::history::text::result_text;
use crate::history::tool_results::{TurnIndex, sort_last_results};
use crate::tool_call::{ToolCall, ToolNames};
use crate::{ids, model_text};

/// A conversation as a model gets it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct RestoredConversation {
    pub(crate) messages: Vec<Message>,
    /// Calls at its end without results: a paused run continues with them.
    pub(crate) open_calls: Vec<ToolCall>,
    /// Skills that were loaded, in order.
    pub(crate) loaded_skills: Vec<String>,
}

/// What a conversation is restored with.
#[derive(Clone, Copy)]
pub(crate) struct RestoreContext<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) names: &'a ToolNames,
    pub(crate) records: &'a CallRecords,
    /// Whether open code execution calls of another vendor's server are run here.
    pub(crate) runs_code: bool,
}

/// Restores a conversation.
pub(crate) fn restore_conversation(
    messages: Vec<Message>,
    context: RestoreContext<'_>,
) -> RestoredConversation {
    let RestoreContext {
        members,
        names,
        records,
        runs_code,
    } = context;
    let blocks = messages.iter().flat_map(|message| &message.content);
    let answered = blocks.filter_map(|block| match &block.content {
        Content::ServerToolResult { tool_use_id, .. } => Some(tool_use_id.clone()),
        _ => None,
    });
    let mut restorer = Restorer {
        answered: answered.collect(),
        members,
        names,
        records,
        runs_code,
        pending: Vec::new(),
        turns: TurnIndex::default(),
        restored: RestoredConversation::default(),
    };
    let resumed_at = resumed_message(&messages);
    for (at, message) in messages.into_iter().enumerate() {
        match message.role {
            Role::Assistant => restorer.add_assistant(message, Some(at) == resumed_at),
            Role::User => restorer.add_user(message),
            Role::System => {
                restorer.push_pending();
                restorer.restored.messages.push(message);
            }
        }
    }
    restorer.push_pending();
    restorer.turns.sort_results(&mut restorer.restored.messages);
    restorer.restored
}

/// The message whose open calls are to be run: the last of a paused run, or the one whose
/// client tool calls have just been answered. After any other message the conversation has
/// continued without their results.
fn resumed_message(messages: &[Message]) -> Option<usize> {
    let at = messages.iter().rposition(|m| m.role == Role::Assistant)?;
    let (turn, after) = (messages.get(at)?, messages.get(at + 1..)?);
    if after.is_empty() {
        return Some(at);
    }
    let is_call = |id: &str| {
        let mut blocks = turn.content.iter();
        blocks.any(|block| match &block.content {
            Content::ToolUse { id: call, .. } => call == id,
            _ => false,
        })
    };
    let mut results = after.iter().flat_map(|message| &message.content);
    let answers = results.any(|block| match &block.content {
        Content::ToolResult { tool_use_id, .. } => is_call(tool_use_id),
        _ => false,
    });
    let is_user_turn = after.iter().all(|message| message.role == Role::User);
    (answers && is_user_turn).then_some(at)
}

struct Restorer<'a> {
    answered: Vec<String>,
    members: &'a [Member],
    names: &'a ToolNames,
    records: &'a CallRecords,
    runs_code: bool,
    /// Results for the next user message.
    pending: Vec<Block>,
    turns: TurnIndex,
    restored: RestoredConversation,
}

impl Restorer<'_> {
    fn add_assistant(&mut self, message: Message, is_resumed: bool) {
        let mut content = Vec::new();
        for block in message.content {
            match block.content {
                Content::ServerToolUse { id, name, input }
                    if ids::is_server_call(&id) || (is_resumed && self.takes_over(&id, &name)) =>
                {
                    self.flush(&mut content);
                    let call = self.recorded_call(&id);
                    let call = call.unwrap_or_else(|| self.original_call(id, &name, input));
                    content.push(Block {
                        cache_control: block.cache_control,
                        client_path: block.client_path,
                        ..Block::tool_use(&call.id, &call.name, call.input.clone())
                    });
                    self.record_call(call, is_resumed);
                }
                Content::ServerToolResult {
                    tool_use_id,
                    content,
                    ..
                } if ids::is_server_call(&tool_use_id) => {
                    let result = Block {
                        cache_control: block.cache_control,
                        client_path: block.client_path,
                        ..self.result_block(tool_use_id, &content)
                    };
                    // Its call may be in an earlier turn, besides one of the client's tools.
                    let late = self.turns.insert(&mut self.restored.messages, result);
                    self.pending.extend(late);
                }
                _ => {
                    self.flush(&mut content);
                    content.push(strip_citations(block));
                }
            }
        }
        self.push_assistant(&mut content);
    }

    /// Ends the current turn and its results: what follows a result is a new turn.
    fn flush(&mut self, content: &mut Vec<Block>) {
        let answered = self.pending.iter().any(is_result);
        if answered {
            self.push_assistant(content);
            self.push_pending();
        }
    }

    fn push_assistant(&mut self, content: &mut Vec<Block>) {
        if !content.is_empty() {
            let message = Message::new(Role::Assistant, std::mem::take(content));
            self.restored.messages.push(message);
        }
    }

    fn add_user(&mut self, mut message: Message) {
        let mut content = std::mem::take(&mut self.pending);
        content.append(&mut message.content);
        message.content = content;
        self.restored.messages.push(message);
        sort_last_results(&mut self.restored.messages);
    }

    fn push_pending(&mut self) {
        if !self.pending.is_empty() {
            let results = std::mem::take(&mut self.pending);
            self.restored
                .messages
                .push(Message::new(Role::User, results));
        }
    }

    /// Keeps the skill that a call loaded, or what to do with a call without a result.
    fn record_call(&mut self, call: ToolCall, is_resumed: bool) {
        if self.answered.contains(&call.id) {
            if call.name == self.names.load && call.input.get("path").is_none() {
                let name = call.input.get("name").and_then(Value::as_str);
                self.restored.loaded_skills.extend(name.map(str::to_owned));
            }
            return;
        }
        if is_resumed {
            self.restored.open_calls.push(call);
        } else {
            self.pending.push(Block::new(Content::ToolResult {
                tool_use_id: call.id,
                content: vec![Block::text(model_text::RESULT_LOST)],
                is_error: true,
            }));
        }
    }

    /// Whether an open call of another vendor's server is run here instead.
    fn takes_over(&self, id: &str, name: &str) -> bool {
        let open = !self.answered.iter().any(|answered| answered == id);
        let is_code = ["bash_code_execution", "text_editor_code_execution"].contains(&name);
        self.runs_code && open && is_code
    }

    /// The original call, if it is stored.
    fn recorded_call(&self, id: &str) -> Option<ToolCall> {
        match &self.records.get(id)?.call.content {
            Content::ToolUse { id, name, input } => Some(ToolCall {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                is_announced: true,
            }),
            _ => None,
        }
    }

    /// The original result if it is stored, else the text of what the client received.
    fn result_block(&self, id: String, content: &Value) -> Block {
        if let Some(pair) = self
            .records
            .get(&id)
            .filter(|pair| pair.matches_result(content))
        {
            return pair.result.clone();
        }
        let (text, is_error) = result_text(content);
        Block::new(Content::ToolResult {
            tool_use_id: id,
            content: vec![Block::text(text)],
            is_error,
        })
    }

    /// The call of Prowess's tool behind a server tool call.
    fn original_call(&self, id: String, name: &str, input: Value) -> ToolCall {
        let call = |name: &str, input| ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            input,
            is_announced: true,
        };
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        if let (Some(tool), Some(arguments)) = (text("tool"), input.get("arguments")) {
            return call(tool, arguments.clone());
        }
        let viewed = match (text("command"), text("path")) {
            (Some("view"), path) => path,
            // The form that Responses clients receive.
            (Some(command), None) => command.strip_prefix("cat "),
            _ => None,
        };
        if let Some(arguments) = viewed.and_then(|path| self.load_arguments(path)) {
            return call(&self.names.load, arguments);
        }
        match name {
            "bash_code_execution" => call(&self.names.bash, input),
            "text_editor_code_execution" => call(&self.names.editor, input),
            other => call(other, input),
        }
    }

    /// The arguments that load the skill's file at this path.
    fn load_arguments(&self, path: &str) -> Option<Value> {
        let (folder, file) = LAYOUT.below_skills(path)?.split_once('/')?;
        let mut members = self.members.iter().map(|member| &member.skill);
        let skill = members.find(|skill| skill_folder(&skill.name) == folder)?;
        Some(if file == skill.bundle.skill_file().as_str() {
            json!({"name": skill.name})
        } else {
            json!({"name": skill.name, "path": file})
        })
    }
}

fn is_result(block: &Block) -> bool {
    matches!(&block.content, Content::ToolResult { .. })
}

#[cfg(test)]
mod tests {
    use prowess_skill::{LoadOptions, Skill};

    use super::*;

    fn server_call(id: &str, name: &str, input: Value) -> Block {
        Block::new(Content::ServerToolUse {
            id: format!("srvtoolu_pw{id}"),
            name: name.to_owned(),
            input,
        })
    }

    fn server_result(id: &str, stdout: &str) -> Block {
        Block::new(Content::ServerToolResult {
            kind: "bash_code_execution_tool_result".to_owned(),
            tool_use_id: format!("srvtoolu_pw{id}"),
            content: json!({"type": "bash_code_execution_result", "stdout": stdout,
                "stderr": "", "return_code": 0, "content": []}),
        })
    }

    fn bash(id: &str) -> Block {
        server_call(id, "bash_code_execution", json!({"command": "ls"}))
    }

    fn render(messages: Vec<Message>) -> (String, RestoredConversation) {
        let text = "---\nname: forms\ndescription: Fills forms.\n---\nDo.\n";
        let skill = Skill::from_text(text, &LoadOptions::default())
            .skill
            .unwrap();
        let members = [Member::from(skill)];
        let known = RestoreContext {
            members: &members,
            names: &ToolNames::default(),
            records: &CallRecords::new(),
            runs_code: true,
        };
        let restored = restore_conversation(messages, known);
        let lines = restored.messages.iter().map(|message| {
            let blocks = message.content.iter().map(|block| match &block.content {
                Content::Text(text) => text.clone(),
                Content::ToolUse { id, name, input } => format!("{name}({id}, {input})"),
                Content::ToolResult {
                    tool_use_id,
                    content,
                    is_error,
                } => {
                    let text = content[0].as_text().unwrap();
                    format!(
                        "{tool_use_id} -> {text}{}",
                        if *is_error { " (error)" } else { "" }
                    )
                }
                other => other.kind().to_owned(),
            });
            format!(
                "{:?}: {}",
                message.role,
                blocks.collect::<Vec<_>>().join(" | ")
            )
        });
        (lines.collect::<Vec<_>>().join("\n"), restored)
    }

    #[test]
    fn calls_and_results_become_turns() {
        let content = vec![
            Block::text("Let me see."),
            server_call(
                "1",
                "text_editor_code_execution",
                json!({"command": "view", "path": "/skills/forms/SKILL.md"}),
            ),
            server_result("1", "Do."),
            bash("2"),
            bash("3"),
            server_result("2", "two"),
            server_result("3", "three"),
            Block::text("Done."),
        ];
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, content),
            Message::user("thanks"),
        ];
        let (shown, restored) = render(messages);
        insta::assert_snapshot!(shown, @r#"
        User: go
        Assistant: Let me see. | load_skill(srvtoolu_pw1, {"name":"forms"})
        User: srvtoolu_pw1 -> Do.
        Assistant: bash_code_execution(srvtoolu_pw2, {"command":"ls"}) | bash_code_execution(srvtoolu_pw3, {"command":"ls"})
        User: srvtoolu_pw2 -> two | srvtoolu_pw3 -> three
        Assistant: Done.
        User: thanks
        "#);
        assert_eq!(restored.loaded_skills, ["forms"]);
        assert_eq!(restored.open_calls, []);
    }

    #[test]
    fn a_call_of_the_clients_in_the_same_turn_is_answered_with_ours() {
        let content = vec![
            bash("1"),
            Block::tool_use("toolu_1", "weather", json!({})),
            server_result("1", "one"),
        ];
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, content),
            Message::new(Role::User, vec![Block::tool_result("toolu_1", "rain")]),
        ];
        insta::assert_snapshot!(render(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"}) | weather(toolu_1, {})
        User: srvtoolu_pw1 -> one | toolu_1 -> rain
        "#);
    }

    #[test]
    fn results_stand_in_the_order_of_their_calls() {
        let content = vec![
            Block::tool_use("toolu_1", "weather", json!({})),
            bash("1"),
            server_result("1", "one"),
        ];
        let messages = vec![
            Message::new(Role::Assistant, content),
            Message::new(
                Role::User,
                vec![Block::tool_result("toolu_1", "rain"), Block::text("And?")],
            ),
        ];
        insta::assert_snapshot!(render(messages).0, @r#"
        Assistant: weather(toolu_1, {}) | bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        User: toolu_1 -> rain | srvtoolu_pw1 -> one | And?
        "#);
    }

    #[test]
    fn a_paused_conversation_ends_in_calls_to_be_run() {
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, vec![Block::text("Now"), bash("1")]),
        ];
        let (shown, restored) = render(messages);
        insta::assert_snapshot!(shown, @r#"
        User: go
        Assistant: Now | bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        "#);
        assert_eq!(restored.open_calls.len(), 1);
    }

    #[test]
    fn the_answer_to_a_paused_conversation_follows_it() {
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, vec![bash("1")]),
            Message::new(
                Role::Assistant,
                vec![server_result("1", "one"), Block::text("Done.")],
            ),
        ];
        insta::assert_snapshot!(render(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        User: srvtoolu_pw1 -> one
        Assistant: Done.
        "#);
    }

    #[test]
    fn a_call_that_was_never_answered_is_reported_as_lost() {
        let messages = vec![
            Message::new(Role::Assistant, vec![bash("1")]),
            Message::user("never mind"),
        ];
        insta::assert_snapshot!(render(messages).0, @r#"
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        User: srvtoolu_pw1 -> Error: not run, or its result was lost (error) | never mind
        "#);
    }

    fn native(name: &str) -> Block {
        Block::new(Content::ServerToolUse {
            id: "srvtoolu_01".to_owned(),
            name: name.to_owned(),
            input: json!({"command": "ls"}),
        })
    }

    #[test]
    fn calls_of_the_upstreams_own_servers_stay_as_they_are() {
        let theirs = native("web_search");
        let messages = vec![Message::new(Role::Assistant, vec![theirs])];
        let (_, restored) = render(messages.clone());
        assert_eq!(restored.messages, messages);
    }

    #[test]
    fn a_call_beside_one_of_the_clients_is_run_when_the_client_has_answered() {
        let weather = || Block::tool_use("toolu_1", "weather", json!({}));
        let rain = || Message::new(Role::User, vec![Block::tool_result("toolu_1", "rain")]);
        for ours in [bash("1"), native("bash_code_execution")] {
            let messages = vec![
                Message::user("go"),
                Message::new(Role::Assistant, vec![ours.clone(), weather()]),
                rain(),
            ];
            let (_, restored) = render(messages.clone());
            assert_eq!(restored.open_calls.len(), 1, "{ours:?}");
            assert_eq!(restored.open_calls[0].name, "bash_code_execution");
            let kinds = restored.messages[1].content.iter();
            let kinds: Vec<&str> = kinds.map(|block| block.content.kind()).collect();
            assert_eq!(kinds, ["tool_use", "tool_use"]);
            assert_eq!(restored.messages[2], rain());

            let more = [Message::new(Role::Assistant, vec![Block::text("So.")])];
            let gone_on = messages.into_iter().chain(more).collect();
            assert!(render(gone_on).1.open_calls.is_empty(), "{ours:?}");
        }
    }

    #[test]
    fn a_result_that_came_a_turn_later_stands_beside_the_clients() {
        let messages = vec![
            Message::user("go"),
            Message::new(
                Role::Assistant,
                vec![bash("1"), Block::tool_use("toolu_1", "weather", json!({}))],
            ),
            Message::new(Role::User, vec![Block::tool_result("toolu_1", "rain")]),
            Message::new(
                Role::Assistant,
                vec![server_result("1", "one"), Block::text("Done.")],
            ),
            Message::user("thanks"),
        ];
        insta::assert_snapshot!(render(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"}) | weather(toolu_1, {})
        User: srvtoolu_pw1 -> one | toolu_1 -> rain
        Assistant: Done.
        User: thanks
        "#);
    }

    #[test]
    fn a_tool_that_was_shown_as_a_command_is_found_again() {
        let input = json!({"command": "python3 x", "tool": "forms__fill", "arguments": {"a": 1}});
        let messages = vec![Message::new(
            Role::Assistant,
            vec![server_call("1", "bash_code_execution", input)],
        )];
        let (_, restored) = render(messages);
        assert_eq!(restored.open_calls[0].name, "forms__fill");
        assert_eq!(restored.open_calls[0].input, json!({"a": 1}));
    }
}
