//! Requests without a user's word.

use prowess_wire::neutral::{Message, convert_to_anthropic};
use prowess_wire::{ClientDialect, Dialect, read_request};
use serde_json::{Value, json};

use crate::{chat, dropped, refused, sent};

/// The text of a conversation's one message, in any dialect.
fn only_text(body: &Value) -> (String, String) {
    let lists = ["messages", "contents", "input"];
    let list = lists.into_iter().find_map(|key| body[key].as_array());
    let [message] = list.unwrap().as_slice() else {
        panic!("{body}");
    };
    let contents = [&message["content"], &message["parts"]];
    let content = contents.into_iter().find(|c| !c.is_null()).unwrap();
    let text = content.as_str().or_else(|| content[0]["text"].as_str());
    let role = message["role"].as_str().unwrap();
    (role.to_owned(), text.unwrap().to_owned())
}

#[test]
fn instructions_alone_become_the_users_message() {
    let body = chat(json!([{"role": "system", "content": "Write a haiku."}]));
    for upstream in [
        Dialect::Messages,
        Dialect::Responses,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let outgoing = sent(ClientDialect::Chat, &body, upstream);
        let role_and_text = only_text(&outgoing.body);
        assert_eq!(
            role_and_text,
            ("user".to_owned(), "Write a haiku.".to_owned()),
            "{upstream:?}"
        );
        for field in ["system", "systemInstruction", "instructions"] {
            assert_eq!(outgoing.body.get(field), None, "{upstream:?}");
        }
        assert_eq!(outgoing.dropped, []);
    }
    let own = sent(ClientDialect::Chat, &body, Dialect::Chat);
    assert_eq!(own.body["messages"], body["messages"]);
    let body = json!({"model": "m", "instructions": "Write a haiku."});
    let outgoing = sent(ClientDialect::Responses, &body, Dialect::Messages);
    assert_eq!(only_text(&outgoing.body).1, "Write a haiku.");
}

#[test]
fn a_request_with_nothing_to_answer_is_refused_in_the_clients_words() {
    let error = refused(ClientDialect::Chat, &chat(json!([])), Dialect::Messages);
    assert_eq!(error.field(), Some("messages"));
    let message = "messages: there is no message to respond to: send at least one message";
    assert_eq!(error.to_string(), message);
    let body = json!({"model": "m", "input": []});
    for upstream in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let error = refused(ClientDialect::Responses, &body, upstream);
        assert_eq!(error.field(), Some("input"), "{upstream:?}");
    }
    let blank = chat(json!([{"role": "system", "content": " "}]));
    assert_eq!(
        refused(ClientDialect::Chat, &blank, Dialect::Gemini).field(),
        Some("messages")
    );
}

#[test]
fn a_prompt_template_of_openais_is_refused_elsewhere_by_its_name() {
    let body = json!({"model": "m", "prompt": {"id": "pmpt_1", "version": "2"}});
    for upstream in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let error = refused(ClientDialect::Responses, &body, upstream);
        assert_eq!(error.field(), Some("prompt"), "{upstream:?}");
        assert_eq!(error.to_api_error().status, 400);
    }
    let own = sent(ClientDialect::Responses, &body, Dialect::Responses);
    assert_eq!(own.body["prompt"]["id"], "pmpt_1");
    let none = json!({"model": "m", "prompt": null, "input": "Hi"});
    sent(ClientDialect::Responses, &none, Dialect::Messages);
}

