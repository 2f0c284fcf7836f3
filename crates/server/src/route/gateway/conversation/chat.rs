//! Stores chat completions with `store: true`.
//!
//! OpenAI stores those of its own models itself; all others are stored here.

use std::collections::BTreeMap;
use std::fmt::{self, Write};
use std::time::Duration;

use prowess_provider::{ClientRequest, ModelTask, Route, Target};
use prowess_store::{NewChat, Store, TenantId};
use prowess_wire::neutral::{Delta, ResponseCollector, StreamEvent};
use prowess_wire::raw::Edit;
use prowess_wire::{ClientDialect, Dialect, ReplyContext, write_response};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AnswerRecorder, PreparedRequest, items};
use crate::app::App;
use crate::auth::Principal;
use crate::metadata;
use crate::route::gateway::clock::unix_now;
use crate::route::gateway::error::GatewayError;

/// Maximum bytes of a stored completion.
const MAX_COMPLETION_BYTES: usize = 16 << 20;

/// Stores a chat completion.
pub(crate) struct ChatRecorder {
    store: Store,
    tenant: TenantId,
    model: String,
    metadata: BTreeMap<String, String>,
    messages: String,
    expires_in: Duration,
    /// What was streamed so far; none once it cannot be stored.
    streamed: Option<ResponseCollector>,
    /// Bytes of it.
    bytes: usize,
    context: ReplyContext,
}

/// What is stored of a recorder with a kept run.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredChat {
    model: String,
    metadata: BTreeMap<String, String>,
    messages: String,
}

/// The request as sent to the model, and how its response is stored; none when it is not to be
/// stored, or OpenAI does it.
pub(super) fn prepare(
    app: &App,
    principal: &Principal,
    incoming: &ClientRequest<'_>,
    route: &Route,
) -> Result<Option<PreparedRequest>, GatewayError> {
    let raw = incoming.raw;
    let stores = incoming.task == ModelTask::Generate && raw.get("store") == Some("true");
    if !stores || route.targets().iter().any(Target::is_openai) {
        return Ok(None);
    }
    let notes: Option<Value> = raw
        .get("metadata")
        .and_then(|text| serde_json::from_str(text).ok());
    let recorder = ChatRecorder {
        store: app.store().clone(),
        tenant: principal.tenant.clone(),
        model: raw.get_str("model").unwrap_or_default(),
        metadata: metadata::parse(notes.as_ref())?,
        messages: raw.get("messages").unwrap_or("[]").to_owned(),
        expires_in: app.settings().response_retention,
        streamed: Some(ResponseCollector::new(Dialect::Chat)),
        bytes: 0,
        context: ReplyContext::default(),
    };
    let speaks = |target: &Target| target.supports_pass_through(incoming.client, incoming.task);
    let body = if route.targets().iter().any(speaks) {
        incoming.body.clone()
    } else {
        // Both are handled here; the model does not know them.
        raw.with_edits(&[Edit::Remove("store"), Edit::Remove("metadata")])
            .into()
    };
    Ok(Some((body, Some(AnswerRecorder::Chat(Box::new(recorder))))))
}

impl ChatRecorder {
    pub(super) fn to_stored(&self) -> StoredChat {
        StoredChat {
            model: self.model.clone(),
            metadata: self.metadata.clone(),
            messages: self.messages.clone(),
        }
    }

    pub(super) fn from_stored(
        store: Store,
        tenant: TenantId,
        stored: StoredChat,
        expires_in: Duration,
    ) -> Self {
        ChatRecorder {
            store,
            tenant,
            model: stored.model,
            metadata: stored.metadata,
            messages: stored.messages,
            expires_in,
            streamed: None,
            bytes: 0,
            context: ReplyContext::default(),
        }
    }

    pub(super) fn adjust(&mut self, context: &mut ReplyContext) {
        let id = items::new_id("chatcmpl");
        context.id = Some(id.replacen("chatcmpl_", "chatcmpl-", 1));
        self.context = context.clone();
    }

    /// Records an event of a streamed response.
    pub(super) fn on_event(&mut self, event: StreamEvent) {
        let Some(streamed) = &mut self.streamed else {
            return;
        };
        self.bytes = self.bytes.saturating_add(event_size(&event));
        if self.bytes > MAX_COMPLETION_BYTES {
            tracing::warn!("chat completion too long to store");
            self.streamed = None;
        } else if streamed.push(event).is_err() {
            self.streamed = None;
        }
    }

    /// The streamed response, once it completed.
    pub(super) fn take_streamed(&mut self) -> Option<Value> {
        let whole = self.streamed.take()?.finish().ok()?;
        let (mut body, _) = write_response(ClientDialect::Chat, &whole, &self.context);
        if let (None, Some(body)) = (&self.context.id, body.as_object_mut()) {
            // A response that passes unchanged has the upstream's id.
            body.insert("id".to_owned(), whole.id.into());
        }
        Some(body)
    }

    /// The response passes unchanged.
    pub(super) fn start_passthrough(&mut self) {
        self.context.created = unix_now();
    }

    pub(super) async fn save(self, completion: &Value) {
        let Some(id) = completion.get("id").and_then(Value::as_str) else {
            tracing::warn!("cannot store a chat completion without an id");
            return;
        };
        let text = completion.to_string();
        if text.len() > MAX_COMPLETION_BYTES {
            tracing::warn!(id, "chat completion too long to store");
            return;
        }
        let new = NewChat {
            id,
            model: &self.model,
            metadata: &self.metadata,
            messages: &self.messages,
            completion: &text,
            expires_in: self.expires_in,
        };
        if let Err(error) = self.store.save_chat(&self.tenant, &new).await {
            tracing::warn!(id, %error, "cannot store a chat completion");
        }
    }
}

/// Approximate bytes that an event adds.
fn event_size(event: &StreamEvent) -> usize {
    match event {
        StreamEvent::BlockDelta { delta, .. } => match delta {
            Delta::Text(text)
            | Delta::InputJson(text)
            | Delta::Thinking(text)
            | Delta::Signature(text) => text.len(),
            Delta::Other(fields) | Delta::Rest(fields) => debug_size(fields),
        },
        StreamEvent::BlockStart { block, .. } => debug_size(block),
        StreamEvent::MessageStart { rest, .. } | StreamEvent::MessageDelta { rest, .. } => {
            debug_size(rest)
        }
        StreamEvent::BlockStop { .. }
        | StreamEvent::BlockAbandoned { .. }
        | StreamEvent::MessageStop
        | StreamEvent::Ping
        | StreamEvent::Error(_)
        | StreamEvent::Other { .. } => 0,
    }
}

/// Counts the bytes written to it.
struct CountingWriter(usize);

impl Write for CountingWriter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 = self.0.saturating_add(text.len());
        Ok(())
    }
}

fn debug_size(value: &impl fmt::Debug) -> usize {
    let mut count = CountingWriter(0);
    // Counting cannot fail.
    let _ = write!(count, "{value:?}");
    count.0
}
