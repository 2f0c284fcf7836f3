//! Requests for kept runs in each dialect.

use serde_json::{Value, json};

/// How a client asks for a kept run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeptDialect {
    /// Messages, streamed, with an idempotency key.
    Messages,
    /// Chat with `prowess-keep`.
    Chat,
    /// Responses in the background, streamed.
    Responses,
    /// Responses in the background; the client asks for the state.
    Polled,
    /// Gemini's API with `prowess-keep`, streamed.
    Gemini,
}

impl KeptDialect {
    pub(crate) const ALL: [KeptDialect; 5] = [
        KeptDialect::Messages,
        KeptDialect::Chat,
        KeptDialect::Responses,
        KeptDialect::Polled,
        KeptDialect::Gemini,
    ];
    /// Those whose request is answered with events.
    pub(crate) const STREAMED: [KeptDialect; 4] = [
        KeptDialect::Messages,
        KeptDialect::Chat,
        KeptDialect::Responses,
        KeptDialect::Gemini,
    ];

    pub(crate) fn path(self) -> &'static str {
        match self {
            KeptDialect::Messages => "/v1/messages",
            KeptDialect::Chat => "/v1/chat/completions",
            KeptDialect::Responses | KeptDialect::Polled => "/v1/responses",
            KeptDialect::Gemini => "/v1beta/models/ant/m:streamGenerateContent?alt=sse",
        }
    }

    pub(crate) fn headers(self, key: &str) -> Vec<(&'static str, String)> {
        match self {
            KeptDialect::Messages => vec![
                ("anthropic-version", "2023-06-01".to_owned()),
                ("idempotency-key", key.to_owned()),
            ],
            KeptDialect::Chat | KeptDialect::Gemini => {
                vec![("prowess-keep", "true".to_owned())]
            }
            KeptDialect::Responses | KeptDialect::Polled => Vec::new(),
        }
    }

    /// The request, in a new container with this skill.
    pub(crate) fn body(self, prompt: &str, skill: &str) -> Value {
        let custom = json!({"skills": [{"type": "custom", "skill_id": skill}]});
        let messages = json!([{"role": "user", "content": prompt}]);
        match self {
            KeptDialect::Messages => json!({
                "model": "ant/m", "max_tokens": 100, "stream": true, "container": custom,
                "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
                "messages": messages,
            }),
            KeptDialect::Chat => json!({
                "model": "ant/m", "stream": true, "container": custom, "messages": messages,
            }),
            KeptDialect::Gemini => json!({
                "container": custom,
                "contents": [{"role": "user", "parts": [{"text": prompt}]}],
            }),
            KeptDialect::Responses | KeptDialect::Polled => {
                let stream = self == KeptDialect::Responses;
                let skills = json!([{"type": "skill_reference", "skill_id": skill}]);
                let environment = json!({"type": "container_auto", "skills": skills});
                json!({
                    "model": "ant/m", "stream": stream, "background": true, "input": prompt,
                    "tools": [{"type": "shell", "environment": environment}],
                })
            }
        }
    }
}

/// A request of the Messages API in a container that exists.
pub(crate) fn in_container(prompt: &str, container: &str) -> Value {
    json!({
        "model": "ant/m", "max_tokens": 100, "stream": true, "container": container,
        "tools": [{"type": "code_execution_20260521", "name": "code_execution"}],
        "messages": [{"role": "user", "content": prompt}],
    })
}
