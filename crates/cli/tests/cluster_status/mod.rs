//! `prowess cluster status`, of what a gateway answers and of a server in no cluster.

use std::process::Output;

use prowess_testkit::upstream::{MockResponse, MockUpstream};
use serde_json::{Value, json};

use crate::server::{MASTER, TestServer, prowess};

fn status(url: &str, more: &[&str]) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().unwrap();
    let mut command = prowess(folder.path());
    command.args(["cluster", "status", "--server", url, "--api-key", MASTER]);
    let Output {
        status,
        stdout,
        stderr,
    } = command.args(more).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

fn cluster(state: &str) -> Value {
    json!({
        "type": "cluster",
        "gateway": "gw-1",
        "bus": {
            "connected": true, "published": 5, "received": 9, "lost": 0, "reconnects": 1,
        },
        "gateways": [
            {
                "id": "gw-1", "version": "0.4.0", "state": "ready", "kept_runs": 3, "leases": 2,
                "seen_ms_ago": 0,
            },
            {
                "id": "gw-2", "version": "0.4.1", "state": "draining", "kept_runs": 0,
                "leases": 0, "seen_ms_ago": 900,
            },
        ],
        "workers": [{
            "id": "worker-1", "version": "0.4.0", "state": state, "grade": "strict",
            "running": 2, "waiting": 1, "slots": 4, "free_disk_bytes": 1_500_000_000_u64,
            "seen_ms_ago": 7_400,
        }],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_shown_and_what_is_lost_is_a_problem() {
    let gateway = MockUpstream::start().await;
    for (state, code) in [("ready", 0), ("draining", 0), ("lost", 1)] {
        let shown = cluster(state);
        gateway.respond(MockResponse::json(200, &shown.to_string()));
        let (exit, stdout, stderr) = status(gateway.url(), &[]);
        assert_eq!(exit, Some(code), "{state}: {stderr}");
        if state == "ready" {
            insta::assert_snapshot!(format!("{stdout}---\n{stderr}"));
        }
        gateway.respond(MockResponse::json(200, &shown.to_string()));
        let (exit, stdout, _) = status(gateway.url(), &["--json"]);
        assert_eq!(exit, Some(code));
        let printed: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(printed["workers"], shown["workers"]);
        assert_eq!(printed["gateways"], shown["gateways"]);
    }
    let request = gateway.next_request().await;
    assert!(
        request.path.ends_with("/v1/admin/cluster"),
        "{}",
        request.path
    );
}

#[test]
fn a_server_in_no_cluster_is_not_a_problem() {
    let server = TestServer::start(&[]);
    let (exit, stdout, stderr) = status(server.url(), &[]);
    assert_eq!((exit, stdout.as_str()), (Some(0), ""));
    assert!(stderr.contains("not in a cluster"), "{stderr}");
}
