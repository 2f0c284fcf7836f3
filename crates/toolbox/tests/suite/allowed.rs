//! `allowed-tools`, enforced while a skill is active.

use super::support::{RunningToolbox, text};
use prowess_sandbox::Policy;
use prowess_testkit::SkillFixture;
use prowess_toolbox::ToolboxOptions;
use serde_json::{Value, json};

fn allows(name: &str, tools: &str) -> SkillFixture {
    SkillFixture::new(name)
        .field("allowed-tools", tools)
        .field("tools", "{own: {description: Own., script: own.sh}}")
        .file("own.sh", "echo own")
}

/// Which of these are permitted with the skills loaded.
async fn permitted(running: &RunningToolbox) -> Vec<String> {
    let bash = |line: &str| ("bash_code_execution", json!({ "command": line }));
    let edit = |input: Value| ("text_editor_code_execution", input);
    let create = json!({ "command": "create", "path": "a.txt", "file_text": "x" });
    let view = json!({ "command": "view", "path": "/skills/s/SKILL.md" });
    let script = json!({ "name": "s", "path": "own.sh" });
    let mut permitted = Vec::new();
    for (label, (tool, input)) in [
        ("echo", bash("echo x")),
        ("date", bash("date")),
        ("echo;date", bash("echo x; date")),
        ("create", edit(create)),
        ("view", edit(view)),
        ("own", ("s__own", json!({}))),
        ("script", ("run_skill_script", script)),
        (
            "read",
            (
                "read_skill_resource",
                json!({ "name": "s", "path": "own.sh" }),
            ),
        ),
    ] {
        let outcome = running.call(tool, input).await;
        match outcome.is_error {
            false => permitted.push(label.to_owned()),
            true => assert!(
                text(&outcome).starts_with("Error: not permitted"),
                "{}",
                text(&outcome)
            ),
        }
    }
    permitted
}

#[tokio::test]
async fn only_what_is_allowed_is_permitted_while_the_skill_is_active() {
    let mut seen = String::new();
    for tools in [
        "Read",
        "Bash",
        "Bash(echo:*)",
        "Bash(echo *), Write",
        "Read Grep WebFetch",
        "'*'",
        "Edit(src/**)",
        "[]",
        "{not: sound}",
    ] {
        let running = RunningToolbox::new(&[allows("s", tools)]).await;
        assert!(!running.bash("date").await.is_error, "not active yet");
        running.load("s").await;
        seen.push_str(&format!(
            "{tools}: {}\n",
            permitted(&running).await.join(" ")
        ));
    }
    insta::assert_snapshot!(seen, @"
    Read: view own read
    Bash: echo date echo;date view own script read
    Bash(echo:*): echo view own read
    Bash(echo *), Write: echo create view own read
    Read Grep WebFetch: view own read
    '*': echo date echo;date create view own script read
    Edit(src/**): view own read
    []: view own read
    {not: sound}: view read
    ");
}

#[tokio::test]
async fn a_pattern_can_name_the_folder_of_its_skill() {
    let tools = "Bash(bash ${CLAUDE_SKILL_DIR}/own.sh:*)";
    let running = RunningToolbox::new(&[allows("s", tools)]).await;
    let loaded = running.load("s").await;
    insta::assert_snapshot!(text(&loaded).lines().last().unwrap(), @"While `s` is active only its `allowed-tools` are permitted: `Bash(bash /skills/s/own.sh:*)`");
    let outcome = running.bash("bash /skills/s/own.sh").await;
    assert!(!outcome.is_error, "{}", text(&outcome));
    assert!(running.bash("bash /mnt/data/own.sh").await.is_error);
}

#[tokio::test]
async fn a_second_skill_can_only_narrow() {
    let running =
        RunningToolbox::new(&[allows("s", "Bash Write"), allows("t", "Bash(echo:*)")]).await;
    running.load("s").await;
    running.load("t").await;
    assert_eq!(permitted(&running).await, ["echo", "view", "read"]);
    assert!(!running.call("t__own", json!({})).await.is_error);
}

#[tokio::test]
async fn a_skill_restricts_nothing_where_conversations_share_the_tools() {
    let shared = ToolboxOptions {
        code_execution: true,
        remind_if_loaded: false,
        enforce_allowed_tools: false,
        ..ToolboxOptions::default()
    };
    for (tools, note) in [
        (
            "Read, WebFetch",
            "While you follow `s`, use only its `allowed-tools` and tools that read: `Read`, `WebFetch` (not available here: `WebFetch`)",
        ),
        (
            "{not: sound}",
            "While you follow `s`, use only tools that read: its `allowed-tools` cannot be trusted",
        ),
    ] {
        let skills = [allows("s", tools)];
        let running = RunningToolbox::with(&skills, shared.clone(), Policy::default()).await;
        // The second conversation does not know what the first one was asked.
        for _ in 0..2 {
            let loaded = running.load("s").await;
            assert_eq!(text(&loaded).lines().last(), Some(note));
        }
        let all = "echo date echo;date create view own script read";
        assert_eq!(permitted(&running).await.join(" "), all);
    }
}

#[tokio::test]
async fn what_is_allowed_and_what_of_it_is_not_here_is_reported_on_loading() {
    let running = RunningToolbox::new(&[allows("s", "Read, Bash(git diff:*), WebFetch")]).await;
    let loaded = running.load("s").await;
    insta::assert_snapshot!(text(&loaded).lines().last().unwrap(), @"While `s` is active only its `allowed-tools` are permitted: `Read`, `Bash(git diff:*)`, `WebFetch` (not available here: `WebFetch`)");
    let outcome = running.bash("git diff > x").await;
    insta::assert_snapshot!(text(&outcome), @"Error: not permitted while the skill `s` is active: its `allowed-tools` are `Read`, `Bash(git diff:*)`, `WebFetch` (a redirection in the command cannot be checked)");
}
