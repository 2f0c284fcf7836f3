//! A conversation that comes back: what an earlier run told as a server's calls and
//! results is, for any model, ordinary calls and results of our tools.
//!
//! Blocks of the upstream's own servers are left alone: ids tell them apart.

use prowess_toolbox::{Member, folder_of};
use prowess_wire::neutral::{Block, Content, Message, Role};
use serde_json::{Value, json};

use crate::ids;
use crate::offer::Names;
use crate::result_text::result_text;
use crate::seen::Seen;
use crate::{results, tell};

/// A call of one of our tools.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its arguments: an object, or text when the model wrote no valid JSON.
    pub(crate) input: Value,
    /// Whether the client has been told of it.
    pub(crate) told: bool,
}

/// A conversation as a model may be told it.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Restored {
    pub(crate) messages: Vec<Message>,
    /// Calls it ends in that nobody has answered: a paused run goes on with them.
    pub(crate) open: Vec<Call>,
    /// Skills that were loaded, in order.
    pub(crate) loaded: Vec<String>,
}

/// What is known to those who restore a conversation.
#[derive(Clone, Copy)]
pub(crate) struct Known<'a> {
    pub(crate) members: &'a [Member],
    pub(crate) names: &'a Names,
    pub(crate) seen: &'a Seen,
    /// Whether code that another vendor's server was to run is run here.
    pub(crate) runs_code: bool,
}

/// Restores a conversation.
pub(crate) fn restore(messages: Vec<Message>, known: Known<'_>) -> Restored {
    let Known {
        members,
        names,
        seen,
        runs_code,
    } = known;
    let blocks = messages.iter().flat_map(|message| &message.content);
    let answered = blocks.filter_map(|block| match &block.content {
        Content::ServerToolResult { tool_use_id, .. } => Some(tool_use_id.clone()),
        _ => None,
    });
    let mut unroller = Unroller {
        answered: answered.collect(),
        members,
        names,
        seen,
        runs_code,
        pending: Vec::new(),
        turns: results::Turns::default(),
        done: Restored::default(),
    };
    let resumed = resumed(&messages);
    for (at, message) in messages.into_iter().enumerate() {
        match message.role {
            Role::Assistant => unroller.assistant(message, Some(at) == resumed),
            Role::User => unroller.user(message),
            Role::System => {
                unroller.settle();
                unroller.done.messages.push(message);
            }
        }
    }
    unroller.settle();
    unroller.turns.order(&mut unroller.done.messages);
    unroller.done
}

/// The message whose open calls are to be run: the last of a paused run, or the one whose
/// calls of the client's tools have just been answered. Of any other the conversation
/// has gone on without them.
fn resumed(messages: &[Message]) -> Option<usize> {
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
    let mut told = after.iter().flat_map(|message| &message.content);
    let answers = told.any(|block| match &block.content {
        Content::ToolResult { tool_use_id, .. } => is_call(tool_use_id),
        _ => false,
    });
    let is_told = after.iter().all(|message| message.role == Role::User);
    (answers && is_told).then_some(at)
}

struct Unroller<'a> {
    answered: Vec<String>,
    members: &'a [Member],
    names: &'a Names,
    seen: &'a Seen,
    runs_code: bool,
    /// Results that belong into the next message of the user.
    pending: Vec<Block>,
    turns: results::Turns,
    done: Restored,
}

