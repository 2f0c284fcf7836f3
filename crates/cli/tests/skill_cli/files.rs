//! Folders, archives and files of skills: listed, packed, printed, and where they are.

use std::fs;
use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use prowess_testkit::SkillFixture;

use crate::workdir::Workdir;

#[test]
fn a_list_shows_labels_and_what_hides_what() {
    let workdir = Workdir::new()
        .with_file(
            "a/one/SKILL.md",
            "---\nname: one\ndescription: From a.\nversion: 2.0\n---\nx",
        )
        .with_file(
            "b/one/SKILL.md",
            "---\nname: one\ndescription: From b.\n---\nx",
        )
        .with_file(
            "b/two/SKILL.md",
            "---\nname: two\ndescription: |\n  First line.\n  Second line.\n---\nx",
        )
        .with_file(
            "b/node_modules/three/SKILL.md",
            "---\nname: three\ndescription: d\n---\nx",
        )
        .with_file("b/bad/SKILL.md", "x");
    assert_snapshot!(workdir.run(&["skill", "list", "team=a", "mine=b"]), @"
    exit 1
    --- stdout
     NAME  LABEL  VERSION  TOOLS  FILES  SIZE  DESCRIPTION
     one   mine   -        0      1      40 B  From b.
     two   mine   -        0      1      63 B  First line.
    --- stderr
    one: a/one is overridden by b/one
    error: b/bad: the file does not begin with a frontmatter (`---`)
    2 skills
    ");
    let json = workdir.json(&["skill", "list", "team=a", "mine=b", "--json"]);
    assert_eq!(json["skills"][0]["label"], "mine");
    assert_eq!(json["shadowed"][0]["name"], "one");
}

#[test]
fn a_version_in_a_list_cannot_steer_a_terminal() {
    let head = "name: sly\ndescription: Fine.\nversion: \"1\\u001b[2J\"";
    let workdir = Workdir::new().with_file("sly/SKILL.md", format!("---\n{head}\n---\nx"));
    let shown = workdir.run(&["skill", "list", "sly"]);
    assert!(shown.contains(" 1\u{fffd}[2J "), "{shown}");
}

#[test]
fn packing_twice_gives_the_same_bytes_and_overwrites_only_with_force() {
    let workdir = Workdir::new().with_skill("good");
    for (first, second) in [
        ("a.zip", "b.zip"),
        ("a.skill", "b.skill"),
        ("a.tar.gz", "b.tar.gz"),
    ] {
        for file in [first, second] {
            assert!(
                workdir
                    .run(&["skill", "pack", "good", "-o", file])
                    .starts_with("exit 0")
            );
        }
        let read = |name| fs::read(workdir.path().join(name)).unwrap();
        assert_eq!(read(first), read(second), "{first}");
        assert!(
            workdir
                .run(&["skill", "validate", first, "--strict"])
                .starts_with("exit 0"),
            "{first}"
        );
        // Unpacked and packed anew, an archive stays what it is.
        assert!(
            workdir
                .run(&["skill", "pack", first, "-f", "-o", second])
                .starts_with("exit 0")
        );
        assert_eq!(read(first), read(second), "{first}");
    }
    assert_snapshot!(workdir.run(&["skill", "pack", "good", "-o", "a.zip"]), @"
    exit 3
    --- stdout
    --- stderr
    error: a.zip already exists; use --force to replace it
    ");
    assert_snapshot!(workdir.run(&["skill", "pack", "good", "-o", "a.rar"]), @"
    exit 2
    --- stdout
    --- stderr
    error: a.rar: the extension must be .zip, .skill or .tar.gz
    ");
}

#[test]
fn a_file_of_a_skill_is_printed_as_it_is() {
    let workdir = Workdir::new()
        .with_skill("good")
        .with_file("good/data.bin", [0, 255, 1]);
    assert_eq!(
        workdir
            .command(&["skill", "show", "good", "--file", "data.bin"])
            .stdout,
        [0, 255, 1]
    );
    assert!(
        workdir
            .run(&["skill", "show", "good", "--file", "../secret"])
            .starts_with("exit 3")
    );
}

#[test]
fn a_quoted_tilde_means_the_home_folder_wherever_a_path_is_taken() {
    let workdir = Workdir::new().with_skill("good");
    fs::create_dir(workdir.path().join("elsewhere")).unwrap();
    let run = |home: Option<&Path>, args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .args(args)
            .current_dir(workdir.path().join("elsewhere"));
        match home {
            Some(home) => command.env("HOME", home),
            None => command.env_remove("HOME"),
        };
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(text).unwrap())
    };
    for args in [
        ["skill", "validate", "~/good"].as_slice(),
        &["skill", "validate", "~"],
        &["skill", "show", "~/good"],
        &["skill", "scan", "--fail-on", "never", "~/good"],
        &["skill", "list", "~"],
        &["skill", "list", "mine=~/"],
        &["skill", "pack", "~/good", "-o", "~/packed.zip"],
        &["skill", "new", "fresh", "--in", "~/made"],
        &["tools", "~/good"],
        &["validate", "~/good"],
        &["read-properties", "~/good"],
    ] {
        let (code, printed) = run(Some(workdir.path()), args);
        assert_eq!(code, Some(0), "{args:?}: {printed}");
    }
    for made in ["packed.zip", "made/fresh/SKILL.md"] {
        assert!(workdir.path().join(made).exists(), "{made}");
    }
    assert!(
        fs::read_dir(workdir.path().join("elsewhere"))
            .unwrap()
            .next()
            .is_none()
    );

    let (code, printed) = run(Some(workdir.path()), &["skill", "validate", "~bob/skills"]);
    assert_eq!(code, Some(2), "{printed}");
    assert!(
        printed.contains("~bob/skills: the home folders of other users"),
        "{printed}"
    );
    let (code, printed) = run(None, &["skill", "show", "~/good"]);
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("HOME is not set"), "{printed}");
    // A folder that really is called so.
    SkillFixture::new("~odd").write_to(&workdir.path().join("elsewhere"));
    let (_, printed) = run(Some(workdir.path()), &["skill", "show", "~odd"]);
    assert!(!printed.contains("home folders"), "{printed}");
}
