//! `prowess doctor` on installations that lack something, and what a starting server says.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::Value;

use super::Place;

/// The lines about parts, without what differs from host to host.
fn parts(place: &Place, stdout: &str) -> String {
    let parts = stdout.split("\n\n").last().unwrap();
    let folder = place.folder().display().to_string();
    let lines = parts.lines().filter(|line| !line.contains(" disk "));
    let text: Vec<String> = lines.map(|line| line.replace(&folder, "PLACE")).collect();
    text.join("\n")
}

fn doctor(place: &Place, arguments: &[&str]) -> (String, Option<i32>) {
    let mut command = place.command(&[&["doctor"], arguments].concat());
    // Keys of whoever runs the tests.
    for (name, _) in std::env::vars() {
        if name.ends_with("_API_KEY") || name.starts_with("AWS_") || name.starts_with("GOOGLE_") {
            command.env_remove(name);
        }
    }
    command.env("COLUMNS", "200");
    let output = command.output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    (stdout, output.status.code())
}

#[test]
fn a_new_installation_has_notes_and_no_problems() {
    let place = Place::new("[sandbox]\nbackend = \"off\"\n[server]\nlisten = \"127.0.0.1:0\"\n");
    let (stdout, code) = doctor(&place, &[]);
    assert_eq!(code, Some(0), "{stdout}");
    assert_snapshot!(parts(&place, &stdout), @"
    note  sandbox    off: code of skills is refused
                     to run code, remove backend under [sandbox] in prowess.toml
    ok    store      SQLite, new
    note  providers  none with a key: no model can be called
                     set OPENAI_API_KEY, ANTHROPIC_API_KEY or similar, or add [providers] to prowess.toml
    ok    port       127.0.0.1:0 is free
    ");
}

#[test]
fn everything_that_is_missing_is_named_with_its_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let place = Place::new(
        "[sandbox]\nreduced = true\nruntime = \"full\"\n\
         [store]\nurl = \"postgres://127.0.0.1:1/none\"\n\
         [providers.a]\nkind = \"openai\"\napi_key = \"env:NO_SUCH_KEY_HERE\"\n",
    );
    let (stdout, code) = doctor(&place, &["--listen", &listen]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(
        stdout.contains("refused: runtime `full` is not installed"),
        "{stdout}"
    );
    assert_snapshot!(parts(&place, &stdout).replace(&listen, "ADDRESS"), @"
    missing  runtime       `full` is not installed
                           run `prowess runtime install full`
    note     packages      there is no index for the Python packages that skills declare
                           name one: package_index under [sandbox] in prowess.toml
    note     npm packages  there is no registry for the npm packages that skills declare
                           name one: npm_registry under [sandbox] in prowess.toml
    missing  store         the database cannot be opened: database: error communicating with database: Connection refused (os error 111)
                           check url under [store] in prowess.toml, or PROWESS_STORE_URL
    note     providers     none with a key: no model can be called
                           set OPENAI_API_KEY, ANTHROPIC_API_KEY or similar, or add [providers] to prowess.toml
    note     providers     providers.a.api_key: the variable NO_SUCH_KEY_HERE is not set
                           set it in the environment of the server, or remove the provider
    note     port          ADDRESS is in use
                           if not by this server, choose another with --listen, or listen under [server] in prowess.toml
    ");
}

#[test]
fn the_sources_of_credentials_of_clouds_are_named_and_not_called() {
    let place = Place::new(
        "[sandbox]\nbackend = \"off\"\n[server]\nlisten = \"127.0.0.1:0\"\n\
         [providers.aws]\nkind = \"bedrock\"\nregion = \"eu-central-1\"\nprofile = \"work\"\n\
         role_arn = \"arn:aws:iam::123456789012:role/models\"\n\
         [providers.google]\nkind = \"vertex\"\nproject = \"p\"\ncredentials = \"google.json\"\n\
         [providers.azure-eu]\nkind = \"azure\"\nbase_url = \"https://acme.openai.azure.com\"\n\
         tenant_id = \"t\"\nclient_id = \"c\"\nclient_secret = \"env:NO_SUCH_KEY_HERE\"\n\
         [providers.keyed]\nkind = \"azure\"\nbase_url = \"https://acme.openai.azure.com\"\n\
         api_key = \"env:PATH\"\n",
    );
    let (stdout, code) = doctor(&place, &["--json"]);
    assert_eq!(code, Some(0), "{stdout}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let parts = report["parts"].as_array().unwrap();
    let providers = parts.iter().find(|part| part["part"] == "providers");
    let named = providers.unwrap()["detail"].as_str().unwrap();
    assert_eq!(
        named,
        "aws (credentials: role arn:aws:iam::123456789012:role/models with profile \"work\"), \
         azure-eu (credentials: client secret), google (credentials: google.json), keyed"
    );
}

#[test]
fn a_store_is_opened_only_if_it_needs_no_migration() {
    let place = Place::new("[sandbox]\nbackend = \"off\"\n[server]\nlisten = \"127.0.0.1:0\"\n");
    let (_, stderr, code) = place.run(&["keys", "list"]);
    assert_eq!(code, Some(0), "{stderr}");
    let report =
        |place: &Place| -> Value { serde_json::from_str(&doctor(place, &["--json"]).0).unwrap() };
    let found = |report: &Value, part: &str| -> Value {
        let parts = report["parts"].as_array().unwrap();
        let found = parts.iter().find(|one| one["part"] == part);
        found.cloned().unwrap_or_default()
    };
    let current = report(&place);
    assert_eq!(current["ok"], true);
    let store = found(&current, "store");
    assert_eq!(store["state"], "ok");
    let detail = store["detail"].as_str().unwrap();
    assert!(detail.starts_with("SQLite, migration "), "{detail}");
    assert!(detail.ends_with(", writable"), "{detail}");
    assert_eq!(found(&current, "blobs")["state"], "ok");
    assert_eq!(found(&current, "disk")["part"], "disk");

    let change_level = |sql: &str| {
        let database = place.folder().join("data/prowess.db");
        let program = "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); \
                       c.execute(sys.argv[2]); c.commit()";
        let mut python = std::process::Command::new("python3");
        python.args(["-c", program]).arg(database).arg(sql);
        assert!(python.status().unwrap().success());
    };
    change_level("INSERT INTO schema_version (version) VALUES (999)");
    let newer = found(&report(&place), "store");
    assert_eq!(newer["state"], "missing");
    let detail = newer["detail"].as_str().unwrap();
    assert!(
        detail.contains("migration 999, and this version knows"),
        "{detail}"
    );
    change_level("DELETE FROM schema_version WHERE version > 3");
    let older = report(&place);
    assert_eq!(found(&older, "store")["state"], "note");
    assert_eq!(older["ok"], true);
    // It was not migrated by looking at it.
    assert_eq!(found(&report(&place), "store"), found(&older, "store"));
}

#[test]
fn a_starting_server_reports_what_is_missing() {
    let place = Place::new(
        "[sandbox]\nruntime = \"full\"\n\
         [providers.a]\nkind = \"openai\"\napi_key = \"env:NO_SUCH_KEY_HERE\"\n",
    );
    let mut command = place.command(&["serve", "--listen", "127.0.0.1:0", "--log", "warn"]);
    let mut server = command.stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(server.stderr.take().unwrap()).lines();
    let missing: Vec<String> = lines
        .map(Result::unwrap)
        .filter(|line| line.starts_with("missing: ") || line.starts_with("note: "))
        .take(3)
        .collect();
    server.kill().unwrap();
    server.wait().unwrap();
    assert_snapshot!(missing.join("\n"), @"
    missing: runtime: `full` is not installed; run `prowess runtime install full`
    note: packages: there is no index for the Python packages that skills declare; name one: package_index under [sandbox] in prowess.toml
    note: providers: providers.a.api_key: the variable NO_SUCH_KEY_HERE is not set; set it in the environment of the server, or remove the provider
    ");
}

#[test]
fn a_gateway_needs_no_sandbox_but_its_cluster() {
    let place = Place::new(
        "[cluster]\nnats = \"nats://someone:hunter2@127.0.0.1:1\"\n\
         [store]\nurl = \"postgres://127.0.0.1:1/none\"\n[blobs]\nurl = \"s3://bucket\"\n\
         [server]\nlisten = \"127.0.0.1:0\"\n",
    );
    let (stdout, code) = doctor(&place, &[]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(!stdout.contains("hunter2"), "{stdout}");
    assert_snapshot!(parts(&place, &stdout), @"
    ok       sandbox    at the workers of the cluster; not on this host
    missing  store      the database cannot be opened: database: error communicating with database: Connection refused (os error 111)
                        check url under [store] in prowess.toml, or PROWESS_STORE_URL
    missing  cluster    the message bus is not connected: cannot connect to NATS at nats://127.0.0.1:1: IO error: Connection refused (os error 111)
                        start the NATS servers, or correct [cluster] in prowess.toml
    note     providers  none with a key: no model can be called
                        set OPENAI_API_KEY, ANTHROPIC_API_KEY or similar, or add [providers] to prowess.toml
    ok       port       127.0.0.1:0 is free
    ");
}
