//! How many changes the keys of a tenant make, of those that the audit log keeps.

use axum::http::StatusCode;
use prowess_server::{SecretString, ServerSettings};
use prowess_store::KeyScope;
use serde_json::json;

use crate::client::{Form, Server, TestDialect};
use crate::owned_objects::{OWNER, OwnedObjects};

const MASTER: &str = "the-master-key-of-these-tests";
const OPEN_AI: TestDialect = TestDialect::OpenAi;

#[tokio::test]
async fn who_has_deleted_too_much_is_refused_and_may_still_delete_keys_and_skills() {
    let settings = ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        ..ServerSettings::default()
    };
    let server = Server::with_store(settings, |config| config.changes_per_hour = 3).await;
    let scopes = [KeyScope::Use, KeyScope::Publish, KeyScope::Admin];
    let owner = server.key(OWNER, &scopes).await;
    // The first change is that the skill is created.
    let objects = OwnedObjects::make(&server, &owner, "limited").await;
    let delete = async |key: &str, path: &str| server.delete(OPEN_AI, path).key(key).send().await;

    let conversation = format!("/v1/conversations/{}", objects.conversation);
    let item = format!("{conversation}/items/{}", objects.item);
    delete(&owner, &item).await.ok();
    // What is not there is not deleted, and does not count.
    let missing = delete(&owner, "/v1/conversations/conv_0").await;
    assert_eq!(missing.status, StatusCode::NOT_FOUND);
    let completion = format!("/v1/chat/completions/{}", objects.completion);
    delete(&owner, &completion).await.ok();

    let file = format!("/v1/files/{}", objects.file);
    for path in [
        conversation.as_str(),
        &format!("{conversation}/items/msg_0"),
        &file,
        &format!("/v1/responses/{}", objects.response),
        &completion,
        &format!("/v1/messages/batches/{}", objects.message_batch),
        "/v1/containers/container_0",
        "/v1/containers/container_0/files/file_0",
    ] {
        let refused = delete(&owner, path).await;
        let status = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(refused.status, status, "{path}: {:?}", refused.body);
        assert_eq!(refused.code(), "too-many-changes", "{path}");
        let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=3_600).contains(&wait), "{path}: {wait}");
    }
    let kept = server.get(OPEN_AI, &file).key(&owner);
    kept.send().await.ok();
    let log = "/v1/admin/audit?action=response.delete";
    let log = server.get(OPEN_AI, log).key(&owner).send().await.ok();
    assert_eq!(log["data"][0]["error_code"], "too-many-changes", "{log}");

    let key = format!("/v1/admin/keys/{}", objects.key);
    delete(&owner, &key).await.ok();
    let skill = format!("/v1/skills/{}", objects.skill);
    delete(&owner, &skill).await.ok();
    let by_operator = server.delete(OPEN_AI, &file).key(MASTER);
    let by_operator = by_operator.header("prowess-tenant", OWNER);
    by_operator.send().await.ok();
    let other = server.key("other", &[KeyScope::Use]).await;
    let form = Form::default().file("file", "notes.txt", b"notes");
    let made = server.post(OPEN_AI, "/v1/files").key(&other);
    let made = made.form(&form.text("purpose", "user_data")).await.ok();
    let path = format!("/v1/files/{}", made["id"].as_str().unwrap());
    delete(&other, &path).await.ok();
}

#[tokio::test]
async fn who_has_cancelled_much_still_cancels_without_filling_the_log() {
    let settings = ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        ..ServerSettings::default()
    };
    let server = Server::with_store(settings, |config| config.changes_per_hour = 2).await;
    let owner = server.key(OWNER, &[KeyScope::Use, KeyScope::Admin]).await;
    let ga = TestDialect::Ga;
    let params = json!({"model": "m", "max_tokens": 1, "messages": []});
    let batch = json!({"requests": [{"custom_id": "a", "params": params}]});
    let cancel_new = async |key: &str| {
        let call = |path: &str| {
            let call = server.post(ga, path).key(key);
            call.header("prowess-tenant", OWNER)
        };
        let made = call("/v1/messages/batches").json(&batch).await.ok();
        let path = format!("/v1/messages/batches/{}", made["id"].as_str().unwrap());
        call(&format!("{path}/cancel")).send().await.ok();
    };
    let entries = async || {
        let log = "/v1/admin/audit?action=batch.cancel";
        let log = server.get(ga, log).key(&owner).send().await.ok();
        log["data"].as_array().unwrap().len()
    };
    for _ in 0..4 {
        cancel_new(&owner).await;
    }
    assert_eq!(entries().await, 2);
    // What the operator cancels is always in the log.
    cancel_new(MASTER).await;
    assert_eq!(entries().await, 3);
    // Cancelling leaves the other changes as they were.
    for title in ["one", "two"] {
        let body = json!({ "name": title, "scopes": ["use"] });
        let made = server.post(ga, "/v1/admin/keys").key(&owner);
        made.json(&body).await.ok();
    }
}
