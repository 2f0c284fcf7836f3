//! Stored conversations, continued with any provider.

use prowess_store::{KeyLimits, KeyScope, NewItem, TenantId};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, question};
use crate::gateway::{Gateway, masked};

const PATH: &str = "/v1/conversations";

async fn begin(gateway: &Gateway, body: Value) -> String {
    let made = gateway.post(PATH, body.to_string()).await;
    assert_eq!(made.status, 200, "{}", made.text());
    made.json()["id"].as_str().unwrap().to_owned()
}

async fn items(gateway: &Gateway, id: &str) -> Vec<Value> {
    let path = format!("{PATH}/{id}/items?order=asc&limit=100");
    let list = gateway.get(&path, &[]).await.json();
    list["data"].as_array().unwrap().clone()
}

fn texts(items: &[Value]) -> Vec<String> {
    let text = |item: &Value| match item["type"].as_str().unwrap() {
        "message" => item["content"][0]["text"].as_str().unwrap().to_owned(),
        kind => kind.to_owned(),
    };
    items.iter().map(text).collect()
}

fn message(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": text})
}

#[tokio::test]
async fn a_conversation_is_made_changed_and_forgotten() {
    let gateway = Gateway::start().await;
    let body = json!({"metadata": {"topic": "demo"}, "items": [message("Hello!")]});
    let made = gateway.post(PATH, body.to_string()).await;
    insta::assert_snapshot!("made", masked(&made.render()));
    let id = made.json()["id"].as_str().unwrap().to_owned();
    let path = format!("{PATH}/{id}");
    assert_eq!(gateway.get(&path, &[]).await.json(), made.json());
    let changed = json!({"metadata": {"topic": "other"}}).to_string();
    let changed = gateway.post(&path, changed).await.json();
    assert_eq!(changed["metadata"], json!({"topic": "other"}));
    assert_eq!(gateway.get(&path, &[]).await.json(), changed);
    let gone = gateway.delete(&path, &[]).await.json();
    assert_eq!(
        gone,
        json!({"id": id, "object": "conversation.deleted", "deleted": true})
    );
    for answer in [
        gateway.get(&path, &[]).await,
        gateway.delete(&path, &[]).await,
        gateway.get(&format!("{path}/items"), &[]).await,
    ] {
        assert_eq!(answer.status, 404);
        let message = answer.json()["error"]["message"].to_string();
        assert!(message.contains("Conversation with id"), "{message}");
    }
}

#[tokio::test]
async fn items_are_added_listed_fetched_and_taken_out() {
    let gateway = Gateway::start().await;
    let id = begin(&gateway, json!({"items": [message("1")]})).await;
    let path = format!("{PATH}/{id}/items");
    let call = json!({
        "type": "function_call", "call_id": "c", "name": "f", "arguments": "{}",
    });
    let body = json!({"items": [message("2"), call]}).to_string();
    let added = gateway.post(&path, body).await;
    insta::assert_snapshot!("added", masked(&added.render()));
    let newest = gateway.get(&format!("{path}?limit=1"), &[]).await.json();
    assert_eq!(newest["has_more"], true);
    assert_eq!(newest["data"][0]["type"], "function_call");
    let last = newest["last_id"].as_str().unwrap();
    let rest = format!("{path}?after={last}&include[]=message.output_text.logprobs");
    let rest = gateway.get(&rest, &[]).await.json();
    assert_eq!(texts(rest["data"].as_array().unwrap()), ["2", "1"]);
    let one = rest["data"][0]["id"].as_str().unwrap();
    let one = format!("{path}/{one}");
    assert_eq!(gateway.get(&one, &[]).await.json(), rest["data"][0]);
    let conversation = gateway.delete(&one, &[]).await.json();
    assert_eq!(conversation["object"], "conversation");
    assert_eq!(conversation["id"], id);
    assert_eq!(gateway.get(&one, &[]).await.status, 404);
    let left = items(&gateway, &id).await;
    assert_eq!(texts(&left), ["1", "function_call"]);
}

