//! Stored responses, and continuing from them.

use prowess_store::{KeyLimits, KeyScope};
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{CHAT, CHAT_STREAM, MESSAGES, question};
use crate::gateway::{Gateway, masked};

const PATH: &str = "/v1/responses";

/// The id in a response, complete or streamed.
fn id_of(text: &str) -> String {
    let at = text.find("\"resp_").unwrap() + 1;
    text[at..].split('"').next().unwrap().to_owned()
}

fn result(previous: &str) -> Value {
    json!({
        "model": "oai/m1",
        "previous_response_id": previous,
        "input": [{"type": "function_call_output", "call_id": "call_1", "output": "sunny"}],
    })
}

#[tokio::test]
async fn a_conversation_goes_on_from_an_answer_whole_and_streamed() {
    for stream in [false, true] {
        let gateway = Gateway::start().await;
        gateway.upstream.respond(if stream {
            MockResponse::sse(CHAT_STREAM)
        } else {
            MockResponse::json(200, CHAT)
        });
        let request = question(ClientDialect::Responses, "oai/m1", stream).to_string();
        let first = gateway.post(PATH, request).await;
        let id = id_of(first.text());
        gateway.upstream.next_request().await;

        gateway.upstream.respond(MockResponse::json(200, CHAT));
        let second = gateway.post(PATH, result(&id).to_string()).await;
        assert_eq!(second.status, 200, "{}", second.text());
        let body = second.json();
        assert_eq!(body["previous_response_id"], id);
        assert_eq!(body["store"], true);
        assert_eq!(second.header("prowess-dropped"), None);
        let sent: Value =
            serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
        insta::assert_json_snapshot!("history_is_sent_again", sent["messages"]);

        // Continued from the second with a third, of another vendor.
        gateway.upstream.respond(MockResponse::json(200, MESSAGES));
        let mut third = result(body["id"].as_str().unwrap());
        third["model"] = "ant/m1".into();
        let third = gateway.post(PATH, third.to_string()).await;
        assert_eq!(third.status, 200, "{}", third.text());
        let sent: Value =
            serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
        assert_eq!(sent["messages"].as_array().unwrap().len(), 5, "{sent}");
    }
}

#[tokio::test]
async fn a_kept_answer_can_be_got_listed_and_deleted() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello", "instructions": "Be kind"});
    let first = gateway.post(PATH, request.to_string()).await;
    let id = id_of(first.text());
    let path = format!("{PATH}/{id}");
    let got = gateway.get(&path, &[]).await;
    assert_eq!(got.json(), first.json());
    assert_eq!(got.header("content-type"), Some("application/json"));

    let on = json!({"model": "stage/hero", "input": "And?", "previous_response_id": id});
    let second = id_of(gateway.post(PATH, on.to_string()).await.text());
    let items = gateway
        .get(&format!("{PATH}/{second}/input_items?order=asc"), &[])
        .await;
    insta::assert_snapshot!(masked(
        &serde_json::to_string_pretty(&items.json()).unwrap()
    ));
    let newest = gateway
        .get(&format!("{PATH}/{second}/input_items?limit=1"), &[])
        .await
        .json();
    assert_eq!(newest["has_more"], true);
    assert_eq!(newest["data"][0]["content"][0]["text"], "And?");
    let after = newest["last_id"].as_str().unwrap();
    let rest = gateway
        .get(&format!("{PATH}/{second}/input_items?after={after}"), &[])
        .await
        .json();
    assert_eq!(rest["data"].as_array().unwrap().len(), 2);

    let gone = gateway.delete(&path, &[]).await;
    assert_eq!(gone.json()["deleted"], true);
    assert_eq!(gateway.get(&path, &[]).await.status, 404);
    assert_eq!(gateway.delete(&path, &[]).await.status, 404);
    // A response that continues from it has the earlier items.
    assert_eq!(
        gateway.get(&format!("{PATH}/{second}"), &[]).await.status,
        200
    );
}

