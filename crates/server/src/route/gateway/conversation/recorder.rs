//! Stores a response.

use std::time::Duration;

use prowess_store::{Error as StoreError, NewItem, NewResponse, Store, TenantId};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ReplyContext, StreamWriter};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::chat::{ChatRecorder, StoredChat};
use super::{InputShift, MAX_HISTORY_BYTES, items};
use crate::app::App;

/// Items of a response that can be referenced.
const MAX_RESPONSE_ITEMS: usize = 10_000;

/// How a response is stored.
pub(crate) enum AnswerRecorder {
    Response(Box<ResponseRecorder>),
    Chat(Box<ChatRecorder>),
}

/// Stores a response, or appends it to a conversation.
pub(crate) struct ResponseRecorder {
    pub(super) store: Store,
    pub(super) tenant: TenantId,
    pub(super) previous: Option<String>,
    /// The conversation that it is appended to.
    pub(super) conversation: Option<String>,
    /// The input that is appended before it.
    pub(super) input: Vec<Value>,
    /// What was prepended to the client's input.
    pub(super) shift: InputShift,
    /// Id and history under which it is stored separately; none if it is not.
    pub(super) slot: Option<ResponseSlot>,
    pub(super) expires_in: Duration,
}

/// What is stored of a recorder with a kept run.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StoredRecorder {
    /// Of a response.
    Response {
        /// The response that the request continues.
        previous: Option<String>,
        /// The conversation that it is appended to.
        conversation: Option<String>,
        /// The input that is appended before it.
        input: Vec<Value>,
        /// Id and history, if it is stored separately.
        slot: Option<ResponseSlot>,
    },
    /// Of a chat completion.
    Chat(StoredChat),
}

impl StoredRecorder {
    /// All items before the response, as JSON, if it is stored separately.
    pub(crate) fn earlier_items(&self) -> Option<&str> {
        match self {
            StoredRecorder::Response { slot, .. } => {
                slot.as_ref().map(|slot| slot.conversation.as_str())
            }
            StoredRecorder::Chat(_) => None,
        }
    }

    /// Adds the settings that the response repeats.
    pub(crate) fn echo_settings(&self, context: &mut ReplyContext) {
        let StoredRecorder::Response {
            previous,
            conversation,
            slot,
            ..
        } = self
        else {
            return;
        };
        context.echo_setting("store", slot.is_some().into());
        context.echo_setting("previous_response_id", json!(previous));
        if let Some(id) = conversation {
            context.echo_setting("conversation", json!({ "id": id }));
        }
    }
}

/// A response stored separately.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ResponseSlot {
    pub(super) id: String,
    /// All items before the response.
    pub(super) conversation: String,
}

impl AnswerRecorder {
    /// What is stored of it with a kept run, whose response has this id.
    pub(in crate::route::gateway) fn to_stored(&self, id: Option<&str>) -> StoredRecorder {
        match self {
            AnswerRecorder::Chat(recorder) => StoredRecorder::Chat(recorder.to_stored()),
            AnswerRecorder::Response(recorder) => StoredRecorder::Response {
                previous: recorder.previous.clone(),
                conversation: recorder.conversation.clone(),
                input: recorder.input.clone(),
                slot: recorder.slot.as_ref().map(|slot| ResponseSlot {
                    id: id.unwrap_or(&slot.id).to_owned(),
                    conversation: slot.conversation.clone(),
                }),
            },
        }
    }

    /// The recorder of a kept run of a tenant.
    pub(crate) fn from_stored(app: &App, tenant: &TenantId, stored: StoredRecorder) -> Self {
        let (store, expires_in) = (app.store().clone(), app.settings().response_retention);
        match stored {
            StoredRecorder::Chat(chat) => {
                let recorder = ChatRecorder::from_stored(store, tenant.clone(), chat, expires_in);
                AnswerRecorder::Chat(Box::new(recorder))
            }
            StoredRecorder::Response {
                previous,
                conversation,
                input,
                slot,
            } => AnswerRecorder::Response(Box::new(ResponseRecorder {
                store,
                tenant: tenant.clone(),
                previous,
                conversation,
                input,
                shift: InputShift::default(),
                slot,
                expires_in,
            })),
        }
    }

    /// Sets the fields of the response that refer to its conversation.
    pub(in crate::route::gateway) fn adjust(&mut self, context: &mut ReplyContext) {
        match self {
            AnswerRecorder::Response(recorder) => recorder.adjust(context),
            AnswerRecorder::Chat(recorder) => recorder.adjust(context),
        }
    }

    /// What was prepended to the client's input.
    pub(in crate::route::gateway) fn shift(&self) -> InputShift {
        match self {
            AnswerRecorder::Response(recorder) => recorder.shift,
            AnswerRecorder::Chat(_) => InputShift::default(),
        }
    }

    /// Records an event of a streamed response.
    pub(in crate::route::gateway) fn on_event(&mut self, event: &StreamEvent) {
        if let AnswerRecorder::Chat(recorder) = self {
            recorder.on_event(event.clone());
        }
    }

