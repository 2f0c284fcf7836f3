//! One object of each kind that a tenant owns, and requests to the routes that name them.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::Method;
use prowess_server::route_table;
use prowess_store::{
    BatchKind, BatchLimits, KeyScope, NewBatch, NewChat, NewConversation, NewItem, NewKey,
    NewResponse, NewRun, Store, TenantId, Timestamp,
};
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{ClientResponse, Form, Server, TestDialect};

/// Whose they are.
pub(crate) const OWNER: &str = "owner";
/// What they all contain.
pub(crate) const WORDS: &str = "unmistakable-words-of-the-owner";

/// Objects of the tenant [`OWNER`], by their ids.
pub(crate) struct OwnedObjects {
    pub(crate) skill: String,
    pub(crate) version: String,
    pub(crate) file: String,
    pub(crate) run: String,
    pub(crate) response: String,
    pub(crate) conversation: String,
    pub(crate) item: String,
    pub(crate) completion: String,
    pub(crate) message_batch: String,
    pub(crate) batch: String,
    pub(crate) key: String,
}

impl OwnedObjects {
    /// Makes new ones with a key of the owner. The tag is part of ids that are not random.
    pub(crate) async fn make(server: &Server, owner: &str, tag: &str) -> OwnedObjects {
        let skill = SkillFixture::new("the-owners").field("description", WORDS);
        let made = server
            .post(TestDialect::OpenAi, "/v1/skills")
            .key(owner)
            .form(&Form::skill(&skill))
            .await;
        let skill = made.ok()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/skills/{skill}/versions/1");
        let version = server.get(TestDialect::OpenAi, &path).key(owner);
        let version = version.send().await.ok();
        let form = Form::default().file("file", "the-owners.txt", WORDS.as_bytes());
        let file = server
            .post(TestDialect::Ga, "/v1/files")
            .key(owner)
            .form(&form)
            .await
            .ok();
        let response = format!("resp_theowners{tag}");
        keep_response(server, &response).await;
        let (conversation, item) = (
            format!("conv_theowners{tag}"),
            format!("msg_theowners{tag}"),
        );
        keep_conversation(server, &conversation, &item).await;
        let completion = format!("chatcmpl-theowners{tag}");
        keep_chat(server, &completion).await;
        OwnedObjects {
            version: version["id"].as_str().unwrap().to_owned(),
            file: file["id"].as_str().unwrap().to_owned(),
            run: keep_run(server).await,
            message_batch: keep_batch(server, BatchKind::Messages).await,
            batch: keep_batch(server, BatchKind::File).await,
            key: keep_key(server).await,
            skill,
            response,
            conversation,
            item,
            completion,
        }
    }

    /// The object that a parameter of a path names, and one that never existed.
    pub(crate) fn object(&self, parameter: &str) -> (&str, &'static str) {
        match parameter {
            "skill" => (&self.skill, "skill_0"),
            "version" => (&self.version, "skver_0"),
            // Every tenant has it: what it is a label of is another's.
            "label" => ("production", "production"),
            "file" => (&self.file, "file_0"),
            "run" => (&self.run, "run_0"),
            "id" => (&self.response, "resp_0"),
            "conversation" => (&self.conversation, "conv_0"),
            "item" => (&self.item, "msg_0"),
            "completion" => (&self.completion, "chatcmpl-0"),
            "message_batch" => (&self.message_batch, "msgbatch_0"),
            "batch" => (&self.batch, "batch_0"),
            "key" => (&self.key, "key_0"),
            _ => panic!("which object does {{{parameter}}} name?"),
        }
    }

    /// A path with the ids for its parameters, in every form.
    pub(crate) fn filled(&self, path: &str) -> Vec<String> {
        let mut paths = vec![path.to_owned()];
        while let Some(parameter) = paths[0].split(['{', '}']).nth(1).map(str::to_owned) {
            let id = self.object(&parameter).0;
            let forms = match parameter.as_str() {
                "skill" => vec![
                    id.to_owned(),
                    format!("litellm_{id}"),
                    format!("litellm:{id}"),
                ],
                "version" => [id, "1", "latest", "default"].map(str::to_owned).to_vec(),
                _ => vec![id.to_owned()],
            };
            let place = format!("{{{parameter}}}");
            let fill = |path: &String| {
                let filled = forms.iter().map(|form| path.replace(&place, form));
                filled.collect::<Vec<_>>()
            };
            paths = paths.iter().flat_map(fill).collect();
        }
        paths
    }
}

