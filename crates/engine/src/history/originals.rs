//! Calls and results as the model saw them, where what the client is told of them says
//! less. A conversation that comes back is then the one the model knows, to the byte,
//! and its prompt cache holds.

use std::collections::HashMap;
use std::time::Duration;

use prowess_store::{Store, TenantId};
use prowess_toolbox::Member;
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{
    Block, Content, Message, Role, conversation_from_json, conversation_to_json,
};
use serde_json::{Value, json};

use crate::error::RunError;
use crate::ids;
use crate::restore::{RestoreContext, ToolCall, restore_conversation};
use crate::result_text::result_text;
use crate::run_tools::ToolNames;

/// Calls that were seen, by their ids.
pub(crate) type CallRecords = HashMap<String, CallRecord>;

/// A call and its result, as the model saw them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallRecord {
    pub(crate) call: Block,
    pub(crate) result: Block,
    /// What the client was told of the result. Whoever tells it otherwise is believed.
    client_text: Option<String>,
}

impl CallRecord {
    /// Whether a result that a client brings back is the one it was told.
    pub(crate) fn matches_result(&self, content: &Value) -> bool {
        self.client_text
            .as_ref()
            .is_none_or(|client_text| *client_text == result_text(content).0)
    }
}

/// A call of ours and what was told of it, to be kept if that says less.
pub(crate) struct ClientView<'a> {
    pub(crate) client: ClientDialect,
    pub(crate) call: &'a ToolCall,
    /// The tool and the input that the client was told.
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    /// The content that it was told.
    pub(crate) content: &'a Value,
    /// The result that the model reads.
    pub(crate) result: &'a Block,
}

impl ClientView<'_> {
    /// The call's id and what to keep of it; nothing when the client's dialect carries
    /// all of it, or keeps nothing that could come back.
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
        let client_text = match self.client {
            // It is kept with the calls of the client's.
            ClientDialect::Chat => return None,
            ClientDialect::Messages if self.reads_back(&turns, members, names) => return None,
            ClientDialect::Messages => Some(result_text(self.content).0),
            // What they say is too little for what comes back to be compared.
            ClientDialect::Responses | ClientDialect::Gemini => None,
        };
        let kept = json!({"turns": conversation_to_json(&turns), "told": client_text});
        Some((self.call.id.clone(), kept.to_string()))
    }

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

/// Keeps what was not said.
pub(crate) async fn save(
    store: &Store,
    tenant: &TenantId,
    records: &[(String, String)],
    time: Duration,
) -> Result<(), RunError> {
    let rows = records.iter();
    let rows: Vec<_> = rows
        .map(|(id, text)| (id.as_str(), text.as_str()))
        .collect();
    Ok(store.save_hidden_turns(tenant, &rows, time).await?)
}

/// What is kept of the calls of ours in a conversation.
pub(crate) async fn load(
    store: &Store,
    tenant: &TenantId,
    client: ClientDialect,
    messages: &[Message],
) -> Result<CallRecords, RunError> {
    if client == ClientDialect::Chat {
        return Ok(CallRecords::new());
    }
    let blocks = messages.iter().flat_map(|message| &message.content);
    let calls = blocks.filter_map(|block| match &block.content {
        Content::ServerToolUse { id, .. } if ids::is_server_call(id) => Some(id.as_str()),
        _ => None,
    });
    let calls: Vec<&str> = calls.collect();
    let kept = store.hidden_turns_by_call(tenant, &calls).await?;
    let records = kept
        .into_iter()
        .filter_map(|(id, text)| Some((id, parse_record(&text)?)));
    Ok(records.collect())
}

fn parse_record(text: &str) -> Option<CallRecord> {
    let mut kept: Value = serde_json::from_str(text).ok()?;
    let turns = conversation_from_json(kept.get_mut("turns")?.take()).ok()?;
    let mut blocks = turns.into_iter().flat_map(|turn| turn.content);
    Some(CallRecord {
        call: blocks.next()?,
        result: blocks.next()?,
        client_text: kept.get("told")?.as_str().map(str::to_owned),
    })
}
