//! Clients of Gemini's API: their requests, responses, and the history they send back.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod support;

use prowess_wire::neutral::{
    ApiError, Block, Content, ErrorKind, Message, Role, StreamEvent, replay,
};
use prowess_wire::{
    ClientDialect, Dialect, Dropped, ReplyContext, StreamWriter, WireError, WriteOptions, is_error,
    read_request, read_response, render_client_error, write_request, write_response,
};
use serde_json::{Map, Value, json};
use support::{UPSTREAMS, context, events, folder, wire_bytes};

fn reply(thoughts: bool) -> ReplyContext {
    let mut reply = ReplyContext::default();
    reply.show_thoughts = thoughts;
    reply
}

fn dropped(dropped: &[Dropped]) -> Value {
    let lines = dropped.iter().map(|d| format!("{}: {}", d.field, d.why));
    lines.collect::<Vec<_>>().into()
}

fn failure(error: &WireError) -> Value {
    json!({"error": error.code(), "field": error.field(), "message": error.to_string()})
}

fn read(body: &Value) -> Result<prowess_wire::neutral::Request, WireError> {
    read_request(ClientDialect::Gemini, body.to_string().as_bytes())
}

#[test]
fn every_request_goes_to_every_upstream() {
    for (name, body) in folder("requests/gemini") {
        let mut request = read_request(ClientDialect::Gemini, &body).unwrap();
        request.model = "m".to_owned();
        let mut requests = Map::new();
        for (upstream, to) in UPSTREAMS {
            let written = match write_request(upstream, &request, &WriteOptions::default()) {
                Ok(sent) => json!({"body": sent.body, "dropped": dropped(&sent.dropped)}),
                Err(error) => failure(&error),
            };
            requests.insert(format!("to {to}"), written);
        }
        insta::assert_json_snapshot!(format!("request__{name}"), requests);
    }
}

#[test]
fn every_answer_goes_to_a_gemini_client() {
    for (upstream, from) in UPSTREAMS {
        for (name, body) in folder(&format!("answers/{from}")) {
            let outcome = match read_response(upstream, &body, &context()) {
                Ok(response) => {
                    let (body, lost) =
                        write_response(ClientDialect::Gemini, &response, &reply(true));
                    json!({"body": body, "dropped": dropped(&lost)})
                }
                Err(error) => {
                    let rendered =
                        render_client_error(ClientDialect::Gemini, &error.to_upstream_error());
                    json!({"status": rendered.status, "body": rendered.body})
                }
            };
            insta::assert_json_snapshot!(format!("answer__{from}__{name}"), outcome);
        }
    }
}

#[test]
fn every_stream_goes_to_a_gemini_client() {
    for (upstream, from) in UPSTREAMS {
        for (name, fixture) in folder(&format!("streams/{from}")) {
            let events = events(upstream, &wire_bytes(upstream, &fixture), &[]);
            let (bytes, lost) = write_events(&events, reply(true));
            let mut text = String::from_utf8(bytes).unwrap();
            for lost in lost {
                text.push_str(&format!("-------- dropped {}: {}\n", lost.field, lost.why));
            }
            insta::assert_snapshot!(format!("stream__{from}__{name}"), text);
        }
    }
}

fn write_events(events: &[StreamEvent], reply: ReplyContext) -> (Vec<u8>, Vec<Dropped>) {
    let mut writer = StreamWriter::new(ClientDialect::Gemini, reply);
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    (out, writer.take_dropped())
}

/// The fragments of a stream of events.
fn fragments(bytes: &[u8]) -> Vec<Value> {
    let lines = std::str::from_utf8(bytes).unwrap().lines();
    let data = lines.filter_map(|line| line.strip_prefix("data: "));
    data.map(|data| serde_json::from_str(data).unwrap())
        .collect()
}

/// The history that a client sends back after this response.
fn brought_back(contents: Vec<Value>) -> Vec<Block> {
    let mut all = vec![json!({"role": "user", "parts": [{"text": "Go."}]})];
    all.extend(contents);
    let request = read(&json!({"contents": all})).unwrap();
    let mut messages = request.messages.into_iter();
    let Message { role, .. } = messages.next().unwrap();
    assert_eq!(role, Role::User);
    let answer = messages.next().map(|message| message.content);
    assert_eq!(messages.next(), None);
    answer.unwrap_or_default()
}

