//! `prowess mcp` as an agent has it, over standard input and output.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test stops at the first surprise"
)]

mod server;
mod stdio_client;

use std::path::{Path, PathBuf};
use std::process::Command;

use insta::assert_snapshot;
use prowess_testkit::SkillFixture;
use serde_json::{Value, json};
use stdio_client::StdioClient;
use tempfile::TempDir;

/// A folder with two skills in `skills`: one declares a tool, one has functions.
fn skills_folder() -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let skills = dir.path().join("skills");
    SkillFixture::new("greet")
        .field(
            "tools",
            "{hello: {description: Say hello., script: scripts/hello.py, args: {name: string}}}",
        )
        .file(
            "scripts/hello.py",
            "import sys\nprint('hello', sys.argv[1])\nopen('card.txt', 'w').write('hi')",
        )
        .file("notes.txt", "Be kind.\n")
        .write_to(&skills);
    SkillFixture::new("maths")
        .file("tools.py", "from prowess import tool\n@tool\ndef add(a: int, b: int = 1):\n    'Add.'\n    return a + b\n")
        .file("pixel.png", b"\x89PNG\r\n\x1a\n\0\0".as_slice())
        .file("data.bin", b"\xff\xfe\0".as_slice())
        .write_to(&skills);
    dir
}

