//! What other toolboxes for skills promise or do, feature by feature: it works here.
//!
//! The first table is the `llm` plugin's, with what it promised and does not do; the
//! second is that of an agent framework with skills. These are the rows that need neither
//! Python nor a network; all rows, with the test or the reason of each, are in
//! `python/prowess/tests/test_rivals.py`.

use super::support::{RunningToolbox, names, skill, text};
use prowess_skill::fields::allowed_tools::AllowedTools;
use prowess_skill::{ArchiveLayout, BundleLimits, LoadOptions as Loading, Skill};
use prowess_source::{LabelledSource, SearchBounds};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{LoadToolStyle, SkillSnapshot, SkillSources, Toolbox, ToolboxOptions};
use serde_json::json;
use std::path::Path;

fn look(paths: &[&Path]) -> SkillSnapshot {
    let labelled = |path: &&Path| LabelledSource {
        path: path.to_path_buf(),
        label: None,
    };
    let sources = paths.iter().map(labelled).collect();
    SkillSources::new(sources, SearchBounds::default(), BundleLimits::default()).refresh()
}

fn loaded(text: &str) -> Option<Skill> {
    let options = Loading {
        fallback_name: Some("fallback"),
        ..Loading::default()
    };
    Skill::from_text(text, &options).skill
}

fn described(frontmatter: &str) -> String {
    let text = format!("---\nname: a\n{frontmatter}\n---\nBody.\n");
    loaded(&text)
        .unwrap_or_else(|| panic!("{text}"))
        .description
}

#[tokio::test]
async fn a_source_is_one_skill_or_a_folder_of_them_or_an_archive_and_a_missing_one_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let one = SkillFixture::new("one")
        .file("sub/x.txt", "x")
        .write_to(folder.path());
    SkillFixture::new("two").write_to(&folder.path().join("deep/deeper"));
    assert_eq!(look(&[&one]).members.len(), 1);
    assert_eq!(look(&[&one.join("SKILL.md")]).members.len(), 1);
    assert_eq!(look(&[folder.path()]).members.len(), 2);

    let zip = folder.path().join("one.zip");
    let member = look(&[&one]).members.remove(0);
    let packed = member.skill.bundle.to_zip(&ArchiveLayout::FLAT).unwrap();
    std::fs::write(&zip, packed).unwrap();
    let from_zip = look(&[&zip]).members;
    assert_eq!(
        from_zip[0].skill.manifest.digest(),
        member.skill.manifest.digest()
    );
    let missing = look(&[Path::new("/no/such/place")]);
    assert_eq!(missing.problems[0].code, "source-not-found");
}

#[tokio::test]
async fn the_plugins_tools_take_a_path_and_one_call_reads_any_file_before_or_after_loading() {
    let fixture = SkillFixture::new("pdf").file("scripts/deep/fill.py", "print(1)");
    let options = ToolboxOptions {
        load_style: LoadToolStyle::PerSkill,
        ..ToolboxOptions::default()
    };
    let toolbox = super::support::toolbox_without_sandbox(&[fixture], options);
    let tool = toolbox.tools().remove(0);
    assert_eq!(tool.name, "load_skill_pdf");
    assert!(tool.description.contains("Does one thing well."));
    let input = json!({ "path": "scripts/deep/fill.py" });
    let file = toolbox.call(&tool.name, &input, None).await;
    assert_eq!(text(&file), "print(1)");
    let body = toolbox.call(&tool.name, &json!({}), None).await;
    assert!(
        text(&body).contains("scripts/deep/fill.py"),
        "nested files are listed"
    );
    let again = toolbox.call(&tool.name, &json!({}), None).await;
    assert!(text(&again).contains("already loaded"));
}

