//! The settings of a request by their names in each client dialect.
//!
//! Writers name a setting as the neutral request does, with Anthropic's names
//! (`output_config.format`). The client expects its own (`response_format`). Which of these
//! the body had is recorded when it is read: a setting that the client did not send was
//! added by this server, and is not reported to the client.

use std::fmt;

use serde_json::Value;

use crate::ClientDialect;
use crate::camel_case::camel;
use crate::field_name::FieldName;

/// Neutral name and the client's name. Where a client has several names for a setting,
/// the effective one is first.
type FieldNames = &'static [(&'static str, &'static str)];

const MESSAGES: FieldNames = &[
    ("output_config.format", "output_config.format"),
    ("output_config.format", "output_format"),
    ("output_config.effort", "output_config.effort"),
    (
        "tool_choice.disable_parallel_tool_use",
        "tool_choice.disable_parallel_tool_use",
    ),
    ("tool_choice", "tool_choice"),
    ("thinking", "thinking"),
    ("max_tokens", "max_tokens"),
    ("stop_sequences", "stop_sequences"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("metadata.user_id", "metadata.user_id"),
    ("container", "container"),
    ("cache_control", "cache_control"),
    ("stream", "stream"),
];

const CHAT: FieldNames = &[
    ("output_config.format", "response_format"),
    ("output_config.effort", "reasoning_effort"),
    ("output_config.effort", "reasoning"),
    (
        "tool_choice.disable_parallel_tool_use",
        "parallel_tool_calls",
    ),
    ("tool_choice", "tool_choice"),
    ("tool_choice", "function_call"),
    ("thinking", "thinking"),
    ("thinking", "reasoning"),
    ("thinking", "reasoning_effort"),
    ("max_tokens", "max_completion_tokens"),
    ("max_tokens", "max_tokens"),
    ("stop_sequences", "stop"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("metadata.user_id", "user"),
    ("container", "container"),
    ("cache_control", "cache_control"),
    ("stream", "stream"),
];

const RESPONSES: FieldNames = &[
    ("output_config.format", "text.format"),
    ("output_config.effort", "reasoning.effort"),
    (
        "tool_choice.disable_parallel_tool_use",
        "parallel_tool_calls",
    ),
    ("tool_choice", "tool_choice"),
    ("thinking", "reasoning"),
    ("max_tokens", "max_output_tokens"),
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("top_k", "top_k"),
    ("metadata.user_id", "user"),
    ("container", "container"),
    ("cache_control", "cache_control"),
    ("stream", "stream"),
];

const GEMINI: FieldNames = &[
    (
        "output_config.format",
        "generationConfig.responseJsonSchema",
    ),
    ("output_config.format", "generationConfig.responseSchema"),
    ("output_config.format", "generationConfig.responseMimeType"),
    (
        "output_config.effort",
        "generationConfig.thinkingConfig.thinkingLevel",
    ),
    ("thinking", "generationConfig.thinkingConfig"),
    ("tool_choice", "toolConfig"),
    ("max_tokens", "generationConfig.maxOutputTokens"),
    ("stop_sequences", "generationConfig.stopSequences"),
    ("temperature", "generationConfig.temperature"),
    ("top_p", "generationConfig.topP"),
    ("top_k", "generationConfig.topK"),
    ("container", "container"),
];

fn names(client: ClientDialect) -> FieldNames {
    match client {
        ClientDialect::Messages => MESSAGES,
        ClientDialect::Chat => CHAT,
        ClientDialect::Responses => RESPONSES,
        ClientDialect::Gemini => GEMINI,
    }
}

/// Which settings a client's body has, and in which dialect; empty for a request that this
/// server created. Not part of the request's meaning, so any two are equal.
#[derive(Clone, Copy, Default)]
pub struct ClientFields(Option<SentFields>);

#[derive(Clone, Copy)]
struct SentFields {
    client: ClientDialect,
    /// One bit for each of the dialect's names that the body has.
    present: u64,
}

impl ClientFields {
    /// The settings that a body has.
    pub(crate) fn from_body(client: ClientDialect, body: &Value) -> Self {
        // In a request to count tokens, the request to be counted may be nested.
        let inner = match client {
            ClientDialect::Gemini => field(client, body, "generateContentRequest"),
            _ => None,
        };
        let body = inner.unwrap_or(body);
        let there = names(client)
            .iter()
            .enumerate()
            .filter(|(_, (_, name))| has(client, body, name))
            .fold(0, |there, (i, _)| there | bit(i));
        ClientFields(Some(SentFields {
            client,
            present: there,
        }))
    }

    /// Whether the request is from a client of this dialect.
    pub(crate) fn is_from(&self, client: ClientDialect) -> bool {
        self.0.is_some_and(|sent| sent.client == client)
    }

    /// The name of a dropped field or an error; `None` when the client did not send it. A
    /// request that this server created has the neutral names.
    pub(crate) fn name(&self, name: FieldName) -> Option<String> {
        match (name, &self.0) {
            (FieldName::Sent(path), _) => Some(path),
            (FieldName::Setting(name), Some(sent)) => sent.rename(&name),
            (FieldName::Added(_), Some(_)) => None,
            (FieldName::Setting(name) | FieldName::Added(name), None) => Some(name),
        }
    }
}

impl SentFields {
    /// A setting by the client's name. What is not in the table has the name the client
    /// sent.
    fn rename(&self, neutral: &str) -> Option<String> {
        let SentFields {
            client,
            present: there,
        } = *self;
        let mut meant = false;
        for (i, (known, name)) in names(client).iter().enumerate() {
            let Some(inner) = neutral.strip_prefix(known) else {
                continue;
            };
            if !inner.is_empty() && !inner.starts_with('.') {
                continue;
            }
            meant = true;
            if there & bit(i) != 0 {
                // Fields inside a setting have the same names only where it has.
                let inner = if known == name { inner } else { "" };
                return Some(format!("{name}{inner}"));
            }
        }
        (!meant).then(|| neutral.to_owned())
    }
}

/// The tables are shorter than that.
fn bit(i: usize) -> u64 {
    u32::try_from(i).map_or(0, |i| 1_u64.checked_shl(i).unwrap_or(0))
}

fn has(client: ClientDialect, body: &Value, name: &str) -> bool {
    let mut keys = name.split('.');
    let found = keys.try_fold(body, |value, key| field(client, value, key));
    found.is_some_and(|value| !value.is_null())
}

/// A field under the name that the tables have; Gemini's clients may write another.
fn field<'v>(client: ClientDialect, value: &'v Value, key: &str) -> Option<&'v Value> {
    let exact = value.get(key);
    if exact.is_some() || client != ClientDialect::Gemini {
        return exact;
    }
    let mut fields = value.as_object()?.iter();
    let found = fields.find(|(name, _)| name.contains('_') && camel(name) == key);
    found.map(|(_, value)| value)
}

