//! Names the sources of a text that a client's dialect cannot carry.
//!
//! Writers name what they drop of most blocks. Chat's and Gemini's servers send sources in fields
//! of their message or of the whole response, which only clients of the same dialect get; and a
//! Messages client would send annotations of a text back, which Anthropic refuses.

use serde_json::Value;

use crate::dropped::Dropped;
use crate::drops::Drops;
use crate::json_path::JsonPath;
use crate::neutral::{
    ANNOTATION_ADDED, ANNOTATIONS, Content, Delta, Map, Response, ResponseDialectFields,
    StreamEvent, count_citations,
};
use crate::{ClientDialect, Dialect};

/// The sources of a text, as Bedrock has them.
const BEDROCK_SOURCES: &str = "citationsContent";

/// Fields with sources: those of OpenAI and OpenRouter, Perplexity and xAI, Google, and Bedrock.
const SOURCE_FIELDS: [&str; 6] = [
    ANNOTATIONS,
    "citations",
    "search_results",
    "groundingMetadata",
    "citationMetadata",
    BEDROCK_SOURCES,
];

/// Names the sources of a whole response that its writer does not.
pub(crate) fn note_sources(client: ClientDialect, response: &Response, drops: &mut Drops) {
    if client == ClientDialect::Messages {
        for (index, block) in response.content.iter().enumerate() {
            if matches!(block.content, Content::Text(_)) {
                note_fields_of_text(index, &block.rest, &[ANNOTATIONS], drops);
            }
        }
    }
    // Of other responses, all fields are named.
    if response.origin == Dialect::from(client) {
        let translated = count_citations(&response.content);
        note_fields(client, &response.rest, translated, drops);
    }
}

/// Names the sources of a streamed response.
#[derive(Debug)]
pub(crate) struct StreamedSources {
    client: ClientDialect,
    /// How many annotations were announced.
    announced: usize,
    drops: Drops,
}

impl StreamedSources {
    pub(crate) fn new(client: ClientDialect) -> Self {
        StreamedSources {
            client,
            announced: 0,
            drops: Drops::default(),
        }
    }

    pub(crate) fn note(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::BlockStart { index, block }
                if matches!(block.content, Content::Text(_)) =>
            {
                self.annotations(*index, &block.rest);
            }
            StreamEvent::BlockDelta {
                index,
                delta: Delta::Rest(rest),
            } => {
                self.annotations(*index, rest);
                // Chat's writer names every such field.
                if self.client != ClientDialect::Chat {
                    note_fields_of_text(*index, rest, &[BEDROCK_SOURCES], &mut self.drops);
                }
            }
            StreamEvent::Other { name, .. } if name == ANNOTATION_ADDED => self.announced += 1,
            StreamEvent::MessageDelta { rest, .. } => {
                note_fields(self.client, rest, self.announced, &mut self.drops);
            }
            _ => {}
        }
    }

    pub(crate) fn take_dropped(&mut self) -> Vec<Dropped> {
        std::mem::take(&mut self.drops).into_vec()
    }

    fn annotations(&mut self, index: usize, rest: &Map) {
        if matches!(self.client, ClientDialect::Messages | ClientDialect::Gemini) {
            note_fields_of_text(index, rest, &[ANNOTATIONS], &mut self.drops);
        }
    }
}

fn note_fields_of_text(index: usize, rest: &Map, keys: &[&str], drops: &mut Drops) {
    let path = JsonPath::Root.key("content");
    let named = rest.iter().filter(|(key, _)| keys.contains(&key.as_str()));
    let named = named.map(|(key, value)| (key.clone(), value.clone()));
    drops.rest(&path.index(index), &sources(named.collect()));
}

/// Names the sources among the fields that only another dialect has. `translated` is the number
/// of citations that a Responses client gets.
fn note_fields(client: ClientDialect, rest: &Map, translated: usize, drops: &mut Drops) {
    for (origin, choice, message) in [
        (Dialect::Chat, "choices[0]", "choices[0].message"),
        (Dialect::Gemini, "candidates[0]", "candidates[0]"),
    ] {
        if origin == Dialect::from(client) {
            continue;
        }
        let mut own = ResponseDialectFields::read(origin, rest);
        let annotations = own.message.get(ANNOTATIONS).and_then(Value::as_array);
        let sent = annotations.map_or(0, Vec::len);
        if client == ClientDialect::Responses && translated >= sent {
            own.message.shift_remove(ANNOTATIONS);
        }
        drops.rest(&JsonPath::Root, &sources(own.body));
        drops.rest(&JsonPath::Root.key(choice), &sources(own.choice));
        drops.rest(&JsonPath::Root.key(message), &sources(own.message));
    }
}

/// The fields with sources. Servers send empty ones with every response.
fn sources(mut fields: Map) -> Map {
    fields.retain(|key, value| {
        let is_empty = match value {
            Value::Null => true,
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        SOURCE_FIELDS.contains(&key.as_str()) && !is_empty
    });
    fields
}