#[test]
fn contents_that_google_has_cached_are_refused_elsewhere_by_their_name() {
    for name in ["cachedContent", "cached_content"] {
        let mut body = json!({"contents": [{"role": "user", "parts": [{"text": "Go on."}]}]});
        body[name] = "cachedContents/abc".into();
        for upstream in [
            Dialect::Messages,
            Dialect::Chat,
            Dialect::Responses,
            Dialect::Converse,
        ] {
            let error = refused(ClientDialect::Gemini, &body, upstream);
            assert_eq!(error.field(), Some("cachedContent"), "{upstream:?}");
            assert_eq!(error.to_api_error().status, 400);
        }
        let own = sent(ClientDialect::Gemini, &body, Dialect::Gemini);
        assert_eq!(own.body["cachedContent"], "cachedContents/abc");
        let mut request = read_request(ClientDialect::Gemini, body.to_string().as_bytes()).unwrap();
        assert!(convert_to_anthropic(&mut request).is_err());
        body[name] = Value::Null;
        sent(ClientDialect::Gemini, &body, Dialect::Messages);
    }
}

#[test]
fn a_conversation_that_the_model_opens_begins_with_a_blank_message() {
    let body = chat(json!([
        {"role": "system", "content": "Be kind."},
        {"role": "assistant", "content": "How can I help?"},
        {"role": "user", "content": "So."},
    ]));
    for (upstream, list, first) in [
        (
            Dialect::Messages,
            "messages",
            json!({"role": "user", "content": "(blank)"}),
        ),
        (
            Dialect::Converse,
            "messages",
            json!({"role": "user", "content": [{"text": "(blank)"}]}),
        ),
        (
            Dialect::Gemini,
            "contents",
            json!({"role": "user", "parts": [{"text": "(blank)"}]}),
        ),
    ] {
        let outgoing = sent(ClientDialect::Chat, &body, upstream);
        assert_eq!(outgoing.body[list][0], first);
        assert_eq!(outgoing.body[list].as_array().unwrap().len(), 3);
    }
    let own = sent(ClientDialect::Chat, &body, Dialect::Chat);
    assert_eq!(own.body["messages"], body["messages"]);
}

#[test]
fn instructions_alone_behind_a_list_of_tools_become_the_users_message() {
    let body = json!({"model": "m", "input": [
        {"type": "additional_tools", "role": "developer", "tools": [
            {"type": "function", "name": "look", "parameters": {"type": "object"}}]},
        {"role": "developer", "content": "Write a haiku."},
    ]});
    for upstream in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let outgoing = sent(ClientDialect::Responses, &body, upstream);
        let role_and_text = ("user".to_owned(), "Write a haiku.".to_owned());
        assert_eq!(only_text(&outgoing.body), role_and_text, "{upstream:?}");
    }
}

#[test]
fn a_conversation_of_which_nothing_can_be_sent_is_empty() {
    let list =
        json!([{"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}]);
    let body = json!({"model": "m", "input": list, "instructions": "Write a haiku."});
    for upstream in [
        Dialect::Messages,
        Dialect::Chat,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let outgoing = sent(ClientDialect::Responses, &body, upstream);
        let role_and_text = ("user".to_owned(), "Write a haiku.".to_owned());
        assert_eq!(only_text(&outgoing.body), role_and_text, "{upstream:?}");
        assert_eq!(dropped(&outgoing), ["input[0]"], "{upstream:?}");
        let body = json!({"model": "m", "input": list});
        let error = refused(ClientDialect::Responses, &body, upstream);
        assert_eq!(error.field(), Some("input"), "{upstream:?}");
    }
    let mut request = read_request(ClientDialect::Responses, body.to_string().as_bytes()).unwrap();
    convert_to_anthropic(&mut request).unwrap();
    assert_eq!(request.messages, [Message::user("Write a haiku.")]);
    let call = json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search",
        "input": {"query": "a"}});
    let body = json!({"model": "m", "max_tokens": 9, "system": "Write a haiku.",
        "messages": [{"role": "assistant", "content": [call]}]});
    for upstream in [
        Dialect::Chat,
        Dialect::Responses,
        Dialect::Gemini,
        Dialect::Converse,
    ] {
        let outgoing = sent(ClientDialect::Messages, &body, upstream);
        assert_eq!(
            only_text(&outgoing.body).1,
            "Write a haiku.",
            "{upstream:?}"
        );
    }
}
