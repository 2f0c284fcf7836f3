//! Turns of a run that is suspended until the client answers a call of its own tools. Chat
//! Completions cannot carry them, and Gemini's clients send back only a part. They are stored
//! under the call's id, and restored when the client sends the result.

use std::time::Duration;

use prowess_store::{Store, TenantId};
use prowess_wire::neutral::{Content, Message, Role, conversation_from_json, conversation_to_json};

use crate::error::RunError;
use crate::history::tool_results::sort_last_results;
use crate::ids;

/// Stores the turns of a run under the calls that its client is to answer.
pub(crate) async fn save(
    store: &Store,
    tenant: &TenantId,
    calls: &[String],
    turns: &[Message],
    retention: Duration,
) -> Result<(), RunError> {
    let text = conversation_to_json(turns).to_string();
    let rows = calls.iter().map(|call| (call.as_str(), text.as_str()));
    let rows: Vec<_> = rows.collect();
    Ok(store.save_hidden_turns(tenant, &rows, retention).await?)
}

/// Restores stored turns. Turns that have expired stay as the client sends them.
pub(crate) async fn restore(
    store: &Store,
    tenant: &TenantId,
    messages: Vec<Message>,
) -> Result<Vec<Message>, RunError> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    // Whether the last message has only Prowess's results, and the client's follow.
    let mut open = false;
    for mut message in messages {
        if let Some(turns) = load(store, tenant, &message).await? {
            open = turns.last().is_some_and(|turn| turn.role == Role::User);
            out.extend(turns);
            continue;
        }
        match out.last_mut() {
            Some(results) if open && message.role == Role::User => {
                results.content.append(&mut message.content);
                sort_last_results(&mut out);
            }
            _ => out.push(message),
        }
        open = false;
    }
    Ok(out)
}

async fn load(
    store: &Store,
    tenant: &TenantId,
    message: &Message,
) -> Result<Option<Vec<Message>>, RunError> {
    let mut calls = message
        .content
        .iter()
        .filter_map(|block| match &block.content {
            Content::ToolUse { id, .. } if ids::is_chat_call(id) => Some(id),
            _ => None,
        });
    let Some(call) = calls.next() else {
        return Ok(None);
    };
    let Some(text) = store.hidden_turns(tenant, call).await? else {
        tracing::debug!(call, "the stored turns before this call have expired");
        return Ok(None);
    };
    let turns = serde_json::from_str(&text).ok().map(conversation_from_json);
    match turns {
        Some(Ok(turns)) => Ok(Some(turns)),
        _ => Ok(None),
    }
}
