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
use prowess_testkit::upstream::Answer;
use prowess_wire::Client;
use serde_json::{Value, json};
use vendors::client::{asks, path};
use vendors::speak::Vendor;
use vendors::{Place, run};

fn counter(client: Client) -> &'static str {
    match client {
        Client::Responses => "/v1/responses/input_tokens",
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
        let place = Place::open(1, "").await;
        let fill = SkillFixture::new("report").script("scripts/make.py", "print(1)\n");
        let skill = place.store(&fill).await;
        let upstream = &place.lanes[0];
        for client in [Client::Messages, Client::Responses] {
            let model = Vendor::Anthropic.model(0);
            let asked = asks(client, &model, false, &[&skill]);
            upstream.answer(Answer::json(200, r#"{"input_tokens": 4711}"#));
            let told = place.post(counter(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);
            assert_eq!(told.json()["input_tokens"], 4711);
            upstream.answer(Vendor::Anthropic.says(false, "Done."));
            let told = place.post(path(client), &asked).await;
            assert_eq!(told.status, 200, "{}", told.text);

            let requests = upstream.requests().await;
            let paths: Vec<_> = requests.iter().map(|sent| sent.path.as_str()).collect();
            assert_eq!(paths, ["/v1/messages/count_tokens", "/v1/messages"]);
            let bodies = requests.iter().map(|sent| sent.text());
            let bodies: Vec<Value> = bodies.map(|b| serde_json::from_str(b).unwrap()).collect();
            assert_eq!(counted(&bodies[0]), counted(&bodies[1]));
            assert!(bodies[0]["system"].to_string().contains("- report:"));
            assert_eq!(bodies[0].get("max_tokens"), None, "{}", bodies[0]);
            upstream.forget();
        }
    });
}

#[test]
fn where_nobody_counts_the_skills_are_in_the_estimate() {
    run(async {
        let place = Place::open(1, "").await;
        let skill = place.store(&SkillFixture::new("report")).await;
        let model = Vendor::Chat.model(0);
        let count = async |skills: &[&str]| {
            let mut asked = asks(Client::Messages, &model, false, skills);
            if skills.is_empty() {
                let asked = asked.as_object_mut().unwrap();
                asked.shift_remove("container");
                asked["tools"].as_array_mut().unwrap().remove(0);
            }
            let answer = place.begin("/v1/messages/count_tokens", &asked).await;
            assert_eq!(answer.status(), 200);
            assert_eq!(answer.headers()["prowess-estimated"], "true");
            let body: Value = answer.json().await.unwrap();
            body["input_tokens"].as_u64().unwrap()
        };
        let (plain, skilled) = (count(&[]).await, count(&[&skill]).await);
        assert!(skilled > plain + 100, "{plain} without, {skilled} with");
        assert!(place.lanes[0].requests().await.is_empty());
    });
}

#[test]
fn counting_runs_nothing_and_keeps_nothing() {
    run(async {
        let place = Place::open(1, "").await;
        let skill = place.store(&SkillFixture::new("report")).await;
        let file = place.upload_file("note.txt", "hello").await;
        let mut asked = asks(Client::Messages, &Vendor::Chat.model(0), false, &[&skill]);
        let upload = json!({"type": "container_upload", "file_id": file});
        asked["messages"][0]["content"] = json!([{"type": "text", "text": "Go."}, upload]);
        let told = place.post("/v1/messages/count_tokens", &asked).await;
        assert_eq!(
            (told.status, told.run.as_ref()),
            (200, None),
            "{}",
            told.text
        );
        assert_eq!(place.get("/v1/containers").await.json()["data"], json!([]));
        assert_eq!(place.get("/v1/runs").await.json()["data"], json!([]));

        asked["container"]["skills"][0]["skill_id"] = "skill_gone".into();
        let told = place.post("/v1/messages/count_tokens", &asked).await;
        assert_eq!(told.status, 404, "{}", told.text);
        assert!(told.text.contains("skill_gone"), "{}", told.text);
    });
}