/// A content without the parts that are thoughts, as Gemini CLI keeps it.
fn without_thoughts(mut content: Value) -> Value {
    let parts = content["parts"].as_array_mut().unwrap();
    parts.retain(|part| part.get("thought").is_none());
    content
}

/// The content that a client can send back: joined texts, and of server tools only that
/// they ran. Unsigned thoughts are sent back with a call only.
fn expected(content: &[Block]) -> Vec<Block> {
    let calls = |blocks: &[Block]| {
        let call = |block: &Block| matches!(block.content, Content::ToolUse { .. });
        blocks.iter().any(call)
    };
    let mut out: Vec<Block> = Vec::new();
    for (at, block) in content.iter().enumerate() {
        let content = match &block.content {
            Content::Text(text) if text.is_empty() => continue,
            Content::Text(text) => match out.last_mut().map(|last| &mut last.content) {
                Some(Content::Text(known)) => {
                    known.push_str(text);
                    continue;
                }
                _ => Content::Text(text.clone()),
            },
            Content::Thinking { signature, .. }
                if signature.is_empty() && !calls(&content[at..]) =>
            {
                continue;
            }
            // Code that Google's servers ran has its own names here.
            Content::ServerToolUse { id, .. } if id.starts_with("gcode_") => continue,
            Content::Other { .. } => continue,
            other => other.clone(),
        };
        out.push(Block::new(content));
    }
    for block in &mut out {
        comparable(block);
    }
    // Its position among texts does not matter to its server.
    let late = |block: &Block| matches!(&block.content, Content::Thinking { signature, .. } if signature.is_empty());
    out.sort_by_key(|block| if late(block) { 1 } else { 0 });
    let mut joined: Vec<Block> = Vec::new();
    for block in out {
        match (joined.last_mut().filter(|last| late(last)), &block.content) {
            // There is no boundary between consecutive thoughts of this kind.
            (Some(last), Content::Thinking { thinking: more, .. }) => {
                if let Content::Thinking { thinking, .. } = &mut last.content {
                    thinking.push_str(more);
                }
            }
            _ => joined.push(block),
        }
    }
    joined
}

fn comparable(block: &mut Block) {
    block.rest.clear();
    match &mut block.content {
        // Gemini requires its signature, with the thought or without.
        Content::Thinking {
            thinking,
            signature,
        } if signature.starts_with("v1.gemini.") => thinking.clear(),
        Content::ServerToolResult { content, .. } => *content = Value::Null,
        Content::ToolUse { input, .. } if !input.is_object() => *input = json!({"input": input}),
        _ => {}
    }
}

#[test]
fn a_client_brings_back_what_it_got_whole_or_streamed_with_thoughts_or_without() {
    let mut compared = 0;
    for (upstream, from) in UPSTREAMS {
        for (name, body) in folder(&format!("answers/{from}")) {
            let Ok(answer) = read_response(upstream, &body, &context()) else {
                continue;
            };
            let expected_blocks = expected(&answer.content);
            for shown in [true, false] {
                let (whole, _) = write_response(ClientDialect::Gemini, &answer, &reply(shown));
                let content = whole["candidates"][0]["content"].clone();
                let (streamed, _) = write_events(&replay(answer.clone()), reply(shown));
                let streamed = fragments(&streamed).into_iter();
                let streamed: Vec<Value> = streamed
                    .map(|fragment| fragment["candidates"][0]["content"].clone())
                    .collect();
                let stripped = streamed.iter().cloned().map(without_thoughts).collect();
                for contents in [vec![content], streamed, stripped] {
                    let shown_contents = json!(contents);
                    let back = expected(&brought_back(contents));
                    assert_eq!(
                        back, expected_blocks,
                        "{from}/{name}, {shown}: {shown_contents}"
                    );
                    compared += 1;
                }
            }
        }
    }
    assert!(compared >= 60, "{compared}");
}

