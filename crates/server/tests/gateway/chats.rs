//! Chat completions stored on request.

use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, MESSAGES_STREAM, question};
use crate::gateway::{Gateway, masked};

const PATH: &str = "/v1/chat/completions";

fn stored(model: &str, stream: bool) -> Value {
    let mut request = question(ClientDialect::Chat, model, stream);
    request["store"] = true.into();
    request["metadata"] = json!({"topic": "weather"});
    request
}

async fn list(gateway: &Gateway, query: &str) -> Vec<Value> {
    let listed = gateway.get(&format!("{PATH}?{query}"), &[]).await;
    assert_eq!(listed.status, 200, "{}", listed.text());
    listed.json()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_completion_is_stored_however_it_came() {
    for (model, whole, stream) in [
        ("ant/m1", MESSAGES, MESSAGES_STREAM),
        ("oai/m1", CHAT, CHAT_STREAM),
    ] {
        for streamed in [false, true] {
            let gateway = Gateway::start().await;
            gateway.upstream.respond(if streamed {
                MockResponse::sse(stream)
            } else {
                MockResponse::json(200, whole)
            });
            let request = stored(model, streamed).to_string();
            let answer = gateway.post(PATH, request).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
            assert_eq!(answer.header("prowess-dropped"), None);
            let sent = gateway.upstream.next_request().await;
            // What passes unchanged passes completely.
            assert_eq!(sent.text().contains("\"store\""), model == "oai/m1");
            let all = list(&gateway, "").await;
            assert_eq!(all.len(), 1, "{model} {streamed}");
            let kept = &all[0];
            let id = kept["id"].as_str().unwrap();
            assert!(answer.text().contains(id), "{id}: {}", answer.text());
            assert_eq!(kept["object"], "chat.completion");
            assert_eq!(kept["metadata"], json!({"topic": "weather"}));
            let message = &kept["choices"][0]["message"];
            assert_eq!(message["content"], "Looking.");
            assert_eq!(message["tool_calls"][0]["function"]["name"], "weather");
            let got = gateway.get(&format!("{PATH}/{id}"), &[]).await;
            assert_eq!(got.json(), *kept);
            if !streamed {
                let mut given = answer.json();
                given["metadata"] = kept["metadata"].clone();
                assert_eq!(*kept, given);
            }
        }
    }
}

#[tokio::test]
async fn only_what_is_to_be_stored_is() {
    let gateway = Gateway::start().await;
    for store in [Value::Null, false.into()] {
        let mut request = question(ClientDialect::Chat, "stage/hero", false);
        request["store"] = store;
        gateway.post(PATH, request.to_string()).await;
    }
    let mut failing = stored("stage/hero", false);
    failing["messages"][0]["content"] = "fail".into();
    gateway.post(PATH, failing.to_string()).await;
    assert!(list(&gateway, "").await.is_empty());
    let mut bad = stored("stage/hero", false);
    bad["metadata"] = json!({"a": 1});
    assert_eq!(gateway.post(PATH, bad.to_string()).await.status, 400);
}

#[tokio::test]
async fn stored_completions_are_listed_by_model_and_notes_in_pages() {
    let gateway = Gateway::start().await;
    for (model, topic) in [("stage/a", "x"), ("stage/b", "y"), ("stage/a", "y")] {
        let mut request = stored(model, false);
        request["metadata"]["topic"] = topic.into();
        gateway.post(PATH, request.to_string()).await;
    }
    let all = list(&gateway, "order=asc").await;
    let ids = |list: &[Value]| list.iter().map(|one| one["id"].clone()).collect::<Vec<_>>();
    let all = ids(&all);
    assert_eq!(all.len(), 3);
    let of_model = list(&gateway, "model=stage/a").await;
    assert_eq!(ids(&of_model), [all[0].clone(), all[2].clone()]);
    let noted = list(&gateway, "metadata[topic]=y&model=stage%2Fa").await;
    assert_eq!(ids(&noted), [all[2].clone()]);
    let first = gateway
        .get(&format!("{PATH}?limit=2&order=desc"), &[])
        .await;
    let first = first.json();
    assert_eq!(first["has_more"], true);
    let after = first["last_id"].as_str().unwrap();
    let rest = list(&gateway, &format!("after={after}&order=desc")).await;
    assert_eq!(ids(&rest), [all[0].clone()]);
    let gone = gateway.get(&format!("{PATH}?after=none"), &[]).await;
    assert_eq!(gone.status, 400);
}

#[tokio::test]
async fn a_stored_completion_is_noted_about_shown_and_forgotten() {
    let gateway = Gateway::start().await;
    let mut request = stored("stage/hero", false);
    let parts = json!({"role": "user", "content": [{"type": "text", "text": "And?"}]});
    request["messages"].as_array_mut().unwrap().push(parts);
    let answer = gateway.post(PATH, request.to_string()).await.json();
    let path = format!("{PATH}/{}", answer["id"].as_str().unwrap());
    let noted = json!({"metadata": {"new": "note"}}).to_string();
    let noted = gateway.post(&path, noted).await.json();
    assert_eq!(noted["metadata"], json!({"new": "note"}));
    assert_eq!(gateway.get(&path, &[]).await.json(), noted);
    let messages = gateway.get(&format!("{path}/messages"), &[]).await;
    let messages = messages
        .render()
        .replace(answer["id"].as_str().unwrap(), "chatcmpl-…");
    insta::assert_snapshot!("messages", masked(&messages));
    let newest = gateway
        .get(&format!("{path}/messages?limit=1&order=desc"), &[])
        .await;
    let newest = newest.json();
    assert_eq!(newest["has_more"], true);
    assert_eq!(newest["data"][0]["content_parts"][0]["text"], "And?");
    let gone = gateway.delete(&path, &[]).await.json();
    assert_eq!(gone["object"], "chat.completion.deleted");
    assert_eq!(gateway.get(&path, &[]).await.status, 404);
    assert_eq!(gateway.delete(&path, &[]).await.status, 404);
    let gone = gateway.post(&path, r#"{"metadata": {}}"#).await;
    assert_eq!(gone.status, 404);
}

#[tokio::test]
async fn a_stored_completion_is_its_tenants_alone() {
    let gateway = Gateway::start().await;
    let one = gateway
        .key("one", KeyScope::Use, &KeyLimits::default())
        .await;
    let two = gateway
        .key("two", KeyScope::Use, &KeyLimits::default())
        .await;
    let request = stored("stage/hero", false).to_string();
    gateway.send(PATH, &[("x-api-key", &one)], request).await;
    for (key, number) in [(&one, 1), (&two, 0)] {
        let listed = gateway.get(PATH, &[("x-api-key", key)]).await.json();
        assert_eq!(listed["data"].as_array().unwrap().len(), number);
    }
}

#[tokio::test]
async fn an_update_of_a_completion_without_metadata_is_refused_and_removes_nothing() {
    let gateway = Gateway::start().await;
    let request = stored("stage/hero", false).to_string();
    let answer = gateway.post(PATH, request).await.json();
    let path = format!("{PATH}/{}", answer["id"].as_str().unwrap());
    let refused = gateway.post(&path, "{}").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "metadata");
    let kept = gateway.get(&path, &[]).await.json();
    assert_eq!(kept["metadata"], json!({"topic": "weather"}));
    let removed = gateway.post(&path, r#"{"metadata": null}"#).await.json();
    assert_eq!(removed["metadata"], json!({}));
}

#[tokio::test]
async fn a_streamed_completion_that_is_too_long_passes_and_is_not_stored() {
    let gateway = Gateway::start().await;
    for (pieces, number) in [(17, 0), (2, 1)] {
        let (start, rest) = CHAT_STREAM.split_once("\n\n").unwrap();
        let long = start.replace("Looking.", &"x".repeat(1 << 20));
        let stream = format!("{long}\n\n").repeat(pieces) + rest;
        gateway.upstream.respond(MockResponse::sse(&stream));
        let request = stored("oai/m1", true).to_string();
        let answer = gateway.post(PATH, request).await;
        assert!(answer.text() == stream);
        assert_eq!(list(&gateway, "").await.len(), number, "{pieces}");
    }
}
