//! Two tenants and every route: neither sees anything of the other.

use axum::http::{Method, StatusCode};
use prowess_server::{SecretString, ServerSettings, route_table};
use prowess_store::KeyScope;
use prowess_testkit::SkillFixture;
use serde_json::json;

use crate::client::{ALL, ClientResponse, Form, Server, TestDialect};
use crate::owned_objects::{OWNER, OwnedObjects, WORDS, call, naming_routes};

struct Tenants {
    server: Server,
    stranger: String,
    owner: String,
    objects: OwnedObjects,
}

async fn tenants() -> Tenants {
    let server = Server::with(ServerSettings {
        master_key: Some(SecretString::new("the-master-key-of-these-tests")),
        ..ServerSettings::default()
    })
    .await;
    let every = [KeyScope::Read, KeyScope::Use, KeyScope::Publish];
    let owner = server.key(OWNER, &every).await;
    let stranger = server.key("stranger", &[KeyScope::Admin]).await;
    Tenants {
        objects: OwnedObjects::make(&server, &owner, "").await,
        server,
        stranger,
        owner,
    }
}

impl Tenants {
    /// Every route that names objects, and its method: with all ids that a skill and a version
    /// have.
    fn named(&self) -> Vec<(Method, String)> {
        let mut routes = Vec::new();
        for (method, path, _) in naming_routes() {
            for path in self.objects.filled(&path) {
                routes.push((method.clone(), path));
            }
        }
        routes
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
            let (real, unreal) = self.objects.object(parameter);
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
        call(&self.server, dialect, method, path, key).await
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
            format!("/v1/files?ids[]={}", tenants.objects.file),
            format!("/v1/skills?after={}&order=asc", tenants.objects.skill),
            format!("/v1/skills?after={}", tenants.objects.skill),
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
        let path = format!("/v1/skills/overlap?skill_id={}", tenants.objects.skill);
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
    let versions = format!("/v1/skills/{}/versions", tenants.objects.skill);
    let versions = tenants
        .server
        .get(TestDialect::OpenAi, &versions)
        .key(&tenants.owner)
        .send()
        .await;
    assert_eq!(versions.ok()["data"].as_array().unwrap().len(), 1);
    let file = format!("/v1/files/{}/content", tenants.objects.file);
    let file = tenants
        .server
        .get(TestDialect::OpenAi, &file)
        .key(&tenants.owner)
        .send()
        .await;
    assert_eq!(&file.body[..], WORDS.as_bytes());
    let key = tenants
        .server
        .app
        .store()
        .key(None, &tenants.objects.key)
        .await;
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