fn names(tools: &Value) -> Vec<&str> {
    let tools = tools["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn tools_of_a_skill_appear_when_it_is_loaded_and_run_in_the_sandbox() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.request("tools/list", json!({}));
    client.call("load_skill", json!({"name": "greet"}));
    let tools = client.request("tools/list", json!({}));
    assert_eq!(names(&tools).last(), Some(&"greet__hello"));
    client.record();

    client.call("greet__hello", json!({"name": "Ann"}));
    client.request(
        "resources/read",
        json!({"uri": "sandbox:/mnt/data/card.txt"}),
    );
    client.call("greet__hello", json!({"name": 1}));
    client.call("maths__add", json!({"a": 1}));
    client.call("load_skill", json!({"name": "maths"}));
    client.call("maths__add", json!({"a": 41}));
    client.call("load_skill", json!({"name": "maths", "path": "pixel.png"}));
    client.call("load_skill", json!({"name": "maths", "path": "data.bin"}));
    client.call("load_skill", json!({"name": "nothing"}));
    assert_snapshot!(client.record());
    let (rest, errors) = client.end();
    assert_eq!((rest, errors.as_str()), (vec![], ""));
}

#[test]
fn dozens_of_skills_are_all_described_within_what_hosts_show_of_a_description() {
    let dir = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..32).map(|n| format!("documents-{n:02}")).collect();
    for name in &names {
        let about = "Creates, edits and checks documents with tables, charts and images, and \
                     keeps their layout. Use when a document is to be made or changed.";
        let skill = SkillFixture::new(name).field("description", about);
        skill.write_to(&dir.path().join("skills"));
    }
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    let answer = client.request("tools/list", json!({}));
    let description = answer["result"]["tools"][0]["description"].as_str();
    let description = description.unwrap();
    assert!(description.len() <= 2_048, "{description}");
    let (_, listed) = description.split_once("Skills:\n").unwrap();
    let expected = names
        .iter()
        .map(|name| format!("- {name}: Creates, edits and checks…"));
    assert_eq!(
        listed.lines().collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
}

#[test]
fn a_source_in_the_home_folder_is_found_though_no_shell_expands_it() {
    let home = skills_folder();
    let elsewhere = tempfile::tempdir().unwrap();
    let set = [("HOME", home.path())];
    let mut client = StdioClient::start_with(elsewhere.path(), &["--read-only", "~/skills"], &set);
    client.initialize();
    let answer = client.call("load_skill", json!({"name": "greet"}));
    assert_ne!(answer["isError"], true, "{answer}");
}

#[test]
fn all_skills_of_an_archive_are_served() {
    let dir = skills_folder();
    let mut zip = Command::new("python3");
    zip.args(["-m", "zipfile", "-c", "../main.zip", "greet", "maths"]);
    let packed = zip.current_dir(dir.path().join("skills")).status();
    assert!(packed.unwrap().success());
    let mut client = StdioClient::start_initialized(dir.path(), &["main.zip"]);
    let prompts = client.request("prompts/list", json!({}));
    let names = prompts["result"]["prompts"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|prompt| prompt["name"].clone()).collect();
    assert_eq!(names, ["greet", "maths"]);
    let answer = client.call("load_skill", json!({"name": "greet", "path": "notes.txt"}));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Be kind."), "{answer}");
}

#[test]
fn own_tools_are_listed_at_once_for_hosts_that_list_only_once() {
    let dir = skills_folder();
    let mut client =
        StdioClient::start_initialized(dir.path(), &["--own-tools", "at-once", "skills"]);
    let tools = client.request("tools/list", json!({}));
    let names = names(&tools);
    assert!(names.contains(&"greet__hello") && names.contains(&"maths__add"));
    let answer = client.call("maths__add", json!({"a": 41}));
    assert_eq!(answer["content"][0]["text"], "42", "{answer}");
}

#[test]
fn a_client_of_an_older_version_gets_no_content_that_is_newer() {
    let dir = skills_folder();
    for (version, expected) in [
        ("2025-03-26", json!(["text"])),
        ("2025-06-18", json!(["text", "resource_link"])),
    ] {
        let mut client = StdioClient::start(dir.path(), &["skills"]);
        let info = json!({"name": "old", "version": "1"});
        let begin = json!({"protocolVersion": version, "capabilities": {}, "clientInfo": info});
        let started = client.request("initialize", begin);
        assert_eq!(started["result"]["protocolVersion"], version);
        client.notify("notifications/initialized", json!({}));
        client.call("load_skill", json!({"name": "greet"}));
        let result = client.call("greet__hello", json!({"name": "Ann"}));
        let content = result["content"].as_array().unwrap().iter();
        let kinds: Vec<_> = content.map(|part| part["type"].clone()).collect();
        assert_eq!(json!(kinds), expected, "{result}");
    }
}

#[test]
fn an_image_that_no_model_can_be_shown_is_a_resource() {
    let dir = tempfile::tempdir().unwrap();
    SkillFixture::new("scans")
        .file("page.tif", b"II*\0\xff\0".as_slice())
        .write_to(&dir.path().join("skills"));
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    let result = client.call("load_skill", json!({"name": "scans", "path": "page.tif"}));
    let part = &result["content"][0];
    assert_eq!(part["type"], "resource", "{result}");
    assert_eq!(part["resource"]["mimeType"], "image/tiff", "{result}");
}

#[test]
fn an_agent_learns_what_the_server_can_do_and_which_tools_there_are() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.request("tools/list", json!({}));
    let version = concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\"");
    let record = client.record().replace(version, "\"version\": \"VERSION\"");
    assert_snapshot!(record);
}

#[test]
fn skills_are_resources_prompts_and_entries_of_the_extension() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.record();
    for (method, params) in [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "skill://greet/SKILL.md"})),
        ("resources/read", json!({"uri": "skill://maths/pixel.png"})),
        ("prompts/list", json!({})),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"task": "Greet Ann."}}),
        ),
        ("prompts/get", json!({"name": "nothing"})),
        ("skills/list", json!({})),
        ("skills/get", json!({"uri": "skill://greet/SKILL.md"})),
        ("resources/directory/read", json!({"uri": "skill://greet"})),
        (
            "resources/directory/read",
            json!({"uri": "skill://greet/scripts"}),
        ),
        ("resources/read", json!({"uri": "skill://index.json"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/resource", "uri": "skill://{name}/{+path}"},
                   "argument": {"name": "path", "value": "s"},
                   "context": {"arguments": {"name": "greet"}}}),
        ),
    ] {
        client.request(method, params);
    }
    assert_snapshot!(client.record());
}