#[test]
fn thoughts_are_shown_only_to_clients_that_ask_for_them() {
    let body = |config: Value| json!({"contents": [{"parts": [{"text": "x"}]}], "generationConfig": {"thinkingConfig": config}});
    for (config, shown) in [
        (json!({"includeThoughts": true}), true),
        (
            json!({"include_thoughts": true, "thinking_budget": 0}),
            true,
        ),
        (
            json!({"includeThoughts": false, "thinkingBudget": 100}),
            false,
        ),
        (json!({"thinkingLevel": "LOW"}), false),
    ] {
        let request = read(&body(config.clone())).unwrap();
        let context = ReplyContext::for_request(&request, 1);
        assert_eq!(context.show_thoughts, shown, "{config}");
        let sent = write_request(Dialect::Chat, &request, &WriteOptions::default()).unwrap();
        assert!(sent.dropped.is_empty(), "{config}: {:?}", sent.dropped);
    }
}

#[test]
fn results_belong_to_calls_by_id_then_by_name_and_order() {
    let call = |id: Option<&str>, name: &str| json!({"functionCall": {"id": id, "name": name}});
    let result = |id: Option<&str>, name: &str| json!({"functionResponse": {"id": id, "name": name, "response": {"output": "o"}}});
    let ids = |calls: Vec<Value>, results: Vec<Value>| -> Result<Vec<usize>, WireError> {
        let request = read(&json!({"contents": [
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": calls},
            {"role": "user", "parts": results},
        ]}))?;
        let id = |block: &Block| match &block.content {
            Content::ToolUse { id, .. } => id.clone(),
            Content::ToolResult { tool_use_id, .. } => tool_use_id.clone(),
            _ => String::new(),
        };
        let made: Vec<String> = request.messages[1].content.iter().map(id).collect();
        let answered = request.messages[2].content.iter().map(id);
        Ok(answered
            .map(|id| made.iter().position(|made| *made == id).unwrap())
            .collect())
    };
    let two = || vec![call(None, "f"), call(None, "g"), call(None, "f")];
    let by_order = vec![result(None, "f"), result(None, "f"), result(None, "g")];
    assert_eq!(ids(two(), by_order).unwrap(), [0, 2, 1]);
    // A client's own ids, which the calls never had.
    let own = vec![result(Some("x1"), "g"), result(Some("x2"), "f")];
    assert_eq!(ids(two(), own).unwrap(), [1, 0]);
    let named = vec![call(Some("a"), "f"), call(Some("b"), "f")];
    let swapped = vec![result(Some("b"), "f"), result(Some("a"), "f")];
    assert_eq!(ids(named, swapped).unwrap(), [1, 0]);
    let prefixed = vec![call(Some("f__a"), "f"), call(Some("b"), "f")];
    let plain = vec![result(Some("f__b"), "f"), result(Some("a"), "f")];
    assert_eq!(ids(prefixed, plain).unwrap(), [1, 0]);
    let orphan = ids(two(), vec![result(None, "h")]).unwrap_err();
    assert_eq!(
        orphan.field(),
        Some("contents[2].parts[0].functionResponse.name")
    );
}

#[test]
fn the_line_between_the_texts_of_a_run_is_not_the_models() {
    let result = |id: &str| json!({"codeExecutionResult": {"id": id, "outcome": "OUTCOME_OK"}});
    let code = |id: &str| json!({"executableCode": {"id": id, "code": "ls"}});
    let last_text = |parts: Vec<Value>| {
        let back = brought_back(vec![json!({"role": "model", "parts": parts})]);
        back.last().unwrap().as_text().unwrap().to_owned()
    };
    let (ours, googles) = ("srvtoolu_pw1", "x1");
    let text = json!({"text": "\n\nDone."});
    let thought = json!({"text": "Hm.", "thought": true});
    let signed = json!({"text": "\n\nDone.", "thoughtSignature": "R1NJRw=="});
    assert_eq!(
        last_text(vec![code(ours), result(ours), text.clone()]),
        "Done."
    );
    assert_eq!(
        last_text(vec![code(ours), result(ours), thought, signed]),
        "Done."
    );
    assert_eq!(
        last_text(vec![code(googles), result(googles), text.clone()]),
        "\n\nDone."
    );
    assert_eq!(last_text(vec![json!({"text": "A"}), text]), "A\n\nDone.");
}

