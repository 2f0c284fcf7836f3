//! Forms that never end: a tenant that holds all of its permits with them keeps no other from
//! uploading.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::join_all;
use futures_util::stream;
use http::{Method, StatusCode};
use prowess_server::ServerSettings;
use prowess_store::KeyScope;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use crate::browser::{Console, Page};
use crate::sign_in::{locked, new_key, sign_in, submit};

const CHECK: &str = "/console/upload/check";
const GOOD: &[u8] = b"---\nname: greeter\ndescription: Greets people by name.\n---\nSay hello.\n";
/// Uploads at once, of which a tenant may have half.
const UPLOADS: usize = 4;

/// The beginning of a form. Says when more of it is read, which never comes.
fn endless(is_read: UnboundedSender<()>) -> Body {
    let start = "--XX\r\ncontent-disposition: form-data; name=\"files[]\"; \
                 filename=\"greeter/SKILL.md\"\r\n\r\n---\nname: gree";
    let frames = stream::unfold(Some(start), move |start| {
        let is_read = is_read.clone();
        async move {
            if let Some(start) = start {
                return Some((Ok::<_, std::io::Error>(Bytes::from(start)), None));
            }
            is_read.send(()).unwrap();
            std::future::pending().await
        }
    });
    Body::from_stream(frames)
}

async fn send_slowly(console: &Console, cookie: &str, is_read: UnboundedSender<()>) -> Page {
    let headers = [
        ("content-type", "multipart/form-data; boundary=XX"),
        ("sec-fetch-site", "same-origin"),
        ("cookie", cookie),
    ];
    console
        .send(Method::POST, CHECK, &headers, endless(is_read))
        .await
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
