//! What happens in a kept run, as those see it who watch it in no dialect.

use prowess_testkit::upstream::MockResponse;
use prowess_wire::ClientDialect;
use serde_json::{Value, json};

use crate::bodies::question;
use crate::gateway::{Gateway, path};
use crate::runs::{load, model_response, request_naming, stored};

/// Starts a run that loads a skill, in the background, and returns its id.
async fn start(gateway: &Gateway, client: ClientDialect) -> String {
    let skill = stored(gateway).await;
    // The first attempt fails, and is made again.
    let busy = json!({"error": {"message": "busy", "type": "server_error"}});
    gateway
        .upstream
        .respond(MockResponse::json(503, &busy.to_string()));
    let model = "oai/m1";
    for (text, calls) in [("Let me see.", &load()[..]), ("Done.", &[])] {
        gateway
            .upstream
            .respond(model_response(model, false, text, calls));
    }
    let body = request_naming(client, model, &skill, false).to_string();
    let headers = [("prowess-keep", "background")];
    let answer = gateway.send(path(client), &headers, body).await;
    let run = answer.header("prowess-run").unwrap().to_owned();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let shown = answer.json();
    assert_eq!((&shown["id"], &shown["type"]), (&json!(run), &json!("run")));
    run
}

/// The numbers and the JSON of events.
fn events(text: &str) -> Vec<(u64, Value)> {
    let events = text.split("\n\n").filter(|event| event.starts_with("id: "));
    let read = |event: &str| {
        let (id, data) = event.split_once('\n').unwrap();
        let id = id.strip_prefix("id: ").unwrap().parse().unwrap();
        let data = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        (id, data)
    };
    events.map(read).collect()
}

#[tokio::test]
async fn a_run_is_watched_to_its_end_in_any_dialect() {
    for client in [ClientDialect::Messages, ClientDialect::Chat] {
        let gateway = Gateway::start().await;
        let run = start(&gateway, client).await;
        let url = format!("/v1/runs/{run}/events?format=steps");
        let live = gateway.get(&url, &[]).await;
        assert!(live.text().contains("\"ended\""), "{}", live.text());
        // Texts that came in pieces are joined when the run is over.
        let watched = gateway.get(&url, &[]).await;
        assert_eq!(
            watched.header("content-type"),
            Some("text/event-stream; charset=utf-8")
        );
        let found = events(watched.text());
        let text: String = found
            .iter()
            .filter_map(|(_, event)| event["text"].as_str())
            .collect();
        // Chat has one text for all turns, with a line between them.
        assert_eq!(text.replace("\n\n", ""), "Let me see.Done.");
        let steps = found.iter().map(|(_, event)| event);
        let steps: Vec<&Value> = steps.filter(|event| event["kind"] != "text").collect();
        let kinds: Vec<&Value> = steps.iter().map(|step| &step["kind"]).collect();
        let expected = [
            "request",
            "turn",
            "turn_ended",
            "tool_started",
            "tool_ended",
            "skill_loaded",
            "turn",
            "turn_ended",
            "ended",
        ];
        assert_eq!(kinds, expected);
        assert_eq!(steps[0]["input"], "Fill in the form");
        assert_eq!(steps[0]["skills"][0]["name"], "pdf-forms");
        let failure = &steps[1]["failures"][0];
        assert_eq!(
            (&failure["provider"], &failure["model"]),
            (&json!("oai"), &json!("m1"))
        );
        assert!(
            failure["error"].as_str().unwrap().contains("busy"),
            "{failure}"
        );
        assert_eq!(steps[6].get("failures"), None);
        assert_eq!(
            (&steps[2]["input_tokens"], &steps[2]["shown"]),
            (&json!(30), &json!("Let me see."))
        );
        assert_eq!(steps[3]["input"], r#"{"name":"pdf-forms"}"#);
        assert!(
            steps[4]["shown"]
                .as_str()
                .unwrap()
                .contains("Fill in all fields.")
        );
        assert_eq!(steps[8]["status"], "completed");
        let times: Vec<i64> = steps
            .iter()
            .map(|step| step["at_ms"].as_i64().unwrap())
            .collect();
        assert!(times.is_sorted(), "{times:?}");

        // Whoever was cut off continues after any event, by header or by query.
        for at in [0, 3, found.len() - 1] {
            let (last, _) = found[at];
            let rest = gateway
                .get(&url, &[("last-event-id", &last.to_string())])
                .await;
            assert_eq!(events(rest.text()), found[at + 1..]);
            let rest = gateway.get(&format!("{url}&after={last}"), &[]).await;
            assert_eq!(events(rest.text()), found[at + 1..]);
        }
    }
}

#[tokio::test]
async fn a_dialect_has_its_own_events_and_an_unknown_form_is_refused() {
    let gateway = Gateway::start().await;
    let run = start(&gateway, ClientDialect::Messages).await;
    let steps = gateway
        .get(&format!("/v1/runs/{run}/events?format=steps"), &[])
        .await;
    assert!(!steps.text().contains("message_start"));
    let same = gateway.get(&format!("/v1/runs/{run}/events"), &[]).await;
    let named = format!("/v1/runs/{run}/events?format=dialect");
    assert_eq!(gateway.get(&named, &[]).await.text(), same.text());
    assert!(same.text().starts_with("id: 0\nevent: message_start\n"));
    assert!(!same.text().contains("\"kind\""), "{}", same.text());
    let wrong = gateway
        .get(&format!("/v1/runs/{run}/events?format=html"), &[])
        .await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text().contains("format-invalid"), "{}", wrong.text());
}

