//! Two tenants and every route: neither sees anything of the other.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prowess_server::{SecretString, ServerSettings, route_table};
use prowess_store::{
    BatchKind, BatchLimits, KeyScope, NewBatch, NewChat, NewConversation, NewItem, NewResponse,
    NewRun, Store, TenantId, Timestamp,
};
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{ALL, ClientResponse, Form, Server, TestDialect};

struct Tenants {
    server: Server,
    stranger: String,
    owner: String,
    skill: String,
    version: String,
    file: String,
    run: String,
    response: String,
    conversation: String,
    item: String,
    completion: String,
    message_batch: String,
    batch: String,
    key: String,
}

const WORDS: &str = "unmistakable-words-of-the-owner";

async fn tenants() -> Tenants {
    let server = Server::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        ..ServerSettings::default()
    })
    .await;
    let every = [KeyScope::Read, KeyScope::Use, KeyScope::Publish];
    let owner = server.key("owner", &every).await;
    let stranger = server.key("stranger", &[KeyScope::Admin]).await;
    let tenant = TenantId::new("owner").unwrap();
    let keys = server.app.store().list_keys(&tenant).await.unwrap();
    let key = keys[0].id.clone();
    let skill = SkillFixture::new("the-owners").field("description", WORDS);
    let made = server
        .post(TestDialect::OpenAi, "/v1/skills")
        .key(&owner)
        .form(&Form::skill(&skill))
        .await;
    let skill = made.ok()["id"].as_str().unwrap().to_owned();
    let path = format!("/v1/skills/{skill}/versions/1");
    let version = server
        .get(TestDialect::OpenAi, &path)
        .key(&owner)
        .send()
        .await
        .ok();
    let form = Form::default().file("file", "the-owners.txt", WORDS.as_bytes());
    let file = server
        .post(TestDialect::Ga, "/v1/files")
        .key(&owner)
        .form(&form)
        .await
        .ok();
    let (run, response) = (keep_run(&server).await, "resp_theowners".to_owned());
    keep_response(&server, &response).await;
    let (conversation, item) = ("conv_theowners".to_owned(), "msg_theowners".to_owned());
    keep_conversation(&server, &conversation, &item).await;
    let completion = "chatcmpl-theowners".to_owned();
    keep_chat(&server, &completion).await;
    let message_batch = keep_batch(&server, BatchKind::Messages).await;
    let batch = keep_batch(&server, BatchKind::File).await;
    Tenants {
        message_batch,
        batch,
        key,
        run,
        response,
        conversation,
        item,
        completion,
        version: version["id"].as_str().unwrap().to_owned(),
        file: file["id"].as_str().unwrap().to_owned(),
        server,
        stranger,
        owner,
        skill,
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
    let owner = TenantId::new("owner").unwrap();
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
    let owner = TenantId::new("owner").unwrap();
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
    let owner = TenantId::new("owner").unwrap();
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
    let owner = TenantId::new("owner").unwrap();
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
        open: 10,
        stored_bytes: 10,
    };
    let (owner, store) = (TenantId::new("owner").unwrap(), server.app.store());
    let batch = store.create_batch(&owner, &new, &limits).await.unwrap();
    store.start_batch(&owner, &batch.id, 0).await.unwrap();
    batch.id
}

