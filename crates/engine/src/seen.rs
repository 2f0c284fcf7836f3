//! Calls and results as the model saw them, where what the client is told of them says
//! less. A conversation that comes back is then the one the model knows, to the byte,
//! and its prompt cache holds.

use std::collections::HashMap;
use std::time::Duration;

use prowess_store::{Store, TenantId};
use prowess_toolbox::Member;
use prowess_wire::Client;
use prowess_wire::neutral::{Block, Content, Message, Role, read_kept, write_kept};
use serde_json::{Value, json};

use crate::error::RunError;
use crate::ids;
use crate::offer::Names;
use crate::restore::{Call, Known, restore};
use crate::result_text::result_text;

/// Calls that were seen, by their ids.
pub(crate) type Seen = HashMap<String, Pair>;

/// A call and its result, as the model saw them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Pair {
    pub(crate) call: Block,
    pub(crate) result: Block,
    /// What the client was told of the result. Whoever tells it otherwise is believed.
    told: Option<String>,
}

impl Pair {
    /// Whether a result that a client brings back is the one it was told.
    pub(crate) fn is_of(&self, content: &Value) -> bool {
        self.told
            .as_ref()
            .is_none_or(|told| *told == result_text(content).0)
    }
}

/// A call of ours and what was told of it, to be kept if that says less.
pub(crate) struct Told<'a> {
    pub(crate) client: Client,
    pub(crate) call: &'a Call,
    /// The tool and the input that the client was told.
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    /// The content that it was told.
    pub(crate) content: &'a Value,
    /// The result that the model reads.
    pub(crate) result: &'a Block,
}

impl Told<'_> {
    /// The call's id and what to keep of it; nothing when the client's dialect carries
    /// all of it, or keeps nothing that could come back.
    pub(crate) fn unsaid(&self, members: &[Member], names: &Names) -> Option<(String, String)> {
        let call = Block::tool_use(&self.call.id, &self.call.name, self.call.input.clone());
        let turns = [
            Message::new(Role::Assistant, vec![call]),
            Message::new(Role::User, vec![self.result.clone()]),
        ];
        let told = match self.client {
            // It is kept with the calls of the client's.
            Client::Chat => return None,
            Client::Messages if self.reads_back(&turns, members, names) => return None,
            Client::Messages => Some(result_text(self.content).0),
            // What they say is too little for what comes back to be compared.
            Client::Responses | Client::Gemini => None,
        };
        let kept = json!({"turns": write_kept(&turns), "told": told});
        Some((self.call.id.clone(), kept.to_string()))
    }

    fn reads_back(&self, turns: &[Message], members: &[Member], names: &Names) -> bool {
        let told = vec![
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
        let told = vec![Message::new(Role::Assistant, told)];
        let seen = Seen::new();
        let known = Known {
            members,
            names,
            seen: &seen,
            runs_code: false,
        };
        restore(told, known).messages == turns
    }
}

/// Keeps what was not said.
pub(crate) async fn keep(
    store: &Store,
    tenant: &TenantId,
    unsaid: &[(String, String)],
    time: Duration,
) -> Result<(), RunError> {
    let rows = unsaid.iter();
    let rows: Vec<_> = rows
        .map(|(id, text)| (id.as_str(), text.as_str()))
        .collect();
    Ok(store.keep_turns(tenant, &rows, time).await?)
}

/// What is kept of the calls of ours in a conversation.
pub(crate) async fn find(
    store: &Store,
    tenant: &TenantId,
    client: Client,
    messages: &[Message],
) -> Result<Seen, RunError> {
    if client == Client::Chat {
        return Ok(Seen::new());
    }
    let blocks = messages.iter().flat_map(|message| &message.content);
    let calls = blocks.filter_map(|block| match &block.content {
        Content::ServerToolUse { id, .. } if ids::is_server_call(id) => Some(id.as_str()),
        _ => None,
    });
    let calls: Vec<&str> = calls.collect();
    let kept = store.kept_turns_of(tenant, &calls).await?;
    let read = kept
        .into_iter()
        .filter_map(|(id, text)| Some((id, read(&text)?)));
    Ok(read.collect())
}

fn read(text: &str) -> Option<Pair> {
    let mut kept: Value = serde_json::from_str(text).ok()?;
    let turns = read_kept(kept.get_mut("turns")?.take()).ok()?;
    let mut blocks = turns.into_iter().flat_map(|turn| turn.content);
    Some(Pair {
        call: blocks.next()?,
        result: blocks.next()?,
        told: kept.get("told")?.as_str().map(str::to_owned),
    })
}
