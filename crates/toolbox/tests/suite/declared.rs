//! Scripts declared as typed tools.

use super::support::{RunningToolbox, names, native, text};
use prowess_sandbox::Policy;
use prowess_testkit::SkillFixture;
use prowess_toolbox::ToolboxOptions;
use serde_json::{Value, json};
use std::time::Duration;

const SHOW: &str = "import sys, os, json\nprint(sys.argv[1:])\nprint(os.environ['PROWESS_ARGS'])";

/// A skill whose tool prints its arguments.
fn show() -> SkillFixture {
    SkillFixture::new("show-it")
        .field(
            "tools",
            "{args: {description: Show the arguments., script: scripts/show.py, args: {file: string, \
             width: {type: integer, description: In pixels., default: 640}, format: {enum: [png, gif]}, \
             loud: {type: boolean, required: false}, tags: {type: array, required: false}}}}",
        )
        .file("scripts/show.py", SHOW)
}

/// A skill with one tool without arguments, by this script.
fn one(script: &str, content: &str, executable: bool) -> SkillFixture {
    let tool = format!("{{go: {{description: Go., script: {script}}}}}");
    let fixture = SkillFixture::new("one").field("tools", &tool);
    match executable {
        true => fixture.script(script, content.to_owned()),
        false => fixture.file(script, content.to_owned()),
    }
}

async fn go(fixture: SkillFixture) -> String {
    let running = RunningToolbox::new(&[fixture]).await;
    running.load("one").await;
    let outcome = running.call("one__go", json!({})).await;
    text(&outcome).to_owned()
}

#[tokio::test]
async fn an_optional_argument_that_is_null_is_left_out() {
    let running = RunningToolbox::new(&[show()]).await;
    running.load("show-it").await;
    let given = json!({ "file": "a", "format": "png" });
    let all = json!({ "file": "a", "format": "png", "width": null, "loud": null, "tags": null });
    let given = running.call("show_it__args", given).await;
    let all = running.call("show_it__args", all).await;
    assert!(!all.is_error, "{}", text(&all));
    assert_eq!(text(&all), text(&given));
}

#[tokio::test]
async fn a_tool_without_a_description_is_described_by_its_script() {
    let skill = SkillFixture::new("one")
        .field("tools", "{go: {script: scripts/go.py}}")
        .file("scripts/go.py", "print('gone')");
    let running = RunningToolbox::new(&[skill]).await;
    running.load("one").await;
    let tools = running.toolbox.tools();
    let go = tools.iter().find(|tool| tool.name == "one__go").unwrap();
    assert!(
        go.description
            .contains("Run the bundled script scripts/go.py."),
        "{}",
        go.description
    );
    let outcome = running.call("one__go", json!({})).await;
    assert_eq!(text(&outcome), "gone");
}

#[tokio::test]
async fn a_slip_in_the_name_of_a_tool_is_answered_with_the_right_name() {
    let running = RunningToolbox::new(&[show()]).await;
    let outcome = running.call("show_it__arg", json!({})).await;
    let text = text(&outcome);
    assert!(text.contains("Did you mean `show_it__args`?"), "{text}");
}

