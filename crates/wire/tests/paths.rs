//! What is dropped from a request or refused is named by its path in the client's own
//! body, for every client and upstream dialect.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "helpers of tests"
)]

#[path = "support/bodies/mod.rs"]
mod bodies;
mod support;

use bodies::{ClientBody, body, contains, walk};
use proptest::prelude::*;
use prowess_wire::neutral::{Block, Content, Message, Role};
use prowess_wire::{
    ClientDialect, Dialect, EncodedRequest, WireError, WriteOptions, read_request, write_request,
};
use serde_json::{Value, json};
use support::UPSTREAMS;

fn write(
    client: ClientDialect,
    body: &Value,
    upstream: Dialect,
    options: &WriteOptions,
) -> Result<EncodedRequest, WireError> {
    let request = read_request(client, body.to_string().as_bytes())?;
    write_request(upstream, &request, options)
}

/// The names of what is left out, in order.
fn dropped(client: ClientDialect, body: &Value, upstream: Dialect) -> Vec<String> {
    let sent = write(client, body, upstream, &WriteOptions::default()).unwrap();
    for dropped in &sent.dropped {
        assert!(walk(body, &dropped.field).is_some(), "{dropped:?}");
    }
    let mut fields: Vec<_> = sent
        .dropped
        .into_iter()
        .map(|dropped| dropped.field)
        .collect();
    fields.sort();
    fields
}

fn refused(client: ClientDialect, body: &Value, upstream: Dialect) -> (String, String) {
    let error = write(client, body, upstream, &WriteOptions::default()).unwrap_err();
    let api_error = error.to_api_error();
    let field = error.field().unwrap().to_owned();
    assert!(walk(body, &field).is_some(), "{error}");
    assert_eq!(api_error.param.as_deref(), Some(field.as_str()));
    (field, error.to_string())
}

#[test]
fn a_chat_client_reads_its_own_names_of_what_is_left_out() {
    let body = json!({
        "model": "m", "parallel_tool_calls": false, "user": "u",
        "response_format": {"type": "json_object"},
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [
                {"type": "text", "text": "Hi", "prompt_cache_breakpoint": {"mode": "explicit"}},
                {"type": "text", "text": "there", "cache_control": {"type": "ephemeral"}},
                {"type": "image_url", "image_url": {"url": "https://e.com/a.png", "detail": "low"}},
                {"type": "file", "file": {"filename": "a.pdf",
                    "file_data": "data:application/pdf;base64,YQ=="}}]},
            {"role": "assistant", "reasoning_content": "Hm.", "content": "So.", "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "[1]"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "1"},
            {"role": "user", "content": "And?", "name": "ann"}],
        "tools": [
            {"type": "web_search_x"},
            {"type": "function", "function": {"name": "f", "strict": true, "x": 1}}],
    });
    assert_eq!(
        dropped(ClientDialect::Chat, &body, Dialect::Gemini),
        [
            "messages[1].content[0].prompt_cache_breakpoint",
            "messages[1].content[1].cache_control",
            "messages[1].content[2].image_url.detail",
            "messages[1].content[3].file.filename",
            "messages[2].reasoning_content",
            "messages[2].tool_calls[0].function.arguments",
            "messages[4].name",
            "parallel_tool_calls",
            "tools[0]",
            "tools[1].function.strict",
            "tools[1].function.x",
            "user",
        ]
    );
    let to_anthropic = dropped(ClientDialect::Chat, &body, Dialect::Messages);
    assert!(
        to_anthropic.contains(&"response_format".to_owned()),
        "{to_anthropic:?}"
    );
}

#[test]
fn a_responses_client_reads_its_own_names_of_what_is_left_out() {
    let body = json!({
        "model": "m", "instructions": "Be kind.", "parallel_tool_calls": false,
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
        "reasoning": {"effort": "low", "summary": "auto"}, "truncation": "auto",
        "input": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [
                {"type": "input_text", "text": "Hi", "prompt_cache_breakpoint": {}},
                {"type": "input_image", "image_url": "https://e.com/a.png", "detail": "low"},
                {"type": "input_file", "filename": "a.pdf", "file_url": "https://e.com/a.pdf"}]},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
            {"role": "assistant", "phase": "commentary", "content": "So."},
            {"role": "assistant", "phase": "final_answer", "content": "Or so."},
            {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "[1]"},
            {"type": "function_call_output", "call_id": "c1", "output": "1"},
            {"role": "user", "content": "And?"}],
    });
    assert_eq!(
        dropped(ClientDialect::Responses, &body, Dialect::Gemini),
        [
            "input[1].content[0].prompt_cache_breakpoint",
            "input[1].content[1].detail",
            "input[1].content[2].filename",
            "input[2]",
            "input[3].phase",
            "input[4].phase",
            "input[5].arguments",
            "parallel_tool_calls",
            "reasoning.summary",
            "text.verbosity",
            "truncation",
        ]
    );
    let to_anthropic = dropped(ClientDialect::Responses, &body, Dialect::Messages);
    assert!(
        to_anthropic.contains(&"text.format".to_owned()),
        "{to_anthropic:?}"
    );
}

