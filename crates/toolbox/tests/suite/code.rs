//! Bash and the editor, and how native clients see them.

use super::place::is_left_out;
use super::support::{OWNER, RunningToolbox, names, native, sandbox, skill, text};
use prowess_sandbox::{Command, Execution, Policy};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{ContentPart, Toolbox, ToolboxOptions, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

async fn edit(running: &RunningToolbox, input: Value) -> prowess_toolbox::ToolOutcome {
    running.call("text_editor_code_execution", input).await
}

#[tokio::test]
async fn bash_runs_in_a_session_that_is_made_at_first_use_and_keeps_its_files() {
    let running = RunningToolbox::new(&[SkillFixture::new("pdf")]).await;
    assert_eq!(running.workspace.container_id(), None);
    let wrote = running
        .bash("cat /skills/pdf/SKILL.md | head -2; echo made > out.txt")
        .await;
    assert!(!wrote.is_error, "{}", text(&wrote));
    insta::assert_snapshot!(text(&wrote), @"
    ---
    name: pdf
    [files: /mnt/data/out.txt (text/plain, 5 bytes)]
    ");
    assert_eq!(wrote.outputs[0].path, "out.txt");
    let session = running.workspace.container_id().unwrap();
    let containers = running.sandbox.containers_of_owner(OWNER).await.unwrap();
    assert_eq!(containers[0].id, session);

    let failed = running.bash("cat out.txt; echo bad >&2; exit 3").await;
    assert!(failed.is_error);
    insta::assert_snapshot!(text(&failed), @"
    Error (exit=3)
    made
    [stderr]
    bad
    ");
    insta::assert_json_snapshot!(native(&failed), @r#"
    {
      "name": "bash_code_execution",
      "input": {
        "command": "cat out.txt; echo bad >&2; exit 3"
      },
      "content": {
        "type": "bash_code_execution_result",
        "stdout": "made\n",
        "stderr": "bad\n",
        "return_code": 3,
        "content": []
      }
    }
    "#);

    let existing = Workspace::for_container(running.sandbox.clone(), OWNER, &session);
    let options = ToolboxOptions {
        code_execution: true,
        ..ToolboxOptions::default()
    };
    let again = Toolbox::new(Vec::new(), Some(existing), options).unwrap();
    assert_eq!(
        names(&again),
        ["bash_code_execution", "text_editor_code_execution"]
    );
    let input = json!({ "command": "cat out.txt" });
    let outcome = again.call("bash_code_execution", &input, None).await;
    assert_eq!(text(&outcome), "made");
}

#[tokio::test]
async fn a_command_out_of_time_is_a_result() {
    let options = ToolboxOptions {
        code_execution: true,
        timeout: Some(Duration::from_millis(300)),
        ..ToolboxOptions::default()
    };
    let running = RunningToolbox::with(&[], options, Policy::default()).await;
    let outcome = running.bash("echo first; sleep 60").await;
    assert!(outcome.is_error);
    let output = text(&outcome);
    assert!(
        output.starts_with("Error (timeout)") && output.contains("first"),
        "{output}"
    );
    assert_eq!(
        native(&outcome)["content"]["error_code"],
        "execution_time_exceeded"
    );
}

#[tokio::test]
async fn output_is_passed_on_as_it_comes() {
    let running = RunningToolbox::new(&[]).await;
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let input = json!({ "command": "echo hello" });
    running
        .toolbox
        .call("bash_code_execution", &input, Some(sender))
        .await;
    assert_eq!(receiver.recv().await.unwrap().bytes, b"hello\n");
}

#[tokio::test]
async fn the_editor_creates_views_and_replaces_in_native_shapes() {
    let running = RunningToolbox::new(&[SkillFixture::new("pdf")]).await;
    let path = "/mnt/data/notes/a.txt";
    let mut seen = Vec::new();
    for input in [
        json!({ "command": "view", "path": "/mnt/data" }),
        json!({ "command": "create", "path": path, "file_text": "one\ntwo\nthree\n" }),
        json!({ "command": "create", "path": path, "file_text": "one\ntwo\nthree\nfour\n" }),
        json!({ "command": "str_replace", "path": path, "old_str": "two\nth", "new_str": "2\n2.5\nTh" }),
        json!({ "command": "view", "path": path }),
        json!({ "command": "view", "path": "notes/a.txt", "view_range": [2, 3] }),
        json!({ "command": "view", "path": "/mnt/data" }),
        json!({ "command": "view", "path": "/skills" }),
        json!({ "command": "view", "path": "/skills/pdf" }),
    ] {
        let outcome = edit(&running, input).await;
        assert!(!outcome.is_error, "{}", text(&outcome));
        seen.push(native(&outcome)["content"].clone());
    }
    insta::assert_snapshot!(seen.iter().map(|s| s.to_string() + "\n").collect::<String>(), @r#"
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"[/mnt/data is empty]","start_line":1,"num_lines":1,"total_lines":1}
    {"type":"text_editor_code_execution_create_result","is_file_update":false}
    {"type":"text_editor_code_execution_create_result","is_file_update":true}
    {"type":"text_editor_code_execution_str_replace_result","lines":["-two","-three","+2","+2.5","+Three"],"old_start":2,"old_lines":2,"new_start":2,"new_lines":3}
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"one\n2\n2.5\nThree\nfour\n","start_line":1,"num_lines":5,"total_lines":5}
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"2\n2.5","start_line":2,"num_lines":2,"total_lines":5}
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"/mnt/data/notes/a.txt (21 bytes)","start_line":1,"num_lines":1,"total_lines":1}
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"/skills/pdf/","start_line":1,"num_lines":1,"total_lines":1}
    {"type":"text_editor_code_execution_view_result","file_type":"text","content":"/skills/pdf/SKILL.md (105 bytes)","start_line":1,"num_lines":1,"total_lines":1}
    "#);
}