    /// The complete streamed response: from its writer, or collected from events.
    pub(in crate::route::gateway) fn take_streamed(
        &mut self,
        writer: &mut StreamWriter,
    ) -> Option<Value> {
        match self {
            AnswerRecorder::Response(_) => writer.take_response(),
            AnswerRecorder::Chat(recorder) => recorder.take_streamed(),
        }
    }

    /// Whether a response that passes unchanged is stored too.
    pub(super) fn records_passthrough(&self) -> bool {
        match self {
            AnswerRecorder::Response(recorder) => {
                recorder.conversation.is_some() || recorder.slot.is_some()
            }
            AnswerRecorder::Chat(_) => true,
        }
    }

    /// Stores a response that passed unchanged, under the id that its client received.
    pub(super) async fn save_passthrough(mut self, answer: &Value) {
        if let AnswerRecorder::Response(recorder) = &mut self {
            let id = answer.get("id").and_then(Value::as_str);
            recorder.slot = recorder.slot.take().zip(id).map(|(slot, id)| ResponseSlot {
                id: id.to_owned(),
                ..slot
            });
        }
        self.save(answer).await;
    }

    /// Stores the response. On failure the client still has its response; it just cannot
    /// continue from it.
    pub(crate) async fn save(self, response: &Value) {
        match self {
            AnswerRecorder::Response(recorder) => recorder.save(response).await,
            AnswerRecorder::Chat(recorder) => recorder.save(response).await,
        }
    }
}

impl ResponseRecorder {
    fn adjust(&self, context: &mut ReplyContext) {
        context.echo_setting("store", self.slot.is_some().into());
        context.echo_setting("previous_response_id", json!(self.previous));
        if let Some(id) = &self.conversation {
            context.echo_setting("conversation", json!({ "id": id }));
        }
        if let Some(slot) = &self.slot {
            context.id = Some(slot.id.clone());
        } else if self.conversation.is_some() {
            // Its items need unique ids.
            context.id = Some(items::new_id("resp"));
        }
        context.keep_response = self.slot.is_some() || self.conversation.is_some();
    }

    async fn save(mut self, response: &Value) {
        let output = response.get("output").and_then(Value::as_array);
        let output: Vec<Value> = output.into_iter().flatten().cloned().collect();
        if let Some(slot) = self.slot.take() {
            self.save_standalone(&slot, response, &output).await;
        }
        if let Some(conversation) = self.conversation.take() {
            self.append_to_conversation(&conversation, output).await;
        }
    }

    async fn save_standalone(&self, slot: &ResponseSlot, response: &Value, output: &[Value]) {
        let id = &slot.id;
        let response = response.to_string();
        if slot.conversation.len().saturating_add(response.len()) > 2 * MAX_HISTORY_BYTES {
            tracing::warn!(id, "response too long to store");
            return;
        }
        let entries = ids_and_json(output);
        let items: Vec<NewItem<'_>> = new_items(&entries).take(MAX_RESPONSE_ITEMS).collect();
        let new = NewResponse {
            id,
            conversation: &slot.conversation,
            response: &response,
            items: &items,
            expires_in: self.expires_in,
        };
        if let Err(error) = self.store.save_response(&self.tenant, &new).await {
            tracing::warn!(id, %error, "cannot store a response");
        }
    }

    async fn append_to_conversation(self, conversation: &str, output: Vec<Value>) {
        let added: Vec<Value> = self.input.into_iter().chain(output).collect();
        let completed = |item| items::complete(items::with_id(item));
        let added: Vec<Value> = added.into_iter().map(completed).collect();
        let mut entries = ids_and_json(&added);
        let add = async |entries: &[(String, String)]| {
            let items: Vec<NewItem<'_>> = new_items(entries).collect();
            self.store
                .add_conversation_items(&self.tenant, conversation, &items, self.expires_in)
                .await
        };
        let mut result = add(&entries).await;
        if let Err(StoreError::ItemIdsTaken { indexes, .. }) = &result {
            entries = with_new_ids(entries, indexes);
            result = add(&entries).await;
        }
        if let Err(error) = result {
            tracing::warn!(conversation, %error, "cannot add a response to its conversation");
        }
    }
}

/// Gives the items at these indexes new ids. An item that needs its id is dropped: it is
/// stored already.
fn with_new_ids(entries: Vec<(String, String)>, indexes: &[usize]) -> Vec<(String, String)> {
    let with_new_id = |(index, (id, text)): (usize, (String, String))| {
        if indexes.binary_search(&index).is_err() {
            return Some((id, text));
        }
        let item = items::with_new_id(serde_json::from_str(&text).ok()?);
        Some((item.get("id")?.as_str()?.to_owned(), item.to_string()))
    };
    entries
        .into_iter()
        .enumerate()
        .filter_map(with_new_id)
        .collect()
}

/// Ids and JSON of the items that have an id.
fn ids_and_json(items: &[Value]) -> Vec<(String, String)> {
    let text = |item: &Value| Some((item.get("id")?.as_str()?.to_owned(), item.to_string()));
    items.iter().filter_map(text).collect()
}

fn new_items(entries: &[(String, String)]) -> impl Iterator<Item = NewItem<'_>> {
    entries.iter().map(|(id, item)| NewItem { id, json: item })
}
