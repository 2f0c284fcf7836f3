//! Fields of a response that only its dialect has reach a client of that dialect through a run of
//! several turns, whole and streamed, and no other client.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

mod support;

use prowess_wire::neutral::{
    Map, Message, Request, Response, ResponseCollector, Role, StreamEvent, TokenUsage,
    merge_dialect_fields, replay,
};
use prowess_wire::{
    ClientDialect, Dialect, ReplyContext, StreamReader, StreamWriter, WriteOptions, read_response,
    write_request, write_response,
};
use serde_json::{Value, json};
use support::context;

fn turn(text: &str, cost: f64) -> Value {
    json!({"id": "c1", "object": "chat.completion", "created": 1, "model": "m",
        "provider": "Azure", "system_fingerprint": format!("fp_{text}"), "service_tier": "default",
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": false}}}],
        "choices": [{"index": 0, "finish_reason": "stop", "native_finish_reason": "stop",
            "content_filter_results": {"hate": {"filtered": false, "severity": "safe"}},
            "logprobs": {"content": [{"token": text, "logprob": -0.1}], "refusal": null},
            "message": {"role": "assistant", "content": text, "refusal": null,
                "annotations": [{"type": "url_citation", "url_citation": {"url": text}}]}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5, "cost": cost,
            "is_byok": false, "cost_details": {"upstream_inference_cost": cost},
            "prompt_tokens_details": {"cached_tokens": 1, "audio_tokens": 4}}})
}

/// The same, in chunks.
fn chunks(turn: &Value) -> String {
    let choice = &turn["choices"][0];
    let mut head = turn.clone();
    head["object"] = "chat.completion.chunk".into();
    for key in ["choices", "usage", "prompt_filter_results"] {
        head.as_object_mut().unwrap().shift_remove(key);
    }
    let with = |key: &str, value: Value, choices: Value| {
        let mut chunk = head.clone();
        chunk[key] = value;
        chunk["choices"] = choices;
        format!("data: {chunk}\n\n")
    };
    let delta = json!({"role": "assistant", "content": choice["message"]["content"],
        "annotations": choice["message"]["annotations"]});
    let mut first = json!({"index": 0, "delta": delta, "finish_reason": null});
    first["logprobs"] = choice["logprobs"].clone();
    let last = json!({"index": 0, "delta": {}, "finish_reason": "stop", "logprobs": null,
        "native_finish_reason": "stop", "content_filter_results": choice["content_filter_results"]});
    with(
        "prompt_filter_results",
        turn["prompt_filter_results"].clone(),
        json!([]),
    ) + &with("service_tier", "default".into(), json!([first]))
        + &with("service_tier", "default".into(), json!([last]))
        + &with("usage", turn["usage"].clone(), json!([]))
        + "data: [DONE]\n\n"
}

fn read_turn(turn: &Value, stream: bool) -> Vec<StreamEvent> {
    if !stream {
        let body = turn.to_string();
        return replay(read_response(Dialect::Chat, body.as_bytes(), &context()).unwrap());
    }
    let mut reader = StreamReader::new(Dialect::Chat, context());
    let mut events = reader.push(chunks(turn).as_bytes());
    events.extend(reader.finish());
    events
}

fn collected(events: Vec<StreamEvent>) -> Response {
    let mut collector = ResponseCollector::new(Dialect::Chat);
    for event in events {
        collector.push(event).unwrap();
    }
    collector.finish().unwrap()
}

/// One response of two turns, as in a run.
fn run(stream: bool) -> Vec<StreamEvent> {
    let (first, last) = (
        read_turn(&turn("one", 0.25), stream),
        read_turn(&turn("two", 0.5), stream),
    );
    let mut own = Map::new();
    let mut used = TokenUsage::default();
    for events in [&first, &last] {
        let whole = collected(events.clone());
        merge_dialect_fields(&mut own, &whole.rest);
        used.add(&whole.usage);
    }
    let mut events = last;
    for event in &mut events {
        if let StreamEvent::MessageDelta { usage, rest, .. } = event {
            usage.clone_from(&used);
            rest.clone_from(&own);
        }
    }
    events
}

fn check(body: &Value, choice: &Value, message: &Value, usage: &Value) {
    assert_eq!(body["system_fingerprint"], "fp_two");
    assert_eq!(body["service_tier"], "default");
    assert_eq!(body["provider"], "Azure");
    assert_eq!(body["prompt_filter_results"].as_array().unwrap().len(), 1);
    assert_eq!(choice["content_filter_results"]["hate"]["severity"], "safe");
    assert_eq!(choice["logprobs"]["content"][0]["token"], "one");
    assert_eq!(choice["logprobs"]["content"][1]["token"], "two");
    assert_eq!(message["annotations"].as_array().unwrap().len(), 2);
    assert_eq!(usage["cost"], 0.75);
    assert_eq!(usage["cost_details"]["upstream_inference_cost"], 0.75);
    assert_eq!(usage["is_byok"], false);
    assert_eq!(
        usage["prompt_tokens_details"],
        json!({"cached_tokens": 2, "cache_write_tokens": 0, "audio_tokens": 8})
    );
    assert_eq!(usage["total_tokens"], 10);
}

#[test]
fn a_chat_client_gets_what_its_server_sent_beside_the_text() {
    for upstream_streams in [false, true] {
        let events = run(upstream_streams);
        let whole = collected(events.clone());
        let (body, dropped) = write_response(ClientDialect::Chat, &whole, &ReplyContext::default());
        let choice = &body["choices"][0];
        check(&body, choice, &choice["message"], &body["usage"]);
        assert_eq!(dropped, []);
        assert!(!body.to_string().contains("prowess_own"), "{body}");

        let mut reply = ReplyContext::default();
        reply.include_usage = true;
        let mut writer = StreamWriter::new(ClientDialect::Chat, reply);
        let mut out = Vec::new();
        for event in &events {
            writer.write(event, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
        let chunks: Vec<Value> = data
            .map(|data| serde_json::from_str(&format!("{{{data}")).unwrap())
            .collect();
        let last = chunks
            .iter()
            .find(|c| c["choices"][0]["finish_reason"] == "stop")
            .unwrap();
        let message = chunks
            .iter()
            .map(|chunk| &chunk["choices"][0]["delta"])
            .find(|delta| delta.get("annotations").is_some())
            .unwrap();
        let usage = &chunks.last().unwrap()["usage"];
        check(last, &last["choices"][0], message, usage);
    }
}

#[test]
fn other_clients_get_nothing_of_it_and_it_is_named() {
    let body = turn("one", 0.25).to_string();
    let answer = read_response(Dialect::Chat, body.as_bytes(), &context()).unwrap();
    for client in [
        ClientDialect::Messages,
        ClientDialect::Responses,
        ClientDialect::Gemini,
    ] {
        let (body, dropped) = write_response(client, &answer, &ReplyContext::default());
        let text = body.to_string();
        for word in ["cost", "prowess_own", "content_filter", "fp_one"] {
            assert!(!text.contains(word), "{client:?} {word}: {text}");
        }
        let dropped: Vec<&str> = dropped.iter().map(|drop| drop.field.as_str()).collect();
        for field in [
            "usage.cost",
            "system_fingerprint",
            "choices[0].message.annotations",
        ] {
            assert!(dropped.contains(&field), "{client:?} {field}: {dropped:?}");
        }
        let mut writer = StreamWriter::new(client, ReplyContext::default());
        let mut out = Vec::new();
        for event in read_turn(&turn("one", 0.25), true) {
            writer.write(&event, &mut out);
        }
        let text = String::from_utf8(out).unwrap();
        assert!(
            !text.contains("cost") && !text.contains("prowess_own"),
            "{text}"
        );
    }
}

fn stream_events(upstream: Dialect, events: &[Value]) -> Vec<StreamEvent> {
    let lines = events.iter().map(|event| format!("data: {event}\n\n"));
    let mut reader = StreamReader::new(upstream, context());
    let mut events = reader.push(lines.collect::<String>().as_bytes());
    events.extend(reader.finish());
    events
}

fn whole_events(upstream: Dialect, body: &Value) -> Vec<StreamEvent> {
    let body = body.to_string();
    replay(read_response(upstream, body.as_bytes(), &context()).unwrap())
}

fn collected_for(client: Dialect, events: Vec<StreamEvent>) -> Response {
    let mut collector = ResponseCollector::new(client);
    for event in events {
        collector.push(event).unwrap();
    }
    collector.finish().unwrap()
}

/// The events of the last turn, with what a run adds of the others. Turns are collected as the
/// engine does, in the neutral form.
fn run_of(turns: &[Vec<StreamEvent>]) -> Vec<StreamEvent> {
    let mut own = Map::new();
    for turn in turns {
        let whole = collected_for(Dialect::Messages, turn.clone());
        merge_dialect_fields(&mut own, &whole.rest);
        // A turn that is repeated from a journal has the same.
        let again = collected_for(Dialect::Messages, replay(whole.clone()));
        assert_eq!(again.rest.get("prowess_own"), whole.rest.get("prowess_own"));
        assert_eq!(again.content, whole.content);
    }
    let mut events = turns.last().unwrap().clone();
    for event in &mut events {
        if let StreamEvent::MessageDelta { rest, .. } = event {
            rest.clone_from(&own);
        }
    }
    events
}

fn written(client: ClientDialect, events: &[StreamEvent]) -> Vec<Value> {
    let mut writer = StreamWriter::new(client, ReplyContext::default());
    let mut out = Vec::new();
    for event in events {
        writer.write(event, &mut out);
    }
    let text = String::from_utf8(out).unwrap();
    assert!(!text.contains("prowess_own"), "{text}");
    let data = text.lines().filter_map(|line| line.strip_prefix("data: {"));
    data.map(|data| serde_json::from_str(&format!("{{{data}")).unwrap())
        .collect()
}

fn whole_for(client: ClientDialect, events: Vec<StreamEvent>) -> Value {
    let response = collected_for(client.into(), events);
    let (body, dropped) = write_response(client, &response, &ReplyContext::default());
    assert!(!body.to_string().contains("prowess_own"), "{body}");
    assert_eq!(dropped, []);
    body
}

fn edits(tokens: u64) -> Value {
    json!([{"type": "clear_tool_uses_20250919", "cleared_input_tokens": tokens}])
}

fn edited_turn(tokens: u64, stream: bool) -> Vec<StreamEvent> {
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let managed = json!({"applied_edits": edits(tokens)});
    if !stream {
        let body = json!({"id": "m1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
            "context_management": managed, "usage": usage});
        return whole_events(Dialect::Messages, &body);
    }
    let message = json!({"id": "m1", "model": "m", "content": [], "usage": usage,
        "context_management": null});
    let events = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "text_delta", "text": "Hi"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage,
            "context_management": managed}),
        json!({"type": "message_stop"}),
    ];
    stream_events(Dialect::Messages, &events)
}

