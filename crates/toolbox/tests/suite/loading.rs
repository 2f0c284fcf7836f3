//! Loading skills and reading their files: needs no sandbox.

use super::support::{names, native, text, toolbox_without_sandbox};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{ContentPart, ToolboxLimits, ToolboxOptions};
use serde_json::json;

fn pdf() -> SkillFixture {
    SkillFixture::new("pdf")
        .body("# PDF\n\nFill forms.\n")
        .file("references/forms.md", "About forms.\n")
        .file("logo.png", b"\x89PNG\r\n\x1a\n\0\0".as_slice())
}

#[tokio::test]
async fn a_skill_is_loaded_once_and_then_only_mentioned() {
    let toolbox = toolbox_without_sandbox(&[pdf()], ToolboxOptions::default());
    let input = json!({ "name": "pdf" });
    let first = toolbox.call("load_skill", &input, None).await;
    insta::assert_snapshot!(text(&first), @"
    # PDF

    Fill forms.

    ---
    Files of this skill, at /skills/pdf:
    SKILL.md (94 bytes)
    logo.png (10 bytes)
    references/forms.md (13 bytes)
    ");
    assert_eq!(first.loaded_skills, ["pdf"]);
    assert_eq!(first.skill.as_deref(), Some("pdf"));

    let second = toolbox.call("load_skill", &input, None).await;
    insta::assert_snapshot!(text(&second), @"The skill `pdf` is already loaded: its instructions are above. Load it once more to read them again.");
    assert!(!second.is_error && second.loaded_skills.is_empty());

    let third = toolbox.call("load_skill", &input, None).await;
    assert!(text(&third).starts_with("# PDF"), "{}", text(&third));
}

#[tokio::test]
async fn instructions_have_the_path_of_the_skills_folder() {
    let body = "Run ${CLAUDE_SKILL_DIR}/a.py, then read {baseDir}/b.md.";
    let toolbox = toolbox_without_sandbox(
        &[SkillFixture::new("pdf").body(body)],
        ToolboxOptions::default(),
    );
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "pdf" }), None)
        .await;
    assert_eq!(
        text(&outcome),
        "Run /skills/pdf/a.py, then read /skills/pdf/b.md."
    );
}

#[tokio::test]
async fn a_skill_is_found_by_the_name_that_other_skills_of_its_plugin_use() {
    let toolbox = toolbox_without_sandbox(&[pdf()], ToolboxOptions::default());
    let load = json!({ "name": "documents:pdf" });
    let purpose = toolbox.call_purpose("load_skill", &load);
    assert_eq!(
        purpose,
        toolbox.call_purpose("load_skill", &json!({ "name": "pdf" }))
    );
    let loaded = toolbox.call("load_skill", &load, None).await;
    assert_eq!(loaded.loaded_skills, ["pdf"]);
    let file = json!({ "name": "documents:pdf", "path": "references/forms.md" });
    let file = toolbox.call("load_skill", &file, None).await;
    assert!(text(&file).contains("About forms."), "{}", text(&file));
    let other = json!({ "name": "documents:docx" });
    let other = toolbox.call("load_skill", &other, None).await;
    assert!(
        text(&other).contains("there is no skill `docx`"),
        "{}",
        text(&other)
    );
}

#[tokio::test]
async fn a_load_looks_like_a_native_view_of_the_skill() {
    let toolbox = toolbox_without_sandbox(
        &[SkillFixture::new("pdf").body("# PDF\n\nFill.")],
        ToolboxOptions::default(),
    );
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "pdf" }), None)
        .await;
    insta::assert_json_snapshot!(native(&outcome), @r##"
    {
      "name": "text_editor_code_execution",
      "input": {
        "command": "view",
        "path": "/skills/pdf/SKILL.md"
      },
      "content": {
        "type": "text_editor_code_execution_view_result",
        "file_type": "text",
        "content": "# PDF\n\nFill.",
        "start_line": 1,
        "num_lines": 3,
        "total_lines": 3
      }
    }
    "##);
}

#[tokio::test]
async fn a_file_of_a_skill_is_the_same_bytes_however_its_path_is_written() {
    let toolbox = toolbox_without_sandbox(&[pdf()], ToolboxOptions::default());
    for path in [
        "references/forms.md",
        "./references/forms.md",
        "/skills/pdf/references/forms.md",
        "References/FORMS.md",
    ] {
        let input = json!({ "name": "pdf", "path": path });
        let outcome = toolbox.call("load_skill", &input, None).await;
        assert_eq!(text(&outcome), "About forms.\n", "{path}");
        let input = json!({ "skill_name": "pdf", "file_path": path });
        let outcome = toolbox.call("read_skill_resource", &input, None).await;
        assert_eq!(text(&outcome), "About forms.\n", "{path}");
    }
    assert!(toolbox.loaded_skills().is_empty());
}

