//! Writes the thoughts of an assistant message for a Chat server: its own, as it sent them,
//! and no other vendor's.

use std::collections::HashMap;

use serde_json::Value;

use super::extra_content;
use super::reasoning_details::{self, ReasoningDetails};
use super::reasoning_in::FIELDS;
use crate::context::{ReasoningContent, WriteOptions};
use crate::neutral::Map;
use crate::signature_envelope::{ChatState, SignatureEnvelope, decode_envelope};

/// Google's documented value for calls whose signature is unknown, such as those of
/// another model.
pub(crate) const PLACEHOLDER_SIGNATURE: &str = "skip_thought_signature_validator";

/// Replaces an unknown thought, where a missing or empty one is refused.
const BLANK_THOUGHT: &str = " ";

pub(super) const NO_THOUGHTS_BACK: &str = "Chat Completions does not accept thoughts";

/// The thoughts of a message.
pub(super) struct ThoughtWriter<'a> {
    options: &'a WriteOptions,
    field: Option<String>,
    text: String,
    details: Vec<Value>,
    /// How many of the details are fragments, to be assembled once all are there.
    pieces: usize,
    /// Whether the message has calls: a server that is not known to require all thoughts gets
    /// those of such messages only.
    has_calls: bool,
    /// `extra_content` of the next call.
    extra: Option<Value>,
    calls: Vec<(String, usize)>,
}

impl<'a> ThoughtWriter<'a> {
    pub(super) fn new(options: &'a WriteOptions, has_calls: bool) -> Self {
        ThoughtWriter {
            options,
            field: None,
            text: String::new(),
            details: Vec::new(),
            pieces: 0,
            has_calls,
            extra: None,
            calls: Vec::new(),
        }
    }

    /// Adds a thought; returns whether the server accepts it.
    pub(super) fn add(&mut self, thinking: &str, signature: &str) -> bool {
        let always = self.options.reasoning_content == ReasoningContent::Always;
        match decode_envelope(signature) {
            SignatureEnvelope::Chat(state) if self.is_from_server(&state) => {
                let only_text = state.details.is_empty() && state.extra.is_none();
                if only_text && !self.has_calls && !always {
                    return false;
                }
                self.restore_state(*state, thinking);
            }
            SignatureEnvelope::Gemini(signature) if self.options.google_signatures => {
                self.extra = Some(extra_content::with_signature(signature));
                if always {
                    self.text.push_str(thinking);
                }
            }
            _ if always => self.text.push_str(thinking),
            _ => return false,
        }
        true
    }

    /// Whether the target server sent the state, or accepts state from clients.
    fn is_from_server(&self, state: &ChatState) -> bool {
        let kept = self.options.reasoning_content != ReasoningContent::Never;
        kept && match &state.from {
            Some(from) => *from == self.options.server,
            None => self.options.reasoning_details,
        }
    }

    fn restore_state(&mut self, state: ChatState, thinking: &str) {
        // The envelope comes from a client: no other field name is accepted.
        let field = state.field.filter(|field| FIELDS.contains(&field.as_str()));
        if let Some(field) = field {
            self.text.push_str(thinking);
            self.field.get_or_insert(field);
        } else if self.options.reasoning_content == ReasoningContent::Always {
            self.text.push_str(thinking);
        }
        self.calls.extend(state.calls);
        self.extra = state.extra.or_else(|| self.extra.take());
        self.details.extend(state.details);
        if state.more {
            self.pieces = self.details.len();
        }
    }

    /// Puts details together that go on with those before.
    fn merge(&mut self) {
        let mut merged = ReasoningDetails::default();
        let mut pieces = self.details.iter().take(self.pieces);
        // What no server sends is left as the client sent it.
        if pieces
            .try_for_each(|piece| merged.push(piece.clone()))
            .is_ok()
        {
            drop(self.details.splice(..self.pieces, merged.take()));
        }
    }

    /// Text follows: a signature before it is the text's, and has no place here.
    pub(super) fn before_text(&mut self) {
        self.extra = None;
    }

    /// The `extra_content` of the next call; the first of a message may need a placeholder.
    pub(super) fn extra_of_call(&mut self, is_first: bool) -> Option<Value> {
        let options = self.options;
        let excused = is_first && options.google_signatures && options.unsigned_calls;
        let stand_in = || excused.then(|| extra_content::with_signature(PLACEHOLDER_SIGNATURE));
        self.extra.take().or_else(stand_in)
    }

    /// Writes what the message carries; `calls` are its calls, as they were written.
    pub(super) fn write(mut self, map: &mut Map, calls: &[Value]) {
        self.merge();
        if self.options.reasoning_required && self.text.is_empty() && !calls.is_empty() {
            BLANK_THOUGHT.clone_into(&mut self.text);
        }
        if !self.text.is_empty() {
            let field = self.field.as_deref().unwrap_or("reasoning_content");
            map.insert(field.to_owned(), self.text.into());
        }
        if !self.details.is_empty() {
            rename_calls(&mut self.details, &self.calls, calls);
            map.insert("reasoning_details".to_owned(), self.details.into());
        }
    }
}

/// Gives the details the ids that the calls they name have now.
pub(super) fn rename_calls(details: &mut [Value], named: &[(String, usize)], calls: &[Value]) {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(named.len());
    for (id, at) in named {
        places.entry(id).or_insert(*at);
    }
    for detail in details {
        let Some(at) = reasoning_details::id(detail).and_then(|id| places.get(id)) else {
            continue;
        };
        let id = calls.get(*at).and_then(|call| call.get("id")).cloned();
        if let (Some(id), Some(map)) = (id, detail.as_object_mut()) {
            map.insert("id".to_owned(), id);
        }
    }
}