#[tokio::test]
async fn a_stored_answer_is_replayed_as_events() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let first = gateway.post(PATH, request).await.json();
    let path = format!("{PATH}/{}", first["id"].as_str().unwrap());
    let replay = gateway.get(&format!("{path}?stream=true"), &[]).await;
    let kind = replay.header("content-type").unwrap();
    assert!(kind.starts_with("text/event-stream"), "{kind}");
    let events = |text: &str| -> Vec<Value> {
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.map(|data| serde_json::from_str(data).unwrap())
            .collect()
    };
    let all = events(replay.text());
    assert_eq!(all.last().unwrap()["response"], first);
    let after = format!("{path}?stream=true&starting_after=2");
    let after = gateway.get(&after, &[]).await;
    assert_eq!(events(after.text()), all[3..]);
    let bad = format!("{path}?stream=true&starting_after=x");
    assert_eq!(gateway.get(&bad, &[]).await.status, 400);
}

#[tokio::test]
async fn an_answer_that_was_waited_for_cannot_be_cancelled() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let id = id_of(gateway.post(PATH, request).await.text());
    let refused = gateway.post(&format!("{PATH}/{id}/cancel"), "").await;
    insta::assert_snapshot!(refused.render());
    let unknown = gateway.post(&format!("{PATH}/resp_none/cancel"), "").await;
    assert_eq!(unknown.status, 404);
}

#[tokio::test]
async fn a_response_in_the_background_is_deleted_with_its_run() {
    let gateway = Gateway::start().await;
    let create = async |model: &str| {
        let request = json!({"model": model, "input": "Hello", "background": true});
        id_of(gateway.post(PATH, request.to_string()).await.text())
    };
    let done = create("stage/hero").await;
    let path = format!("{PATH}/{done}");
    // To its end.
    let followed = gateway.get(&format!("{path}?stream=true"), &[]).await;
    assert!(
        followed.text().contains("response.completed"),
        "{}",
        followed.text()
    );
    assert_eq!(gateway.delete(&path, &[]).await.json()["deleted"], true);
    let run = done.replace("resp_", "run_");
    for gone in [
        path.clone(),
        format!("{path}?stream=true"),
        format!("{path}/input_items"),
    ] {
        assert_eq!(gateway.get(&gone, &[]).await.status, 404, "{gone}");
    }
    let events = gateway.get(&format!("/v1/runs/{run}/events"), &[]).await;
    assert!(!events.status.is_success(), "{}", events.text());
    assert_eq!(gateway.delete(&path, &[]).await.status, 404);

    gateway.upstream.respond(MockResponse::never());
    let path = format!("{PATH}/{}", create("oai/m1").await);
    gateway.upstream.next_request().await;
    let items = gateway.get(&format!("{path}/input_items"), &[]).await;
    assert_eq!(items.json()["data"][0]["content"][0]["text"], "Hello");
    assert_eq!(gateway.delete(&path, &[]).await.json()["deleted"], true);
    gateway.upstream.client_disconnected().await;
    assert_eq!(gateway.get(&path, &[]).await.status, 404);
}

/// Its provider has such responses too, but they would be found and counted there only.
#[tokio::test]
async fn a_response_in_the_background_is_here_whatever_its_provider_has() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(MockResponse::never());
    let request = json!({"model": "rsp/m1", "input": "Hello", "background": true});
    let made = gateway.post(PATH, request.to_string()).await;
    let path = format!("{PATH}/{}", id_of(made.text()));
    let sent = gateway.upstream.next_request().await;
    let sent: Value = serde_json::from_str(sent.text()).unwrap();
    assert_eq!(sent.get("background"), None, "{sent}");
    let found = gateway.get(&path, &[]).await;
    assert_eq!(found.json()["status"], "in_progress", "{}", found.text());
    let cancelled = gateway.post(&format!("{path}/cancel"), "").await;
    assert_eq!(cancelled.json()["status"], "cancelled");
    gateway.upstream.client_disconnected().await;
}