/// What a client of 2026-07-28 sends with every request.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn a_client_of_the_newest_version_needs_no_handshake_and_names_the_notifications_it_gets() {
    let dir = skills_folder();
    let mut client = StdioClient::start(dir.path(), &["skills"]);
    let found = client.request("server/discover", json!({"_meta": meta()}));
    let extensions = &found["result"]["capabilities"]["extensions"];
    let skills = &extensions["io.modelcontextprotocol/skills"];
    assert_eq!(*skills, json!({"directoryRead": true}));
    let listed = client.request("skills/list", json!({"_meta": meta()}))["result"].take();
    let hints = ["resultType", "ttlMs", "cacheScope"].map(|name| listed[name].clone());
    assert_eq!(json!(hints), json!(["complete", 0, "private"]));

    let only_tools = json!({"toolsListChanged": true});
    let listening = client.send(
        "subscriptions/listen",
        json!({"_meta": meta(), "notifications": only_tools}),
    );
    client.wait_for_notification("notifications/subscriptions/acknowledged");
    let load = json!({"name": "load_skill", "arguments": {"name": "greet"}, "_meta": meta()});
    client.request("tools/call", load);
    let notification = client.wait_for_notification("notifications/tools/list_changed");
    let of = &notification["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"];
    assert_eq!(*of, json!(listening));
    // The file that this makes changes the resources too, of which it wants to hear nothing.
    let call = json!({"name": "greet__hello", "arguments": {"name": "Ann"}, "_meta": meta()});
    let result = client.request("tools/call", call);
    assert_eq!(result["result"]["isError"], false, "{result}");
    assert!(
        client.notifications.is_empty(),
        "{:?}",
        client.notifications
    );
}

#[test]
fn what_changes_in_a_folder_is_notified() {
    let dir = skills_folder();
    let skills = dir.path().join("skills");
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.call("load_skill", json!({"name": "greet"}));
    client.wait_for_notification("notifications/tools/list_changed");
    SkillFixture::new("newcomer").write_to(&skills);
    for kind in ["tools", "prompts", "resources"] {
        client.wait_for_notification(&format!("notifications/{kind}/list_changed"));
    }
    let prompts = client.request("prompts/list", json!({}));
    let names = prompts["result"]["prompts"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|prompt| prompt["name"].clone()).collect();
    assert_eq!(names, ["greet", "maths", "newcomer"]);
    // What was loaded stays so.
    let result = client.call("greet__hello", json!({"name": "Ann"}));
    assert_eq!(result["isError"], false, "{result}");
    // One that is gone is gone at once for whoever asks.
    std::fs::remove_dir_all(skills.join("greet")).unwrap();
    let tools = client.request("tools/list", json!({}));
    assert!(!self::names(&tools).contains(&"greet__hello"), "{tools}");
}

#[test]
fn uris_that_lead_elsewhere_lead_nowhere() {
    let dir = skills_folder();
    std::fs::write(dir.path().join("secret"), "do not read").unwrap();
    SkillFixture::new("odd")
        .field("name", "'../x'")
        .write_to(&dir.path().join("skills"));
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.call(
        "bash_code_execution",
        json!({"command": "ln -s /etc/passwd link"}),
    );
    for uri in [
        "skill://greet/../../secret",
        "skill://greet/%2e%2e/%2e%2e/secret",
        "skill://../secret",
        "skill://greet//SKILL.md",
        "skill://greet/SKILL.md/",
        "skill://greet/",
        "skill://GREET/SKILL.md",
        "skill://nothing/SKILL.md",
        "sandbox:/mnt/data/../../etc/passwd",
        "sandbox:/mnt/data/link",
        "sandbox:/etc/passwd",
        "file:///etc/passwd",
        "skill://greet/%00",
        "",
    ] {
        for method in ["resources/read", "skills/get", "resources/directory/read"] {
            let answer = client.request(method, json!({"uri": uri}));
            let code = &answer["error"]["code"];
            let expected = if method == "resources/read" {
                -32002
            } else {
                -32602
            };
            assert_eq!(*code, json!(expected), "{method} {uri}: {answer}");
        }
    }
    // A skill with such a name is there under a URI that says so, and none of the extension.
    let read = client.request("resources/read", json!({"uri": "skill://..%2Fx/SKILL.md"}));
    assert!(read["result"]["contents"][0]["text"].is_string(), "{read}");
    let listed = client.request("skills/list", json!({}));
    assert_eq!(listed["result"]["skills"].as_array().unwrap().len(), 2);
}