impl Unroller<'_> {
    fn assistant(&mut self, message: Message, is_resumed: bool) {
        let mut said = Vec::new();
        for block in message.content {
            match block.content {
                Content::ServerToolUse { id, name, input }
                    if ids::is_server_call(&id) || (is_resumed && self.takes_over(&id, &name)) =>
                {
                    self.flush(&mut said);
                    let call = self.seen_call(&id);
                    let call = call.unwrap_or_else(|| self.call(id, &name, input));
                    said.push(Block {
                        cache_control: block.cache_control,
                        client_path: block.client_path,
                        ..Block::tool_use(&call.id, &call.name, call.input.clone())
                    });
                    self.note(call, is_resumed);
                }
                Content::ServerToolResult {
                    tool_use_id,
                    content,
                    ..
                } if ids::is_server_call(&tool_use_id) => {
                    let result = Block {
                        cache_control: block.cache_control,
                        client_path: block.client_path,
                        ..self.result(tool_use_id, &content)
                    };
                    // Its call may have been told beside one of the client's, a turn ago.
                    let late = self.turns.insert(&mut self.done.messages, result);
                    self.pending.extend(late);
                }
                _ => {
                    self.flush(&mut said);
                    said.push(tell::uncited(block));
                }
            }
        }
        self.said(&mut said);
    }

    /// What follows a result is a new turn: the one before, and its results, end here.
    fn flush(&mut self, said: &mut Vec<Block>) {
        let answered = self.pending.iter().any(is_result);
        if answered {
            self.said(said);
            self.settle();
        }
    }

    fn said(&mut self, said: &mut Vec<Block>) {
        if !said.is_empty() {
            let message = Message::new(Role::Assistant, std::mem::take(said));
            self.done.messages.push(message);
        }
    }

    fn user(&mut self, mut message: Message) {
        let mut content = std::mem::take(&mut self.pending);
        content.append(&mut message.content);
        message.content = content;
        self.done.messages.push(message);
        results::order(&mut self.done.messages);
    }

    fn settle(&mut self) {
        if !self.pending.is_empty() {
            let results = std::mem::take(&mut self.pending);
            self.done.messages.push(Message::new(Role::User, results));
        }
    }

    /// Remembers what a call means for what comes.
    fn note(&mut self, call: Call, is_resumed: bool) {
        if self.answered.contains(&call.id) {
            if call.name == self.names.load && call.input.get("path").is_none() {
                let name = call.input.get("name").and_then(Value::as_str);
                self.done.loaded.extend(name.map(str::to_owned));
            }
            return;
        }
        if is_resumed {
            self.done.open.push(call);
        } else {
            self.pending.push(Block::new(Content::ToolResult {
                tool_use_id: call.id,
                content: vec![Block::text("Error: it was not run, or its result was lost")],
                is_error: true,
            }));
        }
    }

    /// Whether a call that another vendor's server was to run is run here instead.
    fn takes_over(&self, id: &str, name: &str) -> bool {
        let open = !self.answered.iter().any(|answered| answered == id);
        let is_code = ["bash_code_execution", "text_editor_code_execution"].contains(&name);
        self.runs_code && open && is_code
    }

    /// The call as the model made it, if that is known.
    fn seen_call(&self, id: &str) -> Option<Call> {
        match &self.seen.get(id)?.call.content {
            Content::ToolUse { id, name, input } => Some(Call {
                id: id.clone(),
                name: name.clone(),
                input: input.clone(),
                told: true,
            }),
            _ => None,
        }
    }

    /// The result as the model saw it, if that is known, else as what was told of it.
    fn result(&self, id: String, content: &Value) -> Block {
        if let Some(pair) = self.seen.get(&id).filter(|pair| pair.is_of(content)) {
            return pair.result.clone();
        }
        let (text, is_error) = result_text(content);
        Block::new(Content::ToolResult {
            tool_use_id: id,
            content: vec![Block::text(text)],
            is_error,
        })
    }

    /// The call that was told as one of the server's.
    fn call(&self, id: String, name: &str, input: Value) -> Call {
        let call = |name: &str, input| Call {
            id: id.clone(),
            name: name.to_owned(),
            input,
            told: true,
        };
        let text = |key: &str| input.get(key).and_then(Value::as_str);
        if let (Some(tool), Some(arguments)) = (text("tool"), input.get("arguments")) {
            return call(tool, arguments.clone());
        }
        let viewed = match (text("command"), text("path")) {
            (Some("view"), path) => path,
            // As Responses clients were told.
            (Some(command), None) => command.strip_prefix("cat "),
            _ => None,
        };
        if let Some(arguments) = viewed.and_then(|path| self.loading(path)) {
            return call(&self.names.load, arguments);
        }
        match name {
            "bash_code_execution" => call(&self.names.bash, input),
            "text_editor_code_execution" => call(&self.names.editor, input),
            other => call(other, input),
        }
    }

    /// The arguments that load the file of a skill at this path.
    fn loading(&self, path: &str) -> Option<Value> {
        let (folder, file) = path.strip_prefix("/skills/")?.split_once('/')?;
        let mut members = self.members.iter().map(|member| &member.skill);
        let skill = members.find(|skill| folder_of(&skill.name) == folder)?;
        Some(match file == skill.bundle.skill_file().as_str() {
            true => json!({"name": skill.name}),
            false => json!({"name": skill.name, "path": file}),
        })
    }
}

fn is_result(block: &Block) -> bool {
    matches!(&block.content, Content::ToolResult { .. })
}

#[cfg(test)]
mod tests {
    use prowess_skill::{Options, Skill};

    use super::*;

    fn used(id: &str, name: &str, input: Value) -> Block {
        Block::new(Content::ServerToolUse {
            id: format!("srvtoolu_pw{id}"),
            name: name.to_owned(),
            input,
        })
    }

    fn gave(id: &str, stdout: &str) -> Block {
        Block::new(Content::ServerToolResult {
            kind: "bash_code_execution_tool_result".to_owned(),
            tool_use_id: format!("srvtoolu_pw{id}"),
            content: json!({"type": "bash_code_execution_result", "stdout": stdout,
                "stderr": "", "return_code": 0, "content": []}),
        })
    }

    fn bash(id: &str) -> Block {
        used(id, "bash_code_execution", json!({"command": "ls"}))
    }

