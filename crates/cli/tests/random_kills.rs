//! Three hundred kept runs while their server is killed at random moments for a minute: none is
//! lost, none is made twice.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test stops at the first surprise"
)]

#[allow(
    dead_code,
    clippy::allow_attributes,
    reason = "another test binary uses the rest of this module"
)]
mod durable;
mod server;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use durable::bed::{Bed, SHORT_LEASE};
use durable::model::prompts;
use durable::observation::container_id;
use durable::request::KeptDialect;
use server::MASTER;

const RUNS: usize = 300;
/// Clients that wait at the same time.
const CLIENTS: usize = 24;
/// Runs that a server has of one tenant at once: each kill may repeat a turn of each.
const RUNS_AT_ONCE: usize = 16;
const KILLING_TIME: Duration = Duration::from_secs(60);
/// Between two kills, in milliseconds.
const KILL_INTERVALS: std::ops::Range<u64> = 1_000..4_000;
const SEED: u64 = 20_261_117;

/// Sends a request until its response has come whole, whatever happens to the server.
async fn send(http: reqwest::Client, url: Arc<Mutex<String>>, body: String, key: String) {
    loop {
        let address = format!("{}/v1/messages", url.lock().unwrap());
        let mut request = http.post(address).bearer_auth(MASTER).body(body.clone());
        for (name, value) in KeptDialect::Messages.headers(&key) {
            request = request.header(name, value);
        }
        if let Ok(response) = request.send().await {
            let (status, text) = (response.status(), response.text().await);
            assert!(
                status.is_success() || status.is_server_error(),
                "{status} {text:?}"
            );
            if text.is_ok_and(|text| text.contains("event: message_stop")) {
                return;
            }
        }
        // The server may be starting.
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn random_kills_lose_and_double_nothing() {
    let mut bed = Bed::start(None, &[SHORT_LEASE]).await;
    let url = Arc::new(Mutex::new(bed.server.url().to_owned()));
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = KeptDialect::Messages.body(prompts::WRITE, &bed.skill);
    let permits = Arc::new(tokio::sync::Semaphore::new(CLIENTS));
    let clients: Vec<_> = (0..RUNS)
        .map(|number| {
            let (http, url, permits) = (http.clone(), url.clone(), permits.clone());
            let (body, key) = (body.to_string(), format!("run {number}"));
            tokio::spawn(async move {
                let _permit = permits.acquire().await.unwrap();
                send(http, url, body, key).await;
            })
        })
        .collect();
    let mut random = fastrand::Rng::with_seed(SEED);
    let (started, mut kills) = (Instant::now(), 0);
    while started.elapsed() < KILLING_TIME && clients.iter().any(|client| !client.is_finished()) {
        tokio::time::sleep(Duration::from_millis(random.u64(KILL_INTERVALS))).await;
        bed.restart(&[SHORT_LEASE]);
        *url.lock().unwrap() = bed.server.url().to_owned();
        kills += 1;
    }
    for client in clients {
        client.await.unwrap();
    }
    let runs = bed.runs().await;
    assert_eq!(runs.len(), RUNS);
    for run in &runs {
        assert_eq!(run.state, "completed", "{run:?}");
        let container = container_id(&run.result);
        let files = Bed::json(bed.get(&format!("/v1/containers/{container}/files"))).await;
        let files = files["data"].as_array().unwrap();
        let log = files
            .iter()
            .find(|file| file["path"].as_str().unwrap().ends_with("log.txt"));
        let id = log.unwrap()["id"].as_str().unwrap();
        let path = format!("/v1/containers/{container}/files/{id}/content");
        assert_eq!(Bed::text(bed.get(&path)).await, "one\ntwo\n", "{run:?}");
    }
    let calls = bed.model.calls(prompts::WRITE);
    let most = 3 * RUNS + kills * RUNS_AT_ONCE;
    assert!((3 * RUNS..=most).contains(&calls), "{calls} {kills}");
    let requests = bed.usage().await[0]["requests"].as_u64();
    assert!(requests >= Some(RUNS as u64), "{requests:?}");
}
