//! How many tokens a request has that names stored skills: what is counted is what the
//! model would be sent.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};
use vendors::client::{new_request, path};
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

fn counter(client: ClientDialect) -> &'static str {
    match client {
        ClientDialect::Responses => "/v1/responses/input_tokens",
        _ => "/v1/messages/count_tokens",
    }
}

/// What counts, of a request in Anthropic's dialect.
fn counted(body: &Value) -> [&Value; 3] {
    ["system", "messages", "tools"].map(|key| &body[key])
}

#[test]
fn the_provider_counts_what_the_model_would_be_sent() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let fill = SkillFixture::new("report").script("scripts/make.py", "print(1)\n");
        let skill = gateway.store(&fill).await;
        let upstream = &gateway.upstreams[0];
        for client in [ClientDialect::Messages, ClientDialect::Responses] {
            let model = Vendor::Anthropic.model(0);
            let request = new_request(client, &model, false, &[&skill]);
            upstream.respond(MockResponse::json(200, r#"{"input_tokens": 4711}"#));
            let response = gateway.post(counter(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);
            assert_eq!(response.json()["input_tokens"], 4711);
            upstream.respond(Vendor::Anthropic.text_turn(false, "Done."));
            let response = gateway.post(path(client), &request).await;
            assert_eq!(response.status, 200, "{}", response.text);

            let requests = upstream.requests().await;
            let paths: Vec<_> = requests.iter().map(|sent| sent.path.as_str()).collect();
            assert_eq!(paths, ["/v1/messages/count_tokens", "/v1/messages"]);
            let bodies = requests.iter().map(|sent| sent.text());
            let bodies: Vec<Value> = bodies.map(|b| serde_json::from_str(b).unwrap()).collect();
            assert_eq!(counted(&bodies[0]), counted(&bodies[1]));
            assert!(bodies[0]["system"].to_string().contains("- report:"));
            assert_eq!(bodies[0].get("max_tokens"), None, "{}", bodies[0]);
            upstream.clear_responses();
        }
    });
}

#[test]
fn where_nobody_counts_the_skills_are_in_the_estimate() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let skill = gateway.store(&SkillFixture::new("report")).await;
        let model = Vendor::Chat.model(0);
        let count = async |skills: &[&str]| {
            let mut request = new_request(ClientDialect::Messages, &model, false, skills);
            if skills.is_empty() {
                let request = request.as_object_mut().unwrap();
                request.shift_remove("container");
                request["tools"].as_array_mut().unwrap().remove(0);
            }
            let answer = gateway.begin("/v1/messages/count_tokens", &request).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers()["prowess-estimated"], "true");
            let body: Value = answer.json().await.unwrap();
            body["input_tokens"].as_u64().unwrap()
        };
        let (plain, skilled) = (count(&[]).await, count(&[&skill]).await);
        assert!(skilled > plain + 100, "{plain} without, {skilled} with");
        assert!(gateway.upstreams[0].requests().await.is_empty());
    });
}

#[test]
fn counting_runs_nothing_and_keeps_nothing() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let skill = gateway.store(&SkillFixture::new("report")).await;
        let file = gateway.upload_file("note.txt", "hello").await;
        let mut request = new_request(
            ClientDialect::Messages,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let upload = json!({"type": "container_upload", "file_id": file});
        request["messages"][0]["content"] = json!([{"type": "text", "text": "Go."}, upload]);
        let response = gateway.post("/v1/messages/count_tokens", &request).await;
        assert_eq!(
            (response.status, response.run.as_ref()),
            (200, None),
            "{}",
            response.text
        );
        assert_eq!(
            gateway.get("/v1/containers").await.json()["data"],
            json!([])
        );
        assert_eq!(gateway.get("/v1/runs").await.json()["data"], json!([]));

        request["container"]["skills"][0]["skill_id"] = "skill_gone".into();
        let response = gateway.post("/v1/messages/count_tokens", &request).await;
        assert_eq!(response.status, 404, "{}", response.text);
        assert!(response.text.contains("skill_gone"), "{}", response.text);
    });
}
