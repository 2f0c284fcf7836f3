//! Forms that never end: they are refused after a while, and a tenant that holds all of its permits
//! or memory with them keeps no other from sending forms.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream::{self, FuturesUnordered, StreamExt};
use http::{Method, StatusCode};
use prowess_server::ServerSettings;
use prowess_store::KeyScope;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::browser::{Console, Page};
use crate::sign_in::{locked, new_key, sign_in, submit};

const CHECK: &str = "/console/upload/check";
const PLAYGROUND: &str = "/console/playground";
const MULTIPART: &str = "multipart/form-data; boundary=XX";
const URL_ENCODED: &str = "application/x-www-form-urlencoded";
const GOOD: &[u8] = b"---\nname: greeter\ndescription: Greets people by name.\n---\nSay hello.\n";
/// Uploads at once, of which a tenant may have half.
const UPLOADS: usize = 4;

const START: &str = "--XX\r\ncontent-disposition: form-data; name=\"files\"; \
                     filename=\"greeter/SKILL.md\"\r\n\r\n---\nname: gree";

/// The beginning of a body. Says when more of it is read, which never comes.
fn endless(start: impl Into<Bytes>, is_read: UnboundedSender<()>) -> Body {
    let frames = stream::unfold(Some(start.into()), move |start| {
        let is_read = is_read.clone();
        async move {
            if let Some(start) = start {
                return Some((Ok::<_, std::io::Error>(start), None));
            }
            // Nobody waits for it any more when the test is over.
            let _ = is_read.send(());
            std::future::pending().await
        }
    });
    Body::from_stream(frames)
}

async fn send(console: &Console, path: &str, kind: &str, cookie: &str, body: Body) -> Page {
    let headers = [
        ("content-type", kind),
        ("sec-fetch-site", "same-origin"),
        ("cookie", cookie),
    ];
    console.send(Method::POST, path, &headers, body).await
}

async fn send_slowly(console: &Console, cookie: &str, is_read: UnboundedSender<()>) -> Page {
    let body = endless(START, is_read);
    send(console, CHECK, MULTIPART, cookie, body).await
}

#[tokio::test]
async fn slow_forms_of_one_tenant_do_not_delay_uploads_of_another() {
    let console = Console::with(ServerSettings {
        uploads: UPLOADS,
        // Whoever has to wait for a permit is refused.
        upload_wait: Duration::from_millis(1),
        ..locked()
    })
    .await;
    let (_, slow) = new_key(&console, "slow", &[KeyScope::Publish]).await;
    let (_, other) = new_key(&console, "other", &[KeyScope::Publish]).await;
    let slow = sign_in(&console, &slow).await;
    let other = sign_in(&console, &other).await;
    let (is_read, mut reads) = unbounded_channel();
    let forms = (0..UPLOADS / 2).map(|_| send_slowly(&console, &slow, is_read.clone()));
    let uploads = async {
        for _ in 0..UPLOADS / 2 {
            reads.recv().await.unwrap();
        }
        let files: &[(&str, &str, &[u8])] = &[("files[]", "greeter/SKILL.md", GOOD)];
        let refused = console.post_multipart_with(CHECK, &slow, files).await;
        let status = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(refused.status, status, "{}", refused.text());
        for _ in 0..3 {
            let checked = console.post_multipart_with(CHECK, &other, files).await;
            assert_eq!(checked.status, StatusCode::OK, "{}", checked.text());
            let main = checked.main();
            let pending = main.split("name=\"pending\" value=\"").nth(1).unwrap();
            let pending = pending.split('"').next().unwrap();
            let fields = [("pending", pending)];
            let published = submit(&console, &other, "/console/upload/publish", &fields).await;
            let text = published.text();
            assert_eq!(published.status, StatusCode::SEE_OTHER, "{text}");
        }
    };
    tokio::select! {
        _ = join_all(forms) => panic!("forms that never end were answered"),
        () = uploads => {}
    }
}

