//! Skills that need others, names that never collide, skills that change.

use super::support::{RunningToolbox, members, names, skill, text, toolbox_without_sandbox};
use prowess_sandbox::Policy;
use prowess_skill::Skill;
use prowess_testkit::SkillFixture;
use prowess_toolbox::{Member, Toolbox, ToolboxOptions, Workspace};
use serde_json::json;
use std::sync::Arc;

fn with_tool(name: &str, script: &str) -> SkillFixture {
    SkillFixture::new(name)
        .field("tools", "{go: {description: Go., script: go.py}}")
        .file("go.py", script.to_owned())
}

async fn load(toolbox: &Toolbox, name: &str) -> prowess_toolbox::ToolOutcome {
    toolbox
        .call("load_skill", &json!({ "name": name }), None)
        .await
}

#[tokio::test]
async fn required_skills_are_loaded_first_and_stand_before_the_instructions() {
    let running = RunningToolbox::new(&[
        SkillFixture::new("report")
            .field("requires", "[chart, table]")
            .body("Report."),
        with_tool("chart", "print('chart')")
            .field("requires", "table")
            .body("Chart."),
        SkillFixture::new("table").body("Table."),
    ])
    .await;
    let outcome = running.load("report").await;
    insta::assert_snapshot!(text(&outcome), @"
    ## Required skill: table

    Table.

    ## Required skill: chart

    Chart.

    ## Skill: report

    Report.

    ---
    Tools now available: `chart__go`
    ");
    assert_eq!(outcome.loaded_skills, ["table", "chart", "report"]);
    assert_eq!(text(&running.call("chart__go", json!({})).await), "chart");
}

#[tokio::test]
async fn what_is_loaded_already_is_not_repeated_for_another_skill() {
    let toolbox = toolbox_without_sandbox(
        &[
            SkillFixture::new("a").field("requires", "base").body("A."),
            SkillFixture::new("b").field("requires", "base").body("B."),
            SkillFixture::new("base").body("Base."),
        ],
        ToolboxOptions::default(),
    );
    assert!(text(&load(&toolbox, "a").await).contains("Base."));
    let second = load(&toolbox, "b").await;
    assert_eq!(text(&second), "B.");
    assert_eq!(second.loaded_skills, ["b"]);
}

#[tokio::test]
async fn a_circle_or_a_gap_is_reported_with_its_chain() {
    let toolbox = toolbox_without_sandbox(
        &[
            SkillFixture::new("a").field("requires", "b"),
            SkillFixture::new("b").field("requires", "c"),
            SkillFixture::new("c").field("requires", "a"),
            SkillFixture::new("d").field("requires", "e"),
            SkillFixture::new("e").field("requires", "gone"),
            SkillFixture::new("self").field("requires", "self"),
        ],
        ToolboxOptions::default(),
    );
    let mut texts = Vec::new();
    for name in ["a", "d", "self"] {
        let outcome = load(&toolbox, name).await;
        assert!(outcome.is_error && outcome.loaded_skills.is_empty());
        texts.push(text(&outcome).to_owned());
    }
    insta::assert_snapshot!(texts.join("\n"), @"
    Error: skills that require each other cannot be loaded: a → b → c → a
    Error: a required skill is missing: d → e → gone
    Error: skills that require each other cannot be loaded: self → self
    ");
    assert!(toolbox.loaded_skills().is_empty());
}

#[tokio::test]
async fn tools_of_several_skills_and_of_the_client_never_collide() {
    let options = ToolboxOptions {
        code_execution: true,
        reserved_names: vec!["a_b__go".into()],
        ..ToolboxOptions::default()
    };
    let fixtures = [with_tool("a-b", "print(1)"), with_tool("a_b", "print(2)")];
    let running = RunningToolbox::with(&fixtures, options, Policy::default()).await;
    running.load("a_b").await;
    running.load("a-b").await;
    assert_eq!(names(&running.toolbox)[3..], ["a_b__go_3", "a_b__go_2"]);
    assert_eq!(text(&running.call("a_b__go_2", json!({})).await), "1");
    assert_eq!(text(&running.call("a_b__go_3", json!({})).await), "2");
}

#[test]
fn two_skills_of_one_name_are_refused_by_their_ids() {
    let member = |id: &str| Member {
        skill: Arc::new(skill(&SkillFixture::new("pdf"))),
        id: Some(id.to_owned()),
        title: None,
    };
    let both = vec![member("skill_1"), member("skill_2")];
    let error = Toolbox::new(both, None, ToolboxOptions::default()).unwrap_err();
    assert_eq!(error.code(), "same-name");
    insta::assert_snapshot!(error, @r#"two skills are named "pdf" (skill_1 and skill_2); select only one of them"#);
}

#[test]
fn code_without_a_sandbox_is_refused() {
    let options = ToolboxOptions {
        code_execution: true,
        ..ToolboxOptions::default()
    };
    let error = Toolbox::new(Vec::new(), None, options).unwrap_err();
    assert_eq!(error.code(), "sandbox-unavailable");
}

#[tokio::test]
async fn a_conversation_that_goes_on_has_its_tools_again_without_loading() {
    let running = RunningToolbox::new(&[with_tool("a", "print(1)")]).await;
    let loaded = ["a".to_owned(), "gone".to_owned()];
    let problems = running.toolbox.restore_loaded(&loaded).await;
    assert_eq!(problems, ["there is no skill `gone`. Available: `a`"]);
    assert_eq!(running.toolbox.loaded_skills(), ["a"]);
    assert_eq!(text(&running.call("a__go", json!({})).await), "1");
    assert!(text(&running.load("a").await).contains("already loaded"));
}

#[tokio::test]
async fn a_changed_skill_is_what_runs_next_and_files_stay() {
    let running = RunningToolbox::new(&[with_tool("a", "print('old')")]).await;
    running.load("a").await;
    assert_eq!(text(&running.call("a__go", json!({})).await), "old");
    running
        .bash("mkdir -p d; echo kept > d/f; echo '#!/bin/sh' > d/run; chmod +x d/run")
        .await;
    let session = running.workspace.container_id();
    let changed = members(&[with_tool("a", "print('new')"), with_tool("b", "")]);
    running.toolbox.replace(changed).await.unwrap();
    assert_eq!(text(&running.call("a__go", json!({})).await), "new");
    assert_ne!(running.workspace.container_id(), session);
    assert_eq!(text(&running.bash("cat d/f").await), "kept");
    running.toolbox.replace(Vec::new()).await.unwrap();
    assert!(running.toolbox.loaded_skills().is_empty());
    assert!(!running.toolbox.has_tool("a__go"));
}

#[tokio::test]
async fn a_session_shows_only_skills_that_were_needed() {
    let (sandbox, _folder) = super::support::sandbox().await;
    let many: Vec<SkillFixture> = (0..30)
        .map(|n| with_tool(&format!("s{n}"), "print(1)"))
        .collect();
    let workspace = Workspace::for_skills(sandbox, "someone", Vec::new(), Policy::default());
    let options = ToolboxOptions {
        code_execution: true,
        ..ToolboxOptions::default()
    };
    let toolbox = Toolbox::new(members(&many), Some(workspace), options).unwrap();
    let ls = async || {
        let input = json!({ "command": "ls /skills 2>/dev/null" });
        let outcome = toolbox.call("bash_code_execution", &input, None).await;
        text(&outcome).to_owned()
    };
    ls().await;
    load(&toolbox, "s7").await;
    load(&toolbox, "s9").await;
    assert_eq!(ls().await, "s7\ns9");
}

#[tokio::test]
async fn a_skill_of_any_name_can_be_run() {
    let text_of = "---\nname: Größe ändern/..\ndescription: Odd.\ntools: {go: {description: Go., script: go.sh}}\n---\n";
    let files = [
        ("SKILL.md", bytes::Bytes::from(text_of), false),
        ("go.sh", bytes::Bytes::from("echo went"), false),
    ];
    let bundle =
        prowess_skill::Bundle::from_files(files, &prowess_skill::BundleLimits::default()).unwrap();
    let odd = Skill::load(bundle, &prowess_skill::LoadOptions::default())
        .skill
        .unwrap();
    let (sandbox, _folder) = super::support::sandbox().await;
    let workspace = Workspace::for_skills(sandbox, "someone", Vec::new(), Policy::default());
    let toolbox =
        Toolbox::new(vec![odd.into()], Some(workspace), ToolboxOptions::default()).unwrap();
    load(&toolbox, "Größe ändern/..").await;
    let tool = names(&toolbox).pop().unwrap();
    assert_eq!(text(&toolbox.call(&tool, &json!({}), None).await), "went");
}

#[tokio::test]
async fn calls_run_side_by_side_on_other_threads() {
    let running = Arc::new(RunningToolbox::new(&[with_tool("a", "print(1)")]).await);
    running.load("a").await;
    let calls = (0..4).map(|_| {
        let running = Arc::clone(&running);
        tokio::spawn(async move { running.call("a__go", json!({})).await })
    });
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(text(&call.await.unwrap()), "1");
    }
}

#[tokio::test]
async fn revealed_tools_are_there_from_the_start_and_load_their_skill_when_called() {
    let running = RunningToolbox::new(&[
        SkillFixture::new("words"),
        SkillFixture::new("declares")
            .field("tools", "{say: {description: Says., script: say.sh}}")
            .file("say.sh", "echo said"),
        SkillFixture::new("has-functions").file(
            "tools.py",
            "from prowess import tool\n@tool\ndef twice(x: int) -> int:\n    'Twice.'\n    return x * 2\n",
        ),
    ])
    .await;
    assert!(running.toolbox.show_skill_tools().await.is_empty());
    let own = ["declares__say", "has_functions__twice"].map(String::from);
    assert!(names(&running.toolbox).ends_with(&own));
    assert!(running.toolbox.loaded_skills().is_empty());

    assert_eq!(
        text(&running.call("declares__say", json!({})).await),
        "said"
    );
    let twice = running
        .call("has_functions__twice", json!({ "x": 4 }))
        .await;
    assert_eq!(text(&twice), "8");
    assert_eq!(
        running.toolbox.loaded_skills(),
        ["declares", "has-functions"]
    );
    assert!(
        names(&running.toolbox).ends_with(&own),
        "each is there once"
    );

    let members = super::support::members(&[SkillFixture::new("declares")
        .field("tools", "{other: {description: Says., script: say.sh}}")
        .file("say.sh", "echo said")]);
    running.toolbox.replace(members).await.unwrap();
    assert!(names(&running.toolbox).contains(&"declares__other".to_owned()));
}
