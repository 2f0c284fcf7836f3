//! The plan of the house, held by a test: which crate may know which, and what
//! the pure ones may never reach.

#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Each crate and the crates of this workspace it may use, tests aside.
const ALLOWED: &[(&str, &[&str])] = &[
    ("prowess-skill", &[]),
    ("prowess-wire", &[]),
    ("prowess-launcher", &[]),
    ("prowess-ranking", &[]),
    ("prowess-bus", &[]),
    ("prowess-source", &["prowess-skill"]),
    ("prowess-client", &["prowess-skill"]),
    ("prowess-store", &["prowess-ranking", "prowess-skill"]),
    ("prowess-cloud", &[]),
    ("prowess-provider", &["prowess-cloud", "prowess-wire"]),
    ("prowess-sandbox", &["prowess-launcher", "prowess-skill"]),
    // It has no store: gateways give it what it needs.
    (
        "prowess-worker",
        &["prowess-bus", "prowess-sandbox", "prowess-skill"],
    ),
    (
        "prowess-cluster",
        &[
            "prowess-bus",
            "prowess-sandbox",
            "prowess-skill",
            "prowess-store",
            // For the protocol.
            "prowess-worker",
        ],
    ),
    (
        "prowess-toolbox",
        &[
            "prowess-ranking",
            "prowess-sandbox",
            "prowess-skill",
            "prowess-source",
        ],
    ),
    (
        "prowess-engine",
        &[
            "prowess-provider",
            "prowess-ranking",
            "prowess-sandbox",
            "prowess-skill",
            "prowess-store",
            "prowess-toolbox",
            "prowess-wire",
        ],
    ),
    (
        // It has no store: its users decide whose skills it serves.
        "prowess-mcp",
        &[
            "prowess-sandbox",
            "prowess-skill",
            "prowess-source",
            "prowess-toolbox",
        ],
    ),
    (
        "prowess-server",
        &[
            "prowess-bus",
            "prowess-engine",
            "prowess-mcp",
            "prowess-provider",
            "prowess-skill",
            // For imports by URL.
            "prowess-source",
            "prowess-store",
            "prowess-wire",
        ],
    ),
    // Pages from the server's own HTTP API: no store and no engine.
    ("prowess-console", &["prowess-server", "prowess-skill"]),
    (
        "prowess",
        &[
            "prowess-bus",
            "prowess-cluster",
            "prowess-engine",
            "prowess-mcp",
            "prowess-provider",
            "prowess-sandbox",
            "prowess-server",
            "prowess-skill",
            "prowess-source",
            "prowess-store",
            "prowess-toolbox",
            "prowess-wire",
            "prowess-worker",
        ],
    ),
    (
        "prowess-cli",
        &[
            "prowess",
            "prowess-bus",
            "prowess-client",
            "prowess-console",
            "prowess-engine",
            // Only for the scheduling class of threads.
            "prowess-launcher",
            "prowess-mcp",
            "prowess-provider",
            "prowess-ranking",
            "prowess-sandbox",
            "prowess-server",
            "prowess-skill",
            "prowess-source",
            "prowess-store",
            "prowess-toolbox",
            "prowess-wire",
            "prowess-worker",
        ],
    ),
    // The library and the client for Python: its runs are those of either. The codecs read
    // what a server streams.
    (
        "prowess-python",
        &[
            "prowess",
            "prowess-client",
            "prowess-sandbox",
            "prowess-skill",
            "prowess-source",
            "prowess-store",
            "prowess-toolbox",
            "prowess-wire",
        ],
    ),
    ("prowess-testkit", &[]),
    (
        "prowess-bench",
        &[
            "prowess-bench-report",
            "prowess-engine",
            "prowess-provider",
            "prowess-ranking",
            "prowess-sandbox",
            "prowess-server",
            "prowess-skill",
            "prowess-source",
            "prowess-store",
            "prowess-toolbox",
            "prowess-wire",
        ],
    ),
    ("prowess-bench-report", &[]),
    // For the database server that tests share.
    ("xtask", &["prowess-bench-report", "prowess-testkit"]),
];

/// What a crate that does no IO must not depend on, however far down.
const IMPURE: &[&str] = &[
    "async-std",
    "hyper",
    "mio",
    "reqwest",
    "rusqlite",
    "smol",
    "socket2",
    "sqlx",
    "tokio",
    "ureq",
];
const PURE: &[&str] = &["prowess-ranking", "prowess-skill", "prowess-wire"];

fn metadata() -> Value {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline"])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// For each package id, its name and the ids of what it is built with.
fn normal_dependencies(metadata: &Value) -> BTreeMap<String, (String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let packages = metadata["packages"].as_array().unwrap().iter();
    let names: BTreeMap<_, _> = packages
        .map(|p| (text(&p["id"]), text(&p["name"])))
        .collect();
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap().iter();
    nodes
        .map(|node| {
            let normal = |dep: &&Value| {
                dep["dep_kinds"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|kind| kind["kind"].is_null())
            };
            let deps = node["deps"].as_array().unwrap().iter().filter(normal);
            let id = text(&node["id"]);
            let name = names[&id].clone();
            (id, (name, deps.map(|dep| text(&dep["pkg"])).collect()))
        })
        .collect()
}

#[test]
fn crates_know_only_those_below_them() {
    let metadata = metadata();
    let all = normal_dependencies(&metadata);
    let members: BTreeSet<&str> = metadata["workspace_members"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap())
        .collect();
    let planned: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    for (id, (name, deps)) in all.iter().filter(|(id, _)| members.contains(id.as_str())) {
        let allowed = planned
            .get(name.as_str())
            .unwrap_or_else(|| panic!("{name} is not in the plan ({id})"));
        for dep in deps.iter().filter(|dep| members.contains(dep.as_str())) {
            let dep = &all[dep].0;
            assert!(
                allowed.contains(&dep.as_str()),
                "{name} must not know {dep}"
            );
        }
    }
    assert_eq!(
        members.len(),
        ALLOWED.len(),
        "the plan names crates that are not there"
    );
}

#[test]
fn pure_crates_reach_nothing_that_does_io() {
    let all = normal_dependencies(&metadata());
    for pure in PURE {
        let start = all.iter().find(|(_, (name, _))| name == pure).unwrap().0;
        let mut reached = BTreeSet::from([start]);
        let mut waiting = vec![start];
        while let Some(id) = waiting.pop() {
            waiting.extend(all[id].1.iter().filter(|dep| reached.insert(dep)));
        }
        let names: BTreeSet<&str> = reached.iter().map(|id| all[*id].0.as_str()).collect();
        for impure in IMPURE {
            assert!(!names.contains(impure), "{pure} reaches {impure}");
        }
    }
}
