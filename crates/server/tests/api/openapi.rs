//! The OpenAPI document matches the routes.

use axum::http::Method;

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
        for method in methods.as_object().unwrap().keys() {
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
    assert_eq!(verbs, 12 + 3 + 2 * 20 + 2 + 10 + 9 + 13 + 7);
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
