//! LiteLLM's tools, doing what they say.

use super::support::{RunningToolbox, names, native, text};
use prowess_sandbox::Policy;
use prowess_testkit::SkillFixture;
use prowess_toolbox::ToolboxOptions;
use serde_json::json;

const ECHO: &str = "import sys, os\nprint(sys.stdin.read(), os.environ['PROWESS_ARGS'])";

async fn running(fixtures: &[SkillFixture]) -> RunningToolbox {
    let options = ToolboxOptions {
        litellm: true,
        ..ToolboxOptions::default()
    };
    RunningToolbox::with(fixtures, options, Policy::default()).await
}

#[tokio::test]
async fn code_runs_with_the_skills_modules_importable() {
    let gif = SkillFixture::new("gif").file("core/builder.py", "def build(): return 'built'\n");
    let running = running(&[gif]).await;
    assert_eq!(
        names(&running.toolbox),
        ["load_skill", "litellm_skill_gif", "litellm_code_execution"]
    );
    let code = "from __future__ import annotations\nfrom core.builder import build\nprint(build())\nopen('a.gif', 'wb').write(b'GIF89a')";
    let outcome = running
        .call("litellm_code_execution", json!({ "code": code }))
        .await;
    assert!(text(&outcome).starts_with("built"), "{}", text(&outcome));
    assert_eq!(outcome.outputs[0].mime_type, "image/gif");
    assert_eq!(outcome.native.tool(), "bash_code_execution");
    let wrong = running
        .call("litellm_code_execution", json!({ "source": code }))
        .await;
    assert_eq!(text(&wrong), "Error: argument `code` is missing");
}

#[tokio::test]
async fn a_skills_tool_runs_what_the_skill_is_about_with_the_arguments() {
    let declared = SkillFixture::new("declared")
        .field(
            "tools",
            "{go: {description: Go., script: x.py, args: {to: string}}}",
        )
        .file("x.py", "import sys\nprint('to', sys.argv[1])")
        .file("y.py", "");
    let main = SkillFixture::new("main")
        .file("scripts/main.py", ECHO)
        .file("scripts/other.py", "");
    let only = SkillFixture::new("only").file("lib/make.py", ECHO);
    let none = SkillFixture::new("none")
        .file("a.py", "")
        .file("b.py", "")
        .body("Read me.");
    let running = running(&[declared, main, only, none]).await;
    let mut seen = String::new();
    for name in ["declared", "main", "only", "none"] {
        let tool = format!("litellm_skill_{name}");
        let outcome = running.call(&tool, json!({ "to": "you" })).await;
        assert_eq!(outcome.loaded_skills, [name]);
        seen.push_str(&format!(
            "## {}\n{}\n",
            native(&outcome)["input"],
            text(&outcome)
        ));
    }
    insta::assert_snapshot!(seen, @r#"
    ## {"command":"python3 /skills/declared/x.py you"}
    to you
    ## {"command":"python3 /skills/main/scripts/main.py"}
    {"to":"you"} {"to":"you"}
    ## {"command":"python3 /skills/only/lib/make.py"}
    {"to":"you"} {"to":"you"}
    ## {"command":"view","path":"/skills/none/SKILL.md"}
    ---
    name: none
    description: Does one thing well. Use it when asked to.
    ---

    Read me.
    "#);
}

#[tokio::test]
async fn the_schema_of_a_skills_tool_is_what_the_skill_declares() {
    let declared = SkillFixture::new("said").field(
        "metadata",
        "{parameters: {type: object, properties: {n: {type: integer}}, required: [n]}}",
    );
    let declared = declared.file("main.py", ECHO);
    let running = running(&[declared]).await;
    let tool = running.toolbox.tools().swap_remove(1);
    assert_eq!(tool.input_schema["required"], json!(["n"]));
    let outcome = running
        .call("litellm_skill_said", json!({ "n": "many" }))
        .await;
    insta::assert_snapshot!(text(&outcome), @r#"Error: argument `n` must be an integer, not a string "many""#);
}
