//! What is kept of an answer, once it is there.

use std::time::Duration;

use prowess_store::{Error as StoreError, NewItem, NewResponse, Store, TenantId};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ReplyContext, StreamWriter};
use serde_json::{Value, json};

use super::chat::KeptChat;
use super::{InputShift, MAX_CONVERSATION, items};

/// Items of an answer that can be referred to.
const MAX_ITEMS: usize = 10_000;

/// How an answer is to be kept.
pub(in crate::route::gateway) enum Kept {
    Response(Box<KeptResponse>),
    Chat(Box<KeptChat>),
}

/// How an answer belongs to a conversation.
pub(in crate::route::gateway) struct KeptResponse {
    pub(super) store: Store,
    pub(super) tenant: TenantId,
    pub(super) previous: Option<String>,
    /// The conversation that it is added to.
    pub(super) conversation: Option<String>,
    /// What is added to that before it.
    pub(super) input: Vec<Value>,
    /// What was put before the client's input.
    pub(super) shift: InputShift,
    /// Where to keep it by itself; nothing when it is not to be kept.
    pub(super) place: Option<Place>,
    pub(super) expires_in: Duration,
}

/// An answer that is kept by itself.
pub(super) struct Place {
    pub(super) id: String,
    /// All that was said before the answer.
    pub(super) conversation: String,
}

impl Kept {
    /// Has the answer say how it belongs to its conversation.
    pub(in crate::route::gateway) fn adjust(&mut self, context: &mut ReplyContext) {
        match self {
            Kept::Response(kept) => kept.adjust(context),
            Kept::Chat(kept) => kept.adjust(context),
        }
    }

    /// What was put before the client's input.
    pub(in crate::route::gateway) fn shift(&self) -> InputShift {
        match self {
            Kept::Response(kept) => kept.shift,
            Kept::Chat(_) => InputShift::default(),
        }
    }

    /// Notes a piece of an answer that is streamed.
    pub(in crate::route::gateway) fn hear(&mut self, event: &StreamEvent) {
        if let Kept::Chat(kept) = self {
            kept.hear(event.clone());
        }
    }

    /// The whole answer that was streamed: as its writer keeps it, or as it was heard.
    pub(in crate::route::gateway) fn streamed(
        &mut self,
        writer: &mut StreamWriter,
    ) -> Option<Value> {
        match self {
            Kept::Response(_) => writer.take_response(),
            Kept::Chat(kept) => kept.streamed(),
        }
    }

    /// Whether an answer that passes as it came is kept too.
    pub(super) fn takes_passing(&self) -> bool {
        match self {
            Kept::Response(kept) => kept.conversation.is_some() || kept.place.is_some(),
            Kept::Chat(_) => true,
        }
    }

    /// Keeps an answer that passed as it came, under the id that its client saw.
    pub(super) async fn save_passed(mut self, answer: &Value) {
        if let Kept::Response(kept) = &mut self {
            let id = answer.get("id").and_then(Value::as_str);
            kept.place = kept.place.take().zip(id).map(|(place, id)| Place {
                id: id.to_owned(),
                ..place
            });
        }
        self.save(answer).await;
    }

    /// Keeps the answer. If that fails the client has its answer all the same; it just
    /// cannot be gone on from.
    pub(in crate::route::gateway) async fn save(self, response: &Value) {
        match self {
            Kept::Response(kept) => kept.save(response).await,
            Kept::Chat(kept) => kept.save(response).await,
        }
    }
}

impl KeptResponse {
    fn adjust(&self, context: &mut ReplyContext) {
        context.repeat("store", self.place.is_some().into());
        context.repeat("previous_response_id", json!(self.previous));
        if let Some(id) = &self.conversation {
            context.repeat("conversation", json!({ "id": id }));
        }
        if let Some(place) = &self.place {
            context.id = Some(place.id.clone());
        } else if self.conversation.is_some() {
            // Its items need ids that no other answer's have.
            context.id = Some(items::new_id("resp"));
        }
        context.keep_response = self.place.is_some() || self.conversation.is_some();
    }

    async fn save(mut self, response: &Value) {
        let output = response.get("output").and_then(Value::as_array);
        let output: Vec<Value> = output.into_iter().flatten().cloned().collect();
        if let Some(place) = self.place.take() {
            self.save_by_itself(&place, response, &output).await;
        }
        if let Some(conversation) = self.conversation.take() {
            self.add_to(&conversation, output).await;
        }
    }

    async fn save_by_itself(&self, place: &Place, response: &Value, output: &[Value]) {
        let id = &place.id;
        let response = response.to_string();
        if place.conversation.len().saturating_add(response.len()) > 2 * MAX_CONVERSATION {
            tracing::warn!(id, "an answer is too long to be kept");
            return;
        }
        let texts = texts(output);
        let items: Vec<NewItem<'_>> = new_items(&texts).take(MAX_ITEMS).collect();
        let new = NewResponse {
            id,
            conversation: &place.conversation,
            response: &response,
            items: &items,
            expires_in: self.expires_in,
        };
        if let Err(error) = self.store.save_response(&self.tenant, &new).await {
            tracing::warn!(id, %error, "cannot keep an answer");
        }
    }

    async fn add_to(self, conversation: &str, output: Vec<Value>) {
        let added: Vec<Value> = self.input.into_iter().chain(output).collect();
        let given = |item| items::complete(items::named(item));
        let added: Vec<Value> = added.into_iter().map(given).collect();
        let mut texts = texts(&added);
        let add = async |texts: &[(String, String)]| {
            let items: Vec<NewItem<'_>> = new_items(texts).collect();
            self.store
                .add_conversation_items(&self.tenant, conversation, &items, self.expires_in)
                .await
        };
        let mut result = add(&texts).await;
        if let Err(StoreError::ItemIdsTaken { indexes, .. }) = &result {
            texts = with_new_ids(texts, indexes);
            result = add(&texts).await;
        }
        if let Err(error) = result {
            tracing::warn!(conversation, %error, "cannot add an answer to its conversation");
        }
    }
}

/// The items, those at these places with other ids. One that needs its id is left out: it
/// is there already.
fn with_new_ids(texts: Vec<(String, String)>, indexes: &[usize]) -> Vec<(String, String)> {
    let renamed = |(index, (id, text)): (usize, (String, String))| {
        if indexes.binary_search(&index).is_err() {
            return Some((id, text));
        }
        let item = items::renamed(serde_json::from_str(&text).ok()?);
        Some((item.get("id")?.as_str()?.to_owned(), item.to_string()))
    };
    texts.into_iter().enumerate().filter_map(renamed).collect()
}

/// Ids and JSON of those items that have an id.
fn texts(items: &[Value]) -> Vec<(String, String)> {
    let text = |item: &Value| Some((item.get("id")?.as_str()?.to_owned(), item.to_string()));
    items.iter().filter_map(text).collect()
}

fn new_items(texts: &[(String, String)]) -> impl Iterator<Item = NewItem<'_>> {
    texts.iter().map(|(id, item)| NewItem { id, item })
}