#[tokio::test]
async fn an_answer_is_not_kept_when_the_client_does_not_want_it() {
    let gateway = Gateway::start().await;
    let request = json!({"model": "stage/hero", "input": "Hello", "store": false});
    let answer = gateway.post(PATH, request.to_string()).await;
    assert_eq!(answer.json()["store"], false);
    let id = id_of(answer.text());
    assert_eq!(gateway.get(&format!("{PATH}/{id}"), &[]).await.status, 404);
}

#[tokio::test]
async fn what_is_not_stored_here_is_not_found_in_openais_words() {
    let gateway = Gateway::start().await;
    let answer = gateway.post(PATH, result("resp_unknown").to_string()).await;
    insta::assert_snapshot!(answer.render());
    assert!(gateway.upstream.requests().await.is_empty());
}

#[tokio::test]
async fn another_tenants_answer_is_not_found() {
    let gateway = Gateway::start().await;
    let one = gateway
        .key("one", KeyScope::Use, &KeyLimits::default())
        .await;
    let two = gateway
        .key("two", KeyScope::Use, &KeyLimits::default())
        .await;
    let request = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let answer = gateway.send(PATH, &[("x-api-key", &one)], request).await;
    let id = id_of(answer.text());
    let path = format!("{PATH}/{id}");
    assert_eq!(gateway.get(&path, &[("x-api-key", &one)]).await.status, 200);
    let theirs = [("x-api-key", two.as_str())];
    assert_eq!(gateway.get(&path, &theirs).await.status, 404);
    assert_eq!(
        gateway
            .get(&format!("{path}/input_items"), &theirs)
            .await
            .status,
        404
    );
    assert_eq!(gateway.delete(&path, &theirs).await.status, 404);
    let on = result(&id).to_string().replace("oai/m1", "stage/hero");
    assert_eq!(gateway.send(PATH, &theirs, on).await.status, 400);
}

#[tokio::test]
async fn an_upstream_that_keeps_its_own_gets_its_ids_untouched() {
    let gateway = Gateway::start().await;
    let body =
        r#"{"id":"resp_up2","object":"response","usage":{"input_tokens":1,"output_tokens":1}}"#;
    gateway
        .upstream
        .respond_always(MockResponse::json(200, body));
    let request = result("resp_up").to_string().replace("oai/m1", "rsp/m1");
    let answer = gateway.post(PATH, request.clone()).await;
    assert_eq!(answer.text(), body);
    let sent = gateway.upstream.next_request().await;
    assert_eq!(sent.path, "/v1/responses");
    assert_eq!(sent.text(), request.replace("rsp/m1", "m1"));
    assert_eq!(gateway.get("/v1/responses/resp_up2", &[]).await.status, 404);

    // A response stored here can be continued there too.
    let first = json!({"model": "stage/hero", "input": "Hello"}).to_string();
    let id = id_of(gateway.post(PATH, first).await.text());
    let on = json!({"model": "rsp/m1", "input": "And?", "previous_response_id": id, "store": true});
    gateway.post(PATH, on.to_string()).await;
    let sent: Value = serde_json::from_str(gateway.upstream.next_request().await.text()).unwrap();
    insta::assert_json_snapshot!(sent);
}

#[tokio::test]
async fn an_answer_that_passed_beside_models_that_keep_none_can_be_gone_on_from() {
    let gateway = Gateway::start().await;
    let body = r#"{"id":"resp_up","object":"response","status":"completed","output":[{"type":"message","id":"msg_up","role":"assistant","content":[{"type":"output_text","text":"Hi"}]}]}"#;
    gateway.upstream.respond(MockResponse::json(200, body));
    let request = json!({"model": "mixed-one", "input": "Hello"}).to_string();
    assert_eq!(gateway.post(PATH, request).await.text(), body);
    let kept = gateway.get("/v1/responses/resp_up", &[]).await;
    assert_eq!(kept.text(), body);
    let input =
        json!([{"type": "item_reference", "id": "msg_up"}, {"role": "user", "content": "x"}]);
    for on in [
        json!({"model": "stage/hero", "input": "And?", "previous_response_id": "resp_up"}),
        json!({"model": "stage/hero", "input": input}),
    ] {
        let answer = gateway.post(PATH, on.to_string()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
}