#[tokio::test]
async fn a_form_that_stops_arriving_is_refused_wherever_it_is_sent() {
    let console = Console::with(ServerSettings {
        body_grace: Duration::from_millis(50),
        ..locked()
    })
    .await;
    let (_, key) = new_key(&console, "slow", &[KeyScope::Admin]).await;
    let cookie = sign_in(&console, &key).await;
    for (path, kind, start) in [
        (PLAYGROUND, MULTIPART, START),
        (PLAYGROUND, MULTIPART, "--XX\r\ncontent-disp"),
        (CHECK, MULTIPART, START),
        ("/console/keys", URL_ENCODED, "name="),
        ("/console/sign-in", URL_ENCODED, "key="),
    ] {
        let (is_read, _reads) = unbounded_channel();
        let cookie = if path.ends_with("sign-in") {
            ""
        } else {
            &cookie
        };
        let sent = send(&console, path, kind, cookie, endless(start, is_read));
        let refused = tokio::time::timeout(Duration::from_secs(20), sent).await;
        let refused = refused.unwrap_or_else(|_| panic!("{path} waits"));
        let status = StatusCode::REQUEST_TIMEOUT;
        assert_eq!(refused.status, status, "{path}: {}", refused.text());
        let main = refused.main();
        assert!(main.contains("request body too slow"), "{main}");
    }
}

#[tokio::test]
async fn unfinished_forms_of_one_tenant_are_bounded_and_leave_memory_to_others() {
    const FORMS: usize = 6;
    let mut settings = ServerSettings {
        body_bytes_in_flight: 4 << 20,
        request_bytes: 1 << 20,
        body_wait: Duration::ZERO,
        ..locked()
    };
    settings.skill_limits.total_bytes = 1 << 20;
    settings.skill_limits.archive_bytes = 1 << 20;
    let console = Console::with(settings).await;
    let (_, slow) = new_key(&console, "slow", &[KeyScope::Read]).await;
    let (_, other) = new_key(&console, "other", &[KeyScope::Read]).await;
    let slow = sign_in(&console, &slow).await;
    let other = sign_in(&console, &other).await;
    let start = [START.as_bytes(), &vec![b'a'; 900 << 10]].concat();
    let (is_read, _reads) = unbounded_channel();
    let forms = (0..FORMS).map(|_| {
        let body = endless(start.clone(), is_read.clone());
        send(&console, PLAYGROUND, MULTIPART, &slow, body)
    });
    let mut forms: FuturesUnordered<_> = forms.collect();
    // Half of the memory fits two of them.
    for _ in 0..FORMS - 2 {
        let refused = tokio::time::timeout(Duration::from_secs(20), forms.next()).await;
        let refused = refused.expect("a form waits").unwrap();
        let status = StatusCode::TOO_MANY_REQUESTS;
        assert_eq!(refused.status, status, "{}", refused.text());
        let main = refused.main();
        assert!(main.contains("request body bytes in memory"), "{main}");
    }
    let content = vec![b'a'; 900 << 10];
    let files: &[(&str, &str, &[u8])] = &[("files", "a.txt", &content)];
    let read = console.post_multipart_with(PLAYGROUND, &other, files);
    let read = tokio::select! {
        _ = forms.next() => panic!("a form that never ends was answered"),
        read = read => read,
    };
    assert!(read.text().contains("choose a model"), "{}", read.text());
    // Memory is released with the form.
    drop(forms);
    let read = console.post_multipart_with(PLAYGROUND, &slow, files).await;
    assert!(read.text().contains("choose a model"), "{}", read.text());
}

#[tokio::test]
async fn a_form_whose_next_part_never_begins_is_refused() {
    let console = Console::start().await;
    let head = format!("--XX\r\na: {}", "x".repeat(1 << 20));
    for path in [PLAYGROUND, CHECK] {
        let refused = send(&console, path, MULTIPART, "", Body::from(head.clone())).await;
        let status = StatusCode::BAD_REQUEST;
        assert_eq!(refused.status, status, "{path}: {}", refused.text());
        let main = refused.main();
        assert!(main.contains("no part of it begins"), "{main}");
    }
}
