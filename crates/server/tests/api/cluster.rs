//! Two gateways of one cluster over one PostgreSQL: each answers everything, whichever made it,
//! and none uses what another has changed.

use std::collections::HashSet;
use std::sync::LazyLock;
use std::time::Duration;

use axum::http::{Method, StatusCode};
use prowess_bus::Bus;
use prowess_provider::Providers;
use prowess_provider::config::{
    ModelConfig, ProviderConfig, ProviderKind, ProvidersConfig, ScriptedOptions,
};
use prowess_server::{ClusterMembership, JoinedCluster, SecretString, ServerSettings};
use prowess_store::{KeyScope, TenantId, VersionSelector};
use prowess_testkit::postgres::TestPostgres;
use serde_json::json;

use crate::client::{Server, TestDialect};
use crate::owned_objects::{OWNER, OwnedObjects, call, naming_routes};

const MASTER: &str = "the-master-key-of-these-tests";
const OPEN_AI: TestDialect = TestDialect::OpenAi;
/// How long a test waits for something that takes a moment.
const DEADLINE: Duration = Duration::from_secs(30);

pub(crate) static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

/// Two gateways, and a key of the owner of everything.
struct Pair {
    one: Server,
    other: Server,
    owner: String,
    _joined: [JoinedCluster; 2],
}

/// The settings of a gateway without a sandbox.
pub(crate) fn settings(bus: &Bus, gateway: &str) -> ServerSettings {
    let script = ScriptedOptions::Text("[[step]]\ntext = \"Hi\"\n".to_owned());
    let config = ProvidersConfig {
        providers: vec![ProviderConfig::new("stage", ProviderKind::new(script))],
        models: vec![ModelConfig::new("small", "stage")],
        ..ProvidersConfig::default()
    };
    ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        providers: Some(Providers::new(config).unwrap()),
        cluster: Some(ClusterMembership {
            bus: bus.clone(),
            gateway: gateway.to_owned(),
            namespace: "prowess".to_owned(),
            view: None,
        }),
        ..ServerSettings::default()
    }
}

async fn pair() -> Pair {
    let bus = Bus::local();
    let one = Server::with_store(settings(&bus, "gw-1"), |config| {
        config.database = POSTGRES.database();
        // What is cached is used until it is dropped.
        config.freshness = Duration::from_secs(3_600);
    })
    .await;
    let other = one.beside(settings(&bus, "gw-2")).await;
    let joined = [
        one.app.join_cluster().await.unwrap(),
        other.app.join_cluster().await.unwrap(),
    ];
    Pair {
        owner: one.key(OWNER, &[KeyScope::Admin]).await,
        one,
        other,
        _joined: joined,
    }
}

impl Pair {
    /// A kept run that has ended.
    async fn kept_run(&self) -> String {
        let body = json!({
            "model": "small", "max_tokens": 5,
            "messages": [{ "role": "user", "content": "Hello" }],
        });
        let call = self.one.post(TestDialect::Ga, "/v1/messages");
        let call = call.key(&self.owner).header("prowess-keep", "background");
        let answer = call.json(&body).await;
        let run = answer.header("prowess-run").unwrap().to_owned();
        let events = format!("/v1/runs/{run}/events");
        let events = self.one.get(OPEN_AI, &events).key(&self.owner).send().await;
        assert_eq!(events.status, StatusCode::OK);
        run
    }

    /// Objects that the first gateway made.
    async fn objects(&self, tag: &str) -> OwnedObjects {
        let run = self.kept_run().await;
        // Records of runs are written in the background.
        self.one.app.flush().await;
        let objects = OwnedObjects {
            run,
            ..OwnedObjects::make(&self.one, &self.owner, tag).await
        };
        let label = format!("/v1/skills/{}/labels/production", objects.skill);
        let labelled = call(&self.one, OPEN_AI, &Method::POST, &label, &self.owner);
        labelled.await.ok();
        objects
    }
}

/// Waits until something is the case.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(DEADLINE, async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    });
    assert!(waited.await.is_ok(), "in vain: {what}");
}