impl Tenants {
    /// The owner's object that a parameter of a path names, and one that never existed.
    fn object(&self, parameter: &str) -> (&str, &'static str) {
        match parameter {
            "skill" => (&self.skill, "skill_0"),
            "version" => (&self.version, "skver_0"),
            // Both have it: what it is a label of is another's.
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

    /// Every route that names objects, and its method: with all ids that a skill and a version
    /// have.
    fn named(&self) -> Vec<(Method, String)> {
        let mut routes = Vec::new();
        for route in route_table().iter().filter(|route| route.names_objects) {
            // Containers need a sandbox; they have a test with a real one.
            if route.path.contains("{container}") {
                continue;
            }
            let method: Method = route.method.parse().unwrap();
            for path in self.filled(&route.path) {
                routes.push((method.clone(), path));
            }
        }
        routes
    }

    /// A path with the owner's ids for its parameters, in every form.
    fn filled(&self, path: &str) -> Vec<String> {
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

    /// A text about the owner's objects, as it is about objects that never existed.
    fn invented(&self, text: &str) -> String {
        let parameters = [
            "skill",
            "run",
            "id",
            "conversation",
            "item",
            "completion",
            "message_batch",
            "batch",
            "file",
            "version",
            "key",
        ];
        let mut text = text.to_owned();
        for parameter in parameters {
            let (real, unreal) = self.object(parameter);
            text = text.replace(real, unreal);
        }
        text
    }

    async fn call(
        &self,
        dialect: TestDialect,
        method: &Method,
        path: &str,
        key: &str,
    ) -> ClientResponse {
        let call = self.server.request(dialect, method.clone(), path).key(key);
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
}

#[tokio::test]
async fn what_belongs_to_another_is_not_found_on_any_route() {
    let tenants = tenants().await;
    for dialect in ALL {
        for (method, path) in tenants.named() {
            let real = tenants
                .call(dialect, &method, &path, &tenants.stranger)
                .await;
            assert_eq!(
                real.status,
                StatusCode::NOT_FOUND,
                "{dialect:?} {method} {path}"
            );
            assert_ne!(real.code(), "route-not-found", "{method} {path}");
            // The same text as for something that never existed.
            let unreal = tenants
                .call(
                    dialect,
                    &method,
                    &tenants.invented(&path),
                    &tenants.stranger,
                )
                .await;
            assert_eq!(unreal.status, real.status);
            assert_eq!(unreal.code(), real.code());
            let comparable = |answer: &ClientResponse| {
                answer.json()["error"]["message"]
                    .as_str()
                    .unwrap()
                    .to_owned()
            };
            assert_eq!(
                comparable(&unreal),
                tenants.invented(&comparable(&real)),
                "{method} {path}"
            );
        }
    }
}

#[tokio::test]
async fn lists_and_searches_hold_nothing_of_others() {
    let tenants = tenants().await;
    for dialect in ALL {
        let lists = route_table().into_iter().filter(|route| {
            // Containers need a sandbox; they have a test with a real one.
            route.lists_objects && !route.path.ends_with("/containers")
        });
        for path in lists.map(|route| route.path).chain([
            "/v1/skills?limit=1000".to_owned(),
            "/v1/skills?name=the-owners".to_owned(),
            "/v1/skills?query=unmistakable".to_owned(),
            "/v1/skills/search?query=unmistakable+words+of+the+owner".to_owned(),
            "/v1/skills/overlap".to_owned(),
            "/v1/skills/usage".to_owned(),
            format!("/v1/files?ids[]={}", tenants.file),
            format!("/v1/skills?after={}&order=asc", tenants.skill),
            format!("/v1/skills?after={}", tenants.skill),
            format!("/v1/chat/completions?model={WORDS}"),
            format!("/v1/chat/completions?metadata[note]={WORDS}"),
        ]) {
            if dialect == TestDialect::Beta && path.contains("ids[]") {
                continue;
            }
            let answer = tenants
                .server
                .get(dialect, &path)
                .key(&tenants.stranger)
                .send()
                .await;
            assert_eq!(answer.ok()["data"], json!([]), "{dialect:?} {path}");
        }
        let path = format!("/v1/skills/overlap?skill_id={}", tenants.skill);
        let request = tenants.server.get(dialect, &path).key(&tenants.stranger);
        let answer = request.send().await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{dialect:?}");
    }
}

#[tokio::test]
async fn after_all_that_the_owner_still_has_everything() {
    let tenants = tenants().await;
    for dialect in ALL {
        for (method, path) in tenants.named() {
            tenants
                .call(dialect, &method, &path, &tenants.stranger)
                .await;
        }
    }
    let versions = format!("/v1/skills/{}/versions", tenants.skill);
    let versions = tenants
        .server
        .get(TestDialect::OpenAi, &versions)
        .key(&tenants.owner)
        .send()
        .await;
    assert_eq!(versions.ok()["data"].as_array().unwrap().len(), 1);
    let file = format!("/v1/files/{}/content", tenants.file);
    let file = tenants
        .server
        .get(TestDialect::OpenAi, &file)
        .key(&tenants.owner)
        .send()
        .await;
    assert_eq!(&file.body[..], WORDS.as_bytes());
    let key = tenants.server.app.store().key(None, &tenants.key).await;
    assert_eq!(key.unwrap().state(), "valid");
}

#[tokio::test]
async fn the_public_index_shows_only_the_tenant_that_is_public() {
    let server = Server::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        index_tenant: Some(prowess_store::TenantId::new("open").unwrap()),
        ..ServerSettings::default()
    })
    .await;
    for tenant in ["open", "closed"] {
        let key = server.key(tenant, &[KeyScope::Publish]).await;
        let skill = SkillFixture::new(&format!("{tenant}-skill"));
        server
            .post(TestDialect::Ga, "/v1/skills")
            .key(&key)
            .form(&Form::skill(&skill))
            .await
            .ok();
    }
    for path in [
        "/.well-known/agent-skills/index.json",
        "/.well-known/skills/index.json",
    ] {
        let index = server.get(TestDialect::OpenAi, path).send().await.ok();
        let names: Vec<_> = index["skills"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| &s["name"])
            .collect();
        assert_eq!(names, ["open-skill"]);
    }
    for path in [
        "agent-skills/closed-skill.tar.gz",
        "agent-skills/closed-skill/SKILL.md",
        "skills/closed-skill/SKILL.md",
    ] {
        let answer = server
            .get(TestDialect::OpenAi, &format!("/.well-known/{path}"))
            .send()
            .await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
}
