//! Fields specific to one dialect, carried through neutral values.
//!
//! A block, a response or a count may hold an object under [`DIALECT_FIELDS`] in its `rest`.
//! Writers of the original dialect restore its fields; all others drop the whole object. A
//! run retains it from turn to turn, for any client dialect.

use serde_json::{Value, json};

use super::Map;
use crate::Dialect;

/// The key of such fields.
pub(crate) const DIALECT_FIELDS: &str = "prowess_own";

/// Fields without meaning outside the dialect, which are dropped without a report.
pub(crate) const DIALECT_ONLY_FIELDS: [&str; 15] = [
    "id",
    "status",
    "summary",
    "content",
    "encrypted_content",
    "type",
    "role",
    "total_tokens",
    // Parts of counts that every dialect has, and how Google billed them.
    "cacheTokensDetails",
    "candidatesTokensDetails",
    "promptTokensDetails",
    "serviceTier",
    "toolUsePromptTokenCount",
    "toolUsePromptTokensDetails",
    "trafficType",
];

/// The fields without those of one dialect alone.
pub(crate) fn without_dialect_fields(rest: &Map) -> Map {
    let mut rest = rest.clone();
    rest.shift_remove(DIALECT_FIELDS);
    rest
}

/// The fields of a response that only its dialect has: of its body, its choice (Gemini's
/// candidate) and its message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ResponseDialectFields {
    pub(crate) body: Map,
    pub(crate) choice: Map,
    pub(crate) message: Map,
}

impl ResponseDialectFields {
    /// As an entry for the `rest` of a response; nothing when there is nothing to carry.
    pub(crate) fn write(self, dialect: Dialect) -> Map {
        if self == ResponseDialectFields::default() {
            return Map::new();
        }
        let own = json!({
            "dialect": word(dialect),
            "body": self.body,
            "choice": self.choice,
            "message": self.message,
        });
        Map::from_iter([(DIALECT_FIELDS.to_owned(), own)])
    }

    /// What the `rest` of a response carries for this dialect.
    pub(crate) fn read(dialect: Dialect, rest: &Map) -> Self {
        let own = rest.get(DIALECT_FIELDS);
        let is_of = |own: &&Value| own.get("dialect").and_then(Value::as_str) == word(dialect);
        let Some(own) = own.filter(is_of) else {
            return ResponseDialectFields::default();
        };
        let part = |key: &str| own.get(key).and_then(Value::as_object).cloned();
        ResponseDialectFields {
            body: part("body").unwrap_or_default(),
            choice: part("choice").unwrap_or_default(),
            message: part("message").unwrap_or_default(),
        }
    }
}

/// The name of Anthropic's dialect.
const MESSAGES: &str = "messages";

fn word(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Messages => Some(MESSAGES),
        Dialect::Chat => Some("chat"),
        Dialect::Responses => Some("responses"),
        Dialect::Gemini => Some("gemini"),
        // No client has it.
        Dialect::Converse => None,
    }
}

/// Merges the dialect-specific fields of another turn's response. Lists of its message, the log
/// probabilities of its tokens, the sources of Gemini's text and Anthropic's edits of the context
/// are appended to those of earlier turns; everything else is replaced.
pub fn merge_dialect_fields(kept: &mut Map, answer: &Map) {
    let Some(own) = answer.get(DIALECT_FIELDS).and_then(Value::as_object) else {
        return;
    };
    let known = match kept.shift_remove(DIALECT_FIELDS) {
        Some(Value::Object(known)) if known.get("dialect") == own.get("dialect") => known,
        _ => Map::new(),
    };
    let mut known = known;
    let grows = own.get("dialect").and_then(Value::as_str) == Some(MESSAGES);
    for (key, value) in own {
        match (key.as_str(), known.get_mut(key), value) {
            ("body", Some(Value::Object(known)), Value::Object(more)) if grows => {
                merge(known, more.clone());
            }
            ("message", Some(Value::Object(known)), Value::Object(more)) => {
                merge(known, more.clone());
            }
            ("choice", Some(Value::Object(known)), Value::Object(more)) => {
                let mut more = more.clone();
                add_sources(known, &mut more);
                add_choice(known, more);
            }
            (_, Some(Value::Object(known)), Value::Object(more)) => known.extend(more.clone()),
            (_, _, value) => {
                known.insert(key.clone(), value.clone());
            }
        }
    }
    kept.insert(DIALECT_FIELDS.to_owned(), Value::Object(known));
}