#[test]
fn the_same_request_gives_the_same_ids() {
    for (_, body) in folder("requests/gemini") {
        let once = read_request(ClientDialect::Gemini, &body).unwrap();
        assert_eq!(read_request(ClientDialect::Gemini, &body).unwrap(), once);
    }
}

#[test]
fn mistakes_are_reported_with_the_clients_own_paths() {
    let error_text = |body: Value| {
        let error = read(&body).unwrap_err().to_api_error();
        let rendered = render_client_error(ClientDialect::Gemini, &error);
        assert_eq!(rendered.body["error"]["status"], "INVALID_ARGUMENT");
        rendered.body["error"]["message"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let with = |key: &str, value: Value| {
        let mut body = json!({"contents": [{"parts": [{"text": "x"}]}]});
        body[key] = value;
        error_text(body)
    };
    insta::assert_snapshot!(error_text(json!({})), @"contents: Field required");
    insta::assert_snapshot!(error_text(json!({"contents": [{"role": "system", "parts": []}]})), @r#"contents[0].role: expected "user" or "model", found "system""#);
    insta::assert_snapshot!(error_text(json!({"contents": [{"parts": [{"function_call": {}}]}]})), @"contents[0].parts[0].functionCall.name: Field required");
    insta::assert_snapshot!(with("generation_config", json!({"candidate_count": 2})), @"generationConfig.candidateCount: only one candidate is supported: omit candidateCount or set it to 1");
    insta::assert_snapshot!(with("generationConfig", json!({"topP": 1, "top_p": 1})), @"generationConfig.topP: duplicate field; send each field once");
    insta::assert_snapshot!(with("toolConfig", json!({"functionCallingConfig": {"mode": "SOME"}})), @r#"toolConfig.functionCallingConfig.mode: expected "AUTO", "ANY", "NONE" or "VALIDATED", found "SOME""#);
    insta::assert_snapshot!(with("tools", json!([{"functionDeclarations": [{}]}])), @"tools[0].functionDeclarations[0].name: Field required");
}

#[test]
fn a_request_to_be_counted_may_stand_inside_another() {
    let inner = json!({"model": "models/m", "contents": [{"parts": [{"text": "x"}]}]});
    let request = read(&json!({"generateContentRequest": inner})).unwrap();
    assert_eq!(request.model, "m");
    assert_eq!(request.messages, [Message::user("x")]);
}

#[test]
fn a_stream_may_be_one_array() {
    for (upstream, from) in UPSTREAMS {
        for (name, fixture) in folder(&format!("streams/{from}")) {
            let events = events(upstream, &wire_bytes(upstream, &fixture), &[]);
            let (as_events, _) = write_events(&events, reply(true));
            let mut array = reply(true);
            array.json_array = true;
            let mut pinged = vec![StreamEvent::Ping];
            pinged.extend(
                events
                    .iter()
                    .flat_map(|event| [event.clone(), StreamEvent::Ping]),
            );
            // Nothing follows the end.
            pinged.pop();
            let (as_array, _) = write_events(&pinged, array);
            let elements: Vec<Value> = serde_json::from_slice(&as_array).unwrap();
            assert_eq!(elements, fragments(&as_events), "{from}/{name}");
        }
    }
    let mut array = reply(false);
    array.json_array = true;
    let (nothing, _) = write_events(&[StreamEvent::MessageStop], array);
    assert_eq!(nothing, b"[]");
}

#[test]
fn a_sign_of_life_is_no_line_that_an_sdk_would_read() {
    let (ping, _) = write_events(&[StreamEvent::Ping], reply(false));
    assert!(ping.iter().all(u8::is_ascii_whitespace), "{ping:?}");
}

#[test]
fn a_stream_that_breaks_off_reports_it_within_an_event_and_outside() {
    let error = ApiError::new(ErrorKind::Overloaded, "too much to do");
    let (bytes, _) = write_events(&[StreamEvent::Error(error)], reply(false));
    let text = String::from_utf8(bytes.clone()).unwrap();
    let [event] = fragments(&bytes).try_into().unwrap();
    assert_eq!(event["error"]["code"], 503);
    let outside: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    assert_eq!(outside, event);
}

#[test]
fn errors_are_googles() {
    let mut error = ApiError::new(ErrorKind::RateLimit, "slow down");
    error.code = Some("key-rate".to_owned());
    error.param = Some("contents[0]".to_owned());
    error.request_id = Some("req_1".to_owned());
    let rendered = render_client_error(ClientDialect::Gemini, &error);
    assert_eq!(rendered.status, 429);
    insta::assert_json_snapshot!(rendered.body, @r#"
    {
      "error": {
        "code": 429,
        "message": "slow down",
        "status": "RESOURCE_EXHAUSTED",
        "details": [
          {
            "@type": "type.googleapis.com/google.rpc.ErrorInfo",
            "reason": "key-rate",
            "domain": "prowess",
            "metadata": {
              "param": "contents[0]",
              "requestId": "req_1"
            }
          }
        ]
      }
    }
    "#);
    assert!(is_error(
        ClientDialect::Gemini,
        rendered.body.to_string().as_bytes()
    ));
    for (kind, status, word) in [
        (ErrorKind::InvalidRequest, 400, "INVALID_ARGUMENT"),
        (ErrorKind::Authentication, 401, "UNAUTHENTICATED"),
        (ErrorKind::Permission, 403, "PERMISSION_DENIED"),
        (ErrorKind::NotFound, 404, "NOT_FOUND"),
        (ErrorKind::TooLarge, 413, "INVALID_ARGUMENT"),
        (ErrorKind::Api, 500, "INTERNAL"),
        (ErrorKind::Overloaded, 503, "UNAVAILABLE"),
        (ErrorKind::Timeout, 504, "DEADLINE_EXCEEDED"),
    ] {
        let rendered = render_client_error(ClientDialect::Gemini, &ApiError::new(kind, "x"));
        let error = &rendered.body["error"];
        assert_eq!(
            (rendered.status, error["status"].as_str()),
            (status, Some(word))
        );
        assert_eq!(error["code"], status);
    }
    // Details of Google's own error are unchanged.
    let google = json!({"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "30s"}]}});
    let read = prowess_wire::read_error(Dialect::Gemini, 429, google.to_string().as_bytes());
    let again = render_client_error(ClientDialect::Gemini, &read);
    assert_eq!(again.body["error"]["details"][0]["retryDelay"], "30s");
}

#[test]
fn what_only_gemini_understands_goes_back_to_gemini() {
    for (name, body) in folder("requests/gemini") {
        let request = read_request(ClientDialect::Gemini, &body).unwrap();
        let sent = write_request(Dialect::Gemini, &request, &WriteOptions::default()).unwrap();
        assert_eq!(dropped(&sent.dropped), json!([]), "{name}");
        let mut again =
            read_request(ClientDialect::Gemini, sent.body.to_string().as_bytes()).unwrap();
        let mut request = request;
        for side in [&mut request, &mut again] {
            unify(side);
        }
        assert_eq!(again, request, "{name}");
    }
}

/// What translation changes on purpose: texts as text, a server's own calls as calls,
/// and a budget without bound as none.
fn unify(request: &mut prowess_wire::neutral::Request) {
    if let Some(thinking) = &mut request.thinking {
        thinking.rest.clear();
    }
    for message in &mut request.messages {
        message.content.retain(|block| {
            let ours = |id: &str| id.starts_with("srvtoolu_");
            match &block.content {
                Content::Document { .. } => false,
                Content::ServerToolUse { id, .. } | Content::ToolUse { id, .. } => !ours(id),
                Content::ServerToolResult { tool_use_id, .. }
                | Content::ToolResult { tool_use_id, .. } => !ours(tool_use_id),
                Content::Text(text) => !text.starts_with("<document"),
                _ => true,
            }
        });
    }
    let mut turns: Vec<Message> = Vec::new();
    for mut message in std::mem::take(&mut request.messages) {
        match turns.last_mut() {
            Some(last) if last.role == message.role => last.content.append(&mut message.content),
            _ if message.content.is_empty() => {}
            _ => turns.push(message),
        }
    }
    request.messages = turns;
}

#[test]
fn thoughts_that_come_back_in_a_signature_are_not_repeated_when_text_stands_between() {
    let thought = |text: &str| {
        Block::new(Content::Thinking {
            thinking: text.to_owned(),
            signature: String::new(),
        })
    };
    let call = |id: &str| Block::tool_use(id, "f", json!({}));
    let answer = [
        thought("One."),
        Block::text("Let me look."),
        call("c1"),
        thought("Two."),
        call("c2"),
    ];
    let body = json!({"id": "m", "model": "m", "content": []}).to_string();
    let mut response = read_response(Dialect::Messages, body.as_bytes(), &context()).unwrap();
    response.content = answer.to_vec();
    for shown in [true, false] {
        let (whole, _) = write_response(ClientDialect::Gemini, &response, &reply(shown));
        let back = brought_back(vec![whole["candidates"][0]["content"].clone()]);
        let expected = [
            Block::text("Let me look."),
            thought("One."),
            call("c1"),
            thought("Two."),
            call("c2"),
        ];
        let contents = |blocks: &[Block]| -> Vec<Content> {
            blocks.iter().map(|block| block.content.clone()).collect()
        };
        assert_eq!(contents(&back), contents(&expected), "{shown}");
    }
}

#[test]
fn settings_in_the_other_spelling_and_of_a_counted_request_are_named() {
    let contents = json!([{"parts": [{"text": "x"}]}]);
    let config = json!({"top_k": 5, "candidate_count": 1});
    let bodies = [
        json!({"contents": contents, "generationConfig": {"topK": 5}}),
        json!({"contents": contents, "generation_config": config}),
        json!({"generateContentRequest": {"contents": contents, "generationConfig": {"topK": 5}}}),
        json!({"generate_content_request": {"contents": contents, "generation_config": config}}),
    ];
    for body in bodies {
        let request = read(&body).unwrap();
        let sent = write_request(Dialect::Responses, &request, &WriteOptions::default()).unwrap();
        let dropped = sent.dropped.iter();
        let dropped: Vec<&str> = dropped.map(|drop| drop.field.as_str()).collect();
        assert!(
            dropped.contains(&"generationConfig.topK"),
            "{body}: {dropped:?}"
        );
    }
}

#[test]
fn calls_are_requested_whole() {
    let mut body = json!({"contents": [{"parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": [{"name": "look"}]}],
        "toolConfig": {"functionCallingConfig": {"streamFunctionCallArguments": true}}});
    let request = read(&body).unwrap();
    for upstream in [Dialect::Gemini, Dialect::Messages] {
        let sent = write_request(upstream, &request, &WriteOptions::default()).unwrap();
        let expected = json!([
            "toolConfig.functionCallingConfig.streamFunctionCallArguments: calls come whole"
        ]);
        assert_eq!(dropped(&sent.dropped), expected);
        let text = sent.body.to_string();
        assert!(!text.contains("streamFunctionCallArguments"), "{text}");
    }
    body["toolConfig"]["functionCallingConfig"]["streamFunctionCallArguments"] = json!(false);
    let request = read(&body).unwrap();
    let sent = write_request(Dialect::Gemini, &request, &WriteOptions::default()).unwrap();
    assert_eq!(dropped(&sent.dropped), json!([]));
}

#[test]
fn a_request_without_contents_is_refused_by_the_name_of_the_field() {
    let request = read(&json!({"contents": []})).unwrap();
    for upstream in [Dialect::Messages, Dialect::Chat, Dialect::Responses] {
        let error = write_request(upstream, &request, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.field(), Some("contents"), "{error}");
    }
}

#[test]
fn blank_contents_end_no_turn() {
    let request = read(&json!({"contents": [
        {"role": "user", "parts": [{"text": "Go."}]},
        {"role": "model", "parts": [{"text": "A"}]},
        {"role": "user", "parts": []},
        {"role": "model", "parts": [{"text": "B"}]},
    ]}))
    .unwrap();
    let texts: Vec<_> = request
        .messages
        .iter()
        .map(|message| message.content[0].as_text())
        .collect();
    assert_eq!(texts, [Some("Go."), Some("AB")]);
}
