//! A hundred reloads under load, every tenth wrong: no request is lost, none sees two
//! configurations, and streams that began before the first one end as they should.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use prowess_testkit::upstream::{MockResponse, MockUpstream, ReceivedRequest};
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::slow_stream::SlowStream;
use super::{ReloadCounts, ReloadedServer};
use crate::server::MASTER;

const RELOADS: u32 = 100;
/// Clients that send one request after the other.
const CLIENTS: usize = 6;

/// A configuration that names its number in four places: address, key, header and model.
fn config(number: u32, upstream: &str, more: &str) -> String {
    format!(
        "[providers.up]\nkind = \"openai\"\nbase_url = \"{upstream}/g{number}/v1\"\n\
         api_key = \"key-{number}\"\nheaders = {{ x-generation = \"{number}\" }}\n\
         [[models]]\nname = \"m\"\nprovider = \"up\"\nmodel = \"model-{number}\"\n{more}"
    )
}

/// A file that cannot be used, in one of three ways.
fn wrong_config(round: u32, upstream: &str) -> String {
    let more = match round / 10 % 3 {
        0 => "[batches]\ntenant_batchse = 1\n",
        1 => "[server]\nconnections = 77\n",
        _ => "[batches\n",
    };
    config(round, upstream, more)
}

/// Says in which places the upstream found which number.
fn respond(request: &ReceivedRequest) -> MockResponse {
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let model = body["model"].as_str().unwrap();
    let places = [
        request.path.split('/').nth(1).unwrap().replace('g', ""),
        request
            .header("authorization")
            .unwrap()
            .replace("Bearer key-", ""),
        request.header("x-generation").unwrap().to_owned(),
        model.replace("model-", ""),
    ];
    let text = format!("<{}>", places.join(" "));
    if body["stream"] != true {
        let message = json!({ "role": "assistant", "content": text });
        let answer = json!({
            "id": "c1", "object": "chat.completion", "created": 1, "model": model,
            "choices": [{ "index": 0, "message": message, "finish_reason": "stop" }],
            "usage": { "prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2 },
        });
        return MockResponse::json(200, &answer.to_string());
    }
    let chunk = |delta: Value, reason: Option<&str>| {
        let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
        let chunk = json!({
            "id": "c1", "object": "chat.completion.chunk", "created": 1, "model": model,
            "choices": [choice],
        });
        format!("data: {chunk}\n\n")
    };
    let text = chunk(json!({ "role": "assistant", "content": text }), None);
    let end = chunk(json!({}), Some("stop"));
    MockResponse::sse(&format!("{text}{end}data: [DONE]\n\n"))
}

/// What a client sends: Chat, which is passed through, whole or as a stream; or Messages, which
/// are translated.
async fn ask(server: &ReloadedServer, kind: usize) -> u32 {
    let path = [
        "/v1/chat/completions",
        "/v1/chat/completions",
        "/v1/messages",
    ][kind % 3];
    let is_stream = kind % 3 == 1;
    let body = json!({
        "model": "m", "stream": is_stream, "max_tokens": 10,
        "messages": [{ "role": "user", "content": "hi" }],
    });
    let request = server.http.post(format!("{}{path}", server.server.url()));
    let request = request
        .header("x-api-key", MASTER)
        .header("anthropic-version", "2023-06-01");
    let response = request.json(&body).send().await.unwrap();
    let status = response.status();
    let text = response.text().await.unwrap();
    assert!(status.is_success(), "{status}: {text}");
    assert!(!is_stream || text.ends_with("data: [DONE]\n\n"), "{text}");
    let places = text
        .split('<')
        .nth(1)
        .and_then(|rest| rest.split('>').next());
    let places: Vec<u32> = places
        .unwrap_or_else(|| panic!("{text}"))
        .split(' ')
        .map(|place| place.parse().unwrap())
        .collect();
    assert_eq!(places, [places[0]; 4], "two configurations in one request");
    places[0]
}

/// Sends requests until told to stop; returns how many.
async fn keep_asking(server: Arc<ReloadedServer>, kind: usize, stop: Arc<AtomicBool>) -> u32 {
    let (mut sent, mut latest) = (0, 0);
    while !stop.load(Ordering::Relaxed) {
        let number = ask(&server, kind).await;
        assert!(number >= latest, "{number} after {latest}");
        (sent, latest) = (sent + 1, number);
    }
    sent
}

#[tokio::test(flavor = "multi_thread")]
async fn a_storm_of_reloads_loses_no_request_and_mixes_no_configurations() {
    let upstream = MockUpstream::start().await;
    upstream.respond_with(respond);
    let slow = SlowStream::start().await;
    // Only the first configuration has it.
    let long = format!(
        "[providers.slow]\nkind = \"openai\"\nbase_url = \"{}/v1\"\napi_key = \"k\"\n\
         [[models]]\nname = \"long\"\nprovider = \"slow\"\n",
        slow.url()
    );
    let server = ReloadedServer::start(&config(0, upstream.url(), &long));
    let mut streams = Vec::new();
    for path in ["/v1/chat/completions", "/v1/messages"] {
        streams.push(slow.open(&server, path).await);
    }
    let server = Arc::new(server);
    let stop = Arc::new(AtomicBool::new(false));
    let mut clients = JoinSet::new();
    for kind in 0..CLIENTS {
        clients.spawn(keep_asking(server.clone(), kind, stop.clone()));
    }
    let mut current = 0;
    for round in 1..=RELOADS {
        let is_wrong = round % 10 == 0;
        server.write_config(&match is_wrong {
            true => wrong_config(round, upstream.url()),
            false => config(round, upstream.url(), ""),
        });
        if (round + round / 10) % 2 == 0 {
            server.hang_up();
            server.wait_for_reloads(round).await;
        } else {
            let (status, answer) = server.reload().await;
            assert_eq!(status == 200, !is_wrong, "{answer}");
        }
        if !is_wrong {
            current = round;
        }
        assert_eq!(ask(&server, round as usize).await, current);
    }
    stop.store(true, Ordering::Relaxed);
    let sent: u32 = clients.join_all().await.into_iter().sum();
    assert!(sent > RELOADS, "{sent}");
    assert_eq!(
        server.reload_counts().await,
        ReloadCounts {
            applied: 90,
            // One of three kinds of mistakes needs a restart: rounds 10, 40, 70 and 100.
            refused: [6, 4],
            generation: 91,
        }
    );
    slow.release();
    for stream in streams {
        stream.ends_whole().await;
    }
    println!("{sent} requests during {RELOADS} reloads");
}
