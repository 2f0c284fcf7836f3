//! The reference's verbs give the reference's answers.
//!
//! Both are run over the same folders: the reference validator, which
//! `cargo xtask test` installs, and our binary under the reference's name.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[path = "reference/cases.rs"]
mod cases;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cases::Case;
use prowess_testkit::bytecode::keep_bytecode;
use serde::Deserialize;

/// What a command printed, and how it ended.
#[derive(Debug, PartialEq, Deserialize)]
struct Answer {
    stdout: String,
    stderr: String,
    code: i32,
    #[serde(default)]
    crashed: bool,
}

/// Folders of skills, and our binary under the reference's name.
struct Bench {
    dir: tempfile::TempDir,
    ours: PathBuf,
}

impl Bench {
    fn new() -> Bench {
        let dir = tempfile::tempdir().unwrap();
        let ours = dir.path().join("agentskills");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_prowess"), &ours).unwrap();
        Bench { dir, ours }
    }

    fn write(&self, number: usize, case: &Case) -> String {
        let folder = format!("{number}/{}", case.folder);
        let path = self.dir.path().join(&folder);
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join(case.file), &case.text).unwrap();
        folder
    }

    fn ours(&self, args: &[String]) -> Answer {
        let output = Command::new(&self.ours)
            .args(args)
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        Answer {
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
            code: output.status.code().unwrap(),
            crashed: false,
        }
    }

    fn reference(&self, calls: &[Vec<String>]) -> Vec<Answer> {
        let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reference/driver.py");
        let mut python = Command::new(python());
        let mut child = keep_bytecode(&mut python)
            .arg(driver)
            .current_dir(self.dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        serde_json::to_writer(child.stdin.take().unwrap(), calls).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "the reference's driver failed");
        serde_json::from_slice(&output.stdout).unwrap()
    }
}

fn python() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_prowess"));
    let target = binary.ancestors().nth(2).unwrap();
    let python = target.join("test-venv/bin/python");
    assert!(
        python.exists(),
        "{} is missing: run `cargo xtask test`, which installs it",
        python.display()
    );
    python
}

fn call(verb: &str, paths: &[&str]) -> Vec<String> {
    std::iter::once(verb)
        .chain(paths.iter().copied())
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_verb_answers_as_the_reference_does() {
    let bench = Bench::new();
    let cases = cases::equal();
    assert!(cases.len() > 300, "only {} cases", cases.len());
    let calls: Vec<Vec<String>> = cases
        .iter()
        .enumerate()
        .flat_map(|(number, case)| {
            let folder = bench.write(number, case);
            ["validate", "read-properties", "to-prompt"].map(|verb| call(verb, &[&folder]))
        })
        .collect();
    let answers = bench.reference(&calls);
    let mut wrong = String::new();
    for (args, theirs) in calls.iter().zip(&answers) {
        assert!(
            !theirs.crashed,
            "{args:?} crashes the reference: it belongs to `different`"
        );
        let ours = bench.ours(args);
        if ours != *theirs {
            let number: usize = args[1].split('/').next().unwrap().parse().unwrap();
            wrong.push_str(&format!(
                "{:?}\n{args:?}\nreference: {theirs:#?}\nours: {ours:#?}\n\n",
                cases[number].text
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn wrong_usage_is_answered_as_the_reference_does() {
    let bench = Bench::new();
    let skill = bench.write(0, &cases::equal()[0]);
    fs::write(bench.dir.path().join("file.txt"), "x").unwrap();
    let calls = [
        call("validate", &[]),
        call("validate", &["nowhere"]),
        call("validate", &[&skill, "b"]),
        call("validate", &[&skill, "b", "c"]),
        call("validate", &["file.txt"]),
        call("validate", &[&format!("./{skill}//SKILL.md")]),
        call("validate", &["0/."]),
        call("read-properties", &["nowhere"]),
        call("read-properties", &["file.txt"]),
        call("to-prompt", &[]),
        call("to-prompt", &[&skill, "nowhere"]),
        call("no-such-verb", &[]),
        call("--no-such-option", &[]),
    ];
    let answers = bench.reference(&calls);
    for (args, theirs) in calls.iter().zip(&answers) {
        assert_eq!(bench.ours(args), *theirs, "{args:?}");
    }
}

#[test]
fn several_skills_make_one_prompt() {
    let bench = Bench::new();
    let good = |name: &str| Case {
        folder: name.to_owned(),
        file: "SKILL.md",
        text: format!("---\nname: {name}\ndescription: <{name}>\n---\n"),
    };
    let folders = [bench.write(0, &good("a")), bench.write(1, &good("b"))];
    let args = call("to-prompt", &[&folders[0], &folders[1]]);
    assert_eq!(
        bench.ours(&args),
        bench.reference(std::slice::from_ref(&args))[0]
    );
}

#[test]
fn defects_of_the_reference_are_not_copied() {
    let bench = Bench::new();
    for (number, (why, case)) in cases::different().iter().enumerate() {
        let args = call("read-properties", &[&bench.write(number, case)]);
        let theirs = &bench.reference(std::slice::from_ref(&args))[0];
        let ours = bench.ours(&args);
        assert_ne!(ours, *theirs, "{why}: no longer true");
        assert!(matches!(ours.code, 0 | 1), "{why}: {ours:?}");
    }
    let folder = bench.write(99, &cases::equal()[0]);
    fs::write(
        bench.dir.path().join(&folder).join("SKILL.md"),
        b"---\nname: \xff\n---\n",
    )
    .unwrap();
    let ours = bench.ours(&call("validate", &[&folder]));
    assert_eq!(
        ours.stderr,
        format!(
            "Validation failed for {folder}:\n  - {folder}/SKILL.md is not UTF-8: line 2, byte offset 10\n"
        )
    );
}
