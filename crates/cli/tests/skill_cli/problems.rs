//! `skill new` and `skill validate`: what is wrong with a skill, and where.

use std::fs;

use insta::assert_snapshot;
use prowess_testkit::SkillFixture;

use crate::workdir::Workdir;

#[test]
fn a_new_skill_is_valid_and_its_tool_is_declared() {
    let workdir = Workdir::new();
    assert_snapshot!(workdir.run(&["skill", "new", "my-skill", "--tool", "-d", "Says: \"hello\" to # people."]), @"
    exit 0
    --- stdout
    ./my-skill
    --- stderr
    Next: prowess skill validate ./my-skill
    ");
    assert_snapshot!(workdir.run(&["skill", "validate", "my-skill"]), @"
    exit 0
    --- stdout
    1 skill: 1 valid, 0 invalid; 0 errors, 0 warnings, 1 note (--notes shows them)
    --- stderr
    ");
    assert_snapshot!(workdir.run(&["skill", "show", "my-skill"]), @r#"
    exit 0
    --- stdout
    my-skill
    Says: "hello" to # people.

    digest         sha256:3213764447a3d3c2afd9eb0bd9929c8d747d4e962b2458cdc1faae9fc828db1f
    instructions   6 lines

    Tools
      greet(name)  scripts/greet.py
        Greet someone by name.

    Files
         261 B  SKILL.md
          75 B  scripts/greet.py
    --- stderr
    "#);
    assert_snapshot!(workdir.run(&["skill", "new", "my-skill"]), @"
    exit 3
    --- stdout
    --- stderr
    error: ./my-skill already exists
    ");
    assert_snapshot!(workdir.run(&["skill", "new", "../x"]), @"
    exit 2
    --- stdout
    --- stderr
    error: `../x` cannot be a skill's name: use a-z, 0-9 and single hyphens inside, at most 64
    ");
}

#[test]
fn problems_are_shown_where_they_are() {
    let workdir = Workdir::new().with_file(
        "bad/SKILL.md",
        "---\nname: Bad_Name\ndescription: Use when: asked\nallowed-tools: Read\ncolor: red\n---\nDo it.\n",
    );
    assert_snapshot!(workdir.run(&["skill", "validate", "bad", "--notes"]), @"
    exit 0
    --- stdout
    warning[name-not-lowercase]: Skill name 'Bad_Name' must be lowercase
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Write the name in lower case.

    warning[name-bad-character]: Skill name 'Bad_Name' contains invalid characters. Only letters, digits, and hyphens are allowed.
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Replace other characters with hyphens.

    warning[name-mismatch]: Directory name 'bad' must match skill name 'Bad_Name'
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Rename the folder or the skill.

    warning[repaired-quotes]: the value needs quotes to be valid YAML; read as text
     --> bad/SKILL.md:3:1
      |
    3 | description: Use when: asked
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: Put the value in quotes.

    warning[permissions-ignored]: `allowed-tools` is ignored: the frontmatter is not valid YAML
     --> bad/SKILL.md:4:1
      |
    4 | allowed-tools: Read
      | ^^^^^^^^^^^^^
      |
      = help: Fix the YAML; then the field takes effect.

    note[unknown-field]: `color` is not a field of the standard
     --> bad/SKILL.md:5:1
      |
    5 | color: red
      | ^^^^^
      |
      = help: Move the field into `metadata`, or leave it if only clients that know it matter.

    1 skill: 1 valid, 0 invalid; 0 errors, 5 warnings, 1 note
    --- stderr
    ");
    assert_snapshot!(workdir.run(&["skill", "validate", "bad", "--strict"]), @"
    exit 1
    --- stdout
    error[name-not-lowercase]: Skill name 'Bad_Name' must be lowercase
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Write the name in lower case.

    error[name-bad-character]: Skill name 'Bad_Name' contains invalid characters. Only letters, digits, and hyphens are allowed.
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Replace other characters with hyphens.

    error[name-mismatch]: Directory name 'bad' must match skill name 'Bad_Name'
     --> bad/SKILL.md:2:7
      |
    2 | name: Bad_Name
      |       ^^^^^^^^
      |
      = help: Rename the folder or the skill.

    error[repaired-quotes]: the value needs quotes to be valid YAML; read as text
     --> bad/SKILL.md:3:1
      |
    3 | description: Use when: asked
      | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
      |
      = help: Put the value in quotes.

    warning[permissions-ignored]: `allowed-tools` is ignored: the frontmatter is not valid YAML
     --> bad/SKILL.md:4:1
      |
    4 | allowed-tools: Read
      | ^^^^^^^^^^^^^
      |
      = help: Fix the YAML; then the field takes effect.

    error[unknown-field]: `color` is not a field of the standard
     --> bad/SKILL.md:5:1
      |
    5 | color: red
      | ^^^^^
      |
      = help: Move the field into `metadata`, or leave it if only clients that know it matter.

    1 skill: 0 valid, 1 invalid; 5 errors, 1 warning, 0 notes
    --- stderr
    ");
}

#[test]
fn one_bad_input_does_not_stop_the_others() {
    let workdir = Workdir::new()
        .with_skill("good")
        .with_file("broken/SKILL.md", "no frontmatter")
        .with_file("binary/SKILL.md", b"---\nname: \xff\n---\n")
        .with_file("empty/SKILL.md", "")
        .with_file("junk.zip", "not a zip")
        .with_file("notes.txt", "x");
    fs::create_dir(workdir.path().join("hollow")).unwrap();
    let args = [
        "good",
        "broken",
        "binary",
        "empty",
        "junk.zip",
        "notes.txt",
        "hollow",
        "nowhere",
    ];
    let args: Vec<&str> = ["skill", "validate"].into_iter().chain(args).collect();
    assert_snapshot!(workdir.run(&args), @"
    exit 3
    --- stdout
    error[no-frontmatter]: the file does not begin with a frontmatter (`---`)
     --> broken/SKILL.md:1:1
      |
    1 | no frontmatter
      | ^^^^^^^^^^^^^^
      |
      = help: Begin the file with `---`, the fields `name` and `description`, and `---`.

    error[not-utf8]: not valid UTF-8: line 2 has an invalid byte (offset 10)
    --> binary/SKILL.md
     = help: Save the file as UTF-8.

    error[no-frontmatter]: the file does not begin with a frontmatter (`---`)
     --> empty/SKILL.md:1:1
      |
    1 |
      | ^
      |
      = help: Begin the file with `---`, the fields `name` and `description`, and `---`.

    5 skills: 1 valid, 4 invalid, 3 unreadable; 3 errors, 0 warnings, 0 notes
    --- stderr
    error: notes.txt: not a skill: give a folder, a .zip, .skill or .tar.gz archive, or a Markdown file
    hollow: no SKILL.md in this folder or below
    error: nowhere: no such file or folder
    error: junk.zip: the bundle is in an unknown archive format; send a zip or a tar.gz
    ");
}

#[test]
fn a_link_in_a_folder_is_left_out_and_reported() {
    let workdir = Workdir::new()
        .with_skill("good")
        .with_file("secret", "s3cret");
    std::os::unix::fs::symlink(
        workdir.path().join("secret"),
        workdir.path().join("good/link.txt"),
    )
    .unwrap();
    let shown = workdir.run(&["skill", "validate", "good", "--notes"]);
    assert!(
        shown.contains("left out: a link is never followed"),
        "{shown}"
    );
    assert!(!workdir.run(&["skill", "show", "good"]).contains("link.txt"));
}

/// A skill of which a file and a folder are links, beside what is never part of a skill.
fn with_links() -> Workdir {
    let workdir = Workdir::new()
        .with_skill("good")
        .with_file("shared/guide.md", "Read me.")
        .with_file("good/references/own.md", "Own.")
        .with_file("good/lib.pyc", "x")
        .with_file("good/.git/config", "x");
    for (target, link) in [
        ("../../shared/guide.md", "good/references/guide.md"),
        ("../shared", "good/scripts"),
        ("../shared", "good/node_modules"),
    ] {
        std::os::unix::fs::symlink(target, workdir.path().join(link)).unwrap();
    }
    workdir
}

#[test]
fn a_skill_that_would_lose_linked_files_is_not_packed() {
    let workdir = with_links();
    assert_snapshot!(workdir.run(&["skill", "pack", "good"]), @"
    exit 1
    --- stdout
    --- stderr
    error[content-left-out]: `references/guide.md` is left out: a link is never followed
    --> good/references/guide.md
     = help: Put the file itself there instead of a link, or remove it; nest folders less deeply.
    error[content-left-out]: `scripts` is left out: a link is never followed
    --> good/scripts
     = help: Put the file itself there instead of a link, or remove it; nest folders less deeply.
    error: nothing was packed: fix the errors above first
    ");
    assert!(!workdir.path().join("good.zip").exists());
    for link in ["good/references/guide.md", "good/scripts"] {
        fs::remove_file(workdir.path().join(link)).unwrap();
    }
    let packed = workdir.run(&["skill", "pack", "good"]);
    assert!(packed.starts_with("exit 0"), "{packed}");
    assert!(packed.contains("2 files"), "{packed}");
}

#[test]
fn a_skill_that_would_lose_linked_files_is_not_uploaded() {
    let workdir = with_links();
    let args = ["skill", "push", "good", "--server", "http://127.0.0.1:1"];
    let refused = workdir.run(&args);
    assert!(refused.starts_with("exit 1"), "{refused}");
    for expected in [
        "error[content-left-out]: `references/guide.md` is left out: a link is never followed",
        "error[content-left-out]: `scripts` is left out: a link is never followed",
        "nothing was uploaded: fix the errors above first",
    ] {
        assert!(refused.contains(expected), "{expected}: {refused}");
    }
    let checked = workdir.run(&["skill", "validate", "good"]);
    assert!(checked.starts_with("exit 0"), "{checked}");
    assert!(checked.contains("warning[content-left-out]"), "{checked}");
    assert!(
        checked.contains("0 errors, 2 warnings, 3 notes"),
        "{checked}"
    );
    let as_upload = workdir.run(&["skill", "validate", "good", "--upload"]);
    assert!(as_upload.contains("2 errors, 0 warnings"), "{as_upload}");
}

#[test]
fn packing_shows_the_warnings_of_a_skill() {
    let workdir = Workdir::new().with_file(
        "good/SKILL.md",
        "---\nname: good\ndescription: Does it.\nrequires: {mcp: [rube]}\n---\nGo.\n",
    );
    let packed = workdir.run(&["skill", "pack", "good"]);
    assert!(packed.starts_with("exit 0"), "{packed}");
    assert!(packed.contains("warning[requires-invalid]"), "{packed}");
}

#[test]
fn a_skill_that_requires_itself_is_invalid_and_the_rule_is_explained() {
    let workdir = Workdir::new();
    SkillFixture::new("loop")
        .field("requires", "[base, loop]")
        .write_to(workdir.path());
    let checked = workdir.run(&["skill", "validate", "loop"]);
    assert!(checked.starts_with("exit 1"), "{checked}");
    for expected in [
        "requires-itself",
        "`loop` requires itself",
        "Remove the skill's own name from `requires`.",
        "0 valid, 1 invalid",
    ] {
        assert!(checked.contains(expected), "{expected}: {checked}");
    }
    let explained = workdir.run(&["skill", "explain", "requires-itself"]);
    assert!(explained.starts_with("exit 0"), "{explained}");
    assert!(explained.contains("does not require itself"), "{explained}");
}
