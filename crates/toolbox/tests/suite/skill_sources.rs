//! Folders of skills, seen again when they change.

use prowess_skill::BundleLimits;
use prowess_source::{LabelledSource, SearchBounds};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{SkillSnapshot, SkillSources, Toolbox, ToolboxOptions};
use serde_json::json;
use std::fs;
use std::path::Path;

fn skill_sources(folders: &[&Path]) -> SkillSources {
    let sources = folders.iter().map(|path| LabelledSource {
        path: path.to_path_buf(),
        label: None,
    });
    SkillSources::new(
        sources.collect(),
        SearchBounds::default(),
        BundleLimits::default(),
    )
}

fn names(refreshed: &SkillSnapshot) -> Vec<&str> {
    let members = refreshed.members.iter();
    members.map(|member| member.skill.name.as_str()).collect()
}

#[test]
fn what_is_added_changed_or_removed_is_seen_at_the_next_look() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    SkillFixture::new("a").write_to(root);
    let mut sources = skill_sources(&[root]);
    let first = sources.refresh();
    assert!(first.changed);
    assert_eq!(names(&first), ["a"]);
    let same = sources.refresh();
    assert!(!same.changed);
    // What did not change was not even read again.
    assert!(std::sync::Arc::ptr_eq(
        &first.members[0].skill,
        &same.members[0].skill
    ));

    SkillFixture::new("b").write_to(root);
    let more = sources.refresh();
    assert!(more.changed);
    assert_eq!(names(&more), ["a", "b"]);

    SkillFixture::new("a")
        .body("Another body, and a longer one.")
        .write_to(root);
    let changed = sources.refresh();
    assert!(changed.changed);
    assert!(changed.members[0].skill.body.contains("Another body"));

    fs::remove_dir_all(root.join("a")).unwrap();
    assert_eq!(names(&sources.refresh()), ["b"]);
}

#[test]
fn a_place_that_is_no_skill_is_reported_and_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    SkillFixture::new("good").write_to(folder.path());
    fs::create_dir(folder.path().join("bad")).unwrap();
    fs::write(folder.path().join("bad/SKILL.md"), "no frontmatter").unwrap();
    let gone = folder.path().join("gone");
    let refreshed = skill_sources(&[folder.path(), &gone]).refresh();
    assert_eq!(names(&refreshed), ["good"]);
    let mut places: Vec<_> = refreshed
        .problems
        .iter()
        .map(|p| p.path.file_name().unwrap())
        .collect();
    places.sort();
    assert_eq!(places, ["bad", "gone"]);
}

#[test]
fn of_two_skills_with_one_name_the_later_source_counts_and_the_other_is_reported() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    SkillFixture::new("a").body("first").write_to(one.path());
    SkillFixture::new("a").body("second").write_to(two.path());
    let refreshed = skill_sources(&[one.path(), two.path()]).refresh();
    assert_eq!(refreshed.members[0].skill.body.trim(), "second");
    assert_eq!(refreshed.shadowed[0].hidden, one.path().join("a"));
}

#[tokio::test]
async fn a_toolbox_takes_what_its_sources_hold() {
    let folder = tempfile::tempdir().unwrap();
    SkillFixture::new("a").write_to(folder.path());
    let mut sources = skill_sources(&[folder.path()]);
    let toolbox = Toolbox::new(sources.refresh().members, None, ToolboxOptions::default()).unwrap();
    SkillFixture::new("b").body("New.").write_to(folder.path());
    toolbox.replace(sources.refresh().members).await.unwrap();
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "b" }), None)
        .await;
    assert_eq!(outcome.text_content(), "New.");
}