#[tokio::test]
async fn items_with_the_same_stand_in_for_an_id_are_all_kept() {
    let gateway = Gateway::start().await;
    let item = |text: &str| {
        let part = json!({"type": "output_text", "text": text, "annotations": []});
        json!({"id": "__fake_id__", "type": "message", "role": "assistant", "content": [part]})
    };
    let id = begin(&gateway, json!({"items": [item("1"), item("2")]})).await;
    assert_eq!(texts(&items(&gateway, &id).await), ["1", "2"]);
}

#[tokio::test]
async fn an_invalid_conversation_is_refused_with_the_reason() {
    let gateway = Gateway::start().await;
    let id = begin(&gateway, json!({})).await;
    let many = vec![message("x"); 21];
    for (path, body, param) in [
        (PATH.to_owned(), json!({"metadata": 1}), "metadata"),
        (PATH.to_owned(), json!({"items": many}), "items"),
        (PATH.to_owned(), json!({"items": [{}]}), "items[0].type"),
        (
            PATH.to_owned(),
            json!({"items": [{"type": "item_reference", "id": "x"}]}),
            "items[0]",
        ),
        (format!("{PATH}/{id}/items"), json!({}), "items"),
    ] {
        let answer = gateway.post(&path, body.to_string()).await;
        assert_eq!(answer.status, 400, "{body}");
        assert_eq!(answer.json()["error"]["param"], param, "{body}");
    }
    for query in ["limit=0", "limit=101", "order=up", "after=msg_none"] {
        let path = format!("{PATH}/{id}/items?{query}");
        assert_eq!(gateway.get(&path, &[]).await.status, 400, "{query}");
    }
}

#[tokio::test]
async fn a_request_goes_on_in_its_conversation_whole_and_streamed() {
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        let id = begin(&gateway, json!({"items": [message("Earlier")]})).await;
        gateway.upstream.respond(if stream {
            MockResponse::sse(CHAT_STREAM)
        } else {
            MockResponse::json(200, CHAT)
        });
        let mut request = question(ClientDialect::Responses, "oai/m1", stream);
        request["conversation"] = id.as_str().into();
        let first = gateway.post("/v1/responses", request.to_string()).await;
        assert_eq!(first.status, 200, "{}", first.text());
        let belongs = format!(r#""conversation":{{"id":"{id}"}}"#);
        assert!(first.text().contains(&belongs), "{}", first.text());
        assert_eq!(first.header("prowess-dropped"), None);
        let sent: Value =
            serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
        assert_eq!(sent["messages"][0]["content"], "Earlier");
        let stored = items(&gateway, &id).await;
        let expected = ["Earlier", "Weather in Bern?", "Looking.", "function_call"];
        assert_eq!(texts(&stored), expected);

        // Continued with another vendor, not stored separately, named by an object.
        let on = json!({
            "model": "stage/hero", "store": false, "conversation": {"id": id},
            "input": [{"type": "function_call_output", "call_id": "call_1", "output": "sunny"}],
        });
        let second = gateway.post("/v1/responses", on.to_string()).await;
        assert_eq!(second.status, 200, "{}", second.text());
        assert_eq!(second.json()["store"], false);
        let stored = items(&gateway, &id).await;
        assert_eq!(stored.len(), 6, "{stored:?}");
        assert_eq!(stored[4]["type"], "function_call_output");
    }
}

#[tokio::test]
async fn an_answer_that_passes_as_it_came_is_added_too() {
    let whole = r#"{"id":"resp_up","object":"response","status":"completed","output":[{"type":"message","id":"msg_up","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}]}"#;
    let streamed = format!(
        "event: response.created\ndata: {{\"type\":\"response.created\",\"response\":{{}}}}\n\n\
         event: response.completed\ndata: {{\"type\":\"response.completed\",\"response\":{whole}}}\n\n"
    );
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        let id = begin(&gateway, json!({"items": [message("Earlier")]})).await;
        gateway.upstream.respond(if stream {
            MockResponse::sse(&streamed)
        } else {
            MockResponse::json(200, whole)
        });
        let request = json!({
            "model": "rsp/m1", "input": "Hello", "conversation": id, "stream": stream,
        });
        let answer = gateway.post("/v1/responses", request.to_string()).await;
        if stream {
            assert_eq!(answer.text(), streamed)
        } else {
            assert_eq!(answer.text(), whole)
        }
        let sent: Value =
            serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
        assert_eq!(sent.get("conversation"), None);
        assert_eq!(sent["input"].as_array().unwrap().len(), 2);
        let stored = items(&gateway, &id).await;
        assert_eq!(texts(&stored), ["Earlier", "Hello", "Hi"]);
    }
}