#[tokio::test]
async fn a_list_shows_what_runs_cost_and_which_skills_they_had() {
    let gateway = Gateway::start().await;
    let run = start(&gateway, ClientDialect::Chat).await;
    let url = format!("/v1/runs/{run}/events?format=steps");
    let ended = gateway.get(&url, &[]).await;
    assert!(ended.text().contains("\"ended\""));
    // The record is written in the background.
    let listed = loop {
        let list = gateway.get("/v1/runs", &[]).await.json();
        if list["data"][0]["turns"] == 2 {
            break list["data"][0].clone();
        }
        tokio::task::yield_now().await;
    };
    assert_eq!(listed["skills"][0]["name"], "pdf-forms");
    assert!(
        listed["skills"][0]["version"]
            .as_str()
            .unwrap()
            .starts_with("skver_")
    );
    assert_eq!(listed["cost"], 0.0);
    assert_eq!(listed["key"], Value::Null);
}

#[tokio::test]
async fn a_client_that_waits_for_a_run_that_is_cancelled_does_not_begin_another() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(MockResponse::never());
    let body = question(ClientDialect::Messages, "ant/m1", false).to_string();
    let headers = [("prowess-keep", "true")];
    let waiting = gateway.send("/v1/messages", &headers, body);
    let cancelling = async {
        gateway.upstream.next_request().await;
        let runs = gateway.get("/v1/runs", &[]).await.json();
        let run = runs["data"][0]["id"].as_str().unwrap();
        gateway.post(&format!("/v1/runs/{run}/cancel"), "").await
    };
    let (answer, cancelled) = tokio::join!(waiting, cancelling);
    assert_eq!(cancelled.json()["status"], "cancelled");
    assert_eq!(answer.status, 409, "{}", answer.text());
    // Libraries of both vendors repeat requests with this status otherwise.
    assert_eq!(answer.header("x-should-retry"), Some("false"));
}

#[tokio::test]
async fn a_run_is_cancelled_once_in_the_audit_log() {
    let gateway = Gateway::start().await;
    gateway.upstream.respond(MockResponse::never());
    let mut request = question(ClientDialect::Responses, "ant/m1", false);
    request["background"] = true.into();
    let made = gateway.post("/v1/responses", request.to_string()).await;
    let response = made.json()["id"].as_str().unwrap().to_owned();
    gateway.upstream.next_request().await;
    let run = response.replace("resp_", "run_");
    for path in [
        format!("/v1/responses/{response}/cancel"),
        format!("/v1/runs/{run}/cancel"),
        format!("/v1/responses/{response}/cancel"),
    ] {
        let cancelled = gateway.post(&path, "").await;
        assert_eq!(cancelled.status, 200, "{path}: {}", cancelled.text());
        assert_eq!(cancelled.json()["status"], "cancelled", "{path}");
    }
    let log = gateway.get("/v1/admin/audit?limit=100", &[]).await.json();
    let entries = log["data"].as_array().unwrap().iter();
    let actions: Vec<&Value> = entries.map(|entry| &entry["action"]).collect();
    assert_eq!(actions, ["response.cancel"]);
}