#[test]
fn a_messages_client_gets_the_edits_of_its_context_in_all_turns() {
    for stream in [false, true] {
        let events = run_of(&[edited_turn(5, stream), edited_turn(7, stream)]);
        let both = json!([edits(5)[0], edits(7)[0]]);
        let body = whole_for(ClientDialect::Messages, events.clone());
        assert_eq!(body["context_management"]["applied_edits"], both);
        let events_out = written(ClientDialect::Messages, &events);
        let last = events_out
            .iter()
            .find(|event| event["type"] == "message_delta")
            .unwrap();
        assert_eq!(last["context_management"]["applied_edits"], both);
        // One turn, not in a run.
        let events = edited_turn(5, stream);
        let body = whole_for(ClientDialect::Messages, events.clone());
        assert_eq!(body["context_management"]["applied_edits"], edits(5));
        for client in [
            ClientDialect::Chat,
            ClientDialect::Responses,
            ClientDialect::Gemini,
        ] {
            let text = json!(written(client, &events)).to_string();
            assert!(!text.contains("applied_edits"), "{client:?}: {text}");
        }
        let response = collected_for(Dialect::Messages, events);
        let (_, dropped) = write_response(ClientDialect::Chat, &response, &ReplyContext::default());
        let dropped: Vec<&str> = dropped.iter().map(|drop| drop.field.as_str()).collect();
        assert_eq!(dropped, ["context_management"]);
    }
}

