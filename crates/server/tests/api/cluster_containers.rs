//! Containers and their files in a cluster: made at one gateway, and asked for at another. None of
//! it needs a worker.

use std::collections::HashSet;
use std::sync::Arc;

use axum::http::{Method, StatusCode};
use prowess_bus::Bus;
use prowess_cluster::{ClusterSandboxes, ClusterSettings};
use prowess_engine::SandboxHandle;
use prowess_sandbox::SharedSandboxes;
use prowess_server::{ServerSettings, route_table};
use prowess_store::KeyScope;
use serde_json::{Value, json};

use crate::client::{ClientResponse, Form, Server, TestDialect};
use crate::cluster::{POSTGRES, settings};
use crate::owned_objects::{OWNER, WORDS};

const OPEN_AI: TestDialect = TestDialect::OpenAi;
/// Files of the test, in the order of their upload.
const FILES: [&str; 2] = ["first.txt", "second.txt"];

/// A container with one file.
struct OwnedContainer {
    id: String,
    file: String,
}

impl OwnedContainer {
    async fn make(server: &Server, key: &str) -> OwnedContainer {
        let call = server.post(OPEN_AI, "/v1/containers").key(key);
        let container = call.json(&json!({ "name": "of the owner" })).await.ok();
        let id = container["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/containers/{id}/files");
        let file = upload(server, &path, FILES[0], key).await.ok();
        let file = file["id"].as_str().unwrap().to_owned();
        OwnedContainer { id, file }
    }

    fn filled(&self, path: &str) -> String {
        let path = path.replace("{container}", &self.id);
        path.replace("{file}", &self.file)
    }

    /// The names of its files; none if it does not exist.
    async fn files(&self, server: &Server, key: &str) -> Option<Vec<String>> {
        let path = format!("/v1/containers/{}/files", self.id);
        let answer = server.get(OPEN_AI, &path).key(key).send().await;
        if answer.status == StatusCode::NOT_FOUND {
            return None;
        }
        let listed = answer.ok();
        let paths = listed["data"].as_array().unwrap().iter();
        let names = paths.map(|file| {
            let path = file["path"].as_str().unwrap();
            path.rsplit('/').next().unwrap().to_owned()
        });
        Some(names.collect())
    }
}

async fn upload(server: &Server, path: &str, name: &str, key: &str) -> ClientResponse {
    let form = Form::default().file("file", name, WORDS.as_bytes());
    server.post(OPEN_AI, path).key(key).form(&form).await
}

/// A request to a route of containers, with the body that it needs.
async fn call(server: &Server, method: &Method, path: &str, key: &str) -> ClientResponse {
    match *method {
        Method::POST => upload(server, path, FILES[1], key).await,
        _ => {
            let call = server.request(OPEN_AI, method.clone(), path).key(key);
            call.send().await
        }
    }
}

/// What a response shows, but for the time of the last use: to be asked for is one.
fn shown(answer: &ClientResponse) -> Value {
    let text = || Value::from(String::from_utf8_lossy(&answer.body).into_owned());
    let mut value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| text());
    remove_last_use(&mut value);
    if let Some(listed) = value.get_mut("data").and_then(Value::as_array_mut) {
        listed.iter_mut().for_each(remove_last_use);
    }
    value
}

fn remove_last_use(value: &mut Value) {
    if let Some(fields) = value.as_object_mut() {
        fields.remove("last_active_at");
    }
}

/// A gateway with a connection of its own to the store.
async fn gateway(beside: &Server, bus: &Bus, name: &str) -> Server {
    let cluster = ClusterSettings::new(bus.clone(), "prowess", name);
    let sandboxes = ClusterSandboxes::start(beside.another_store().await, cluster).await;
    let sandboxes: SharedSandboxes = Arc::new(sandboxes.unwrap());
    let settings = ServerSettings {
        sandbox: SandboxHandle::ready(sandboxes),
        ..settings(bus, name)
    };
    beside.beside(settings).await
}

#[tokio::test]
async fn every_route_finds_containers_and_files_that_another_gateway_made() {
    let bus = Bus::local();
    let without_sandbox = Server::with_store(settings(&bus, "gw-0"), |config| {
        config.database = POSTGRES.database();
    });
    let without_sandbox = without_sandbox.await;
    let one = gateway(&without_sandbox, &bus, "gw-1").await;
    let other = gateway(&without_sandbox, &bus, "gw-2").await;
    let key = one.key(OWNER, &[KeyScope::Use]).await;
    let mut known = HashSet::new();
    let routes = route_table().into_iter();
    let routes = routes.filter(|route| {
        // Pages of PDF files are drawn by a worker.
        let of_containers = route.path.contains("{container}") && !route.path.ends_with("/preview");
        of_containers && known.insert((route.method.clone(), route.path_below_mount.clone()))
    });
    let routes: Vec<_> = routes.map(|route| (route.method, route.path)).collect();
    assert_eq!(routes.len(), 7, "{routes:?}");
    let lasting = OwnedContainer::make(&one, &key).await;
    for (method, path) in routes {
        let method: Method = method.parse().unwrap();
        let case = format!("{method} {path}");
        if method == Method::GET {
            let path = lasting.filled(&path);
            let there = call(&one, &method, &path, &key).await;
            let here = call(&other, &method, &path, &key).await;
            assert_eq!(here.status, StatusCode::OK, "{case}: {:?}", here.body);
            assert_eq!(shown(&here), shown(&there), "{case}");
            continue;
        }
        // What a request changes is changed at every gateway.
        let made = OwnedContainer::make(&one, &key).await;
        let changed = call(&other, &method, &made.filled(&path), &key).await;
        assert_eq!(changed.status, StatusCode::OK, "{case}: {:?}", changed.body);
        let expected = match (&method, path.contains("{file}")) {
            (&Method::POST, _) => Some(FILES.map(str::to_owned).to_vec()),
            (_, true) => Some(Vec::new()),
            (_, false) => None,
        };
        for server in [&one, &other] {
            assert_eq!(made.files(server, &key).await, expected, "{case}");
        }
    }
    let list = |server: &Server| server.get(OPEN_AI, "/v1/containers").key(&key).send();
    let (there, here) = (list(&one).await, list(&other).await);
    assert!(here.ok().to_string().contains(&lasting.id), "{here:?}");
    assert_eq!(shown(&here), shown(&there));
    // Whose it is, every gateway knows.
    let stranger = one.key("stranger", &[KeyScope::Use]).await;
    assert_eq!(lasting.files(&other, &stranger).await, None);
}
