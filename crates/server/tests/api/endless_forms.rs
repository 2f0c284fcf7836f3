//! Forms whose parts never begin, and forms that arrive in chunks of any size.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::Body;
use axum::http::StatusCode;
use bytes::Bytes;
use futures_util::stream;

use crate::client::{ALL, Form, Server, TestDialect};

/// Bytes of one frame of an endless body.
const FRAME_BYTES: usize = 16 << 10;
/// Where an endless body ends after all, so that a failing test ends.
const END: usize = 64 << 20;
/// More than the server may read of a body without parts.
const MAX_TAKEN: usize = 256 << 10;

/// A body of a start and endless filling, and the number of bytes read from it.
pub(crate) fn endless(start: &str, filling: &str) -> (Body, Arc<AtomicUsize>) {
    let taken = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&taken);
    let filling = Bytes::from(filling.repeat(FRAME_BYTES / filling.len()));
    let frames = std::iter::once(Bytes::from(start.to_owned()))
        .chain(std::iter::repeat_n(filling, END / FRAME_BYTES))
        .map(move |frame| {
            counted.fetch_add(frame.len(), Ordering::SeqCst);
            Ok::<_, std::io::Error>(frame)
        });
    (Body::from_stream(stream::iter(frames)), taken)
}

#[tokio::test]
async fn a_form_whose_next_part_never_begins_is_refused_before_it_fills_the_memory() {
    let server = Server::new().await;
    let part = "--a-boundary-of-the-tests\r\n\
                Content-Disposition: form-data; name=\"note\"\r\n\r\nx\r\n";
    let second = format!("{part}--a-boundary-of-the-tests\r\nA: ");
    for (what, start, filling) in [
        ("one header", "--a-boundary-of-the-tests\r\nA: ", "x"),
        ("headers", "--a-boundary-of-the-tests\r\n", "A: x\r\n"),
        ("a later part", second.as_str(), "x"),
        ("a preamble", "", "x"),
        ("lines of a preamble", "\r\n", "--a-boundary\r\n"),
        ("padding", "--a-boundary-of-the-tests", " "),
    ] {
        for path in ["/v1/files", "/v1/skills", "/v1/skills/skill_x/versions"] {
            for dialect in ALL {
                let (body, taken) = endless(start, filling);
                let call = server.post(dialect, path);
                let call = call.header("content-type", &Form::kind());
                let refused = call.body(body).await;
                let case = format!("{what} at {path} as {dialect:?}");
                assert_eq!(refused.status, StatusCode::BAD_REQUEST, "{case}");
                assert_eq!(refused.code(), "form-head-too-long", "{case}");
                let taken = taken.load(Ordering::SeqCst);
                assert!(taken <= MAX_TAKEN, "{case}: {taken}");
            }
        }
    }
}

#[tokio::test]
async fn a_form_is_read_whatever_the_size_of_its_pieces() {
    let server = Server::new().await;
    let mut form = Form::default().text("purpose", "user_data");
    for _ in 0..2_000 {
        form = form.text("unknown", "a field that is not used");
    }
    // Looks like a boundary at every position.
    let data = b"\r\n--a-boundary-of-the-test\r\n\r\n".repeat(12_000);
    let form = form.file("file", "a.bin", &data).bytes();
    for size in [97, 4_096, 70_000, form.len()] {
        let frames: Vec<_> = form.chunks(size).map(Bytes::copy_from_slice).collect();
        let frames = frames.into_iter().map(Ok::<_, std::io::Error>);
        let call = server.post(TestDialect::OpenAi, "/v1/files");
        let call = call.header("content-type", &Form::kind());
        let made = call.body(Body::from_stream(stream::iter(frames))).await;
        let id = made.ok()["id"].as_str().unwrap().to_owned();
        let path = format!("/v1/files/{id}/content");
        let content = server.get(TestDialect::OpenAi, &path).send().await.body;
        assert_eq!(content, data, "pieces of {size} bytes");
    }
}