    fn shown(messages: Vec<Message>) -> (String, Restored) {
        let text = "---\nname: forms\ndescription: Fills forms.\n---\nDo.\n";
        let skill = Skill::from_text(text, &Options::default()).skill.unwrap();
        let members = [Member::from(skill)];
        let known = Known {
            members: &members,
            names: &Names::default(),
            seen: &Seen::new(),
            runs_code: true,
        };
        let restored = restore(messages, known);
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
        let said = vec![
            Block::text("Let me see."),
            used(
                "1",
                "text_editor_code_execution",
                json!({"command": "view", "path": "/skills/forms/SKILL.md"}),
            ),
            gave("1", "Do."),
            bash("2"),
            bash("3"),
            gave("2", "two"),
            gave("3", "three"),
            Block::text("Done."),
        ];
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, said),
            Message::user("thanks"),
        ];
        let (shown, restored) = shown(messages);
        insta::assert_snapshot!(shown, @r#"
        User: go
        Assistant: Let me see. | load_skill(srvtoolu_pw1, {"name":"forms"})
        User: srvtoolu_pw1 -> Do.
        Assistant: bash_code_execution(srvtoolu_pw2, {"command":"ls"}) | bash_code_execution(srvtoolu_pw3, {"command":"ls"})
        User: srvtoolu_pw2 -> two | srvtoolu_pw3 -> three
        Assistant: Done.
        User: thanks
        "#);
        assert_eq!(restored.loaded, ["forms"]);
        assert_eq!(restored.open, []);
    }

    #[test]
    fn a_call_of_the_clients_in_the_same_turn_is_answered_with_ours() {
        let said = vec![
            bash("1"),
            Block::tool_use("toolu_1", "weather", json!({})),
            gave("1", "one"),
        ];
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, said),
            Message::new(Role::User, vec![Block::tool_result("toolu_1", "rain")]),
        ];
        insta::assert_snapshot!(shown(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"}) | weather(toolu_1, {})
        User: srvtoolu_pw1 -> one | toolu_1 -> rain
        "#);
    }

    #[test]
    fn results_stand_in_the_order_of_their_calls() {
        let said = vec![
            Block::tool_use("toolu_1", "weather", json!({})),
            bash("1"),
            gave("1", "one"),
        ];
        let messages = vec![
            Message::new(Role::Assistant, said),
            Message::new(
                Role::User,
                vec![Block::tool_result("toolu_1", "rain"), Block::text("And?")],
            ),
        ];
        insta::assert_snapshot!(shown(messages).0, @r#"
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
        let (shown, restored) = shown(messages);
        insta::assert_snapshot!(shown, @r#"
        User: go
        Assistant: Now | bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        "#);
        assert_eq!(restored.open.len(), 1);
    }

    #[test]
    fn the_answer_to_a_paused_conversation_follows_it() {
        let messages = vec![
            Message::user("go"),
            Message::new(Role::Assistant, vec![bash("1")]),
            Message::new(
                Role::Assistant,
                vec![gave("1", "one"), Block::text("Done.")],
            ),
        ];
        insta::assert_snapshot!(shown(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        User: srvtoolu_pw1 -> one
        Assistant: Done.
        "#);
    }

    #[test]
    fn a_call_that_was_never_answered_is_said_to_be_lost() {
        let messages = vec![
            Message::new(Role::Assistant, vec![bash("1")]),
            Message::user("never mind"),
        ];
        insta::assert_snapshot!(shown(messages).0, @r#"
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"})
        User: srvtoolu_pw1 -> Error: it was not run, or its result was lost (error) | never mind
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
        let (_, restored) = shown(messages.clone());
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
            let (_, restored) = shown(messages.clone());
            assert_eq!(restored.open.len(), 1, "{ours:?}");
            assert_eq!(restored.open[0].name, "bash_code_execution");
            let kinds = restored.messages[1].content.iter();
            let kinds: Vec<&str> = kinds.map(|block| block.content.kind()).collect();
            assert_eq!(kinds, ["tool_use", "tool_use"]);
            assert_eq!(restored.messages[2], rain());

            let more = [Message::new(Role::Assistant, vec![Block::text("So.")])];
            let gone_on = messages.into_iter().chain(more).collect();
            assert!(shown(gone_on).1.open.is_empty(), "{ours:?}");
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
                vec![gave("1", "one"), Block::text("Done.")],
            ),
            Message::user("thanks"),
        ];
        insta::assert_snapshot!(shown(messages).0, @r#"
        User: go
        Assistant: bash_code_execution(srvtoolu_pw1, {"command":"ls"}) | weather(toolu_1, {})
        User: srvtoolu_pw1 -> one | toolu_1 -> rain
        Assistant: Done.
        User: thanks
        "#);
    }

    #[test]
    fn a_tool_that_was_told_as_a_command_is_found_again() {
        let input = json!({"command": "python3 x", "tool": "forms__fill", "arguments": {"a": 1}});
        let messages = vec![Message::new(
            Role::Assistant,
            vec![used("1", "bash_code_execution", input)],
        )];
        let (_, restored) = shown(messages);
        assert_eq!(restored.open[0].name, "forms__fill");
        assert_eq!(restored.open[0].input, json!({"a": 1}));
    }
}
