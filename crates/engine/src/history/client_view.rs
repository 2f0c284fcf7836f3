//! What a client receives of a call, and whether the original must be stored besides.

use prowess_toolbox::Member;
use prowess_wire::neutral::{Block, Content, Message, Role};
use serde_json::Value;

use crate::client_features::ServerCallDetail;
use crate::history::originals::{self, CallRecords};
use crate::history::restore::{RestoreContext, restore_conversation};
use crate::history::text::result_text;
use crate::tool_call::{ToolCall, ToolNames};

/// A call, and what the client received of it.
pub(crate) struct ClientView<'a> {
    pub(crate) server_calls: ServerCallDetail,
    pub(crate) call: &'a ToolCall,
    /// The tool and the input that the client received.
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    /// The content of the result that it received.
    pub(crate) content: &'a Value,
    /// The result that the model reads.
    pub(crate) result: &'a Block,
}

impl ClientView<'_> {
    /// The call's id and what to store of it; none when the client's dialect carries all of
    /// it, or nothing that could come back.
    pub(crate) fn to_record(
        &self,
        members: &[Member],
        names: &ToolNames,
    ) -> Option<(String, String)> {
        let call = Block::tool_use(&self.call.id, &self.call.name, self.call.input.clone());
        let turns = [
            Message::new(Role::Assistant, vec![call]),
            Message::new(Role::User, vec![self.result.clone()]),
        ];
        let client_text = match self.server_calls {
            // Its turns are stored under the calls of the client's own tools.
            ServerCallDetail::Hidden => return None,
            ServerCallDetail::Native if self.reads_back(&turns, members, names) => return None,
            ServerCallDetail::Native => Some(result_text(self.content).0),
            ServerCallDetail::Reduced => None,
        };
        let stored = originals::to_stored(&turns, client_text);
        Some((self.call.id.clone(), stored))
    }

    /// Whether what the client received is restored to exactly these turns.
    fn reads_back(&self, turns: &[Message], members: &[Member], names: &ToolNames) -> bool {
        let content = vec![
            Block::new(Content::ServerToolUse {
                id: self.call.id.clone(),
                name: self.tool.to_owned(),
                input: self.input.clone(),
            }),
            Block::new(Content::ServerToolResult {
                kind: format!("{}_tool_result", self.tool),
                tool_use_id: self.call.id.clone(),
                content: self.content.clone(),
            }),
        ];
        let messages = vec![Message::new(Role::Assistant, content)];
        let records = CallRecords::new();
        let context = RestoreContext {
            members,
            names,
            records: &records,
            runs_code: false,
        };
        restore_conversation(messages, context).messages == turns
    }
}
