//! What a Chat client gets of a thought's encoded state besides the thought itself: clients
//! that rebuild messages retain only known fields, so the state is also written to the
//! vendors' fields.

use serde_json::{Value, json};

use super::extra_content;
use super::reasoning_out::rename_calls;
use crate::neutral::Map;
use crate::signature_envelope::{SignatureEnvelope, decode_envelope};

/// The state of the thoughts of a response so far.
#[derive(Debug, Default)]
pub(super) struct ReasoningReply {
    /// `extra_content` of the next call.
    extra: Option<Value>,
    /// `reasoning_details` that were not sent yet.
    details: Vec<Value>,
    /// The calls that they name.
    named: Vec<(String, usize)>,
}

impl ReasoningReply {
    /// A thought has ended.
    pub(super) fn thought(&mut self, signature: &str) {
        self.extra = extra_content::extra_for_client(signature);
        if let SignatureEnvelope::Chat(state) = decode_envelope(signature) {
            self.details.extend(state.details);
            self.named.extend(state.calls);
        }
    }

    /// Text begins: a signature before it is the text's.
    pub(super) fn text(&mut self) {
        self.extra = None;
    }

    /// A call begins.
    pub(super) fn call(&mut self, call: &mut Value) {
        if let (Some(extra), Some(map)) = (self.extra.take(), call.as_object_mut()) {
            map.insert(extra_content::FIELD.to_owned(), extra);
        }
    }

    /// The details to send now; those that name a call wait for it.
    pub(super) fn details_before_calls(&mut self) -> Option<Value> {
        if self.named.is_empty() {
            return self.all_details(&[]);
        }
        None
    }

    /// The details to send with the n-th call.
    pub(super) fn details_with_call(&mut self, n: usize, id: &str) -> Option<Value> {
        let mut calls = vec![Value::Null; n];
        calls.push(json!({"id": id}));
        let last = self.named.iter().map(|(_, at)| *at).max();
        if last.is_some_and(|last| last <= n) {
            return self.all_details(&calls);
        }
        rename_calls(&mut self.details, &self.named, &calls);
        None
    }

    /// All details that were not sent yet.
    pub(super) fn all_details(&mut self, calls: &[Value]) -> Option<Value> {
        let mut details = std::mem::take(&mut self.details);
        let named = std::mem::take(&mut self.named);
        rename_calls(&mut details, &named, calls);
        (!details.is_empty()).then(|| details.into())
    }
}

/// A chunk's fields with the details in them.
pub(super) fn with_details(delta: Value, details: Option<Value>) -> Value {
    let mut map: Map = match delta {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    if let Some(details) = details {
        map.insert("reasoning_details".to_owned(), details);
    }
    Value::Object(map)
}