/// Whether a process with this word in its command line runs anywhere on the host.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes
        .map(|process| process.path().join("cmdline"))
        .filter_map(|file: PathBuf| std::fs::read(file).ok())
        .any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// Starts a command that does not end, and waits until it runs.
fn start_endless(client: &mut StdioClient, marker: &str) -> u64 {
    let command = format!("echo started; exec -a {marker} sleep 3600");
    let call = json!({"name": "bash_code_execution", "arguments": {"command": command},
                      "_meta": {"progressToken": "p"}});
    let id = client.send("tools/call", call);
    let progress = client.wait_for_notification("notifications/progress");
    assert_eq!(progress["params"]["message"], "started");
    while !runs(marker) {
        std::thread::yield_now();
    }
    id
}

fn marker(dir: &Path) -> String {
    let name = dir.file_name().unwrap().to_string_lossy();
    format!("endless{}", name.trim_start_matches('.'))
}

#[test]
fn a_cancelled_call_ends_what_it_ran() {
    let dir = skills_folder();
    let marker = marker(dir.path());
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    let id = start_endless(&mut client, &marker);
    client.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    );
    while runs(&marker) {
        std::thread::yield_now();
    }
    let result = client.call("bash_code_execution", json!({"command": "echo still here"}));
    assert_eq!(result["content"][0]["text"], "still here");
}

#[test]
fn the_end_of_standard_input_ends_what_runs_and_the_session() {
    let dir = skills_folder();
    let marker = marker(dir.path());
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    start_endless(&mut client, &marker);
    client.end();
    while runs(&marker) {
        std::thread::yield_now();
    }
    let listed = server::prowess(dir.path())
        .args(["sandbox", "list", "--json"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).trim(), "[]");
}

#[test]
fn a_container_that_expired_is_replaced_and_the_agent_learns_it() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.call("bash_code_execution", json!({"command": "echo 1 > one"}));
    let sandbox = |args: &[&str]| {
        let mut command = server::prowess(dir.path());
        let output = command.arg("sandbox").args(args).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    };
    let sessions: Value = serde_json::from_slice(&sandbox(&["list", "--json"])).unwrap();
    sandbox(&["rm", sessions[0]["id"].as_str().unwrap()]);
    let result = client.call("bash_code_execution", json!({"command": "ls; echo again"}));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_snapshot!(text, @"
    again
    [note: the container expired: /mnt/data is empty, and its earlier files are gone]
    ");
    let result = client.call("bash_code_execution", json!({"command": "echo and again"}));
    assert_eq!(result["content"][0]["text"], "and again");
}

#[test]
fn output_without_end_is_cut_and_costs_little() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    // The first call loads code, which is no output.
    let call = json!({"name": "bash_code_execution", "arguments": {"command": "true"}});
    client.request("tools/call", call);
    let before = peak_memory(client.child.id());
    let command = "head -c 100000000 /dev/zero | tr '\\0' x";
    let call = json!({"name": "bash_code_execution", "arguments": {"command": command},
                      "_meta": {"progressToken": "p"}});
    let result = client.request("tools/call", call)["result"].take();
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.len() < 100_000, "{} bytes", text.len());
    let used = peak_memory(client.child.id()) - before;
    assert!(used < 40_000, "{used} kB for 100 MB of output");
}

