//! Requests keep their meaning on the way into the neutral conversation and out again.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use proptest::prelude::*;
use prowess_wire::neutral::{
    Block, Content, MediaSource, Message, Request, ResponseFormat, Role, Tool, ToolChoice,
};
use prowess_wire::raw::RawObject;
use prowess_wire::{ClientDialect, Dialect, WriteOptions, read_request, write_request};
use serde_json::{Value, json};
use support::{CLIENTS, file, folder};

/// What a request means after a trip through a dialect.
fn trip(client: ClientDialect, request: &Request) -> Request {
    let sent = write_request(client.into(), request, &WriteOptions::default()).unwrap();
    read_request(client, sent.body.to_string().as_bytes()).unwrap()
}

#[test]
fn a_request_keeps_its_meaning_on_the_way_back_to_its_own_dialect() {
    for (client, name) in CLIENTS {
        for (fixture, body) in folder(&format!("requests/{name}")) {
            let mut request = read_request(client, &body).unwrap();
            let mut back = trip(client, &request);
            forgive(client, &mut request);
            forgive(client, &mut back);
            assert_eq!(back, request, "{name}/{fixture}");
        }
    }
}

/// What translation for an upstream changes on purpose.
fn forgive(client: ClientDialect, request: &mut Request) {
    forget_blank(request);
    match client {
        ClientDialect::Messages => {
            // Thoughts of other providers, and names Anthropic would refuse.
            for message in &mut request.messages {
                message.content.retain(|block| {
                    !matches!(&block.content, Content::Thinking { signature, .. } if signature.starts_with("v1."))
                });
            }
            for message in &mut request.messages {
                for block in &mut message.content {
                    match &mut block.content {
                        Content::ToolUse { id, name, .. } => {
                            id.clear();
                            name.clear();
                        }
                        Content::ToolResult { tool_use_id, .. } => tool_use_id.clear(),
                        _ => {}
                    }
                }
            }
            for tool in &mut request.tools {
                tool.name.clear();
            }
            request.tool_choice = None;
        }
        ClientDialect::Chat => {
            // A container is served by Prowess; thoughts are not accepted; several system
            // texts are one message of parts; cache marks need a server that supports them.
            request.container = None;
            for message in &mut request.messages {
                message
                    .content
                    .retain(|block| !matches!(block.content, Content::Thinking { .. }));
            }
            for block in &mut request.system {
                block.cache_control = None;
            }
            request.rest.shift_remove("stream_options");
        }
        ClientDialect::Responses => {
            // All instructions become one text.
            let texts: Vec<&str> = request.system.iter().filter_map(Block::as_text).collect();
            request.system = vec![Block::text(texts.join("\n\n"))];
        }
        ClientDialect::Gemini => {}
    }
}

/// Blank messages are dropped, trailing whitespace of the model's last message is trimmed,
/// and a generated image is only named where it cannot be sent back.
fn forget_blank(request: &mut Request) {
    let empty = |block: &Block| block.as_text().is_some_and(str::is_empty);
    request.system.retain(|block| !empty(block));
    for message in &mut request.messages {
        if message.role == Role::Assistant {
            for block in &mut message.content {
                match &mut block.content {
                    Content::Text(text) => text.truncate(text.trim_end().len()),
                    Content::Image(_) if request.origin == Dialect::Messages => {
                        *block = Block::text("[image: image/png, 9 bytes]");
                    }
                    _ => {}
                }
            }
        }
        message.content.retain(|block| !empty(block));
    }
    request
        .messages
        .retain(|message| !message.content.is_empty());
}

#[test]
fn requests_of_the_official_sdks_survive_unchanged() {
    let recorded = String::from_utf8(file("recorded.jsonl")).unwrap();
    let mut seen = 0;
    for line in recorded.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        let client = match line["client"].as_str().unwrap() {
            "messages" => ClientDialect::Messages,
            "chat" => ClientDialect::Chat,
            _ => ClientDialect::Responses,
        };
        let body = line["body"].as_str().unwrap();
        let raw = RawObject::parse(body.as_bytes()).unwrap();
        assert_eq!(raw.with_str("model", "m"), body.as_bytes());
        let mut request = read_request(client, body.as_bytes()).unwrap();
        let mut back = trip(client, &request);
        if client == ClientDialect::Chat {
            forgive(client, &mut request);
            forgive(client, &mut back);
        }
        assert_eq!(back, request, "{body}");
        seen += 1;
    }
    assert_eq!(seen, 10);
}

fn text() -> impl Strategy<Value = String> {
    "[a-zA-Z é☂\n\"{}]{1,12}"
}

fn image() -> impl Strategy<Value = Block> {
    prop_oneof![
        "[A-Za-z0-9]{4,8}".prop_map(|data| MediaSource::Base64 {
            media_type: "image/png".to_owned(),
            data,
        }),
        "[a-z]{3}".prop_map(|name| MediaSource::Url(format!("https://example.com/{name}.png"))),
    ]
    .prop_map(|source| Block::new(Content::Image(source)))
}