/// Where Gemini names the sources of a text.
const SOURCE_FIELDS: [&str; 3] = [
    "groundingMetadata",
    "citationMetadata",
    "urlContextMetadata",
];

/// Takes the sources of a later turn's text, and appends them. Supports name their chunks by
/// number, which begin behind those of earlier turns.
fn add_sources(known: &mut Map, more: &mut Map) {
    for key in SOURCE_FIELDS {
        if let (Some(Value::Object(known)), Some(Value::Object(sources))) =
            (known.get_mut(key), more.get_mut(key))
        {
            let chunks = known.get("groundingChunks").and_then(Value::as_array);
            number_chunks_from(chunks.map_or(0, Vec::len), sources);
            merge(known, std::mem::take(sources));
            more.shift_remove(key);
        }
    }
}

fn number_chunks_from(first: usize, sources: &mut Map) {
    let supports = sources.get_mut("groundingSupports");
    let supports = supports.and_then(Value::as_array_mut).into_iter().flatten();
    let numbers = supports
        .filter_map(|support| support.get_mut("groundingChunkIndices")?.as_array_mut())
        .flatten();
    for number in numbers {
        if let (Some(known), Ok(first)) = (number.as_u64(), u64::try_from(first)) {
            *number = known.saturating_add(first).into();
        }
    }
}

/// Log probabilities of tokens, as OpenAI and as Google name them.
const TOKEN_FIELDS: [&str; 2] = ["logprobs", "logprobsResult"];

/// Merges a later choice; only the log probabilities of its tokens are appended. An empty object
/// replaces nothing: Azure's last chunk has one in place of what its filters found.
pub(crate) fn add_choice(known: &mut Map, mut more: Map) {
    for key in TOKEN_FIELDS {
        if let Some(tokens) = more.shift_remove(key) {
            merge(known, Map::from_iter([(key.to_owned(), tokens)]));
        }
    }
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    more.retain(|key, value| !(is_empty(value) && known.contains_key(key)));
    known.extend(more);
}

/// Adds fields to those already known: objects are merged, lists grow, the rest is
/// replaced.
pub(crate) fn merge(known: &mut Map, more: Map) {
    for (key, value) in more {
        match (known.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => merge(known, more),
            (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
            (_, value) => {
                known.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(body: Value, message: Value) -> Map {
        let map = |value: Value| value.as_object().unwrap().clone();
        ResponseDialectFields {
            body: map(body),
            choice: Map::new(),
            message: map(message),
        }
        .write(Dialect::Chat)
    }

    #[test]
    fn of_several_turns_the_last_stands_and_lists_grow() {
        let mut kept = Map::new();
        merge_dialect_fields(
            &mut kept,
            &answer(json!({"tier": "a", "x": 1}), json!({"annotations": [1]})),
        );
        merge_dialect_fields(
            &mut kept,
            &answer(json!({"tier": "b"}), json!({"annotations": [2]})),
        );
        merge_dialect_fields(&mut kept, &Map::new());
        let own = ResponseDialectFields::read(Dialect::Chat, &kept);
        assert_eq!(Value::Object(own.body), json!({"tier": "b", "x": 1}));
        assert_eq!(Value::Object(own.message), json!({"annotations": [1, 2]}));
        let other = ResponseDialectFields::read(Dialect::Responses, &kept);
        assert_eq!(other, ResponseDialectFields::default());
    }

    #[test]
    fn edits_of_the_context_are_those_of_all_turns() {
        let mut kept = Map::new();
        for edit in ["a", "b"] {
            let body = json!({"context_management": {"applied_edits": [edit]}});
            let body = body.as_object().unwrap().clone();
            let own = ResponseDialectFields {
                body,
                ..ResponseDialectFields::default()
            };
            merge_dialect_fields(&mut kept, &own.write(Dialect::Messages));
        }
        let own = ResponseDialectFields::read(Dialect::Messages, &kept);
        let all = json!({"context_management": {"applied_edits": ["a", "b"]}});
        assert_eq!(Value::Object(own.body), all);
    }
}