#[tokio::test]
async fn what_the_editor_writes_is_an_output_that_code_can_read() {
    let running = RunningToolbox::new(&[]).await;
    let input = json!({ "command": "create", "path": "a.md", "file_text": "# hi\n" });
    let made = edit(&running, input).await;
    assert_eq!(
        (made.outputs[0].path.as_str(), made.outputs[0].size),
        ("a.md", 5)
    );
    let read = running.bash("sha256sum a.md").await;
    assert!(
        text(&read).starts_with(&made.outputs[0].sha256),
        "{}",
        text(&read)
    );
}

#[tokio::test]
async fn the_editor_refuses_with_the_reason() {
    let running = RunningToolbox::new(&[SkillFixture::new("pdf")]).await;
    let twice = json!({ "command": "create", "path": "a.txt", "file_text": "x x" });
    edit(&running, twice).await;
    let mut errors = Vec::new();
    for input in [
        json!({ "command": "view", "path": "/etc/passwd" }),
        json!({ "command": "view", "path": "/mnt/data/../../etc/passwd" }),
        json!({ "command": "view", "path": "/skills/../etc/passwd" }),
        json!({ "command": "view", "path": "none.txt" }),
        json!({ "command": "view", "path": "/skills/none" }),
        json!({ "command": "view", "path": "a.txt", "view_range": [3, 1] }),
        json!({ "command": "create", "path": "/skills/pdf/SKILL.md", "file_text": "" }),
        json!({ "command": "create", "path": "/mnt/data", "file_text": "" }),
        json!({ "command": "create", "path": "a.txt" }),
        json!({ "command": "str_replace", "path": "none.txt", "old_str": "a" }),
        json!({ "command": "str_replace", "path": "a.txt", "old_str": "x" }),
        json!({ "command": "str_replace", "path": "a.txt", "old_str": "y" }),
        json!({ "command": "str_replace", "path": "a.txt", "old_str": "" }),
        json!({ "command": "delete", "path": "a.txt" }),
        json!({ "command": "view" }),
    ] {
        let outcome = edit(&running, input).await;
        assert!(outcome.is_error);
        let code = native(&outcome)["content"]["error_code"].clone();
        errors.push(format!("{}: {}", code.as_str().unwrap(), text(&outcome)));
    }
    insta::assert_snapshot!(errors.join("\n"), @r#"
    invalid_tool_input: Error: "/etc/passwd" is not accessible; files are in /mnt/data and /skills
    invalid_tool_input: Error: "/mnt/data/../../etc/passwd" contains `..`; write the path without it
    invalid_tool_input: Error: "/skills/../etc/passwd" contains `..`; write the path without it
    file_not_found: Error: there is no file /mnt/data/none.txt
    file_not_found: Error: there is no skill at /skills/none
    invalid_tool_input: Error: argument `view_range` must be [first, last], counted from 1, with -1 for the end
    invalid_tool_input: Error: "/skills/pdf/SKILL.md" cannot be changed: skills are read-only; copy it to /mnt/data first
    invalid_tool_input: Error: /mnt/data is a folder
    invalid_tool_input: Error: argument `file_text` is missing
    file_not_found: Error: there is no file /mnt/data/none.txt
    invalid_tool_input: Error: `old_str` occurs 2 times in /mnt/data/a.txt; add surrounding lines until it is unique
    invalid_tool_input: Error: `old_str` does not occur in /mnt/data/a.txt; view the file first
    invalid_tool_input: Error: argument `old_str` is empty
    invalid_tool_input: Error: argument `command` must be one of "view", "create", "str_replace", not a string "delete"
    invalid_tool_input: Error: argument `path` is missing
    "#);
}

#[tokio::test]
async fn a_picture_that_code_made_can_be_viewed() {
    let running = RunningToolbox::new(&[]).await;
    running
        .bash(r"printf '\x89PNG\r\n\x1a\n\0\0' > p.png")
        .await;
    let outcome = edit(&running, json!({ "command": "view", "path": "p.png" })).await;
    let [ContentPart::Binary { mime, data }] = outcome.content.as_slice() else {
        panic!("{outcome:?}")
    };
    assert_eq!((mime.as_str(), data.len()), ("image/png", 10));
    assert_eq!(native(&outcome)["content"]["file_type"], "image");
}

#[tokio::test]
async fn what_packages_are_missing_is_reported_with_the_first_result() {
    let fixture = SkillFixture::new("gif").file("requirements.txt", "# pictures\npillow>=10\n");
    let running = RunningToolbox::new(&[fixture]).await;
    let first = running.bash("true").await;
    insta::assert_snapshot!(text(&first), @"
    [no output]
    [note: the skills' packages are not installed: the package layer could not be built: no package index is set]
    ");
    assert_eq!(text(&running.bash("true").await), "[no output]");
}

#[tokio::test]
async fn names_of_the_clients_own_tools_are_left_to_it() {
    let reserved = [
        "load_skill",
        "bash_code_execution",
        "text_editor_code_execution",
    ];
    let options = ToolboxOptions {
        code_execution: true,
        reserved_names: reserved.map(String::from).to_vec(),
        ..ToolboxOptions::default()
    };
    let running =
        RunningToolbox::with(&[SkillFixture::new("pdf")], options, Policy::default()).await;
    assert_eq!(
        names(&running.toolbox),
        ["skills_load", "skill_bash", "skill_editor"]
    );
    assert!(!running.toolbox.has_tool("load_skill"));
    let outcome = running
        .call("skill_bash", json!({ "command": "echo mine" }))
        .await;
    assert_eq!(text(&outcome), "mine");
}

#[tokio::test]
async fn a_session_whose_packages_were_removed_is_replaced_and_keeps_its_files() {
    if is_left_out("a_session_whose_packages_were_removed_is_replaced_and_keeps_its_files") {
        return;
    }
    let (sandbox, place) = sandbox().await;
    let skills = vec![Arc::new(skill(&SkillFixture::new("pdf")))];
    let workspace = Workspace::for_skills(sandbox, OWNER, skills, Policy::default());
    let run = |line: &str| {
        let execution = Execution {
            command: Command::Bash(line.to_owned()),
            ..Execution::default()
        };
        workspace.run(execution)
    };
    run("echo kept > a.txt").await.unwrap();
    let first = workspace.container_id().unwrap();
    // As if it had been made with packages that have since made room for others.
    let meta = place.path().join("state/sessions").join(&first);
    let meta = meta.join("meta.json");
    let text = std::fs::read_to_string(&meta).unwrap();
    let mut facts: serde_json::Value = serde_json::from_str(&text).unwrap();
    let gone = json!(["layers/gone", "/packages/python"]);
    facts["mounts"].as_array_mut().unwrap().push(gone);
    std::fs::write(&meta, facts.to_string()).unwrap();
    let report = run("cat a.txt; ls /skills").await.unwrap();
    assert_eq!(report.stdout.text, "kept\npdf\n");
    assert_ne!(workspace.container_id().unwrap(), first);
}
