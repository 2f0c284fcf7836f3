//! The verbs that talk to a server, against the real one.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod addresses;
mod push_several;
mod server;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use prowess_testkit::SkillFixture;
use serde_json::Value;
use server::{MASTER, TestServer, prowess};

/// What a command printed, and how it ended.
struct CommandOutput {
    code: i32,
    stdout: String,
    stderr: String,
}

impl CommandOutput {
    fn from_output(output: &Output) -> CommandOutput {
        CommandOutput {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout.clone()).unwrap(),
            stderr: String::from_utf8(output.stderr.clone()).unwrap(),
        }
    }

    /// The JSON of a command that must have worked.
    fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}{}", self.stdout, self.stderr);
        serde_json::from_str(&self.stdout).unwrap()
    }
}

fn command(server: &TestServer, args: &[&str]) -> Command {
    let mut command = prowess(server.folder());
    command.args(args);
    command
        .env("PROWESS_URL", server.url())
        .env("PROWESS_API_KEY", MASTER);
    command
}

fn run_command(server: &TestServer, args: &[&str]) -> CommandOutput {
    CommandOutput::from_output(&command(server, args).output().unwrap())
}

fn skill(body: &str) -> SkillFixture {
    SkillFixture::new("pdf-forms")
        .body(body)
        .script("scripts/run.py", "#!/usr/bin/env python3\nprint(1)\n")
}

#[test]
fn a_skill_is_pushed_once_then_again_when_it_changes_and_pulled_as_it_was() {
    let server = TestServer::start(&[]);
    let folder = skill("One.\n").write_to(server.folder());
    let path = folder.to_str().unwrap();

    let first = run_command(&server, &["skill", "push", path, "--json"]).json();
    assert_eq!(
        (&first["outcome"], &first["version"]),
        (&"created".into(), &"1".into())
    );
    let again = run_command(&server, &["skill", "push", path, "--json"]).json();
    assert_eq!(
        (&again["outcome"], &again["version"]),
        (&"unchanged".into(), &"1".into())
    );
    let output = run_command(&server, &["skill", "push", path]);
    assert!(
        output.stdout.contains("nothing changed, version 1"),
        "{}",
        output.stdout
    );
    let forced = run_command(&server, &["skill", "push", path, "--always", "--json"]).json();
    assert_eq!(forced["version"], "2");
    skill("Two.\n").write_to(server.folder());
    let changed = run_command(&server, &["skill", "push", path, "--default", "--json"]).json();
    assert_eq!(
        (&changed["version"], &changed["skill"]),
        (&"3".into(), &first["skill"])
    );

    let versions = run_command(&server, &["skill", "versions", "pdf-forms", "--json"]).json();
    let listed: Vec<_> = versions
        .as_array()
        .unwrap()
        .iter()
        .map(|v| &v["version"])
        .collect();
    assert_eq!(listed, ["3", "2", "1"]);
    let list = run_command(&server, &["skill", "list", "--server", "--json"]).json();
    assert_eq!(list["skills"][0]["latest_version"], "3");
    let url = format!("--server={}", server.url());
    let found = run_command(
        &server,
        &["skill", "list", &url, "--query", "forms", "--json"],
    )
    .json();
    assert_eq!(found["skills"].as_array().unwrap().len(), 1);

    let pulled = run_command(
        &server,
        &["skill", "pull", "pdf-forms", "-o", "out", "--json"],
    )
    .json();
    assert_eq!(pulled["digest"], changed["digest"]);
    same_files(&folder, &server.folder().join("out/pdf-forms"));
    let twice = run_command(&server, &["skill", "pull", "pdf-forms", "-o", "out"]);
    assert_eq!(twice.code, 3);
    assert!(twice.stderr.contains("--force"), "{}", twice.stderr);
    let args = ["skill", "pull", "pdf-forms", "--version", "1", "-o", "old"];
    assert_eq!(run_command(&server, &args).code, 0);
    let old = fs::read_to_string(server.folder().join("old/pdf-forms/SKILL.md")).unwrap();
    assert!(old.ends_with("One.\n"));

    let args = ["skill", "delete", "pdf-forms", "--version", "1"];
    assert_eq!(run_command(&server, &args).code, 0);
    let gone = run_command(&server, &["skill", "delete", "pdf-forms", "--json"]).json();
    assert_eq!(gone["skill"], first["skill"]);
    let missing = run_command(&server, &["skill", "versions", "pdf-forms"]);
    assert_eq!(missing.code, 3);
    insta::assert_snapshot!(missing.stderr, @"error: no skill is called `pdf-forms`");
}