#[tokio::test]
async fn items_that_the_last_event_of_an_answer_leaves_out_are_added() {
    let message = |text: &str| {
        json!({"type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
    };
    let done = |index: u64, text: &str| json!({"type": "response.output_item.done", "output_index": index, "item": message(text)});
    for output in [json!([]), Value::Null] {
        let last = json!({"id": "resp_up", "status": "completed", "output": output});
        let events = [
            done(1, "Two"),
            done(0, "One"),
            json!({"type": "response.completed", "response": last}),
        ];
        let streamed = events.map(|event| format!("data: {event}\n\n")).concat();
        let gateway = Gateway::start().await;
        let id = begin(&gateway, json!({})).await;
        gateway.upstream.respond(MockResponse::sse(&streamed));
        let request =
            json!({"model": "rsp/m1", "input": "Hello", "conversation": id, "stream": true});
        let answer = gateway.post("/v1/responses", request.to_string()).await;
        assert_eq!(answer.text(), streamed);
        assert_eq!(texts(&items(&gateway, &id).await), ["Hello", "One", "Two"]);
    }
}

#[tokio::test]
async fn an_upstreams_own_conversation_passes_untouched() {
    let gateway = Gateway::start().await;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, "{}"));
    let request = json!({"model": "rsp/m1", "input": "Hi", "conversation": "conv_theirs"});
    gateway.post("/v1/responses", request.to_string()).await;
    let sent = gateway.upstream.next_request().await;
    assert_eq!(sent.text(), request.to_string().replace("rsp/m1", "m1"));
}

#[tokio::test]
async fn a_conversation_that_is_not_there_or_not_alone_is_refused_as_openai_does() {
    let gateway = Gateway::start().await;
    let mut request = json!({"model": "oai/m1", "input": "Hi", "conversation": "conv_none"});
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    insta::assert_snapshot!("not_there", masked(&answer.render()));
    request["previous_response_id"] = "resp_none".into();
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    insta::assert_snapshot!("not_alone", masked(&answer.render()));
    request["conversation"] = 5.into();
    request["previous_response_id"] = Value::Null;
    let answer = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["param"], "conversation");
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn a_failed_answer_adds_nothing() {
    let gateway = Gateway::start().await;
    let id = begin(&gateway, json!({})).await;
    for stream in [false, true] {
        let request = json!({
            "model": "stage/hero", "input": "fail", "conversation": id, "stream": stream,
        });
        gateway.post("/v1/responses", request.to_string()).await;
    }
    assert!(items(&gateway, &id).await.is_empty());
}

#[tokio::test]
async fn another_tenants_conversation_is_not_found_by_a_request() {
    let gateway = Gateway::start().await;
    let one = gateway
        .key("one", KeyScope::Use, &KeyLimits::default())
        .await;
    let two = gateway
        .key("two", KeyScope::Use, &KeyLimits::default())
        .await;
    let made = gateway.send(PATH, &[("x-api-key", &one)], "{}").await;
    let id = made.json()["id"].clone();
    let request = json!({"model": "stage/hero", "input": "Hi", "conversation": id}).to_string();
    let path = "/v1/responses";
    let theirs = gateway
        .send(path, &[("x-api-key", &two)], request.clone())
        .await;
    assert_eq!(theirs.status, 404, "{}", theirs.text());
    let own = gateway.send(path, &[("x-api-key", &one)], request).await;
    assert_eq!(own.status, 200, "{}", own.text());
}

#[tokio::test]
async fn a_key_that_may_not_use_models_keeps_no_conversations() {
    let gateway = Gateway::start().await;
    let reader = gateway
        .key("one", KeyScope::Read, &KeyLimits::default())
        .await;
    let headers = [("x-api-key", reader.as_str())];
    assert_eq!(gateway.send(PATH, &headers, "{}").await.status, 403);
    let path = format!("{PATH}/conv_x");
    assert_eq!(gateway.get(&path, &headers).await.status, 403);
    let chats = gateway.get("/v1/chat/completions", &headers).await;
    assert_eq!(chats.status, 403);
}