/// Every route that names objects: its method, its path, and its path below its mount.
pub(crate) fn naming_routes() -> Vec<(Method, String, String)> {
    let routes = route_table().into_iter().filter(|route| {
        // Containers need a sandbox: `cluster_containers.rs`, and tests with real ones.
        route.names_objects && !route.path.contains("{container}")
    });
    routes
        .map(|route| {
            let method = route.method.parse().unwrap();
            (method, route.path, route.path_below_mount)
        })
        .collect()
}

/// A request to such a route, with the body that it needs.
pub(crate) async fn call(
    server: &Server,
    dialect: TestDialect,
    method: &Method,
    path: &str,
    key: &str,
) -> ClientResponse {
    let call = server.request(dialect, method.clone(), path).key(key);
    if path.contains("/admin/") {
        return call.json(&json!({})).await;
    }
    if method == Method::POST && path.contains("/labels/") {
        return call.json(&json!({ "version": "1" })).await;
    }
    if let (&Method::POST, Some((_, of_version))) = (method, path.split_once("/versions/")) {
        let body = match of_version.split_once('/') {
            Some((_, "revoke")) => json!({ "reason": "mine" }),
            Some(_) => json!({}),
            None => json!({ "notes": "mine" }),
        };
        return call.json(&body).await;
    }
    match (method, path.ends_with("/versions")) {
        (&Method::POST, true) => {
            call.form(&Form::skill(&SkillFixture::new("the-owners")))
                .await
        }
        (&Method::POST, false) => {
            let item = json!({ "role": "user", "content": "mine" });
            let body = json!({ "default_version": "1", "metadata": {}, "items": [item] });
            call.json(&body).await
        }
        _ => call.send().await,
    }
}

async fn keep_run(server: &Server) -> String {
    let id = Store::new_run_id().unwrap();
    let run = NewRun {
        id: id.clone(),
        model: WORDS.to_owned(),
        provider: None,
        dialect: "messages",
        status: "completed",
        turns: 1,
        calls: 0,
        input_tokens: 1,
        output_tokens: 1,
        started_at: Timestamp::now(),
        ended_at: Timestamp::now(),
        container: None,
        error: None,
        usage: json!({}),
        skills: json!([]),
        files: json!([]),
        events: json!([]),
    };
    let owner = TenantId::new(OWNER).unwrap();
    server.app.store().record_run(&owner, &run).await.unwrap();
    id
}

async fn keep_response(server: &Server, id: &str) {
    let answer = json!({ "id": id, "object": "response", "output": [], "note": WORDS });
    let new = NewResponse {
        id,
        conversation: "[]",
        response: &answer.to_string(),
        items: &[],
        expires_in: Duration::from_secs(600),
    };
    let owner = TenantId::new(OWNER).unwrap();
    server
        .app
        .store()
        .save_response(&owner, &new)
        .await
        .unwrap();
}

async fn keep_conversation(server: &Server, id: &str, item: &str) {
    let message = json!({ "id": item, "type": "message", "role": "user", "content": WORDS });
    let new = NewConversation {
        id,
        metadata: &json!({ "note": WORDS }).to_string(),
        items: &[NewItem {
            id: item,
            json: &message.to_string(),
        }],
        expires_in: Duration::from_secs(600),
    };
    let owner = TenantId::new(OWNER).unwrap();
    let made = server.app.store().create_conversation(&owner, &new).await;
    made.unwrap();
}

async fn keep_chat(server: &Server, id: &str) {
    let new = NewChat {
        id,
        model: WORDS,
        metadata: &BTreeMap::from([("note".to_owned(), WORDS.to_owned())]),
        messages: "[]",
        completion: &json!({ "id": id, "note": WORDS }).to_string(),
        expires_in: Duration::from_secs(600),
    };
    let owner = TenantId::new(OWNER).unwrap();
    server.app.store().save_chat(&owner, &new).await.unwrap();
}

async fn keep_batch(server: &Server, kind: BatchKind) -> String {
    let new = NewBatch {
        kind,
        dialect: "chat",
        api_key: None,
        metadata: &json!({ "note": WORDS }).to_string(),
        input_file: None,
        output_lifetime: Duration::ZERO,
        expires_in: Duration::from_secs(600),
    };
    let limits = BatchLimits {
        open: 1_000,
        stored_bytes: 1 << 30,
    };
    let (owner, store) = (TenantId::new(OWNER).unwrap(), server.app.store());
    let batch = store.create_batch(&owner, &new, &limits).await.unwrap();
    store.start_batch(&owner, &batch.id, 0).await.unwrap();
    batch.id
}

async fn keep_key(server: &Server) -> String {
    let new = NewKey {
        name: "of the owner",
        scopes: &[KeyScope::Read],
        expires_in: None,
        auto: None,
    };
    let owner = TenantId::new(OWNER).unwrap();
    let made = server.app.store().create_key(&owner, &new).await;
    made.unwrap().0.id
}