#[test]
fn a_streamed_compaction_goes_back_with_its_content() {
    let delta = |delta: Value| json!({"type": "content_block_delta", "index": 0, "delta": delta});
    let usage = json!({"input_tokens": 1, "output_tokens": 1});
    let events = [
        json!({"type": "message_start", "message": {"id": "m1", "model": "m", "usage": usage}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "compaction", "content": null}}),
        delta(json!({"type": "compaction_delta", "content": "So far: ", "encrypted_content": "x"})),
        delta(json!({"type": "compaction_delta", "content": "nothing.", "encrypted_content": "y"})),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block":
            {"type": "mcp_tool_use", "id": "u", "name": "f", "server_name": "s", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "input_json_delta", "partial_json": "{\"a\":1}"}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ];
    let events = stream_events(Dialect::Messages, &events);
    let content = collected_for(Dialect::Messages, events.clone()).content;
    let mut request = Request::new(Dialect::Messages, "m");
    request.messages.push(Message::user("Go."));
    let turn = Message::new(Role::Assistant, content);
    request.messages.push(turn);
    let sent = write_request(Dialect::Messages, &request, &WriteOptions::default()).unwrap();
    let compaction =
        json!({"type": "compaction", "content": "So far: nothing.", "encrypted_content": "y"});
    assert_eq!(sent.body["messages"][1]["content"][0], compaction);
    assert_eq!(
        sent.body["messages"][1]["content"][1]["input"],
        json!({"a": 1})
    );
    let deltas = written(ClientDialect::Messages, &events);
    let deltas = deltas
        .iter()
        .filter(|event| event["delta"]["type"] == "compaction_delta");
    assert_eq!(deltas.count(), 2);
}