#[test]
fn the_title_of_a_skill_that_exists_cannot_be_changed_whether_its_files_are_or_not() {
    let server = TestServer::start(&[]);
    let folder = skill("One.\n").write_to(server.folder());
    let path = folder.to_str().unwrap();
    let push = |title: &str| {
        let args = ["skill", "push", path, "--title", title, "--json"];
        run_command(&server, &args)
    };
    assert_eq!(push("PDF forms").json()["outcome"], "created");
    assert_eq!(push("PDF forms").json()["outcome"], "unchanged");
    for body in ["One.\n", "Two.\n"] {
        skill(body).write_to(server.folder());
        let refused = push("Forms");
        assert_eq!(refused.code, 3, "{}", refused.stdout);
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused.stderr, @"error: skill `pdf-forms` already exists, and its title cannot be changed to `Forms`; only a new skill can be given a title");
        }
    }
    assert_eq!(push("PDF forms").json()["version"], "2");
}

fn same_files(a: &Path, b: &Path) {
    use std::os::unix::fs::PermissionsExt;
    for file in ["SKILL.md", "scripts/run.py"] {
        assert_eq!(
            fs::read(a.join(file)).unwrap(),
            fs::read(b.join(file)).unwrap()
        );
    }
    let mode = fs::metadata(b.join("scripts/run.py"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o111, 0o111, "what may be run may be run again");
}

#[test]
fn a_skill_with_errors_is_explained_and_not_sent() {
    let server = TestServer::start(&[]);
    let skill = SkillFixture::new("pdf-forms").field("description", "A <b>bold</b> claim.");
    let folder = skill.write_to(server.folder());
    let output = run_command(&server, &["skill", "push", folder.to_str().unwrap()]);
    assert_eq!(output.code, 1);
    assert!(output.stderr.contains("upload-xml"), "{}", output.stderr);
    assert!(
        output.stderr.contains("nothing was uploaded"),
        "{}",
        output.stderr
    );
    let list = run_command(&server, &["skill", "list", "--server", "--json"]).json();
    assert_eq!(list["skills"], serde_json::json!([]));
}

#[test]
fn what_goes_wrong_on_the_way_is_reported() {
    let server = TestServer::start(&[]);
    let mut wrong = command(&server, &["skill", "list", "--server"]);
    let output =
        CommandOutput::from_output(&wrong.env("PROWESS_API_KEY", "wrong").output().unwrap());
    assert_eq!(output.code, 3);
    assert!(
        output.stderr.contains("unknown, expired or revoked")
            && output.stderr.contains("key-unknown"),
        "{}",
        output.stderr
    );
    let mut nowhere = command(&server, &["skill", "list", "--server"]);
    let nowhere = nowhere
        .env("PROWESS_URL", "http://127.0.0.1:1")
        .output()
        .unwrap();
    let output = CommandOutput::from_output(&nowhere);
    assert_eq!(output.code, 3);
    assert!(
        output.stderr.contains("is `prowess serve` running there?"),
        "{}",
        output.stderr
    );
}

#[test]
fn keys_are_shown_once_and_end_when_revoked() {
    let server = TestServer::start(&[]);
    let args = [
        "keys", "create", "ci", "--tenant", "acme", "--scope", "read", "--json",
    ];
    let made = run_command(&server, &args).json();
    let key = made["key"].as_str().unwrap().to_owned();
    let list = run_command(&server, &["keys", "list", "--tenant", "acme", "--json"]);
    assert!(!list.stdout.contains(&key));
    assert_eq!(list.json()[0]["id"], made["id"]);

    let as_key = |args: &[&str]| {
        let mut command = command(&server, args);
        CommandOutput::from_output(&command.env("PROWESS_API_KEY", &key).output().unwrap())
    };
    assert_eq!(as_key(&["skill", "list", "--server"]).code, 0);
    let folder = skill("One.\n").write_to(server.folder());
    let refused = as_key(&["skill", "push", folder.to_str().unwrap()]);
    assert!(refused.stderr.contains("key-scope"), "{}", refused.stderr);
    let id = made["id"].as_str().unwrap();
    assert_eq!(
        run_command(&server, &["keys", "revoke", id, "--tenant", "acme"]).code,
        0
    );
    // Another process may remember a key for a second.
    let refused = (0..600).any(|_| as_key(&["skill", "list", "--server"]).code == 3);
    assert!(refused);
    let elsewhere = run_command(&server, &["keys", "revoke", id]);
    assert_eq!(elsewhere.code, 3);
    let over_at_once = run_command(&server, &["keys", "create", "ci", "--expires", "0"]);
    assert_eq!(over_at_once.code, 2, "{}", over_at_once.stdout);
}

#[test]
fn a_command_without_a_key_explains_how_to_give_one() {
    let server = TestServer::start(&[]);
    let mut list = prowess(server.folder());
    list.args(["skill", "versions", "pdf-forms", "--server", server.url()]);
    let refused = CommandOutput::from_output(&list.output().unwrap());
    assert_eq!(refused.code, 3, "{}", refused.stdout);
    let last = refused.stderr.lines().last();
    assert_eq!(last, Some("pass --api-key KEY, or set PROWESS_API_KEY"));
}

#[test]
fn keys_of_a_server_are_managed_from_elsewhere() {
    let server = TestServer::start(&[]);
    let elsewhere = tempfile::tempdir().unwrap();
    let run = |key: &str, args: &[&str]| {
        let mut command = prowess(elsewhere.path());
        command.args(args).args(["--server", server.url()]);
        CommandOutput::from_output(&command.env("PROWESS_API_KEY", key).output().unwrap())
    };
    let create = [
        "keys", "create", "ops", "--tenant", "acme", "--scope", "admin", "--json",
    ];
    let admin = run(MASTER, &create).json();
    let admin = admin["key"].as_str().unwrap();
    let made = run(admin, &["keys", "create", "ci", "--rpm", "5", "--json"]).json();
    assert_eq!(made["tenant"], "acme");
    let id = made["id"].as_str().unwrap();
    let set = run(
        admin,
        &["keys", "set", id, "--rpm", "none", "--budget", "5/day"],
    );
    assert!(set.stderr.contains("5/day"), "{}", set.stderr);
    let nothing = run(admin, &["keys", "set", id]);
    assert_eq!(nothing.code, 2, "{}", nothing.stderr);
    let rotate = ["keys", "rotate", id, "--grace", "1h", "--json"];
    let rotated = run(admin, &rotate).json();
    assert_ne!(rotated["key"], made["key"]);
    assert!(rotated["previous_secret_until"].is_string());
    // The same fields as those of the store itself.
    let listed = run(admin, &["keys", "list", "--json"]).json();
    let here = run_command(&server, &["keys", "list", "--tenant", "acme", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 2);
    assert_eq!(listed[0], here[0]);
    assert_eq!(run(admin, &["keys", "revoke", id]).code, 0);
    let refused = run(admin, &["keys", "rotate", id]);
    assert!(
        refused.stderr.contains("key-inactive"),
        "{}",
        refused.stderr
    );
    let other = run(MASTER, &["keys", "revoke", id, "--tenant", "default"]);
    assert!(other.stderr.contains("key-not-found"), "{}", other.stderr);

    let log = run(admin, &["audit", "--json"]);
    let actions: Vec<String> = log
        .stdout
        .lines()
        .map(|line| {
            let entry: Value = serde_json::from_str(line).unwrap();
            let peer = entry["peer"].as_str().unwrap();
            assert_eq!(peer, "127.0.0.1");
            format!("{} {}", entry["action"], entry["outcome"]).replace('"', "")
        })
        .collect();
    assert_eq!(
        actions,
        [
            "key.rotate refused",
            "key.revoke ok",
            "key.rotate ok",
            "key.update ok",
            "key.create ok",
            "key.create ok",
        ]
    );
    // What is done to the store itself is in the log too.
    let created = run_command(&server, &["keys", "create", "local"]);
    assert_eq!(created.code, 0);
    let local = run_command(&server, &["audit", "--actor", "cli", "--json"]);
    assert!(local.stdout.contains("key.create"), "{}", local.stdout);
    let table = run_command(&server, &["audit", "--tenant", "acme", "--limit", "1"]);
    assert_eq!(table.stdout.lines().count(), 2, "{}", table.stdout);
    assert!(!elsewhere.path().join("data").exists());
}

#[test]
fn a_server_ends_in_good_order_on_a_signal() {
    let mut server = TestServer::start(&[]);
    let pid = server.pid().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    assert_eq!(server.wait().code(), Some(0));
}

#[test]
fn a_server_refuses_to_be_open_to_other_machines() {
    let folder = tempfile::tempdir().unwrap();
    let mut serve = prowess(folder.path());
    let output = CommandOutput::from_output(
        &serve
            .args(["serve", "--listen", "0.0.0.0:0"])
            .output()
            .unwrap(),
    );
    assert_eq!(output.code, 3);
    insta::assert_snapshot!(output.stderr, @"error: server.listen: 0.0.0.0:0 can be reached from other machines, and there is no master key: set PROWESS_MASTER_KEY or server.master_key, or listen on 127.0.0.1");
}

#[test]
fn the_log_is_json_and_holds_no_key_no_query_and_no_content() {
    let mut server = TestServer::start(&[("PROWESS_LOG", "debug")]);
    let folder = skill("unmistakable-content\n").write_to(server.folder());
    run_command(&server, &["skill", "push", folder.to_str().unwrap()]);
    run_command(
        &server,
        &["skill", "list", "--server", "--query", "unmistakable-query"],
    );
    let mut wrong = command(&server, &["skill", "list", "--server"]);
    wrong
        .env("PROWESS_API_KEY", "sk-pw-wrong-but-secret")
        .output()
        .unwrap();
    let log = server.log();
    let events: Vec<Value> = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    let done = |event: &&Value| event["message"] == "done";
    let done: Vec<_> = events.iter().filter(done).collect();
    assert!(done.len() >= 4, "{log}");
    assert!(
        done.iter()
            .all(|event| event["span"]["route"].is_string() && event["status"].is_u64())
    );
    for secret in [MASTER, "unmistakable", "sk-pw-wrong"] {
        assert!(!log.contains(secret), "{secret} is in the log:\n{log}");
    }
}

#[test]
fn a_task_is_routed_on_a_server_and_in_folders_alike() {
    let server = TestServer::start(&[]);
    let skills = server.folder().join("skills");
    fs::create_dir(&skills).unwrap();
    for (name, description) in [
        ("pdf-forms", "Fills in PDF forms."),
        ("pdf-merge", "Merges PDF files into one."),
        ("slides", "Makes presentations."),
    ] {
        let skill = SkillFixture::new(name).field("description", description);
        let folder = skill.write_to(&skills);
        run_command(
            &server,
            &["skill", "push", folder.to_str().unwrap(), "--json"],
        )
        .json();
    }
    let task = "Could you merge these two PDF files?";
    let path = skills.to_str().unwrap();
    let stored = run_command(&server, &["skill", "route", task, "--json", "--server"]).json();
    let local = run_command(&server, &["skill", "route", task, path, "--json"]).json();
    for ranking in [&stored, &local] {
        let best = ranking.pointer("/data/0").unwrap();
        assert_eq!(best["name"], "pdf-merge", "{ranking}");
        assert_eq!(best["in_catalogue"], true);
        let words = best["matched"].as_array().unwrap().iter();
        assert!(
            words.clone().any(|matched| matched["word"] == "merge"),
            "{best}"
        );
        let other = ranking.pointer("/data/1/name").unwrap();
        assert_eq!(other, "pdf-forms");
        assert_eq!(ranking.pointer("/catalogue/limit_bytes").unwrap(), 16_000);
    }
    let score = |ranking: &Value| ranking.pointer("/data/0/score").cloned();
    assert_eq!(score(&stored), score(&local));
    let shown = run_command(&server, &["skill", "route", task, path]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("pdf-merge"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("merge (name, description, headings)"),
        "{}",
        shown.stdout
    );
    let empty = run_command(&server, &["skill", "route", " ", path]);
    assert_ne!(empty.code, 0);
    // One that models may not load is found, but in no catalogue.
    let hidden = SkillFixture::new("walrus")
        .field("description", "Counts walruses.")
        .field("disable-model-invocation", "true");
    let folder = hidden.write_to(&skills);
    let push = ["skill", "push", folder.to_str().unwrap(), "--json"];
    run_command(&server, &push).json();
    let route = ["skill", "route", "count a walrus", path, "--json"];
    let local = run_command(&server, &route).json();
    let route = ["skill", "route", "count a walrus", "--json", "--server"];
    let stored = run_command(&server, &route).json();
    for ranking in [&stored, &local] {
        let best = ranking.pointer("/data/0").unwrap();
        assert_eq!(best["name"], "walrus", "{ranking}");
        assert_eq!(best["in_catalogue"], false, "{ranking}");
    }
}

#[test]
fn overlap_is_found_on_a_server_and_in_folders_alike() {
    let server = TestServer::start(&[]);
    let skills = server.folder().join("skills");
    fs::create_dir(&skills).unwrap();
    for (name, description) in [
        (
            "office-helper",
            "Helps. Use when a tax form must be filled in before the deadline.",
        ),
        (
            "tax-forms",
            "Fills in every tax form. Use when a tax form must be filled in before the deadline \
             of the tax office, or a tax form was refused.",
        ),
        (
            "walrus",
            "Counts. Use when animals on ice floes are counted.",
        ),
    ] {
        let skill = SkillFixture::new(name).field("description", description);
        let folder = skill.write_to(&skills);
        let push = ["skill", "push", folder.to_str().unwrap(), "--json"];
        run_command(&server, &push).json();
    }
    let path = skills.to_str().unwrap();
    let overlap = |args: &[&str]| run_command(&server, &[&["skill", "overlap"], args].concat());
    let mut stored = overlap(&["--json", "--server"]).json();
    let local = overlap(&[path, "--json"]).json();
    for pair in stored["data"].as_array_mut().unwrap() {
        let pair = pair.as_object_mut().unwrap();
        assert!(pair.remove("skill_id").is_some() && pair.remove("rival_id").is_some());
    }
    assert_eq!(stored, local);
    let worst = local.pointer("/data/0").unwrap();
    assert_eq!(worst["name"], "office-helper", "{local}");
    assert_eq!(worst["rival_name"], "tax-forms");
    assert_eq!(
        (worst["rank"].as_u64(), worst["rival_rank"].as_u64()),
        (Some(2), Some(1))
    );
    assert_eq!(local["examined"], 3);
    let one = overlap(&[path, "--skill", "office-helper", "--json"]).json();
    assert_eq!(one["examined"], 1);
    assert_eq!(one.pointer("/data/0"), Some(worst));
    let one = overlap(&["--skill", "office-helper", "--json", "--server"]).json();
    assert_eq!(one["examined"], 1);
    let shown = overlap(&[path, "--limit", "1"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    let row = shown.stdout.lines().nth(1).unwrap_or_default();
    assert!(
        row.contains("office-helper") && row.contains("tax"),
        "{}",
        shown.stdout
    );
    let none = overlap(&[path, "--skill", "no-such-skill"]);
    assert_eq!(none.code, 3, "{}", none.stderr);
    assert!(
        none.stderr.contains("no skill `no-such-skill`"),
        "{}",
        none.stderr
    );
}

/// A server with a skill of two versions; the folder has the second.
fn server_with_two_versions() -> (TestServer, std::path::PathBuf) {
    let server = TestServer::start(&[]);
    let folder = skill("One.\n").write_to(server.folder());
    let path = folder.to_str().unwrap();
    run_command(&server, &["skill", "push", path, "--json"]).json();
    fs::remove_dir_all(&folder).unwrap();
    let folder = skill("Two.\n").write_to(server.folder());
    let path = folder.to_str().unwrap();
    let push = ["skill", "push", path, "--note", "Says two.", "--json"];
    let pushed = run_command(&server, &push).json();
    assert_eq!(pushed.get("version").unwrap(), "2");
    (server, folder)
}

#[test]
fn labels_are_set_moved_listed_and_deleted() {
    let (server, _folder) = server_with_two_versions();
    let label =
        |args: &[&str]| run_command(&server, &[&["skill", "label", "pdf-forms"], args].concat());
    let set = label(&["production", "1"]);
    assert_eq!(set.code, 0, "{}", set.stderr);
    assert!(
        set.stdout
            .starts_with("pdf-forms: production points to version 1 (skver_")
    );
    label(&["staging", "latest", "--json"]).json();
    let moved = label(&["production", "staging", "--json"]).json();
    assert_eq!(
        (&moved["version"], &moved["protected"]),
        (&"2".into(), &true.into())
    );
    let listed = label(&["--json"]).json();
    let names = listed.as_array().unwrap().iter();
    let names: Vec<_> = names.map(|label| label["label"].clone()).collect();
    assert_eq!(names, ["production", "staging"]);
    let table = label(&[]);
    assert!(table.stdout.contains("production") && table.stdout.contains("protected"));
    assert_eq!(
        label(&["staging", "--delete"]).stdout,
        "pdf-forms: deleted label staging\n"
    );
    let missing = label(&["staging", "--delete"]);
    assert!(
        missing.stderr.contains("its labels are production"),
        "{}",
        missing.stderr
    );
    let incomplete = label(&["staging"]);
    assert_eq!(incomplete.code, 2, "{}", incomplete.stdout);
    assert!(
        incomplete.stderr.contains("which version"),
        "{}",
        incomplete.stderr
    );
    let pulled = server.folder().join("pulled");
    let pull = [
        "skill",
        "pull",
        "pdf-forms",
        "--version",
        "production",
        "--json",
        "-o",
    ];
    run_command(&server, &[&pull[..], &[pulled.to_str().unwrap()]].concat()).json();
    let text = fs::read_to_string(pulled.join("pdf-forms/SKILL.md")).unwrap();
    assert!(text.contains("Two."), "{text}");
}

#[test]
fn versions_are_noted_set_as_default_revoked_and_restored() {
    let (server, _folder) = server_with_two_versions();
    let run = |args: &[&str]| run_command(&server, &[&["skill"], args].concat());
    let noted = run(&["note", "pdf-forms", "1", "The first.", "--json"]).json();
    assert_eq!(noted["notes"], "The first.");
    let default = run(&["default", "pdf-forms", "2"]);
    assert!(
        default
            .stdout
            .starts_with("pdf-forms: the default is version 2"),
        "{}",
        default.stderr
    );
    let in_use = run(&["revoke", "pdf-forms", "2", "--reason", "broken"]);
    assert_ne!(in_use.code, 0);
    assert!(
        in_use.stderr.contains("is in use by the default"),
        "{}",
        in_use.stderr
    );
    let revoke = [
        "revoke",
        "pdf-forms",
        "2",
        "--reason",
        "broken",
        "--move-to",
        "1",
    ];
    let revoked = run(&revoke);
    assert_eq!(
        revoked.stdout,
        "revoked pdf-forms version 2; to undo it: prowess skill restore pdf-forms 2\n"
    );
    let versions = run(&["versions", "pdf-forms", "--json"]).json();
    assert_eq!(versions.pointer("/0/revoked/reason").unwrap(), "broken");
    assert_eq!(versions.pointer("/1/default").unwrap(), true);
    assert_eq!(versions.pointer("/1/notes").unwrap(), "The first.");
    let table = run(&["versions", "pdf-forms"]);
    assert!(table.stdout.contains("revoked: broken"), "{}", table.stdout);
    let refused = run(&["pull", "pdf-forms", "--version", "2"]);
    assert!(
        refused.stderr.contains("is revoked: broken"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        run(&["restore", "pdf-forms", "2"]).stdout,
        "restored pdf-forms version 2\n"
    );
    run(&["pull", "pdf-forms", "--version", "2", "--force", "--json"]).json();
    let forgotten = run(&["note", "pdf-forms", "1"]);
    assert_eq!(forgotten.code, 2, "{}", forgotten.stdout);
    let removed = run(&["note", "pdf-forms", "1", "--delete"]);
    assert_eq!(removed.stdout, "pdf-forms version 1: notes removed\n");
}

#[test]
fn versions_and_folders_are_compared() {
    let (server, folder) = server_with_two_versions();
    let run = |args: &[&str]| run_command(&server, &[&["skill", "diff"], args].concat());
    let changed = run(&["pdf-forms"]);
    assert_eq!(changed.code, 1, "{}", changed.stderr);
    for expected in [
        "pdf-forms version 1 -> 2\n",
        "\n-One.\n+Two.\n",
        "1 file unchanged\n",
    ] {
        assert!(changed.stdout.contains(expected), "{}", changed.stdout);
    }
    let same = run(&["pdf-forms", "--from", "2"]);
    assert_eq!(
        (same.code, same.stdout.as_str()),
        (0, "pdf-forms version 2 -> 2\nnothing changed\n")
    );
    let json = run(&["pdf-forms", "--from", "2", "--to", "1", "--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["type"], "skill_comparison");
    let other = tempfile::tempdir().unwrap();
    let other = skill("Three.\n")
        .file("new.txt", "x\n")
        .write_to(other.path());
    let local = run(&[folder.to_str().unwrap(), other.to_str().unwrap()]);
    assert_eq!(local.code, 1, "{}", local.stderr);
    for expected in ["-Two.\n+Three.\n", "new.txt: added, 2 B\n"] {
        assert!(local.stdout.contains(expected), "{}", local.stdout);
    }
    let path = folder.to_str().unwrap();
    let itself = run(&[path, path]);
    assert_eq!(
        (itself.code, itself.stdout.as_str()),
        (0, "nothing changed\n")
    );
}

#[test]
fn a_server_refuses_to_import_from_private_hosts() {
    let (server, _folder) = server_with_two_versions();
    let refused = run_command(
        &server,
        &["skill", "import", "http://127.0.0.1:9/skill.zip"],
    );
    assert_ne!(refused.code, 0);
    assert!(
        refused.stderr.contains("is not on the public internet"),
        "{}",
        refused.stderr
    );
}
