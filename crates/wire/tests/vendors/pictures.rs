//! Pictures that a model made.

use prowess_wire::event_stream::{Frame, write_frame};
use prowess_wire::neutral::StreamEvent;
use prowess_wire::{ClientDialect, Dialect, StreamReader};
use serde_json::{Value, json};

use crate::{chat, dropped, read, sent, sse, support, whole, write_events};

const PNG: &str = "iVBORw0KGgoA";

fn url() -> String {
    format!("data:image/png;base64,{PNG}")
}

fn gemini() -> Value {
    let parts = json!([{"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]);
    json!({"responseId": "r1", "candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
}

fn image() -> Value {
    json!({"type": "image_url", "image_url": {"url": url()}, "index": 0})
}

/// Servers that give a picture, whole.
fn answers() -> Vec<(Dialect, Value)> {
    let message = |extra: Value| {
        let mut message = json!({"role": "assistant", "content": "Here:"});
        message
            .as_object_mut()
            .unwrap()
            .extend(extra.as_object().unwrap().clone());
        json!({"id": "c1", "choices": [{"message": message, "finish_reason": "stop"}]})
    };
    let parts = json!([{"type": "text", "text": "Here:"}, {"type": "image_url", "image_url": {"url": url()}}]);
    let text = json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "Here:"}]});
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed",
        "result": PNG, "output_format": "png", "quality": "high"});
    let blocks = json!([{"text": "Here:"}, {"image": {"format": "png", "source": {"bytes": PNG}}}]);
    vec![
        (Dialect::Gemini, gemini()),
        (Dialect::Chat, message(json!({"images": [image()]}))),
        (Dialect::Chat, message(json!({"content": parts}))),
        (
            Dialect::Responses,
            json!({"id": "resp_1", "status": "completed", "output": [text, item]}),
        ),
        (
            Dialect::Converse,
            json!({"output": {"message": {"role": "assistant", "content": blocks}}, "stopReason": "end_turn"}),
        ),
    ]
}

#[test]
fn a_chat_client_finds_pictures_in_images() {
    for (upstream, answer) in answers() {
        let body = whole(upstream, &answer, ClientDialect::Chat);
        let message = &body["choices"][0]["message"];
        assert_eq!(message["content"], "Here:", "{upstream:?}");
        assert_eq!(message["images"], json!([image()]), "{upstream:?}");
        assert_eq!(body["choices"][0]["finish_reason"], "stop");
    }
    let only = json!({"candidates": [{"content": {"parts": [
        {"inlineData": {"mimeType": "image/jpeg", "data": "/9j/"}},
        {"inlineData": {"mimeType": "image/png", "data": PNG}}]}, "finishReason": "STOP"}]});
    let message = &whole(Dialect::Gemini, &only, ClientDialect::Chat)["choices"][0]["message"];
    assert_eq!(message["content"], Value::Null);
    assert_eq!(
        message["images"][0]["image_url"]["url"],
        "data:image/jpeg;base64,/9j/"
    );
    assert_eq!(message["images"][1]["index"], 1);
}

#[test]
fn a_responses_client_finds_pictures_as_items_of_the_image_tool() {
    for (upstream, answer) in answers() {
        let body = whole(upstream, &answer, ClientDialect::Responses);
        let item = &body["output"][1];
        assert_eq!(item["type"], "image_generation_call", "{upstream:?}");
        assert_eq!(item["status"], "completed");
        assert_eq!(
            (&item["result"], &item["output_format"]),
            (&json!(PNG), &json!("png"))
        );
        assert!(item["id"].as_str().unwrap().starts_with("ig_"), "{item}");
    }
    let (upstream, answer) = answers().swap_remove(3);
    assert_eq!(
        whole(upstream, &answer, ClientDialect::Responses)["output"][1],
        answer["output"][1]
    );
}

#[test]
fn a_messages_client_reads_a_text_that_carries_the_picture() {
    for (upstream, answer) in answers() {
        let body = whole(upstream, &answer, ClientDialect::Messages);
        let block = &body["content"][1];
        assert_eq!(block["type"], "text", "{upstream:?}");
        assert_eq!(block["text"], "[picture: image/png, 9 bytes]");
        let source = json!({"type": "base64", "media_type": "image/png", "data": PNG});
        assert_eq!(block["source"], source, "{upstream:?}");
    }
}

