//! The OpenAPI document matches the routes.

use std::collections::HashSet;

use axum::http::Method;
use prowess_server::route_table;

use crate::client::{Server, TestDialect};

#[tokio::test]
async fn every_verb_that_is_described_is_there() {
    let server = Server::new().await;
    let document = server
        .get(TestDialect::OpenAi, "/openapi.json")
        .send()
        .await
        .ok();
    let mut verbs = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let methods = methods.as_object().unwrap().keys();
        for method in methods.filter(|name| !name.starts_with("x-")) {
            let method: Method = method.to_uppercase().parse().unwrap();
            let path = path.replace(['{', '}'], "");
            let answer = server
                .request(TestDialect::OpenAi, method.clone(), &path)
                .send()
                .await;
            if !answer.status.is_success() {
                let code = answer.code();
                let there = code != "route-not-found" && code != "method-not-allowed";
                assert!(there, "{method} {path}: {code}");
            }
            verbs += 1;
        }
    }
    assert_eq!(verbs, 15 + 3 + 2 * 37 + 2 + 13 + 10 + 13 + 7 + 11 + 11 + 15);
}

#[tokio::test]
async fn every_route_is_described_once_per_api_or_is_below_another_mount() {
    let server = Server::new().await;
    let document = server
        .get(TestDialect::OpenAi, "/openapi.json")
        .send()
        .await
        .ok();
    let described: HashSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap().keys();
            methods.map(move |method| format!("{method} {path}"))
        })
        .collect();
    for route in route_table() {
        let method = match route.is_websocket {
            true => "x-websocket".to_owned(),
            false => route.method.to_lowercase(),
        };
        let mounts = ["", "/anthropic/v1", "/openai/v1", "/gemini/v1beta"];
        let is_described = mounts.iter().any(|mount| {
            described.contains(&format!("{method} {mount}{}", route.path_below_mount))
        });
        assert!(is_described, "{route:?}");
    }
}

/// Readers and generators of clients see a summary without the ones before it.
#[tokio::test]
async fn every_summary_names_its_object() {
    let server = Server::new().await;
    let document = server
        .get(TestDialect::OpenAi, "/openapi.json")
        .send()
        .await
        .ok();
    let paths = document["paths"].as_object().unwrap();
    let operations = paths.values().flat_map(|path| path.as_object().unwrap());
    for (method, operation) in operations {
        let summary = operation["summary"].as_str().unwrap();
        let object = summary.split_once(' ').map_or("", |(_, object)| object);
        let refers = object.starts_with("its ") || object.starts_with("one of its ");
        assert!(!refers, "{method}: {summary}");
    }
}

#[tokio::test]
async fn every_route_of_the_table_is_served_at_each_of_its_paths() {
    let server = Server::new().await;
    for route in route_table() {
        let path = route.path.replace(['{', '}'], "");
        let method: Method = route.method.parse().unwrap();
        let call = server.request(TestDialect::OpenAi, method.clone(), &path);
        let answer = call.send().await;
        if !answer.status.is_success() {
            let code = answer.code();
            // A WebSocket refuses a plain GET.
            let is_refused = code == "method-not-allowed" && !route.is_websocket;
            let is_served = code != "route-not-found" && !is_refused;
            assert!(is_served, "{method} {path}: {code}");
        }
    }
}

#[tokio::test]
async fn the_form_of_a_skill_is_described_with_all_its_fields() {
    let server = Server::new().await;
    let document = server
        .get(TestDialect::OpenAi, "/openapi.json")
        .send()
        .await
        .ok();
    for path in ["/openai/v1/skills", "/anthropic/v1/skills/{skill}/versions"] {
        let body = &document["paths"][path]["post"]["requestBody"]["content"];
        let form = &body["multipart/form-data"]["schema"];
        for field in ["files[]", "description", "instructions", "metadata"] {
            assert!(form["properties"][field].is_object(), "{path}: {field}");
        }
        assert_eq!(form["additionalProperties"], false);
    }
}