/// A user's message, a model's response with tool calls, and their results.
fn exchange(n: usize) -> impl Strategy<Value = Vec<Message>> {
    let user = (text(), proptest::collection::vec(image(), 0..2));
    let reply = proptest::option::of(text());
    let calls = proptest::collection::vec((text(), text(), "[a-z]{1,5}"), 0..3);
    (user, reply, calls).prop_map(move |((questions, images), reply, calls)| {
        let mut user = vec![Block::text(questions)];
        user.extend(images);
        let mut answer: Vec<Block> = reply.into_iter().map(Block::text).collect();
        if answer.is_empty() && calls.is_empty() {
            answer.push(Block::text("…"));
        }
        let mut results = Vec::new();
        for (i, (argument, result, name)) in calls.into_iter().enumerate() {
            let id = format!("call_{n}_{i}");
            answer.push(Block::tool_use(&id, name, json!({"x": argument, "n": i})));
            results.push(Block::tool_result(&id, result));
        }
        let mut messages = vec![
            Message::new(Role::User, user),
            Message::new(Role::Assistant, answer),
        ];
        if !results.is_empty() {
            messages.push(Message::new(Role::User, results));
            messages.push(Message::new(Role::Assistant, vec![Block::text("So.")]));
        }
        messages
    })
}

fn request() -> impl Strategy<Value = Request> {
    let settings = (
        proptest::option::of(text()),
        // OpenAI accepts no lower limit in Responses.
        proptest::option::of(16u64..9999),
        any::<bool>(),
        proptest::option::of(prop_oneof![
            Just(ToolChoice::Auto),
            Just(ToolChoice::Any),
            Just(ToolChoice::None),
            Just(ToolChoice::Tool("get_weather".to_owned())),
        ]),
        proptest::option::of(any::<bool>()),
    );
    (exchange(0), exchange(1), settings).prop_map(|(first, second, settings)| {
        let (system, max_tokens, stream, choice, schema) = settings;
        let mut request = Request::new(Dialect::Messages, "m");
        request.messages = first.into_iter().chain(second).collect();
        request.messages.push(Message::user("Last."));
        request.system = system.into_iter().map(Block::text).collect();
        request.max_tokens = max_tokens;
        request.stream = stream;
        request.tools = vec![Tool::function(
            "get_weather",
            "d",
            json!({"type": "object", "properties": {}}),
        )];
        request.tool_choice = choice;
        request.format = schema.map(|_| ResponseFormat::JsonSchema {
            schema: json!({"type": "object"}),
            name: None,
            description: None,
            strict: None,
        });
        request
    })
}

proptest! {
    #[test]
    fn any_conversation_keeps_its_meaning_through_every_client_dialect(request in request()) {
        for (client, _) in CLIENTS {
            let mut request = request.clone();
            let mut back = trip(client, &request);
            for side in [&mut request, &mut back] {
                plain(side);
            }
            prop_assert_eq!(&back, &request);
        }
    }

    #[test]
    fn any_conversation_keeps_its_meaning_through_gemini(request in request()) {
        let mut request = request;
        let mut back = trip(ClientDialect::Gemini, &request);
        // Both are in the path.
        back.model.clone_from(&request.model);
        back.stream = request.stream;
        for side in [&mut request, &mut back] {
            plain(side);
            without_padding(side);
        }
        prop_assert_eq!(&back, &request);
    }

    #[test]
    fn upstreams_that_insist_on_turns_get_turns(request in request()) {
        for (dialect, list) in [(Dialect::Gemini, "contents"), (Dialect::Converse, "messages")] {
            let sent = write_request(dialect, &request, &WriteOptions::default());
            let body = match sent {
                Ok(sent) => sent.body,
                // Converse accepts no images by URL; the error has the path.
                Err(error) => {
                    prop_assert_eq!(dialect, Dialect::Converse);
                    prop_assert!(error.field().is_some_and(|field| field.ends_with(".source")));
                    continue;
                }
            };
            let roles: Vec<_> = body[list].as_array().unwrap().iter().map(|m| m["role"].clone()).collect();
            prop_assert_eq!(&roles[0], &json!("user"));
            prop_assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", roles);
        }
    }

    #[test]
    fn no_bytes_make_a_request_reader_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for (client, _) in CLIENTS {
            let _ = read_request(client, &bytes);
        }
        let _ = read_request(ClientDialect::Gemini, &bytes);
    }
}

/// Bytes get the padding that other vendors require.
fn without_padding(request: &mut Request) {
    for block in request.messages.iter_mut().flat_map(|m| &mut m.content) {
        if let Content::Image(MediaSource::Base64 { data, .. }) = &mut block.content {
            *data = data.trim_end_matches('=').to_owned();
        }
    }
}

/// Removes client paths and what a dialect adds by default.
fn plain(request: &mut Request) {
    request.origin = Dialect::Messages;
    request.rest.clear();
    request.max_tokens = request.max_tokens.or(Some(8192));
    for tool in &mut request.tools {
        if let prowess_wire::neutral::ToolKind::Function { strict, .. } = &mut tool.kind {
            *strict = None;
        }
    }
    if let Some(ResponseFormat::JsonSchema { name, strict, .. }) = &mut request.format {
        *name = None;
        *strict = None;
    }
}