#[test]
fn a_messages_client_reads_its_own_names_of_what_is_left_out() {
    let body = json!({
        "model": "m", "max_tokens": 5, "top_k": 3, "metadata": {"user_id": "u", "team": "t"},
        "output_format": {"type": "json_schema", "schema": {}}, "system": [
            {"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "messages": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "x"},
                {"type": "text", "text": "So.", "citations": [1]},
                {"type": "tool_use", "id": "c1", "name": "f", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                    "data": "YQ=="}, "cache_control": {"type": "ephemeral"}}]}]}],
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "tools": [{"name": "f", "input_schema": {}, "eager_input_streaming": true}],
    });
    assert_eq!(
        dropped(ClientDialect::Messages, &body, Dialect::Chat),
        [
            "messages[1].content[0]",
            "messages[1].content[1].citations",
            "messages[2].content[0].content[0].cache_control",
            "metadata.team",
            "system[0].cache_control",
            "tools[0].eager_input_streaming",
            "top_k",
        ]
    );
}

#[test]
fn what_is_refused_is_named_where_the_client_has_it() {
    let other = |kind: &str| json!({"type": kind, "x": 1});
    let chat = json!({"model": "m", "messages": [
        {"role": "system", "content": "Be kind."}, {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Hear"}, other("input_audio_x")]}]});
    let (field, message) = refused(ClientDialect::Chat, &chat, Dialect::Messages);
    assert_eq!(field, "messages[2].content[1]");
    assert!(message.starts_with("messages[2].content[1]: "), "{message}");

    let responses = json!({"model": "m", "input": [
        {"role": "user", "content": "hi"}, {"type": "item_reference_x", "id": "msg_1"},
        {"role": "user", "content": "more"}]});
    // An unknown item is dropped and reported.
    assert_eq!(
        dropped(ClientDialect::Responses, &responses, Dialect::Messages),
        ["input[1]"]
    );

    let image = json!({"model": "m", "input": [{"role": "developer", "content": "Look."},
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.com/a.png"}]}]});
    let (field, _) = refused(ClientDialect::Responses, &image, Dialect::Converse);
    assert_eq!(field, "input[1].content[0].image_url");

    let format = json!({"model": "m", "response_format": {"type": "x_grammar"},
        "messages": [{"role": "user", "content": "hi"}]});
    let (field, _) = refused(ClientDialect::Chat, &format, Dialect::Messages);
    assert_eq!(field, "response_format");

    let result = json!({"model": "m", "messages": [{"role": "user", "content": "hi"},
        {"role": "tool", "tool_call_id": "c1", "content": "1"}]});
    let (field, _) = refused(ClientDialect::Chat, &result, Dialect::Gemini);
    assert_eq!(field, "messages[1].tool_call_id");
}

#[test]
fn what_was_put_into_a_request_here_is_no_fault_of_the_clients() {
    let chat_body = json!({"model": "m", "messages": [{"role": "user", "content": "hi"}]});
    let mut request = read_request(ClientDialect::Chat, chat_body.to_string().as_bytes()).unwrap();
    let thought = Block::new(Content::Thinking {
        thinking: "Hm.".to_owned(),
        signature: String::new(),
    });
    request
        .messages
        .push(Message::new(Role::Assistant, vec![thought]));
    request.system.push(Block {
        cache_control: Some(json!({"type": "ephemeral"})),
        ..Block::text("Skills.")
    });
    request.container = Some(json!("c"));
    request.tools.push(prowess_wire::neutral::Tool {
        cache_control: Some(json!({"type": "ephemeral"})),
        ..prowess_wire::neutral::Tool::function("load", "d", json!({}))
    });
    for (upstream, name) in UPSTREAMS {
        let sent = write_request(upstream, &request, &WriteOptions::default()).unwrap();
        assert_eq!(sent.dropped, [], "{name}");
    }
    request.messages.push(Message::new(
        Role::User,
        vec![Block::new(Content::Other {
            kind: "odd".to_owned(),
        })],
    ));
    for (upstream, name) in UPSTREAMS.into_iter().filter(|(d, _)| *d != Dialect::Chat) {
        let error = write_request(upstream, &request, &WriteOptions::default()).unwrap_err();
        assert_eq!(error.field(), None, "{name}");
        assert!(error.to_string().contains("odd"), "{name}: {error}");
    }
}

#[test]
fn a_request_made_here_keeps_the_neutral_names() {
    let mut request = prowess_wire::neutral::Request::new(Dialect::Messages, "m");
    request.messages.push(Message::user("hi"));
    request.top_k = Some(3);
    request.messages.push(Message::new(
        Role::User,
        vec![Block::new(Content::Other {
            kind: "odd".to_owned(),
        })],
    ));
    let options = WriteOptions::default();
    let error = write_request(Dialect::Gemini, &request, &options).unwrap_err();
    assert_eq!(error.field(), Some("messages[1].content[0]"));
    request.messages.pop();
    let sent = write_request(Dialect::Chat, &request, &options).unwrap();
    assert_eq!(sent.dropped[0].field, "top_k");
}

const ALL_CLIENTS: [ClientDialect; 4] = [
    ClientDialect::Messages,
    ClientDialect::Chat,
    ClientDialect::Responses,
    ClientDialect::Gemini,
];

/// Options by which servers of one dialect differ.
fn options(choice: u8) -> WriteOptions {
    let default = WriteOptions::default();
    match choice % 4 {
        0 => default,
        1 => WriteOptions {
            sampling: false,
            effort_levels: false,
            system_in_place: false,
            ..default
        },
        2 => WriteOptions {
            cache_breakpoints: true,
            reasoning_content: prowess_wire::ReasoningContent::Always,
            ..default
        },
        _ => WriteOptions {
            unsigned_calls: true,
            legacy_max_tokens: true,
            ..default
        },
    }
}

/// Checks one way of one body.
fn check(
    body: &ClientBody,
    upstream: Dialect,
    options: &WriteOptions,
) -> Result<(), TestCaseError> {
    let sent = match write(body.client, &body.value, upstream, options) {
        Ok(sent) => sent,
        Err(error) => {
            let field = error.field();
            let found = field.and_then(|field| walk(&body.value, field));
            prop_assert!(found.is_some(), "{error:?} is not in {}", body.value);
            return Ok(());
        }
    };
    let mut named = Vec::new();
    for dropped in &sent.dropped {
        let found = walk(&body.value, &dropped.field);
        prop_assert!(found.is_some(), "{dropped:?} is not in {}", body.value);
        named.extend(found);
    }
    // Where an upstream has no stop sequences, the reader of its response looks for them.
    let remembered = format!("{:?}", sent.context);
    for word in &body.words {
        prop_assert!(
            contains(&sent.body, word)
                || remembered.contains(word.as_str())
                || named.iter().any(|value| contains(value, word)),
            "{word} of {}\nis neither in {}\nnor in {:?}",
            body.value,
            sent.body,
            sent.dropped
        );
    }
    check_order(body, &sent.body)
}

/// All texts, calls and results are there, in order, and every call's id is also at its
/// result.
fn check_order(body: &ClientBody, sent: &Value) -> Result<(), TestCaseError> {
    let text = sent.to_string();
    let places: Vec<_> = body
        .conversation
        .iter()
        .map(|word| text.find(word.as_str()))
        .collect();
    let there = places.iter().all(Option::is_some) && places.is_sorted();
    prop_assert!(there, "{:?} of {} in {text}", body.conversation, body.value);
    for id in &body.ids {
        let pair = text.matches(id.as_str()).count() >= 2;
        prop_assert!(pair, "{id} of {} in {text}", body.value);
    }
    Ok(())
}

/// One of the client dialects.
fn client() -> impl Strategy<Value = ClientDialect> {
    prop::sample::select(ALL_CLIENTS.to_vec())
}

fn choices() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..160)
}

proptest! {
    /// Nothing is lost on the way to any upstream unless it is named, and what is named
    /// or refused is in the body that the client sent.
    #[test]
    fn nothing_is_lost_unnamed_and_every_name_is_in_the_clients_body(
        client in client(),
        choices in choices(),
        option in any::<u8>(),
    ) {
        let request_body = body(client, &choices);
        for (upstream, _) in UPSTREAMS {
            check(&request_body, upstream, &options(option))?;
        }
    }

    /// The same holds for a conversation that was translated before: any client's words,
    /// written in a second client's dialect, and sent on from there to any upstream.
    #[test]
    fn a_translated_conversation_keeps_its_words_and_order_when_translated_again(
        client in client(),
        second in client(),
        choices in choices(),
    ) {
        let first = body(client, &choices);
        let default = WriteOptions::default();
        if let Ok(sent) = write(client, &first.value, second.into(), &default) {
            let there = |words: Vec<String>| -> Vec<String> {
                words.into_iter().filter(|word| contains(&sent.body, word)).collect()
            };
            let again = ClientBody {
                client: second,
                words: there(first.words),
                conversation: there(first.conversation),
                ids: first.ids,
                value: sent.body.clone(),
            };
            for (upstream, _) in UPSTREAMS {
                check(&again, upstream, &default)?;
            }
        }
    }
}
