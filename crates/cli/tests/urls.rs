//! The verbs that take a source, with URLs: those of our own server's index.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod server;

use std::process::Output;

use prowess_testkit::SkillFixture;
use serde_json::Value;
use server::{MASTER, TestServer, prowess};

/// A server that shows its skills to everyone.
fn public_server() -> TestServer {
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), "[server]\nindex_tenant = \"default\"\n").unwrap();
    TestServer::start(&[("PROWESS_CONFIG", config.path().to_str().unwrap())])
}

fn run(server: &TestServer, args: &[&str]) -> Output {
    let mut command = prowess(server.folder());
    command
        .args(args)
        .env("PROWESS_CACHE_DIR", server.folder().join("cache"))
        .env("PROWESS_URL", server.url())
        .env("PROWESS_API_KEY", MASTER);
    command.output().unwrap()
}

fn json(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn push(server: &TestServer, skill: &SkillFixture) {
    let folder = skill.write_to(server.folder());
    let pushed = run(
        server,
        &["skill", "push", folder.to_str().unwrap(), "--json"],
    );
    json(&pushed);
}

fn two_skills() -> [SkillFixture; 2] {
    [
        SkillFixture::new("notes"),
        SkillFixture::new("pdf-forms").script("scripts/run.py", "print(1)\n"),
    ]
}

#[test]
fn our_own_index_is_a_source_for_every_verb() {
    let server = public_server();
    two_skills().iter().for_each(|skill| push(&server, skill));
    let url = server.url();
    let one = format!("{url}#pdf-forms");

    let listed = json(&run(
        &server,
        &["skill", "list", url, "--allow-private", "--json"],
    ));
    let names: Vec<_> = listed["skills"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| &s["name"])
        .collect();
    assert_eq!(names, ["notes", "pdf-forms"]);
    assert_eq!(listed["skills"][1]["path"], format!("{url}/#pdf-forms"));

    let labelled = format!("team={url}");
    let listed = json(&run(
        &server,
        &["skill", "list", &labelled, "--allow-private", "--json"],
    ));
    assert_eq!(listed["skills"][0]["label"], "team");

    let shown = json(&run(
        &server,
        &["skill", "show", &one, "--allow-private", "--json"],
    ));
    assert_eq!(shown["name"], "pdf-forms");
    let file = [
        "skill",
        "show",
        &one,
        "--allow-private",
        "--file",
        "scripts/run.py",
    ];
    assert_eq!(run(&server, &file).stdout, b"print(1)\n");

    let checked = json(&run(
        &server,
        &["skill", "validate", url, "--allow-private", "--json"],
    ));
    assert_eq!(checked["summary"]["valid"], 2);
    assert!(
        run(&server, &["skill", "scan", url, "--allow-private"])
            .status
            .success()
    );

    let packed = [
        "skill",
        "pack",
        &one,
        "--allow-private",
        "-o",
        "packed.zip",
        "--json",
    ];
    let packed = json(&run(&server, &packed));
    assert_eq!(packed["content_digest"], shown["manifest"]["digest"]);
    let pushed = json(&run(
        &server,
        &["skill", "push", &one, "--allow-private", "--json"],
    ));
    assert_eq!(pushed["outcome"], "unchanged");
}

#[test]
fn a_url_is_refused_with_its_reason_and_a_code_of_its_own() {
    let server = public_server();
    two_skills().iter().for_each(|skill| push(&server, skill));
    let url = server.url();
    let assert_fails = |args: &[&str], code: i32, text: &str| {
        let output = run(&server, args);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(text), "{stderr}");
    };
    assert_fails(
        &["skill", "list", url],
        3,
        "--allow-private lets it through",
    );
    assert_fails(
        &["skill", "show", url, "--allow-private"],
        3,
        "has 2 skills; select one by adding #NAME",
    );
    let nobody = format!("{url}#nobody");
    assert_fails(
        &["skill", "show", &nobody, "--allow-private"],
        3,
        "has no skill called `nobody`; it has notes, pdf-forms",
    );
    let one = format!("{url}#notes");
    let pin = format!("sha256:{}", "0".repeat(64));
    assert_fails(
        &["skill", "show", &one, "--allow-private", "--pin", &pin],
        3,
        "has changed",
    );
}

#[test]
fn what_was_fetched_is_there_when_the_server_is_not() {
    let mut server = public_server();
    two_skills().iter().for_each(|skill| push(&server, skill));
    let url = server.url().to_owned();
    json(&run(
        &server,
        &["skill", "list", &url, "--allow-private", "--json"],
    ));
    server.kill();
    let again = [
        "skill",
        "list",
        &url,
        "--allow-private",
        "--json",
        "--stale",
    ];
    let output = run(&server, &again);
    assert_eq!(json(&output)["skills"].as_array().unwrap().len(), 2);
    let refused = run(
        &server,
        &["skill", "list", &url, "--allow-private", "--refresh"],
    );
    assert_eq!(refused.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("cannot be reached"));
}

#[test]
fn what_came_by_url_lies_in_the_sandbox_as_any_other_skill() {
    let server = public_server();
    two_skills().iter().for_each(|skill| push(&server, skill));
    let one = format!("{}#pdf-forms", server.url());
    let data = server.folder().join("sandboxes");
    let args = [
        "sandbox",
        "exec",
        "--reduced",
        "--allow-private",
        "--skill",
        &one,
        "--data-dir",
        data.to_str().unwrap(),
        "--",
        "cat",
        "/skills/pdf-forms/scripts/run.py",
    ];
    let output = run(&server, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.stdout, b"print(1)\n", "{stderr}");
}

#[test]
fn a_server_imports_the_skills_of_another_and_reports_when_nothing_changed() {
    let source = public_server();
    two_skills().iter().for_each(|skill| push(&source, skill));
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), "[skills]\nimport = \"private\"\n").unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config.path().to_str().unwrap())]);
    let import = |args: &[&str]| {
        let output = run(&server, &[&["skill", "import"], args].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let lines = import(&[source.url(), "--note", "From the other server."]);
    for name in ["notes", "pdf-forms"] {
        assert!(
            lines.contains(&format!("{name}: new skill, version 1 (skill_")),
            "{lines}"
        );
    }
    let lines = import(&[source.url()]);
    assert_eq!(
        lines.matches(": nothing changed, version 1 (").count(),
        2,
        "{lines}"
    );
    push(
        &source,
        &SkillFixture::new("pdf-forms").body("Other words.\n"),
    );
    // The index has the default version.
    json(&run(
        &source,
        &["skill", "default", "pdf-forms", "2", "--json"],
    ));
    let one = format!("{}#pdf-forms", source.url());
    let lines = import(&[&one]);
    assert!(
        lines.contains("pdf-forms: new version, version 2 ("),
        "{lines}"
    );
    let versions = run(&server, &["skill", "versions", "pdf-forms", "--json"]);
    let versions = json(&versions);
    assert_eq!(versions[1]["notes"], "From the other server.");
}