#[test]
fn ordinary_yaml_means_what_it_states() {
    for (written, expected) in [
        ("description: >-\n  folded\n  text", "folded text"),
        ("description: |-\n  line\n\n  line", "line\n\nline"),
        (
            "description: plain\n  over two lines",
            "plain over two lines",
        ),
        ("description: x --- y", "x --- y"),
        ("description: text # a comment", "text"),
        (r#"description: "say \"hi\"""#, r#"say "hi""#),
        (
            "description: about nested\nmetadata:\n  description: inner",
            "about nested",
        ),
        (
            "description: flow\nmetadata: {a: 1, b: ['x, y', z]}",
            "flow",
        ),
    ] {
        assert_eq!(described(written), expected, "{written}");
    }
    let quoted = loaded("---\nname: \"a\"\ndescription: d\n---\n").unwrap();
    assert_eq!(quoted.name, "a");
    let marked = loaded("\u{feff}---\nname: a\ndescription: d\n---\n").unwrap();
    assert_eq!(marked.name, "a");
}

#[test]
fn a_skill_can_be_text_alone_and_then_declares_no_tools() {
    let skill = loaded(
        "---\nname: a\ndescription: d\nlicense: MIT\ncompatibility: any\nmetadata: {k: v}\n---\nBody.\n",
    );
    let skill = skill.unwrap();
    assert_eq!(skill.body.trim(), "Body.");
    assert_eq!(skill.license.as_deref(), Some("MIT"));
    assert_eq!(skill.compatibility.as_deref(), Some("any"));
    assert_eq!(skill.metadata["k"], "v");
    assert!(
        loaded("---\nname: a\ndescription: d\ntools: {t: {description: d, script: s}}\n---\n")
            .is_none()
    );
}

#[test]
fn allowed_tools_is_read_in_each_of_its_spellings() {
    for written in [
        "Read Bash(git diff *)",
        "Read, Bash(git diff *)",
        "[Read, Bash(git diff *)]",
    ] {
        let read = skill(&SkillFixture::new("a").field("allowed-tools", written));
        let expected = ["Read", "Bash(git diff *)"].map(String::from).to_vec();
        assert_eq!(read.allowed_tools, AllowedTools::Only(expected));
    }
}

#[tokio::test]
async fn the_three_modes_work_side_by_side_and_each_tool_bears_its_skills_name() {
    let running = RunningToolbox::new(&[
        SkillFixture::new("mode-a").body("Only words."),
        SkillFixture::new("mode-b").file(
            "tools.py",
            "from prowess import tool\n@tool\ndef b(x: int) -> int:\n    'B.'\n    return x * 2\n",
        ),
        SkillFixture::new("mode-c")
            .field(
                "tools",
                "{c: {description: C., script: c.sh, args: {x: {type: string, enum: [y, z]}}}}",
            )
            .file("c.sh", "echo \"$1\"; echo aside >&2; exit 5"),
    ])
    .await;
    assert_eq!(text(&running.load("mode-a").await), "Only words.");
    let b = running.load("mode-b").await;
    assert!(text(&b).contains("Tools now available: `mode_b__b`"));
    running.load("mode-c").await;
    assert!(names(&running.toolbox).ends_with(&["mode_b__b".to_owned(), "mode_c__c".to_owned()]));
    assert_eq!(
        text(&running.call("mode_b__b", json!({ "x": 21 })).await),
        "42"
    );
    let failed = running.call("mode_c__c", json!({ "x": "y" })).await;
    assert_eq!(text(&failed), "Error (exit=5)\ny\n[stderr]\naside");
}

#[tokio::test]
async fn later_sources_win_and_report_it_and_the_catalogue_is_in_the_tool() {
    let (team, own) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    SkillFixture::new("a")
        .field("description", "Of the team.")
        .write_to(team.path());
    SkillFixture::new("a")
        .field("description", "My own.")
        .write_to(own.path());
    let refreshed = look(&[team.path(), own.path()]);
    assert_eq!(refreshed.shadowed.len(), 1);
    let toolbox = Toolbox::new(refreshed.members, None, ToolboxOptions::default()).unwrap();
    let tool = toolbox.tools().remove(0);
    assert!(
        tool.description.ends_with("- a: My own."),
        "{}",
        tool.description
    );
    assert_eq!(
        tool.input_schema["properties"]["name"]["enum"],
        json!(["a"])
    );
}