fn cited(uri: &str) -> Value {
    sources(&[uri])
}

/// The sources of as many turns.
fn sources(uris: &[&str]) -> Value {
    let segment = json!({"startIndex": 0, "endIndex": 2, "text": "Hi"});
    let chunks: Vec<_> = uris
        .iter()
        .map(|uri| json!({"web": {"uri": uri}}))
        .collect();
    let supports: Vec<_> = (0..uris.len())
        .map(|chunk| json!({"segment": segment, "groundingChunkIndices": [chunk]}))
        .collect();
    let citations: Vec<_> = uris
        .iter()
        .map(|uri| json!({"startIndex": 0, "endIndex": 2, "uri": uri}))
        .collect();
    json!({
        "groundingMetadata": {"webSearchQueries": uris, "groundingChunks": chunks,
            "groundingSupports": supports},
        "citationMetadata": {"citationSources": citations},
    })
}

fn gemini_turn(uri: &str, stream: bool) -> Vec<StreamEvent> {
    let part = |text: &str| json!({"role": "model", "parts": [{"text": text}]});
    let fragment = |text: &str, own: Value| {
        let mut candidate = json!({"content": part(text), "index": 0});
        let fields = candidate.as_object_mut().unwrap();
        fields.extend(own.as_object().unwrap().clone());
        json!({"candidates": [candidate], "responseId": "r1", "modelVersion": "m",
            "createTime": uri,
            "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1}})
    };
    let tokens = |token: &str| json!({"chosenCandidates": [{"token": token}]});
    let mut own = cited(uri);
    own["finishReason"] = "STOP".into();
    own["logprobsResult"] = tokens("i");
    if !stream {
        own["logprobsResult"] = json!({"chosenCandidates": [{"token": "H"}, {"token": "i"}]});
        return whole_events(Dialect::Gemini, &fragment("Hi", own));
    }
    let first = json!({"groundingMetadata": {"webSearchQueries": ["early"]},
        "logprobsResult": tokens("H")});
    let empty = json!({"groundingMetadata": {}, "citationMetadata": null});
    let mut last = fragment("", empty);
    last["candidates"][0]["finishReason"] = "STOP".into();
    stream_events(
        Dialect::Gemini,
        &[fragment("H", first), fragment("i", own), last],
    )
}

#[test]
fn a_gemini_client_gets_the_sources_of_its_text() {
    for stream in [false, true] {
        for uris in [vec!["a"], vec!["b", "a"]] {
            let turns: Vec<_> = uris.iter().map(|uri| gemini_turn(uri, stream)).collect();
            let events = run_of(&turns);
            let check = |body: &Value| {
                let candidate = &body["candidates"][0];
                for (key, value) in sources(&uris).as_object().unwrap() {
                    assert_eq!(&candidate[key], value, "{stream}");
                }
                let tokens = candidate["logprobsResult"]["chosenCandidates"].as_array();
                assert_eq!(tokens.unwrap().len(), 2 * turns.len());
                assert_eq!(candidate["index"], 0);
                assert_eq!(body["createTime"], "a");
                assert_eq!(body["responseId"], "r1");
            };
            check(&whole_for(ClientDialect::Gemini, events.clone()));
            check(written(ClientDialect::Gemini, &events).last().unwrap());
            for client in [
                ClientDialect::Messages,
                ClientDialect::Chat,
                ClientDialect::Responses,
            ] {
                let text = json!(written(client, &events)).to_string();
                assert!(!text.contains("grounding"), "{client:?}: {text}");
            }
        }
    }
    let body = json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]},
        "groundingMetadata": {"webSearchQueries": ["a"]}, "finishReason": "STOP"}]});
    let body = body.to_string();
    let answer = read_response(Dialect::Gemini, body.as_bytes(), &context()).unwrap();
    let (_, dropped) = write_response(ClientDialect::Chat, &answer, &ReplyContext::default());
    assert_eq!(dropped[0].field, "candidates[0].groundingMetadata");
}

