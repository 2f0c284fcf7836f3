//! Turns that Chat Completions cannot carry, and of which clients of Gemini's API bring
//! back only a part. A client that is to call a tool of its own sees that call; the turns
//! that led there are kept under its id, and put back when the client answers.

use std::time::Duration;

use prowess_store::{Store, TenantId};
use prowess_wire::ClientDialect;
use prowess_wire::neutral::{Content, Message, Role, conversation_from_json, conversation_to_json};

use crate::error::RunError;
use crate::{ids, tool_results};

/// Whether turns are kept for clients of this dialect, under ids of ours.
pub(crate) fn hides_turns(client: ClientDialect) -> bool {
    matches!(client, ClientDialect::Chat | ClientDialect::Gemini)
}

/// Keeps the turns of a run under the calls that its client is to answer.
pub(crate) async fn save(
    store: &Store,
    tenant: &TenantId,
    calls: &[String],
    turns: &[Message],
    time: Duration,
) -> Result<(), RunError> {
    let text = conversation_to_json(turns).to_string();
    let rows = calls.iter().map(|call| (call.as_str(), text.as_str()));
    let rows: Vec<_> = rows.collect();
    Ok(store.save_hidden_turns(tenant, &rows, time).await?)
}

/// Puts back what was kept. Turns whose time is over stay as the client tells them.
pub(crate) async fn restore(
    store: &Store,
    tenant: &TenantId,
    messages: Vec<Message>,
) -> Result<Vec<Message>, RunError> {
    let mut out: Vec<Message> = Vec::with_capacity(messages.len());
    // Whether the last message is of our results alone, and the client's follow.
    let mut open = false;
    for mut message in messages {
        if let Some(turns) = load(store, tenant, &message).await? {
            open = turns.last().is_some_and(|turn| turn.role == Role::User);
            out.extend(turns);
            continue;
        }
        match out.last_mut() {
            Some(ours) if open && message.role == Role::User => {
                ours.content.append(&mut message.content);
                tool_results::sort_last_results(&mut out);
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
        tracing::debug!(call, "the turns before this call are gone");
        return Ok(None);
    };
    let turns = serde_json::from_str(&text).ok().map(conversation_from_json);
    match turns {
        Some(Ok(turns)) => Ok(Some(turns)),
        _ => Ok(None),
    }
}