/// A stream of a server that gives a picture.
fn streams() -> Vec<(&'static str, Vec<StreamEvent>)> {
    let chunk = |delta: Value, reason: Value| json!({"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    let chunks = [
        chunk(json!({"content": "Here:"}), Value::Null),
        chunk(json!({"images": [image()]}), Value::Null),
        chunk(json!({}), json!("stop")),
    ];
    let item = json!({"type": "image_generation_call", "id": "ig_1", "status": "completed",
        "result": PNG, "output_format": "png"});
    let responses = [
        json!({"type": "response.created", "response": {"id": "resp_1"}}),
        json!({"type": "response.output_text.delta", "delta": "Here:"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": item}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "status": "completed"}}),
    ];
    vec![
        ("gemini", read(Dialect::Gemini, &sse(&[gemini()]))),
        ("chat", read(Dialect::Chat, &sse(&chunks))),
        ("responses", read(Dialect::Responses, &sse(&responses))),
        ("converse", converse()),
    ]
}

/// A picture in two pieces.
fn converse() -> Vec<StreamEvent> {
    let events = [
        ("messageStart", json!({"role": "assistant"})),
        (
            "contentBlockDelta",
            json!({"contentBlockIndex": 0, "delta": {"text": "Here:"}}),
        ),
        ("contentBlockStop", json!({"contentBlockIndex": 0})),
        (
            "contentBlockStart",
            json!({"contentBlockIndex": 1, "start": {"image": {"format": "png"}}}),
        ),
        (
            "contentBlockDelta",
            json!({"contentBlockIndex": 1, "delta": {"image": {"source": {"bytes": "iVBO"}}}}),
        ),
        (
            "contentBlockDelta",
            json!({"contentBlockIndex": 1, "delta": {"image": {"source": {"bytes": "Rw0KGgoA"}}}}),
        ),
        ("contentBlockStop", json!({"contentBlockIndex": 1})),
        ("messageStop", json!({"stopReason": "end_turn"})),
        (
            "metadata",
            json!({"usage": {"inputTokens": 1, "outputTokens": 2}}),
        ),
    ];
    let mut bytes = Vec::new();
    for (name, payload) in events {
        let headers = [(":message-type", "event"), (":event-type", name)];
        let frame = Frame {
            headers: headers
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            payload: payload.to_string().into_bytes(),
        };
        write_frame(&frame, &mut bytes).unwrap();
    }
    let mut reader = StreamReader::new(Dialect::Converse, support::context());
    let mut events = reader.push(&bytes);
    events.extend(reader.finish());
    support::assert_well_formed(&events);
    events
}

#[test]
fn a_streamed_picture_reaches_every_client() {
    for (from, events) in streams() {
        let chat = write_events(&events, ClientDialect::Chat);
        let images = chat
            .iter()
            .filter_map(|event| event.pointer("/choices/0/delta/images"));
        assert_eq!(images.collect::<Vec<_>>(), [&json!([image()])], "{from}");

        let messages = write_events(&events, ClientDialect::Messages);
        let start = messages
            .iter()
            .find(|event| event["content_block"]["source"].is_object());
        let index = &start.unwrap()["index"];
        assert_eq!(start.unwrap()["content_block"]["type"], "text", "{from}");
        assert_eq!(start.unwrap()["content_block"]["text"], "", "{from}");
        let text: String = messages
            .iter()
            .filter(|event| &event["index"] == index)
            .filter_map(|event| event["delta"]["text"].as_str())
            .collect();
        assert_eq!(text, "[picture: image/png, 9 bytes]", "{from}");

        let responses = write_events(&events, ClientDialect::Responses);
        let kinds: Vec<&str> = responses
            .iter()
            .filter(|event| event["output_index"] == 1)
            .map(|event| event["type"].as_str().unwrap())
            .collect();
        let mut expected = vec!["response.output_item.added"];
        // What OpenAI's servers tell of their work passes as it comes; here they tell nothing.
        if from != "responses" {
            expected.extend([
                "response.image_generation_call.in_progress",
                "response.image_generation_call.generating",
                "response.image_generation_call.completed",
            ]);
        }
        expected.push("response.output_item.done");
        assert_eq!(kinds, expected, "{from}");
        let done = responses.iter().find(|event| {
            event["type"] == "response.output_item.done" && event["output_index"] == 1
        });
        let item_id = &done.unwrap()["item"]["id"];
        let last = responses.last().unwrap();
        let item = &last["response"]["output"][1];
        assert_eq!(
            (&item["result"], &item["id"]),
            (&json!(PNG), item_id),
            "{from}"
        );
        if from == "responses" {
            continue;
        }
        let added = responses
            .iter()
            .find(|event| event["item"]["type"] == "image_generation_call");
        assert_eq!(added.unwrap()["item"]["status"], "in_progress", "{from}");
        assert_eq!(added.unwrap()["item"]["result"], Value::Null, "{from}");
    }
}

#[test]
fn a_picture_comes_back_to_gemini_from_every_client() {
    let answer = gemini();
    let user = json!({"role": "user", "content": "Draw."});
    let again = json!({"role": "user", "content": "Bluer."});
    let messages = whole(Dialect::Gemini, &answer, ClientDialect::Messages);
    let from_chat = whole(Dialect::Gemini, &answer, ClientDialect::Chat);
    let responses = whole(Dialect::Gemini, &answer, ClientDialect::Responses);
    let assistant = json!({"role": "assistant", "content": messages["content"]});
    for (client, body) in [
        (
            ClientDialect::Messages,
            json!({"model": "m", "max_tokens": 9, "messages": [user, assistant, again]}),
        ),
        (
            ClientDialect::Chat,
            chat(json!([user, from_chat["choices"][0]["message"], again])),
        ),
        (
            ClientDialect::Responses,
            json!({"model": "m", "input": [user, responses["output"][0], responses["output"][1], again]}),
        ),
    ] {
        let outgoing = sent(client, &body, Dialect::Gemini);
        let parts = &outgoing.body["contents"][1]["parts"];
        assert_eq!(
            parts,
            &json!([{"text": "Here:"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]),
            "{client:?}"
        );
        // Others take no picture from a model: they are told that there was one.
        for (upstream, list) in [
            (Dialect::Messages, "messages"),
            (Dialect::Responses, "input"),
            (Dialect::Converse, "messages"),
        ] {
            let outgoing = sent(client, &body, upstream);
            let text = outgoing.body[list][1].to_string();
            let own = client == ClientDialect::Responses && upstream == Dialect::Responses;
            assert_eq!(
                text.contains("[picture: image/png, 9 bytes]"),
                !own,
                "{text}"
            );
            assert!(own || !text.contains(PNG), "{text}");
            assert_eq!(
                dropped(&outgoing).is_empty(),
                own,
                "{client:?} {upstream:?}"
            );
        }
    }
    let own = sent(
        ClientDialect::Chat,
        &chat(json!([user, from_chat["choices"][0]["message"], again])),
        Dialect::Chat,
    );
    assert_eq!(own.body["messages"][1]["images"], json!([image()]));
    let input = json!({"model": "m", "input": [user, responses["output"][1], again]});
    let own = sent(ClientDialect::Responses, &input, Dialect::Responses);
    assert_eq!(own.body["input"][1], responses["output"][1]);
}

#[test]
fn what_else_a_model_made_does_not_pass_for_a_picture() {
    let parts = json!([{"inlineData": {"mimeType": "audio/wav", "data": "UklGRg=="}},
        {"executableCode": {"language": "PYTHON", "code": "1"}}]);
    let answer = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
    let body = whole(Dialect::Gemini, &answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["text"], "[file: audio/wav, 6 bytes]");
    assert_eq!(body["content"][0]["source"]["media_type"], "audio/wav");
    assert_eq!(body["content"][1]["type"], "text");
    assert_eq!(body["content"][1]["executableCode"]["code"], "1");
    let body = whole(Dialect::Gemini, &answer, ClientDialect::Chat);
    assert_eq!(body["choices"][0]["message"].get("images"), None);
}

#[test]
fn a_picture_elsewhere_is_pointed_to() {
    let at = "https://example.com/a.png";
    let message =
        json!({"content": null, "images": [{"type": "image_url", "image_url": {"url": at}}]});
    let answer = json!({"id": "c1", "choices": [{"message": message, "finish_reason": "stop"}]});
    let body = whole(Dialect::Chat, &answer, ClientDialect::Responses);
    assert_eq!(
        body["output"][0]["content"][0]["text"],
        format!("![picture]({at})")
    );
    let body = whole(Dialect::Chat, &answer, ClientDialect::Messages);
    assert_eq!(body["content"][0]["text"], format!("[picture: {at}]"));
    assert_eq!(body["content"][0]["source"]["url"], at);
}
