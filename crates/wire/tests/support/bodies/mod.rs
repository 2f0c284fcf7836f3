//! Bodies of clients, built from a list of choices: shorter lists and smaller numbers
//! make simpler bodies, so that a failing one shrinks.

mod chat;
mod gemini;
mod messages;
mod responses;

use prowess_wire::ClientDialect;
use serde_json::{Map, Value, json};

/// A body, and the unique words that were put into it.
#[derive(Debug)]
pub(crate) struct ClientBody {
    pub(crate) client: ClientDialect,
    pub(crate) value: Value,
    /// Every unique word: none may be lost without being named.
    pub(crate) words: Vec<String>,
    /// The words of texts, calls and results, in order.
    pub(crate) conversation: Vec<String>,
    /// The ids of calls.
    pub(crate) ids: Vec<String>,
}

pub(crate) fn body(client: ClientDialect, choices: &[u8]) -> ClientBody {
    let mut tape = Tape {
        choices: choices.iter().copied().collect(),
        words: Vec::new(),
        conversation: Vec::new(),
        ids: Vec::new(),
    };
    let value = match client {
        ClientDialect::Messages => tape.messages_body(),
        ClientDialect::Chat => tape.chat_body(),
        ClientDialect::Responses => tape.responses_body(),
        ClientDialect::Gemini => tape.gemini_body(),
    };
    ClientBody {
        client,
        value,
        words: tape.words,
        conversation: tape.conversation,
        ids: tape.ids,
    }
}

struct Tape {
    choices: std::collections::VecDeque<u8>,
    words: Vec<String>,
    conversation: Vec<String>,
    ids: Vec<String>,
}

impl Tape {
    fn pick(&mut self, n: u8) -> u8 {
        self.choices.pop_front().unwrap_or(0) % n
    }

    fn maybe(&mut self) -> bool {
        self.pick(2) == 1
    }

    /// A unique word.
    fn word(&mut self) -> String {
        let word = format!("word{:03}", self.words.len());
        self.words.push(word.clone());
        word
    }

    /// A word that is part of the conversation.
    fn conversation_word(&mut self) -> String {
        let word = self.word();
        self.conversation.push(word.clone());
        word
    }

    /// A field that no dialect knows.
    fn unknown(&mut self, value: &mut Value) {
        if self.maybe() {
            value["x_unknown"] = self.word().into();
        }
    }

    fn mark(&mut self, value: &mut Value, key: &str) {
        if self.maybe() {
            value[key] = json!({"type": "ephemeral"});
        }
    }

    fn settings(&mut self, body: &mut Value, settings: &[(&str, Value)]) {
        for (path, value) in settings {
            if !self.maybe() {
                continue;
            }
            let value = match value {
                Value::String(text) if text == "WORD" => self.word().into(),
                Value::Array(_) => json!([self.word()]),
                Value::Object(map) if map.contains_key("WORD") => json!({"k": self.word()}),
                Value::Number(number) if number.as_u64().is_some_and(|n| n > 700) => {
                    self.words.push(number.to_string());
                    value.clone()
                }
                other => other.clone(),
            };
            match path.split_once('.') {
                Some((outer, inner)) => body[outer][inner] = value,
                None => body[*path] = value,
            }
        }
    }

    fn schema(&mut self) -> Value {
        json!({"type": "object", "properties": {self.word(): {"type": "string"}}})
    }

    fn image_url(&mut self) -> String {
        match self.pick(2) {
            0 => format!("data:image/png;base64,{}", self.word()),
            _ => format!("https://example.com/{}.png", self.word()),
        }
    }

    fn id(&mut self) -> String {
        let id = self.word();
        self.ids.push(id.clone());
        id
    }

    fn arguments(&mut self) -> Value {
        json!({"x": self.conversation_word()})
    }
}

/// The value at a path of a body.
pub(crate) fn walk<'v>(body: &'v Value, path: &str) -> Option<&'v Value> {
    let mut value = body;
    for step in path.split('.') {
        let (key, indexes) = match step.find('[') {
            Some(at) => step.split_at(at),
            None => (step, ""),
        };
        value = value.get(key)?;
        for index in indexes.split_terminator(']') {
            let index: usize = index.strip_prefix('[')?.parse().ok()?;
            value = value.get(index)?;
        }
    }
    Some(value)
}

/// All strings of a value, with those that are base64 of text decoded too.
pub(crate) fn contains(value: &Value, word: &str) -> bool {
    match value {
        Value::String(text) => text.contains(word) || decoded(text).contains(word),
        Value::Array(items) => items.iter().any(|item| contains(item, word)),
        Value::Object(map) => has_word(map, word),
        Value::Number(number) => number.as_u64().is_some_and(|n| word.parse() == Ok(n)),
        Value::Null | Value::Bool(_) => false,
    }
}

fn has_word(map: &Map<String, Value>, word: &str) -> bool {
    map.iter()
        .any(|(key, value)| key.contains(word) || contains(value, word))
}

fn decoded(text: &str) -> String {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD.decode(text);
    bytes
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .unwrap_or_default()
}
