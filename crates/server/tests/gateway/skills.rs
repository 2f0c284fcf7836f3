//! Skills named in a request are never silently ignored.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::{MESSAGES, question};
use crate::gateway::{Gateway, path};

fn with_skill(client: ClientDialect, model: &str, id: &str) -> Value {
    let mut request = question(client, model, false);
    if client == ClientDialect::Responses {
        let skill = json!({"type": "skill_reference", "skill_id": id});
        let environment = json!({"type": "container_auto", "skills": [skill]});
        request["tools"] = json!([{"type": "shell", "environment": environment}]);
    } else {
        let skill = json!({"type": "custom", "skill_id": id, "version": "latest"});
        request["container"] = json!({"skills": [skill]});
    }
    request
}

#[tokio::test]
async fn skills_of_the_upstreams_own_pass_untouched() {
    let gateway = Gateway::start().await;
    for (client, model) in [
        (ClientDialect::Messages, "ant/m1"),
        (ClientDialect::Responses, "rsp/m1"),
    ] {
        gateway.upstream.respond(MockResponse::json(200, MESSAGES));
        let request = with_skill(client, model, "skill_theirs").to_string();
        let answer = gateway.post(path(client), request.clone()).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let sent = gateway.upstream.next_request().await;
        assert_eq!(sent.text(), request.replace(model, "m1"));
    }
}

#[tokio::test]
async fn an_unknown_skill_is_a_404_that_names_it_where_the_upstream_has_none() {
    let gateway = Gateway::start().await;
    for (client, model) in [
        (ClientDialect::Messages, "oai/m1"),
        (ClientDialect::Messages, "stage/hero"),
        (ClientDialect::Chat, "oai/m1"),
        (ClientDialect::Responses, "oai/m1"),
    ] {
        let request = with_skill(client, model, "skill_nowhere");
        let answer = gateway.post(path(client), request.to_string()).await;
        assert_eq!(answer.status, 404, "{client:?} {model}: {}", answer.text());
        assert!(answer.text().contains("skill_nowhere"), "{}", answer.text());
    }
    assert!(gateway.upstream.requests().await.is_empty());
}
