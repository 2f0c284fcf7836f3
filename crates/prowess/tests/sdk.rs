//! The vendors' own clients, unmodified, against the real server on one port.
//!
//! Each script in `tests/sdk/` lives through skills and files with one client; the
//! Python ones are strict about every answer's shape. `cargo xtask test` installs the
//! clients.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;

use std::path::PathBuf;
use std::process::Command;

use installed::{installed, scripts};
use prowess_testkit::postgres::Postgres;
use server::Server;

/// Which client runs which script.
const PYTHON: [(&str, &str); 5] = [
    ("anthropic-0.100", "anthropic_beta.py"),
    ("anthropic-1.17", "anthropic_ga.py"),
    ("anthropic-2.8", "anthropic_ga.py"),
    ("openai-2.54", "openai_skills.py"),
    ("openai-3.49", "openai_skills.py"),
];
const NODE: [&str; 2] = ["anthropic.mjs", "openai.mjs"];

fn run(mut command: Command, server: &Server, what: &str) {
    let output = command
        .env("PROWESS_URL", server.url())
        .env("PROWESS_API_KEY", server::MASTER)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{what}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

/// All at once: each client has names of its own.
fn all_clients(server: &Server) {
    std::thread::scope(|scope| {
        for (client, script) in PYTHON {
            scope.spawn(move || {
                let mut python = Command::new(installed(client).join("bin/python"));
                python.arg("-B").arg(scripts().join(script));
                run(python, server, &format!("{client} {script}"));
            });
        }
        for script in NODE {
            scope.spawn(move || {
                let mut node = Command::new("node");
                node.arg(beside_packages(script));
                run(node, server, script);
            });
        }
    });
}

/// A script finds its packages only beside itself.
fn beside_packages(script: &str) -> PathBuf {
    let place = installed("node");
    for file in [script, "life.mjs"] {
        let copy = tempfile::NamedTempFile::new_in(&place).unwrap();
        std::fs::copy(scripts().join(file), copy.path()).unwrap();
        copy.persist(place.join(file)).unwrap();
    }
    place.join(script)
}

#[test]
fn every_client_lives_through_skills_and_files_on_sqlite() {
    all_clients(&Server::start(&[]));
}

#[test]
fn every_client_lives_through_skills_and_files_on_postgres() {
    let postgres = Postgres::start();
    let url = postgres.database();
    all_clients(&Server::start(&[("PROWESS_STORE_URL", &url)]));
}
