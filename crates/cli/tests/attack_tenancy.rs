//! One tenant against the others: what all share is not one's alone.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::Value;
use server::{MASTER, TestServer, prowess};

const BOUNDARY: &str = "a-boundary-of-the-tests";
/// Turns to upload when nothing is configured.
const UPLOADS: usize = 16;

/// A key of a tenant.
fn key(server: &TestServer, tenant: &str, scope: &str) -> String {
    let mut command = prowess(server.folder());
    command.args(["keys", "create", "test", "--tenant", tenant, "--json"]);
    let output = command.args(["--scope", scope]).output().unwrap();
    let made: Value = serde_json::from_slice(&output.stdout).unwrap();
    made["key"].as_str().unwrap().to_owned()
}

/// An upload of which only the head was sent.
fn upload(server: &TestServer, path: &str, key: &str) -> TcpStream {
    let mut stream = TcpStream::connect(server.url().trim_start_matches("http://")).unwrap();
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: localhost\r\nx-api-key: {key}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: 1000000\r\n\
         expect: 100-continue\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Waits until the server has begun to read the upload's body.
fn wait_for_continue(mut stream: TcpStream) -> TcpStream {
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).unwrap();
    assert!(go_on.starts_with(b"HTTP/1.1 100"));
    stream.write_all(b"--").unwrap();
    stream
}

async fn uploaded(server: &TestServer, key: &str) -> u16 {
    let skill = "---\nname: theirs\ndescription: Does what they need.\n---\n\nDo it.\n";
    let part = reqwest::multipart::Part::text(skill).file_name("theirs/SKILL.md");
    let request = reqwest::Client::new().post(format!("{}/v1/skills", server.url()));
    let form = reqwest::multipart::Form::new().part("files[]", part);
    let request = request.header("x-api-key", key).multipart(form);
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn slow_uploads_of_one_tenant_leave_turns_to_others() {
    let server = TestServer::start(&[]);
    let slow = key(&server, "slow", "publish");
    let other = key(&server, "other", "publish");
    let mut under_way: Vec<TcpStream> = (0..UPLOADS / 2)
        .map(|_| wait_for_continue(upload(&server, "/v1/skills", &slow)))
        .collect();
    under_way.extend((0..UPLOADS * 2).map(|_| upload(&server, "/v1/skills", &slow)));
    assert_eq!(uploaded(&server, &other).await, 200);
    assert_eq!(uploaded(&server, MASTER).await, 200);
    drop(under_way);
}

#[tokio::test]
async fn keys_that_only_read_or_publish_do_not_see_runs() {
    let server = TestServer::start(&[]);
    for (scope, status) in [
        ("read", 403),
        ("publish", 403),
        ("use", 200),
        ("admin", 200),
    ] {
        let key = key(&server, "acme", scope);
        for path in ["/v1/runs", "/anthropic/v1/runs", "/openai/v1/runs"] {
            let request = reqwest::Client::new().get(format!("{}{path}", server.url()));
            let answer = request.header("x-api-key", &key).send().await.unwrap();
            assert_eq!(answer.status().as_u16(), status, "{scope} {path}");
        }
    }
}
