//! Limits, failures and usage; clients; parts that are absent.

use prowess_testkit::SkillFixture;
use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use super::installed;
use super::server::{MASTER, TestServer, is_left_out, prowess};
use super::stage::{bash, commands, start_gateway, start_gateway_with};
use super::vendors::client::{new_request, parse_answer, text_of};
use super::vendors::vendor::Vendor;
use super::vendors::{TestGateway, run};

#[test]
fn a_limit_is_marked_and_a_failed_turn_is_the_error() {
    run(async {
        let (gateway, skill) = start_gateway_with("[skills]\nturns = 2\n").await;
        let (response, sent) = commands(&gateway, &[&skill], &["echo 1", "echo 2", "echo 3"]).await;
        assert_eq!(
            (&response.json()["stop_reason"], sent.len()),
            (&json!("pause_turn"), 2)
        );
        gateway.upstreams[0].clear_responses();
        let request = new_request(
            ClientDialect::Chat,
            &Vendor::Chat.model(0),
            false,
            &[&skill],
        );
        let refused = r#"{"error":{"message":"no more","type":"invalid_request_error"}}"#;
        let turns = [
            Vendor::Chat.calls(false, "I run it.", &[bash("echo hi")]),
            MockResponse::json(402, refused),
        ];
        let (response, _) = gateway
            .talk(ClientDialect::Chat, Vendor::Chat, &request, turns)
            .await;
        assert_eq!(response.status, 402, "{}", response.text);
        assert!(response.text.contains("no more") && !response.text.contains("I run it."));
    });
}

#[test]
fn usage_is_summed_and_recorded_under_the_tenant() {
    run(async {
        let (gateway, skill) = start_gateway().await;
        let (response, _) = commands(&gateway, &[&skill], &["echo hi", "echo ho"]).await;
        let usage = &response.json()["usage"];
        assert_eq!(
            (&usage["input_tokens"], &usage["output_tokens"]),
            (&json!(90), &json!(30))
        );
        let run = response.run.unwrap();
        let record = gateway.record(&run).await;
        assert_eq!(
            (&record["usage"]["input_tokens"], &record["turns"]),
            (&json!(90), &json!(3))
        );

        let mut command = prowess(gateway.server.folder());
        let made = command
            .args(["keys", "create", "ci", "--tenant", "acme", "--json"])
            .output();
        let made: Value = serde_json::from_slice(&made.unwrap().stdout).unwrap();
        let key = made["key"]
            .as_str()
            .unwrap_or_else(|| made["secret"].as_str().unwrap());
        let url = format!("{}/v1/runs/{run}", gateway.server.url());
        let others = gateway.http.get(url).bearer_auth(key).send().await.unwrap();
        assert_eq!(others.status(), 404, "a run is its tenant's alone");
    });
}

#[test]
fn litellms_clients_work_inside_a_running_loop() {
    if is_left_out("litellms_clients_work_inside_a_running_loop") {
        return;
    }
    run(async {
        let (gateway, skill) = start_gateway().await;
        let call = [bash("echo hi")];
        for _ in 0..3 {
            gateway.upstreams[0].respond(Vendor::Anthropic.calls(false, "I run it.", &call));
            gateway.upstreams[0].respond(Vendor::Anthropic.text_turn(false, "Done."));
        }
        let mut client = installed::python("litellm", "skills_litellm.py");
        client
            .env("PROWESS_URL", gateway.server.url())
            .env("PROWESS_API_KEY", MASTER)
            .env("PROWESS_MODEL", Vendor::Anthropic.model(0))
            .env("PROWESS_SKILL", &skill);
        tokio::task::spawn_blocking(move || installed::succeeded(&mut client))
            .await
            .unwrap();
        assert_eq!(gateway.upstreams[0].requests().await.len(), 6);
    });
}

#[test]
fn absent_parts_cost_nothing_and_log_nothing() {
    run(async {
        // One program: no interpreter, exporter or package that could be missing.
        let mut gateway = TestGateway::open(1, "").await;
        let mut bare = TestServer::start(&[("PATH", "")]);
        for _ in 0..20 {
            let url = format!("{}/v1/skills", bare.url());
            let answer = gateway
                .http
                .get(url)
                .bearer_auth(MASTER)
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 200);
        }
        let log = bare.log();
        assert_eq!(log.matches("WARN").count(), 0, "{log}");
        let skill = gateway.store(&SkillFixture::new("plain")).await;
        for _ in 0..5 {
            let (response, _) = commands(&gateway, &[&skill], &[]).await;
            let answer = parse_answer(ClientDialect::Messages, false, &response).unwrap();
            assert_eq!(text_of(&answer), "Done.");
        }
        let log = gateway.server.log();
        assert!(
            !log.contains("ERROR") && !log.contains("not installed"),
            "{log}"
        );
    });
}