#[tokio::test]
async fn a_file_that_is_not_text_comes_with_its_type() {
    let toolbox = toolbox_without_sandbox(&[pdf()], ToolboxOptions::default());
    let input = json!({ "name": "pdf", "path": "logo.png" });
    let outcome = toolbox.call("load_skill", &input, None).await;
    let [ContentPart::Binary { mime, data }] = outcome.content.as_slice() else {
        panic!("{outcome:?}")
    };
    assert_eq!((mime.as_str(), data.len()), ("image/png", 10));
    insta::assert_json_snapshot!(native(&outcome)["content"], @r#"
    {
      "type": "text_editor_code_execution_view_result",
      "file_type": "image",
      "content": "iVBORw0KGgoAAA==",
      "start_line": null,
      "num_lines": null,
      "total_lines": null
    }
    "#);
}

#[tokio::test]
async fn a_long_text_is_cut_and_the_cut_is_named() {
    let options = ToolboxOptions {
        limits: ToolboxLimits {
            text_bytes: 10,
            binary_bytes: 4,
            ..ToolboxLimits::default()
        },
        ..ToolboxOptions::default()
    };
    let toolbox = toolbox_without_sandbox(&[pdf()], options);
    let read = async |path: &str| {
        let input = json!({ "name": "pdf", "path": path });
        toolbox.call("load_skill", &input, None).await
    };
    let cut = read("references/forms.md").await;
    insta::assert_snapshot!(text(&cut), @"
    About form
    [references/forms.md is cut here: 10 of 13 bytes shown]
    ");
    let large = read("logo.png").await;
    assert!(large.is_error);
    insta::assert_snapshot!(text(&large), @"Error: `logo.png` is a binary file (image/png, 10 bytes) and larger than the 4 bytes that can be shown; read it with code");
}

#[tokio::test]
async fn what_is_not_there_is_answered_with_what_is() {
    let toolbox = toolbox_without_sandbox(
        &[pdf(), SkillFixture::new("docx")],
        ToolboxOptions::default(),
    );
    let mut texts = Vec::new();
    for input in [
        json!({ "name": "xlsx" }),
        json!({ "name": 7 }),
        json!({}),
        json!({ "name": "pdf", "path": "forms.md" }),
        json!({ "name": "pdf", "path": "references" }),
        json!({ "name": "pdf", "path": "../docx/SKILL.md" }),
        json!({ "name": "pdf", "path": ["a"] }),
    ] {
        let outcome = toolbox.call("load_skill", &input, None).await;
        assert!(outcome.is_error, "{input}");
        texts.push(text(&outcome).to_owned());
    }
    texts.push(text(&toolbox.call("laod_skill", &json!({}), None).await).to_owned());
    insta::assert_snapshot!(texts.join("\n"), @"
    Error: there is no skill `xlsx`. Available: `pdf`, `docx`
    Error: argument `name` must be a string
    Error: argument `name` is missing
    Error: `forms.md` does not exist in the skill `pdf`. Files: `SKILL.md`, `logo.png`, `references/forms.md`
    Error: `references` is a folder in the skill `pdf`. Files: `references/forms.md`
    Error: `../docx/SKILL.md` does not exist in the skill `pdf`. Files: `SKILL.md`, `logo.png`, `references/forms.md`
    Error: argument `path` must be a string
    Error: there is no tool `laod_skill`. Did you mean `load_skill`? Available: `load_skill`
    ");
}

#[tokio::test]
async fn a_skill_only_people_may_start_is_not_offered_and_cannot_be_loaded() {
    let private = SkillFixture::new("deploy").field("disable-model-invocation", "true");
    let toolbox = toolbox_without_sandbox(
        &[private, SkillFixture::new("pdf")],
        ToolboxOptions::default(),
    );
    let spec = &toolbox.tools()[0];
    assert_eq!(
        spec.input_schema["properties"]["name"]["enum"],
        json!(["pdf"])
    );
    assert!(!spec.description.contains("deploy"), "{}", spec.description);
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "deploy" }), None)
        .await;
    assert_eq!(
        text(&outcome),
        "Error: the skill `deploy` can only be invoked by a person"
    );
}

#[tokio::test]
async fn without_a_sandbox_a_skill_reports_what_of_it_is_missing() {
    let fixture = SkillFixture::new("gif")
        .field("tools", "{make: {description: Make., script: make.py}}")
        .file("make.py", "print(1)");
    let toolbox = toolbox_without_sandbox(&[fixture], ToolboxOptions::default());
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "gif" }), None)
        .await;
    assert!(!outcome.is_error);
    assert!(
        text(&outcome).contains("they need a sandbox"),
        "{}",
        text(&outcome)
    );
    assert_eq!(names(&toolbox), ["load_skill"]);
}