#[tokio::test]
async fn a_declared_tool_appears_when_its_skill_is_loaded() {
    let running = RunningToolbox::new(&[show()]).await;
    let before = names(&running.toolbox);
    assert!(!before.contains(&"show_it__args".to_owned()));
    let early = running.call("show_it__args", json!({ "file": "a" })).await;
    assert_eq!(
        text(&early),
        "Error: `show_it__args` belongs to the skill `show-it`; load that skill first"
    );
    let loaded = running.load("show-it").await;
    assert!(
        text(&loaded).ends_with("Tools now available: `show_it__args`"),
        "{}",
        text(&loaded)
    );
    let after = running.toolbox.tools();
    // The earlier tool list stays a prefix, so that prompt caches stay valid.
    assert_eq!(names(&running.toolbox)[..before.len()], before);
    insta::assert_json_snapshot!(after.last().unwrap(), @r#"
    {
      "name": "show_it__args",
      "description": "Show the arguments.",
      "input_schema": {
        "type": "object",
        "properties": {
          "file": {
            "type": "string"
          },
          "width": {
            "type": "integer",
            "description": "In pixels.",
            "default": 640
          },
          "format": {
            "type": "string",
            "enum": [
              "png",
              "gif"
            ]
          },
          "loud": {
            "type": "boolean"
          },
          "tags": {
            "type": "array"
          }
        },
        "required": [
          "file",
          "format"
        ],
        "additionalProperties": false
      }
    }
    "#);
}

#[tokio::test]
async fn arguments_go_in_declared_order_with_defaults_and_empty_places() {
    let running = RunningToolbox::new(&[show()]).await;
    running.load("show-it").await;
    let mut seen = String::new();
    for input in [
        json!({ "format": "gif", "file": "a b" }),
        json!({ "file": "", "width": 5, "format": "png", "loud": true, "tags": ["x", 1] }),
        json!({ "file": "f", "format": "png", "tags": [] }),
    ] {
        let outcome = running.call("show_it__args", input).await;
        assert_eq!(outcome.skill.as_deref(), Some("show-it"));
        seen.push_str(text(&outcome));
        seen.push('\n');
    }
    insta::assert_snapshot!(seen, @r#"
    ['a b', '640', 'gif']
    {"file":"a b","width":640,"format":"gif"}
    ['', '5', 'png', 'true', '["x",1]']
    {"file":"","width":5,"format":"png","loud":true,"tags":["x",1]}
    ['f', '640', 'png', '', '[]']
    {"file":"f","width":640,"format":"png","tags":[]}
    "#);
}

#[tokio::test]
async fn the_call_is_shown_natively_as_the_command_that_was_run() {
    let running = RunningToolbox::new(&[show()]).await;
    running.load("show-it").await;
    let input = json!({ "file": "it's", "format": "gif" });
    let outcome = running.call("show_it__args", input).await;
    insta::assert_json_snapshot!(native(&outcome)["input"], @r#"
    {
      "command": "python3 /skills/show-it/scripts/show.py 'it'\\''s' 640 gif"
    }
    "#);
}

#[tokio::test]
async fn the_interpreter_is_found_by_ending_by_first_line_or_by_the_file_itself() {
    let sh = "[ -n \"$BASH_VERSION\" ] && echo bash";
    for (script, content, executable, expected) in [
        ("a.py", "print('python')", false, "python"),
        ("a.sh", sh, false, "bash"),
        ("a.bash", sh, false, "bash"),
        ("a.js", "console.log('node')", false, "node"),
        (
            "a.mjs",
            "import fs from 'fs'; console.log('node')",
            false,
            "node",
        ),
        (
            "a",
            "#!/usr/bin/env python3\nprint('first line')",
            false,
            "first line",
        ),
        ("a", "#!/bin/sh\necho itself", true, "itself"),
    ] {
        assert_eq!(
            go(one(script, content, executable)).await,
            expected,
            "{script}"
        );
    }
}

#[tokio::test]
async fn what_cannot_be_run_states_why() {
    let why = go(one("a.rb", "puts 1", false)).await;
    insta::assert_snapshot!(why, @"Error: `a.rb` cannot be run: it is not executable, and neither its ending (.py, .sh, .bash, .js, .mjs) nor a first line `#!…` names an interpreter");
    let why = go(one("a", "#!/usr/bin/env no-such-thing\n", false)).await;
    insta::assert_snapshot!(why, @"
    Error (exit=127)
    [stderr]
    no-such-thing: command not found
    ");
}

#[tokio::test]
async fn a_failure_is_reported_with_its_code_and_all_its_output() {
    let script = "import sys\nprint('half done')\nprint('no paper', file=sys.stderr)\nsys.exit(4)";
    insta::assert_snapshot!(go(one("a.py", script, false)).await, @"
    Error (exit=4)
    half done
    [stderr]
    no paper
    ");
}

#[tokio::test]
async fn a_script_out_of_time_is_reported_as_such() {
    let options = ToolboxOptions {
        timeout: Some(Duration::from_millis(300)),
        ..ToolboxOptions::default()
    };
    let fixture = one("a.py", "import time\ntime.sleep(60)", false);
    let running = RunningToolbox::with(&[fixture], options, Policy::default()).await;
    running.load("one").await;
    let outcome = running.call("one__go", json!({})).await;
    assert!(
        text(&outcome).starts_with("Error (timeout)"),
        "{}",
        text(&outcome)
    );
}

#[tokio::test]
async fn any_script_can_be_run_by_the_name_that_other_systems_use() {
    let running = RunningToolbox::new(&[show()]).await;
    let input =
        json!({ "skill_name": "show-it", "script_name": "scripts/show.py", "args": ["-v", 1] });
    let outcome = running.call("run_skill_script", input).await;
    assert!(
        text(&outcome).starts_with("['-v', '1']"),
        "{}",
        text(&outcome)
    );
}

#[tokio::test]
async fn files_a_tool_makes_are_its_outputs() {
    let running =
        RunningToolbox::new(&[one("a.py", "open('made.csv', 'w').write('a,b')", false)]).await;
    running.load("one").await;
    let outcome = running
        .call("one__go", Value::Object(Default::default()))
        .await;
    assert_eq!(outcome.outputs[0].path, "made.csv");
    assert_eq!(
        text(&outcome),
        "[files: /mnt/data/made.csv (text/csv, 3 bytes)]"
    );
}
