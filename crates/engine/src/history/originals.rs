//! Calls and results as the model saw them, stored where the client received less. A
//! conversation that comes back is then the same to the byte, and prompt caches still match.

use std::collections::HashMap;
use std::time::Duration;

use prowess_store::{Store, TenantId};
use prowess_wire::neutral::{
    Block, Content, Message, conversation_from_json, conversation_to_json,
};
use serde_json::{Value, json};

use crate::client_features::{ClientFeatures, ServerCallDetail};
use crate::error::RunError;
use crate::history::text::result_text;
use crate::ids;

/// Calls by their ids.
pub(crate) type CallRecords = HashMap<String, CallRecord>;

/// A call and its result, as the model saw them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallRecord {
    pub(crate) call: Block,
    pub(crate) result: Block,
    /// The result that the client received. A client that sends another text back has
    /// changed it, and that text counts.
    client_text: Option<String>,
}

impl CallRecord {
    /// Whether a result that a client sends back is the one it received.
    pub(crate) fn matches_result(&self, content: &Value) -> bool {
        self.client_text
            .as_ref()
            .is_none_or(|client_text| *client_text == result_text(content).0)
    }
}

/// A record as it is stored. The key `told` is part of the stored format.
pub(crate) fn to_stored(turns: &[Message], client_text: Option<String>) -> String {
    json!({"turns": conversation_to_json(turns), "told": client_text}).to_string()
}

/// Stores records by call.
pub(crate) async fn save(
    store: &Store,
    tenant: &TenantId,
    records: &[(String, String)],
    retention: Duration,
) -> Result<(), RunError> {
    let rows = records.iter();
    let rows: Vec<_> = rows
        .map(|(id, text)| (id.as_str(), text.as_str()))
        .collect();
    Ok(store.save_hidden_turns(tenant, &rows, retention).await?)
}

/// The stored records of Prowess's calls in a conversation.
pub(crate) async fn load(
    store: &Store,
    tenant: &TenantId,
    features: &ClientFeatures,
    messages: &[Message],
) -> Result<CallRecords, RunError> {
    if features.server_calls == ServerCallDetail::Hidden {
        return Ok(CallRecords::new());
    }
    let blocks = messages.iter().flat_map(|message| &message.content);
    let calls = blocks.filter_map(|block| match &block.content {
        Content::ServerToolUse { id, .. } if ids::is_server_call(id) => Some(id.as_str()),
        _ => None,
    });
    let calls: Vec<&str> = calls.collect();
    let stored = store.hidden_turns_by_call(tenant, &calls).await?;
    let records = stored
        .into_iter()
        .filter_map(|(id, text)| Some((id, parse_record(&text)?)));
    Ok(records.collect())
}

fn parse_record(text: &str) -> Option<CallRecord> {
    let mut stored: Value = serde_json::from_str(text).ok()?;
    let turns = conversation_from_json(stored.get_mut("turns")?.take()).ok()?;
    let mut blocks = turns.into_iter().flat_map(|turn| turn.content);
    Some(CallRecord {
        call: blocks.next()?,
        result: blocks.next()?,
        client_text: stored.get("told")?.as_str().map(str::to_owned),
    })
}
