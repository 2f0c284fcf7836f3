//! `prowess skill push` of a folder or an archive with several skills.

use std::process::Command;

use prowess_testkit::SkillFixture;
use serde_json::Value;

use crate::run_command;
use crate::server::TestServer;

#[test]
fn a_folder_of_skills_is_pushed_whole_and_what_is_refused_is_named() {
    let server = TestServer::start(&[]);
    let folder = server.folder().join("skills");
    for name in ["notes", "pdf-forms"] {
        SkillFixture::new(name).write_to(&folder);
    }
    let path = folder.to_str().unwrap();
    let push = |args: &[&str]| run_command(&server, &[&["skill", "push"], args].concat());
    let first = push(&[path]);
    assert_eq!(first.code, 0, "{}", first.stderr);
    let lines: Vec<&str> = first.stdout.lines().collect();
    assert!(lines[0].starts_with("notes: pushed "), "{lines:?}");
    assert!(lines[1].starts_with("pdf-forms: pushed "), "{lines:?}");
    assert_eq!(lines[2..], ["2 skills: 2 pushed"]);

    let mut zip = Command::new("python3");
    zip.args(["-m", "zipfile", "-c", "../skills.zip", "notes", "pdf-forms"]);
    assert!(zip.current_dir(&folder).status().unwrap().success());
    let archive = server.folder().join("skills.zip");
    let packed = push(&[archive.to_str().unwrap()]);
    assert!(
        packed.stdout.ends_with("\n2 skills: 2 unchanged\n"),
        "{}{}",
        packed.stdout,
        packed.stderr
    );

    SkillFixture::new("pdf-forms")
        .body("Other words.\n")
        .write_to(&folder);
    SkillFixture::new("claude-api").write_to(&folder);
    SkillFixture::new("notes").write_to(&folder.join("older"));
    let second = push(&[path]);
    assert_eq!(second.code, 1, "{}", second.stderr);
    let lines: Vec<&str> = second.stdout.lines().collect();
    assert!(
        lines[0].starts_with("notes: nothing changed, version 1 (skill_"),
        "{lines:?}"
    );
    assert!(lines[1].starts_with("pdf-forms: pushed "), "{lines:?}");
    assert_eq!(
        lines[2..],
        ["4 skills: 1 pushed, 1 unchanged, 2 not uploaded"]
    );
    for expected in [
        format!(
            "error: {path}/claude-api: not uploaded: the name contains the reserved word `claude` \
             (upload-reserved). Rename a copy, its folder and `name` in its SKILL.md"
        ),
        format!("error: {path}/older/notes: not uploaded: {path}/notes has the same name, `notes`"),
    ] {
        let stderr = &second.stderr;
        assert_eq!(stderr.matches(&expected).count(), 1, "{expected}: {stderr}");
    }

    let listed = push(&[path, "--json"]);
    assert_eq!(listed.code, 1, "{}", listed.stderr);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    let outcomes = listed.as_array().unwrap().iter();
    let outcomes: Vec<_> = outcomes
        .map(|one| {
            (
                one["name"].as_str().unwrap(),
                one["outcome"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("claude-api", "refused"),
        ("notes", "unchanged"),
        ("notes", "refused"),
        ("pdf-forms", "unchanged"),
    ];
    assert_eq!(outcomes, expected);
    let titled = push(&[path, "--title", "Skills"]);
    assert_eq!(titled.code, 2, "{}", titled.stderr);
    // What every skill would get is said once.
    let nowhere = push(&[path, "--server", "http://127.0.0.1:1"]);
    assert_eq!((nowhere.code, nowhere.stdout.lines().count()), (3, 1));
    assert_eq!(nowhere.stderr.matches("cannot reach").count(), 1);
}

#[test]
fn a_skill_for_which_there_is_no_room_does_not_keep_others_from_the_server() {
    let settings = tempfile::tempdir().unwrap();
    let config = settings.path().join("prowess.toml");
    std::fs::write(&config, "[store]\ntenant_skills = 1\n").unwrap();
    let server = TestServer::start(&[("PROWESS_CONFIG", config.to_str().unwrap())]);
    let folder = server.folder().join("skills");
    SkillFixture::new("notes").write_to(&folder);
    let path = folder.to_str().unwrap();
    let push = || run_command(&server, &["skill", "push", path]);
    assert_eq!(push().code, 0);
    for name in ["a-first", "b-second"] {
        SkillFixture::new(name).write_to(&folder);
    }
    let pushed = push();
    assert_eq!(pushed.code, 1, "{}", pushed.stderr);
    let last = pushed.stdout.lines().last();
    assert_eq!(last, Some("3 skills: 1 unchanged, 2 not uploaded"));
    let refused = pushed.stderr.matches("storage-quota-exceeded").count();
    assert_eq!(refused, 2, "{}", pushed.stderr);
}