#[tokio::test]
async fn every_route_finds_what_another_gateway_made() {
    let pair = pair().await;
    let mut known = HashSet::new();
    let routes = naming_routes().into_iter();
    let routes = routes.filter(|(method, _, below)| known.insert((method.clone(), below.clone())));
    let routes: Vec<_> = routes.collect();
    assert!(routes.len() > 40, "{}", routes.len());
    let lasting = pair.objects("").await;
    for (number, (method, path, _)) in routes.into_iter().enumerate() {
        // What a request changes is not asked for again.
        let is_lasting = method == Method::GET;
        let (mine, same) = match is_lasting {
            true => (None, None),
            false => (
                Some(pair.objects(&format!("{number}a")).await),
                Some(pair.objects(&format!("{number}b")).await),
            ),
        };
        let at = |objects: &OwnedObjects| objects.filled(&path).swap_remove(0);
        let there = at(mine.as_ref().unwrap_or(&lasting));
        let here = at(same.as_ref().unwrap_or(&lasting));
        let there = call(&pair.one, OPEN_AI, &method, &there, &pair.owner).await;
        let here = call(&pair.other, OPEN_AI, &method, &here, &pair.owner).await;
        let case = format!("{method} {path}");
        assert_eq!(here.status, there.status, "{case}: {:?}", here.body);
        assert_ne!(here.status, StatusCode::NOT_FOUND, "{case}");
        assert!(!here.status.is_server_error(), "{case}: {:?}", here.body);
        if is_lasting && here.status.is_success() {
            assert_eq!(here.body, there.body, "{case}");
        }
    }
}

#[tokio::test]
async fn a_key_that_one_gateway_revokes_is_refused_by_the_other() {
    let pair = pair().await;
    let key = pair.one.key(OWNER, &[KeyScope::Read]).await;
    let skills = async || {
        let call = pair.other.get(OPEN_AI, "/v1/skills").key(&key);
        call.send().await.status
    };
    assert_eq!(skills().await, StatusCode::OK);
    let tenant = TenantId::new(OWNER).unwrap();
    let store = pair.one.app.store();
    let keys = store.list_keys(&tenant).await.unwrap();
    let id = &keys
        .iter()
        .find(|one| key.starts_with(&one.prefix))
        .unwrap()
        .id;
    let path = format!("/v1/admin/keys/{id}");
    let revoked = pair.one.delete(OPEN_AI, &path).key(&pair.owner).send();
    revoked.await.ok();
    until("the key is refused", async || {
        skills().await == StatusCode::UNAUTHORIZED
    })
    .await;
}

#[tokio::test]
async fn a_version_that_one_gateway_revokes_is_not_used_by_the_other() {
    let pair = pair().await;
    let objects = pair.objects("").await;
    let tenant = TenantId::new(OWNER).unwrap();
    let resolve = async || {
        let default = VersionSelector::Default;
        let store = pair.other.app.store();
        let resolved = store.resolve(&tenant, &objects.skill, &default).await;
        resolved.is_ok()
    };
    assert!(resolve().await);
    // A version that a label points to cannot be revoked.
    let label = format!("/v1/skills/{}/labels/production", objects.skill);
    let deleted = call(&pair.one, OPEN_AI, &Method::DELETE, &label, &pair.owner);
    deleted.await.ok();
    let path = format!("/v1/skills/{}/versions/1/revoke", objects.skill);
    let revoked = call(&pair.one, OPEN_AI, &Method::POST, &path, &pair.owner);
    revoked.await.ok();
    until("the version is refused", async || !resolve().await).await;
}

#[tokio::test]
async fn an_mcp_session_of_another_gateway_is_not_found_as_specified() {
    let pair = pair().await;
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "tests", "version": "1" },
        },
    });
    let post = |server: &Server| {
        let call = server.post(OPEN_AI, "/mcp").key(&pair.owner);
        call.header("accept", "application/json, text/event-stream")
    };
    let started = post(&pair.one).json(&message).await;
    let session = started.header("mcp-session-id").unwrap();
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    let refused = post(&pair.other).header("mcp-session-id", session);
    let refused = refused.json(&list).await;
    assert_eq!(refused.status, StatusCode::NOT_FOUND);
    assert_eq!(refused.code(), "session-not-found");
}

#[tokio::test]
async fn each_gateway_shows_all_and_the_state_of_its_dependencies() {
    let pair = pair().await;
    let cluster = async |server: &Server| {
        let call = server.get(OPEN_AI, "/v1/admin/cluster").key(MASTER);
        call.send().await.ok()
    };
    for (server, name) in [(&pair.one, "gw-1"), (&pair.other, "gw-2")] {
        until("both are seen", async || {
            cluster(server).await["gateways"].as_array().unwrap().len() == 2
        })
        .await;
        let shown = cluster(server).await;
        assert_eq!(shown["gateway"], name);
        assert_eq!(shown["gateways"][0]["id"], name, "itself first: {shown}");
        assert_eq!(shown["gateways"][1]["state"], "ready");
        assert_eq!(shown["bus"]["connected"], true);
        let ready = server.get(OPEN_AI, "/readyz").send().await.ok();
        let parts = json!({
            "database": "ok", "blob_storage": "ok", "bus": "ok", "workers": null,
        });
        assert_eq!(ready, json!({ "status": "ok", "parts": parts }));
    }
    let alone = Server::new().await;
    let call = alone.get(OPEN_AI, "/v1/admin/cluster");
    let shown = call.send().await.ok();
    assert_eq!(
        (&shown["gateway"], &shown["gateways"]),
        (&json!(null), &json!([]))
    );
}