impl PartialEq for ClientFields {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for ClientFields {}

impl fmt::Debug for ClientFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(sent) => write!(f, "{:?}", sent.client),
            None => f.write_str("-"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_name_of_a_dialect_has_a_bit() {
        for client in [
            ClientDialect::Messages,
            ClientDialect::Chat,
            ClientDialect::Responses,
            ClientDialect::Gemini,
        ] {
            assert!(names(client).len() <= 64, "{client:?}");
        }
    }

    #[test]
    fn a_setting_is_named_as_it_was_sent() {
        let body = json!({"response_format": {}, "max_tokens": 5, "thinking": {"type": "x"},
            "user": null});
        let fields = ClientFields::from_body(ClientDialect::Chat, &body);
        for (neutral, name) in [
            ("output_config.format", Some("response_format")),
            ("max_tokens", Some("max_tokens")),
            ("thinking.display", Some("thinking.display")),
            ("metadata.user_id", None),
            ("tool_choice.disable_parallel_tool_use", None),
            ("tool_choices", Some("tool_choices")),
            ("logit_bias", Some("logit_bias")),
        ] {
            let setting = FieldName::Setting(neutral.to_owned());
            assert_eq!(fields.name(setting).as_deref(), name, "{neutral}");
        }
        let made_here = ClientFields::default();
        let setting = FieldName::Setting("top_k".to_owned());
        assert_eq!(made_here.name(setting).as_deref(), Some("top_k"));
    }
}
