//! Without its messages a cluster still passes requests on, and says what is missing.

use reqwest::StatusCode;
use serde_json::json;

use crate::bed::ClusterBed;
use crate::durable::bed::Bed;
use crate::durable::poll::wait_for;

#[tokio::test(flavor = "multi_thread")]
async fn requests_without_skills_pass_while_nats_is_down() {
    let mut bed = ClusterBed::start_with("", |mut plan| {
        plan.gateways = 2;
        plan.workers = 1;
        plan
    })
    .await;
    let url = bed.fleet.url();
    let made = bed.script(&url, None, &["echo one > log.txt"]).await;
    bed.fleet.nats.kill();
    wait_until_degraded(&bed, "bus", "disconnected").await;
    for number in 0..20 {
        let body = json!({
            "model": "ant/m", "max_tokens": 100,
            "messages": [{"role": "user", "content": format!("say {number}")}],
        });
        let request = bed.post(&url, "/v1/messages").body(body.to_string());
        let answer = Bed::json(request.header("anthropic-version", "2023-06-01")).await;
        assert_eq!(
            answer["content"][0]["text"], "All of it is done.",
            "{answer}"
        );
    }
    // Files are not at workers, and can be read meanwhile.
    let files = format!("/v1/containers/{}/files", made.container);
    for gateway in &bed.fleet.gateways {
        let listed = Bed::json(bed.get(&gateway.url(), &files)).await;
        assert_eq!(listed["data"].as_array().unwrap().len(), 1, "{listed}");
    }
    bed.fleet.nats.restart();
    // Commands run again as soon as everybody is connected.
    wait_for("a command runs", async || {
        let command = ["cat log.txt"];
        let request = bed.script_request(&url, Some(&made.container), &command);
        let response = request.send().await.unwrap();
        (response.status() == StatusCode::OK).then_some(())
    })
    .await;
    assert!(bed.model.last_result().contains("one"));
    bed.fleet.workers[0].kill();
    wait_until_degraded(&bed, "workers", "none").await;
}

/// Waits until every gateway says that it lacks this. It is ready nevertheless: most requests do
/// without.
async fn wait_until_degraded(bed: &ClusterBed, part: &str, state: &str) {
    for gateway in &bed.fleet.gateways {
        let ready = wait_for("a gateway says what is missing", async || {
            let ready = Bed::json(bed.get(&gateway.url(), "/readyz")).await;
            (ready["parts"][part] == state).then_some(ready)
        });
        assert_eq!(ready.await["status"], "degraded", "{part}");
    }
}