/// The most memory that a process has had, in kilobytes.
fn peak_memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))
        .unwrap();
    peak.trim().trim_end_matches("kB").trim().parse().unwrap()
}

#[test]
fn nonsense_is_answered_and_the_session_goes_on() {
    let dir = skills_folder();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills"]);
    client.send_raw("this is no JSON");
    client.send_raw(&"x".repeat(20 << 20));
    client.send_raw("{\"jsonrpc\": \"2.0\", \"id\": 99}");
    let unknown = client.request("no/such/method", json!({}));
    assert_eq!(unknown["error"]["code"], -32601, "{unknown}");
    for (method, params) in [
        ("skills/get", json!({})),
        ("skills/get", json!({"uri": 1})),
        ("skills/list", json!({"cursor": "?"})),
        ("resources/list", json!({"cursor": "?"})),
        (
            "prompts/get",
            json!({"name": "greet", "arguments": {"task": 1}}),
        ),
    ] {
        let answer = client.request(method, params.clone());
        assert_eq!(
            answer["error"]["code"], -32602,
            "{method} {params}: {answer}"
        );
    }
    let unknown = client.call("no_such_tool", json!({}));
    assert_eq!(unknown["isError"], true);
    assert!(client.request("tools/list", json!({}))["result"].is_object());
}

#[test]
fn what_is_wrong_with_a_skill_is_logged_and_harms_no_other() {
    let dir = skills_folder();
    let broken = dir.path().join("skills/broken");
    std::fs::create_dir(&broken).unwrap();
    std::fs::write(broken.join("SKILL.md"), b"\xff").unwrap();
    let mut client = StdioClient::start_initialized(dir.path(), &["skills", "--read-only"]);
    let tools = client.request("tools/list", json!({}));
    assert_eq!(names(&tools), ["load_skill"]);
    let (rest, errors) = client.end();
    assert!(rest.is_empty());
    assert!(errors.contains("broken"), "{errors}");
}

#[test]
fn the_form_of_loading_and_code_can_be_chosen() {
    let dir = skills_folder();
    let mut client =
        StdioClient::start_initialized(dir.path(), &["skills", "--form", "per-skill", "--no-code"]);
    let tools = client.request("tools/list", json!({}));
    assert_eq!(names(&tools), ["load_skill_greet", "load_skill_maths"]);
    client.call("load_skill_maths", json!({}));
    let result = client.call("maths__add", json!({"a": 2, "b": 3}));
    assert_eq!(result["content"][0]["text"], "5");
}

#[test]
fn many_resources_come_in_pages() {
    let dir = tempfile::tempdir().unwrap();
    for number in 0..150 {
        SkillFixture::new(&format!("skill-{number:03}"))
            .file("a.txt", "a")
            .write_to(&dir.path().join("skills"));
    }
    let mut client = StdioClient::start_initialized(dir.path(), &["skills", "--read-only"]);
    for (method, field, expected) in [
        ("resources/list", "resources", 300),
        ("skills/list", "skills", 150),
    ] {
        let (mut uris, mut pages, mut params) = (Vec::new(), 0, json!({}));
        loop {
            let result = client.request(method, params)["result"].take();
            let items = result[field].as_array().unwrap().iter();
            uris.extend(items.map(|item| item["uri"].as_str().unwrap().to_owned()));
            pages += 1;
            match &result["nextCursor"] {
                Value::Null => break,
                next => params = json!({"cursor": next}),
            }
        }
        assert_eq!(pages, 2, "{method}");
        uris.sort();
        uris.dedup();
        assert_eq!(uris.len(), expected, "{method}");
    }
}
