//! Responses of models of each vendor, in the vendor's format.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::{Block, Response, StopReason, TokenUsage, replay};
use prowess_wire::{ClientDialect, Dialect, ReplyContext, StreamWriter, write_response};
use serde_json::{Value, json};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Vendor {
    Anthropic,
    Chat,
    Responses,
    Gemini,
    Converse,
}

impl Vendor {
    pub(crate) const ALL: [Vendor; 5] = [
        Vendor::Anthropic,
        Vendor::Chat,
        Vendor::Responses,
        Vendor::Gemini,
        Vendor::Converse,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Vendor::Anthropic => "anthropic",
            Vendor::Chat => "openai-chat",
            Vendor::Responses => "openai-responses",
            Vendor::Gemini => "gemini",
            Vendor::Converse => "bedrock",
        }
    }

    /// Its settings; `{url}` stands for its address.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Vendor::Anthropic => "kind = 'anthropic'\nbase_url = '{url}'",
            Vendor::Chat => "kind = 'openai'\nresponses = false\nbase_url = '{url}/v1'",
            Vendor::Responses => "kind = 'openai'\nresponses = true\nbase_url = '{url}/v1'",
            Vendor::Gemini => "kind = 'gemini'\nbase_url = '{url}'",
            Vendor::Converse => {
                "kind = 'bedrock'\napi = 'converse'\nregion = 'eu-central-2'\nbase_url = '{url}'"
            }
        }
    }

    /// A model of this vendor on an upstream.
    pub(crate) fn model(self, upstream: usize) -> String {
        format!("{}-{upstream}/m1", self.name())
    }

    /// The dialect used for a client: OpenAI's two dialects are of one server, and only clients
    /// of the newer one use it.
    pub(crate) fn before(self, client: ClientDialect) -> Vendor {
        match (self, client) {
            (
                Vendor::Responses,
                ClientDialect::Messages | ClientDialect::Chat | ClientDialect::Gemini,
            ) => Vendor::Chat,
            _ => self,
        }
    }

    /// A turn that ends the answer.
    pub(crate) fn text_turn(self, stream: bool, text: &str) -> MockResponse {
        self.calls(stream, text, &[])
    }

    /// A turn with a text and tool calls. It uses 30 input and 10 output tokens.
    pub(crate) fn calls(self, stream: bool, text: &str, calls: &[(&str, Value)]) -> MockResponse {
        self.calls_from(1, stream, text, calls)
    }

    /// The same, with ids that count from this number, so that those of several turns differ.
    pub(crate) fn calls_from(
        self,
        first: usize,
        stream: bool,
        text: &str,
        calls: &[(&str, Value)],
    ) -> MockResponse {
        match self {
            Vendor::Anthropic => written(ClientDialect::Messages, first, stream, text, calls),
            Vendor::Chat => written(ClientDialect::Chat, first, stream, text, calls),
            Vendor::Responses => written(ClientDialect::Responses, first, stream, text, calls),
            Vendor::Gemini => gemini(first, stream, text, calls),
            Vendor::Converse => converse(first, stream, text, calls),
        }
    }
}

/// Written by the writers for clients.
fn written(
    client: ClientDialect,
    first: usize,
    stream: bool,
    text: &str,
    calls: &[(&str, Value)],
) -> MockResponse {
    let mut response = Response::new(Dialect::Messages, format!("up_{first}"), "m1");
    response.content.push(Block::text(text));
    for (i, (name, input)) in calls.iter().enumerate() {
        let block = Block::tool_use(format!("call_{}", first + i), *name, input.clone());
        response.content.push(block);
    }
    response.stop_reason = Some(if calls.is_empty() {
        StopReason::EndTurn
    } else {
        StopReason::ToolUse
    });
    response.usage = TokenUsage {
        input_tokens: 30,
        output_tokens: 10,
        ..TokenUsage::default()
    };
    let mut context = ReplyContext::default();
    context.include_usage = true;
    if !stream {
        let (body, _) = write_response(client, &response, &context);
        return MockResponse::json(200, &body.to_string());
    }
    let mut writer = StreamWriter::new(client, context);
    let mut out = Vec::new();
    for event in replay(response) {
        writer.write(&event, &mut out);
    }
    MockResponse::sse(std::str::from_utf8(&out).unwrap()).in_chunks(997)
}

fn gemini(first: usize, stream: bool, text: &str, calls: &[(&str, Value)]) -> MockResponse {
    let answer = |parts: &[Value], end: bool| {
        let content = json!({"role": "model", "parts": parts});
        let mut candidate = json!({"content": content, "index": 0});
        let mut answer = json!({"modelVersion": "m1", "responseId": format!("up_{first}")});
        if end {
            candidate["finishReason"] = "STOP".into();
            answer["usageMetadata"] = json!({"promptTokenCount": 30,
                "candidatesTokenCount": 10, "totalTokenCount": 40});
        }
        answer["candidates"] = json!([candidate]);
        answer.to_string()
    };
    let mut parts = vec![json!({"text": text})];
    let calls = calls.iter();
    parts.extend(calls.map(|(name, input)| json!({"functionCall": {"name": name, "args": input}})));
    match stream {
        false => MockResponse::json(200, &answer(&parts, true)),
        true => {
            let (begin, rest) = parts.split_at(1);
            let (begin, rest) = (answer(begin, false), answer(rest, true));
            MockResponse::sse(&format!("data: {begin}\r\n\r\ndata: {rest}\r\n\r\n")).in_chunks(97)
        }
    }
}

fn converse(first: usize, stream: bool, text: &str, calls: &[(&str, Value)]) -> MockResponse {
    let stop = if calls.is_empty() {
        "end_turn"
    } else {
        "tool_use"
    };
    let usage = json!({"inputTokens": 30, "outputTokens": 10, "totalTokens": 40});
    let id = |i: usize| format!("tooluse_{}", first + i);
    if !stream {
        let mut content = vec![json!({"text": text})];
        let uses = calls.iter().enumerate().map(|(i, (name, input))| {
            json!({"toolUse": {"toolUseId": id(i), "name": name, "input": input}})
        });
        content.extend(uses);
        let message = json!({"role": "assistant", "content": content});
        let body = json!({"output": {"message": message}, "stopReason": stop, "usage": usage});
        return MockResponse::json(200, &body.to_string());
    }
    let at =
        |index: usize, key: &str, value: Value| json!({"contentBlockIndex": index, key: value});
    let mut events = vec![
        ("messageStart", json!({"role": "assistant"})),
        ("contentBlockDelta", at(0, "delta", json!({"text": text}))),
        ("contentBlockStop", json!({"contentBlockIndex": 0})),
    ];
    for (i, (name, input)) in calls.iter().enumerate() {
        let start = json!({"toolUse": {"toolUseId": id(i), "name": name}});
        let delta = json!({"toolUse": {"input": input.to_string()}});
        events.push(("contentBlockStart", at(i + 1, "start", start)));
        events.push(("contentBlockDelta", at(i + 1, "delta", delta)));
        events.push(("contentBlockStop", json!({"contentBlockIndex": i + 1})));
    }
    events.push(("messageStop", json!({"stopReason": stop})));
    events.push(("metadata", json!({"usage": usage})));
    let mut out = Vec::new();
    for (name, payload) in events {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let frame = Frame {
            headers: vec![
                header(":message-type", "event"),
                header(":event-type", name),
                header(":content-type", "application/json"),
            ],
            payload: payload.to_string().into_bytes(),
        };
        write_frame(&frame, &mut out).unwrap();
    }
    MockResponse::frames(out).in_chunks(97)
}
