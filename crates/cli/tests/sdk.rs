//! The vendors' own clients, unmodified, against the real server on one port.
//!
//! Each script in `tests/sdk/` lives through skills and files with one client; the
//! Python ones are strict about every answer's shape. `cargo xtask test` installs the
//! clients.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod installed;
mod server;

use std::process::Command;

use installed::{node, python, succeeded};
use prowess_testkit::postgres::TestPostgres;
use server::TestServer;

/// Which client runs which script.
const PYTHON: [(&str, &str); 5] = [
    ("anthropic-0.100", "anthropic_beta.py"),
    ("anthropic-1.17", "anthropic_ga.py"),
    ("anthropic-2.8", "anthropic_ga.py"),
    ("openai-2.54", "openai_skills.py"),
    ("openai-3.49", "openai_skills.py"),
];
const NODE: [&str; 2] = ["anthropic.mjs", "openai.mjs"];

fn run(mut client: Command, server: &TestServer) {
    client
        .env("PROWESS_URL", server.url())
        .env("PROWESS_API_KEY", server::MASTER);
    succeeded(&mut client);
}

/// All at once: each client has names of its own.
fn all_clients(server: &TestServer) {
    std::thread::scope(|scope| {
        for (client, script) in PYTHON {
            scope.spawn(move || run(python(client, script), server));
        }
        for script in NODE {
            scope.spawn(move || run(node(script, "life.mjs"), server));
        }
    });
}

#[test]
fn every_client_lives_through_skills_and_files_on_sqlite() {
    all_clients(&TestServer::start(&[]));
}

#[test]
fn every_client_lives_through_skills_and_files_on_postgres() {
    let postgres = TestPostgres::start();
    let url = postgres.database();
    all_clients(&TestServer::start(&[("PROWESS_STORE_URL", &url)]));
}
