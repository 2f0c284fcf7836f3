//! Folders of skills, seen again when they change.

use prowess_skill::Limits;
use prowess_source::{Bounds, Labelled};
use prowess_testkit::SkillFixture;
use prowess_toolbox::{Options, Refreshed, Shelf, Toolbox};
use serde_json::json;
use std::fs;
use std::path::Path;

fn shelf(folders: &[&Path]) -> Shelf {
    let sources = folders.iter().map(|path| Labelled {
        path: path.to_path_buf(),
        label: None,
    });
    Shelf::new(sources.collect(), Bounds::default(), Limits::default())
}

fn names(refreshed: &Refreshed) -> Vec<&str> {
    let members = refreshed.members.iter();
    members.map(|member| member.skill.name.as_str()).collect()
}

#[test]
fn what_is_added_changed_or_removed_is_seen_at_the_next_look() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    SkillFixture::new("a").write_to(root);
    let mut shelf = shelf(&[root]);
    let first = shelf.refresh();
    assert!(first.changed);
    assert_eq!(names(&first), ["a"]);
    let same = shelf.refresh();
    assert!(!same.changed);
    // What did not change was not even read again.
    assert!(std::sync::Arc::ptr_eq(
        &first.members[0].skill,
        &same.members[0].skill
    ));

    SkillFixture::new("b").write_to(root);
    let more = shelf.refresh();
    assert!(more.changed);
    assert_eq!(names(&more), ["a", "b"]);

    SkillFixture::new("a")
        .body("Another body, and a longer one.")
        .write_to(root);
    let changed = shelf.refresh();
    assert!(changed.changed);
    assert!(changed.members[0].skill.body.contains("Another body"));

    fs::remove_dir_all(root.join("a")).unwrap();
    assert_eq!(names(&shelf.refresh()), ["b"]);
}

#[test]
fn a_place_that_is_no_skill_is_told_and_harms_no_other() {
    let folder = tempfile::tempdir().unwrap();
    SkillFixture::new("good").write_to(folder.path());
    fs::create_dir(folder.path().join("bad")).unwrap();
    fs::write(folder.path().join("bad/SKILL.md"), "no frontmatter").unwrap();
    let gone = folder.path().join("gone");
    let refreshed = shelf(&[folder.path(), &gone]).refresh();
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
fn of_two_skills_with_one_name_the_later_source_counts_and_says_so() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    SkillFixture::new("a").body("first").write_to(one.path());
    SkillFixture::new("a").body("second").write_to(two.path());
    let refreshed = shelf(&[one.path(), two.path()]).refresh();
    assert_eq!(refreshed.members[0].skill.body.trim(), "second");
    assert_eq!(refreshed.shadowed[0].hidden, one.path().join("a"));
}

#[tokio::test]
async fn a_toolbox_takes_what_a_shelf_sees() {
    let folder = tempfile::tempdir().unwrap();
    SkillFixture::new("a").write_to(folder.path());
    let mut shelf = shelf(&[folder.path()]);
    let toolbox = Toolbox::new(shelf.refresh().members, None, Options::default()).unwrap();
    SkillFixture::new("b").body("New.").write_to(folder.path());
    toolbox.replace(shelf.refresh().members).await.unwrap();
    let outcome = toolbox
        .call("load_skill", &json!({ "name": "b" }), None)
        .await;
    assert_eq!(outcome.shown_text(), "New.");
}
