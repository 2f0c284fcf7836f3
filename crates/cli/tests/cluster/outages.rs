//! What all gateways need is gone: the load balancer still sends them what does without, and what
//! waits for it is done when it is back.

use prowess_testkit::fleet::Fleet;
use serde_json::json;

use crate::bed::ClusterBed;
use crate::durable::bed::Bed;
use crate::durable::observation::container_id;
use crate::durable::poll::{is_running, wait_for};

/// More requests than the load balancer can pass on before it has found out that no gateway is
/// ready.
const REQUESTS: usize = 100;

async fn start() -> ClusterBed {
    ClusterBed::start_with("", |mut plan| {
        plan.gateways = 2;
        plan
    })
    .await
}

/// A request that passes to the model.
async fn pass_through(bed: &ClusterBed, url: &str, key: &str) {
    let body = json!({
        "model": "ant/m", "max_tokens": 100,
        "messages": [{"role": "user", "content": "pass this on"}],
    });
    let request = bed.post_as(key, url, "/v1/messages").body(body.to_string());
    let answer = Bed::json(request.header("anthropic-version", "2023-06-01")).await;
    let text = &answer["content"][0]["text"];
    assert_eq!(text, "All of it is done.", "{answer}");
}

/// Waits until every gateway says that it lacks this.
async fn wait_until_unready(bed: &ClusterBed, part: &str) {
    for gateway in &bed.fleet.gateways {
        wait_for("a gateway is not ready", async || {
            let response = bed.get(&gateway.url(), "/readyz").send().await.ok()?;
            let status = response.status();
            let text = response.text().await.ok()?;
            (status == 503 && text.contains(part)).then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_pass_the_load_balancer_while_the_database_is_down() {
    let bed = start().await;
    let (url, gateways) = (bed.fleet.url(), &bed.fleet.gateways);
    let new = bed.post(&url, "/v1/admin/keys");
    let new = new.header("content-type", "application/json");
    let created = Bed::json(new.body(json!({"name": "ci"}).to_string())).await;
    let key = created["key"].as_str().unwrap();
    // From now on each gateway knows it.
    for gateway in gateways {
        pass_through(&bed, &gateway.url(), key).await;
    }
    bed.fleet.postgres.kill();
    wait_until_unready(&bed, "database").await;
    for _ in 0..REQUESTS {
        pass_through(&bed, &url, key).await;
    }
    bed.fleet.postgres.recover();
    bed.wait_for_haproxy().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_due_while_the_object_storage_starts_again_are_not_lost() {
    let mut bed = start().await;
    let url = bed.fleet.gateways[0].url();
    let small = bed.script(&url, None, &["echo one > log.txt"]).await;
    let seconds = format!("2.0{}", std::process::id());
    let large = format!("seq 1 60000 > numbers.txt; sleep {seconds}");
    let large = bed.script_request(&url, None, &[&large]);
    let large = tokio::spawn(Bed::json(large));
    wait_for("the command runs", async || {
        is_running(&seconds).then_some(())
    })
    .await;
    bed.fleet.blobs.kill();
    // What is small is in the database.
    let command = ["echo two >> log.txt; cat log.txt"];
    let more = bed.script(&url, Some(&small.container), &command).await;
    assert!(more.output.contains("two"), "{}", more.output);
    wait_until_unready(&bed, "blob storage").await;
    for _ in 0..REQUESTS {
        pass_through(&bed, &bed.fleet.url(), Fleet::MASTER).await;
    }
    bed.fleet.blobs.restart();
    let container = container_id(&large.await.unwrap());
    let other = bed.fleet.gateways[1].url();
    let count = ["wc -l < numbers.txt"];
    let counted = bed.script(&other, Some(&container), &count).await;
    assert!(counted.output.contains("60000"), "{}", counted.output);
}
