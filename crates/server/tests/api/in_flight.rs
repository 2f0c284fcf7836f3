//! Active request bodies: no tenant blocks another, and none lasts forever.

use std::time::Duration;

use prowess_server::{SecretString, ServerSettings};
use prowess_store::KeyScope;
use prowess_testkit::SkillFixture;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::client::{Form, TestDialect};
use crate::running::{NEVER, Running, go_on, patient, rest};

const MASTER: &str = "the-master-key-of-these-tests";

async fn start(settings: ServerSettings) -> (Running, String, String) {
    let settings = ServerSettings {
        master_key: Some(SecretString::new(MASTER)),
        ..settings
    };
    let running = Running::start(settings, patient()).await;
    let scopes = [KeyScope::Publish, KeyScope::Use];
    let slow = running.server.key("slow", &scopes).await;
    let other = running.server.key("other", &scopes).await;
    (running, format!("x-api-key: {slow}\r\n"), other)
}

/// Settings with which nothing times out.
fn settings() -> ServerSettings {
    ServerSettings {
        idle: NEVER,
        body_grace: NEVER,
        upload_wait: NEVER,
        body_wait: NEVER,
        ..ServerSettings::default()
    }
}

/// The status and body of a refusal.
async fn refusal(stream: TcpStream) -> String {
    String::from_utf8(rest(stream).await).unwrap()
}

#[tokio::test]
async fn slow_uploads_of_one_tenant_do_not_keep_anothers_waiting() {
    let (running, slow, other) = start(ServerSettings {
        uploads: 4,
        ..settings()
    })
    .await;
    for (path, turns) in [("/v1/skills", 2), ("/v1/files", 8)] {
        let mut under_way = Vec::new();
        for _ in 0..turns {
            under_way.push(running.begin(path, &slow, b"--").await);
        }
        // These wait for a permit of their tenant.
        let mut waiting = JoinSet::new();
        for _ in 0..20 {
            let mut stream = running.request(path, &slow).await;
            waiting.spawn(async move {
                go_on(&mut stream).await;
                stream
            });
        }
        let form = Form::skill(&SkillFixture::new("others"));
        let server = &running.server;
        let made = server.post(TestDialect::OpenAi, "/v1/skills").key(&other);
        made.form(&form).await.ok();
        let form = Form::default()
            .text("purpose", "user_data")
            .file("file", "a.txt", b"a");
        let made = server.post(TestDialect::OpenAi, "/v1/files").key(&other);
        made.form(&form).await.ok();
        assert!(waiting.try_join_next().is_none(), "no turn was free");
        // A released permit is reused.
        drop(under_way.remove(0));
        waiting.join_next().await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn an_upload_whose_turn_does_not_come_learns_when_to_try_again() {
    let (running, slow, _) = start(ServerSettings {
        uploads: 2,
        upload_wait: Duration::ZERO,
        ..settings()
    })
    .await;
    let _under_way = running.begin("/v1/skills", &slow, b"--").await;
    let mut refused = running.request("/v1/skills", &slow).await;
    refused.shutdown().await.unwrap();
    let refused = refusal(refused).await;
    assert!(refused.starts_with("HTTP/1.1 429"), "{refused}");
    assert!(refused.contains("retry-after: 10\r\n"), "{refused}");
    assert!(refused.contains("transfers-busy"), "{refused}");
}

#[tokio::test]
async fn a_body_that_trickles_is_refused_wherever_it_is_sent() {
    let (running, slow, _) = start(ServerSettings {
        body_grace: Duration::from_millis(50),
        ..settings()
    })
    .await;
    for path in ["/v1/skills", "/v1/files", "/v1/messages", "/mcp"] {
        // One part of the form has an incomplete head.
        for sent in [&b"--"[..], b"--a-boundary-of-the-tests\r\nContent-Disp"] {
            let mut stream = running.begin(path, &slow, sent).await;
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            assert_eq!(&answer, b"HTTP/1.1 408", "{path}");
        }
    }
}

/// Limits that a few bodies reach.
fn tight() -> ServerSettings {
    let mut settings = ServerSettings {
        body_bytes_in_flight: 4 << 20,
        request_bytes: 1 << 20,
        body_wait: Duration::ZERO,
        ..settings()
    };
    settings.skill_limits.total_bytes = 1 << 20;
    settings.skill_limits.archive_bytes = 1 << 20;
    settings
}

#[tokio::test]
async fn unfinished_bodies_of_one_tenant_are_bounded_and_leave_space_for_others() {
    let (running, slow, other) = start(tight()).await;
    let piece = vec![b' '; 900 << 10];
    let mut answers = JoinSet::new();
    for _ in 0..12 {
        let mut stream = running.begin("/v1/messages", &slow, &piece).await;
        answers.spawn(async move {
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            (answer, stream)
        });
    }
    // Half of the budget fits two of them; the bytes of the others are released.
    for _ in 0..10 {
        let (answer, _) = answers.join_next().await.unwrap().unwrap();
        assert_eq!(&answer, b"HTTP/1.1 429");
    }
    // Active bodies do not block another tenant's request.
    for _ in 0..3 {
        whole(&running, &other).await;
    }
}

#[tokio::test]
async fn large_bodies_of_all_tenants_together_leave_space_for_small_ones() {
    let (running, slow, other) = start(tight()).await;
    let second = running.server.key("second", &[KeyScope::Use]).await;
    let second = format!("x-api-key: {second}\r\n");
    let piece = vec![b' '; (1 << 20) - 1];
    let mut answers = JoinSet::new();
    for key in [&slow, &slow, &second, &second] {
        let mut stream = running.begin("/v1/messages", key, &piece).await;
        answers.spawn(async move {
            let mut answer = [0; 12];
            stream.read_exact(&mut answer).await.unwrap();
            answer
        });
    }
    // Four would fill the budget; three quarters fit three at most. They arrive side by side,
    // so more than one may be refused.
    let answer = answers.join_next().await.unwrap().unwrap();
    assert_eq!(&answer, b"HTTP/1.1 503");
    let body = serde_json::json!({ "model": "none", "max_tokens": 1, "messages": [
        { "role": "user", "content": "a".repeat(60 << 10) },
    ]});
    for _ in 0..3 {
        let call = running
            .server
            .post(TestDialect::Ga, "/v1/messages")
            .key(&other);
        let answer = call.json(&body).await;
        assert_eq!(answer.status, 404, "{:?}", answer.body);
    }
}

/// A large request of another tenant, which is read completely before its model is looked up.
async fn whole(running: &Running, key: &str) {
    let words = "word ".repeat(100 << 10);
    let body = serde_json::json!({ "model": "none", "max_tokens": 1, "messages": [
        { "role": "user", "content": words },
    ]});
    let call = running
        .server
        .post(TestDialect::Ga, "/v1/messages")
        .key(key);
    let answer = call.json(&body).await;
    assert_eq!(answer.status, 404, "{:?}", answer.body);
}