/// A Gemini turn with its counts by modality.
fn counted_turn(stream: bool) -> Vec<StreamEvent> {
    let body = json!({
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi"}]},
            "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 30, "toolUsePromptTokenCount": 7,
            "cachedContentTokenCount": 10, "candidatesTokenCount": 5, "thoughtsTokenCount": 2,
            "totalTokenCount": 44, "trafficType": "ON_DEMAND",
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 20},
                {"modality": "IMAGE", "tokenCount": 10}],
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 10}]},
    });
    if stream {
        stream_events(Dialect::Gemini, &[body])
    } else {
        whole_events(Dialect::Gemini, &body)
    }
}

#[test]
fn a_gemini_client_gets_the_counts_of_each_modality_in_all_turns() {
    for stream in [false, true] {
        let mut used = TokenUsage::default();
        for _ in 0..2 {
            used.add(&collected_for(Dialect::Messages, counted_turn(stream)).usage);
        }
        let mut events = counted_turn(stream);
        for event in &mut events {
            if let StreamEvent::MessageDelta { usage, .. } = event {
                usage.clone_from(&used);
            }
        }
        let counts = json!({"promptTokenCount": 60, "toolUsePromptTokenCount": 14,
            "cachedContentTokenCount": 20, "candidatesTokenCount": 10, "thoughtsTokenCount": 4,
            "totalTokenCount": 88, "trafficType": "ON_DEMAND",
            "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 40},
                {"modality": "IMAGE", "tokenCount": 20}],
            "cacheTokensDetails": [{"modality": "TEXT", "tokenCount": 20}]});
        let body = whole_for(ClientDialect::Gemini, events.clone());
        assert_eq!(body["usageMetadata"], counts);
        let last = written(ClientDialect::Gemini, &events).pop().unwrap();
        assert_eq!(last["usageMetadata"], counts);

        let response = collected_for(Dialect::Gemini, events.clone());
        let (body, dropped) =
            write_response(ClientDialect::Chat, &response, &ReplyContext::default());
        assert_eq!(body["usage"]["prompt_tokens"], 74);
        assert_eq!(dropped, [], "the sums are there");
        assert!(!body.to_string().contains("Details"), "{body}");
    }
}

#[test]
fn speech_of_a_model_reaches_a_chat_client_through_a_run() {
    let pieces = [
        json!({"id": "audio_1", "transcript": "Good "}),
        json!({"data": "YQ=="}),
        json!({"data": "YmM=", "transcript": "day."}),
        json!({"expires_at": 7}),
    ];
    let chunk = |choice: Value| json!({"id": "c1", "model": "m", "choices": [choice]});
    let with_speech = pieces
        .iter()
        .map(|piece| chunk(json!({"index": 0, "delta": {"content": null, "audio": piece}})));
    let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
    let chunks: Vec<Value> = with_speech.chain([end]).collect();
    let events = stream_events(Dialect::Chat, &chunks);
    let sent = written(ClientDialect::Chat, &events);
    let sent_on: Vec<&Value> = sent
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"].get("audio"))
        .collect();
    assert_eq!(sent_on, pieces.iter().collect::<Vec<_>>());
    let whole = whole_for(ClientDialect::Chat, events.clone());
    assert_eq!(
        whole["choices"][0]["message"]["audio"],
        json!({"id": "audio_1", "expires_at": 7, "data": "YWJj", "transcript": "Good day."})
    );
    for client in [
        ClientDialect::Messages,
        ClientDialect::Responses,
        ClientDialect::Gemini,
    ] {
        let text = json!(written(client, &events)).to_string();
        assert!(!text.contains("audio"), "{client:?}: {text}");
    }
}

#[test]
fn what_azures_filters_found_is_still_there_after_its_last_chunk() {
    let found =
        json!([{"prompt_index": 0, "content_filter_results": {"jailbreak": {"filtered": false}}}]);
    let events = stream_events(
        Dialect::Chat,
        &[
            json!({"id": "", "model": "", "object": "", "created": 0, "choices": [],
                "prompt_filter_results": found}),
            json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {"content": "Hi"},
                "content_filter_results": {"hate": {"filtered": false}}}]}),
            json!({"id": "c1", "model": "m", "choices": [{"index": 0, "delta": {},
                "finish_reason": "stop", "content_filter_results": {}}]}),
        ],
    );
    let body = whole_for(ClientDialect::Chat, events);
    assert_eq!(body["id"], "chatcmpl-c1");
    assert_eq!(body["prompt_filter_results"], found);
    let choice = &body["choices"][0];
    assert_eq!(choice["content_filter_results"]["hate"]["filtered"], false);
}
