//! While a command runs, the threads that answer requests are scheduled before it, where
//! the system allows that.

#![cfg(target_os = "linux")]
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod vendors;

use std::fs;

use prowess_testkit::SkillFixture;
use prowess_wire::ClientDialect;
use serde_json::json;
use vendors::client::new_request;
use vendors::vendor::Vendor;
use vendors::{TestGateway, run};

const VENDOR: Vendor = Vendor::Chat;
/// Names the command among all processes.
const SECONDS: &str = "86301";
/// The kernel's numbers of scheduling policies.
const NORMAL: u32 = 0;
const ROUND_ROBIN: u32 = 2;

/// The scheduling policy of a thread: the 41st field, counted from behind its name.
fn policy(stat: &str) -> Option<u32> {
    let rest = stat.rsplit_once(") ")?.1;
    rest.split(' ').nth(38)?.parse().ok()
}

/// The policies of the server's threads for connections.
fn policies(server: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{server}/task")).unwrap();
    let stats =
        threads.filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("stat")).ok());
    let stats = stats.filter(|stat| stat.contains("(prowess-worker)"));
    stats.filter_map(|stat| policy(&stat)).collect()
}

/// The policy of the command, once it runs.
fn command_policy() -> Option<u32> {
    let is_it = |path: &std::path::Path| {
        let line = fs::read(path.join("cmdline")).unwrap_or_default();
        line.starts_with(b"sleep\0") && line.windows(5).any(|part| part == SECONDS.as_bytes())
    };
    let mut processes = fs::read_dir("/proc").unwrap().flatten();
    let found = processes.find(|process| is_it(&process.path()))?;
    policy(&fs::read_to_string(found.path().join("stat")).ok()?)
}

#[test]
fn connections_go_before_commands_where_the_system_allows_it() {
    run(async {
        let gateway = TestGateway::open(1, "").await;
        let skill = gateway.store(&SkillFixture::new("report")).await;
        let server = gateway.server.pid();
        assert!(policies(server).iter().all(|policy| *policy == NORMAL));
        let call = json!({"command": format!("sleep {SECONDS}")});
        let calls = [("bash_code_execution", call)];
        gateway.upstreams[0].respond(VENDOR.calls(true, "I wait.", &calls));
        let request = new_request(ClientDialect::Messages, &VENDOR.model(0), true, &[&skill]);
        let answer = gateway.begin("/v1/messages", &request).await;
        let command = loop {
            if let Some(policy) = command_policy() {
                break policy;
            }
            tokio::task::yield_now().await;
        };
        assert_eq!(command, NORMAL);
        if rustix::process::geteuid().is_root() {
            while policies(server).iter().any(|policy| *policy != ROUND_ROBIN) {
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(gateway.get("/v1/skills").await.status, 200);
        drop(answer);
        while command_policy().is_some() {
            tokio::task::yield_now().await;
        }
        while policies(server).iter().any(|policy| *policy != NORMAL) {
            tokio::task::yield_now().await;
        }
    });
}