#[tokio::test]
async fn an_update_without_metadata_is_refused_and_removes_nothing() {
    let gateway = Gateway::start().await;
    let id = begin(&gateway, json!({"metadata": {"topic": "demo"}})).await;
    let path = format!("{PATH}/{id}");
    let refused = gateway.post(&path, "{}").await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "metadata");
    let kept = gateway.get(&path, &[]).await.json();
    assert_eq!(kept["metadata"], json!({"topic": "demo"}));
    for none in [Value::Null, json!({})] {
        let body = json!({"metadata": {"topic": "demo"}}).to_string();
        gateway.post(&path, body).await;
        let body = json!({ "metadata": none }).to_string();
        let removed = gateway.post(&path, body).await.json();
        assert_eq!(removed["metadata"], json!({}));
    }
}

#[tokio::test]
async fn an_item_that_is_sent_again_is_there_once_and_another_of_its_id_is_refused() {
    let gateway = Gateway::start().await;
    let item = |text: &str| {
        let mut item = message(text);
        item["id"] = "msg_1".into();
        item
    };
    let id = begin(&gateway, json!({"items": [item("1")]})).await;
    let path = format!("{PATH}/{id}/items");
    let body = json!({"items": [item("1"), message("2")]}).to_string();
    let again = gateway.post(&path, body).await;
    assert_eq!(again.status, 200, "{}", again.text());
    let body = json!({"items": [message("3"), item("other")]}).to_string();
    let refused = gateway.post(&path, body).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "items[1].id");
    assert_eq!(texts(&items(&gateway, &id).await), ["1", "2"]);
    let twice = json!({"items": [item("1"), item("other")]}).to_string();
    let refused = gateway.post(PATH, twice).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    assert_eq!(refused.json()["error"]["param"], "items[1].id");
}

#[tokio::test]
async fn what_an_answer_adds_under_ids_that_others_have_is_added_with_new_ids() {
    let gateway = Gateway::start().await;
    let id = begin(&gateway, json!({})).await;
    // A server that numbers its items from the start in each response.
    for (text, answered) in [("1", "one"), ("2", "two")] {
        let answer = json!({
            "id": "resp_up", "object": "response", "status": "completed",
            "output": [{
                "type": "message", "id": "msg_up", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": answered, "annotations": []}],
            }],
        });
        gateway
            .upstream
            .respond(MockResponse::json(200, &answer.to_string()));
        let mut item = message(text);
        item["id"] = "msg_in".into();
        let body = json!({"model": "rsp/m1", "input": [item], "conversation": id});
        let answer = gateway.post("/v1/responses", body.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    let stored = items(&gateway, &id).await;
    assert_eq!(texts(&stored), ["1", "one", "2", "two"]);
    let mut ids: Vec<&str> = stored
        .iter()
        .filter_map(|item| item["id"].as_str())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 4);
}

#[tokio::test]
async fn a_conversation_without_space_for_an_answer_is_refused_before_the_model_is_called() {
    let gateway = Gateway::start().await;
    let tenant = TenantId::default_tenant();
    let store = gateway.app.store();
    let time = std::time::Duration::from_secs(24 * 3_600);
    let id = begin(&gateway, json!({})).await;
    let mut item = message(&"x".repeat(14 << 20));
    item["id"] = "msg_1".into();
    let item = item.to_string();
    let new = [NewItem {
        id: "msg_1",
        json: &item,
    }];
    let added = store.add_conversation_items(&tenant, &id, &new, time);
    added.await.unwrap();
    let before = store.conversation(&tenant, &id).await.unwrap();
    // There is space for the input, but not for a response as well.
    let input = "y".repeat((1 << 20) + (1 << 19));
    let request = json!({"model": "oai/m1", "input": input, "conversation": id});
    let refused = gateway.post("/v1/responses", request.to_string()).await;
    assert_eq!(refused.status, 400, "{}", refused.text());
    let error = &refused.json()["error"];
    assert_eq!(error["code"], "conversation-full", "{error}");
    assert_eq!(error["param"], "conversation", "{error}");
    assert!(gateway.upstream.requests().await.is_empty());
    let after = store.conversation(&tenant, &id).await.unwrap();
    assert_eq!(after, before);
}
