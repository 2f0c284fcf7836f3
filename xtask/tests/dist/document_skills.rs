//! `tests/install/document-skills`: the outcomes that it lists, with a stand-in for the program.
//! The trials themselves need the runtime `full` and skills that somebody has fetched.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::{everything, repository};

/// What the runtime `full` cannot run.
const LACKING: &str = "*html2pptx.js* | *generate_pdf.py*";

/// A stand-in for the program, in which the commands that match a pattern of the shell fail.
fn program(folder: &Path, failing: &str) -> PathBuf {
    let path = folder.join("prowess");
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in\n--version) echo prowess 1.2.3 ;;\n\
         {failing}) echo 'cannot be loaded' >&2; exit 1 ;;\nesac\n"
    );
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

fn run(folder: &Path, program: &Path) -> Output {
    let mut python = Command::new("/usr/bin/python3");
    python.arg(repository().join("tests/install/document-skills"));
    python.arg("run").arg(folder).arg("--prowess").arg(program);
    python.output().unwrap()
}

fn outcomes(folder: &Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("outcomes.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn field<'a>(outcome: &'a Value, name: &str) -> &'a str {
    outcome.get(name).and_then(Value::as_str).unwrap()
}

/// Creates the folders of all skills, as if they were fetched.
fn create_skills(folder: &Path, outcomes: &[Value]) {
    for outcome in outcomes {
        let mut parts = field(outcome, "skill").splitn(3, '/');
        let (owner, name) = (parts.next().unwrap(), parts.next().unwrap());
        let clone = folder.join(format!("{owner}+{name}"));
        fs::create_dir_all(clone.join(parts.next().unwrap())).unwrap();
    }
}

#[test]
fn outcomes_of_document_skills_are_listed_with_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let all_work = program(folder.path(), LACKING);
    let nothing = run(folder.path(), &all_work);
    assert!(!nothing.status.success(), "{}", everything(&nothing));
    let trials = outcomes(folder.path());
    let is_fetched = |one: &Value| field(one, "outcome") != "not fetched";
    assert!(!trials.iter().any(is_fetched), "{trials:?}");

    create_skills(folder.path(), &trials);
    let expected = run(folder.path(), &all_work);
    let shown = everything(&expected);
    assert!(expected.status.success(), "{shown}");
    let trials = outcomes(folder.path());
    let running = trials.iter().filter(|one| field(one, "outcome") == "runs");
    let skills: BTreeSet<&str> = running.map(|one| field(one, "skill")).collect();
    assert!(skills.len() >= 10, "{skills:?}");
    let list = fs::read_to_string(folder.path().join("outcomes.md")).unwrap();
    assert!(
        list.contains("| does not run |  | `full` lacks `xelatex` |"),
        "{list}"
    );
}

#[test]
fn a_trial_with_another_outcome_than_expected_fails_the_list() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &program(folder.path(), LACKING));
    create_skills(folder.path(), &outcomes(folder.path()));
    for (failing, listed) in [
        (
            format!("{LACKING} | *recalc.py*"),
            "| fails |  | cannot be loaded |",
        ),
        ("*html2pptx.js*".to_owned(), "| runs unexpectedly |"),
    ] {
        let output = run(folder.path(), &program(folder.path(), &failing));
        assert!(!output.status.success(), "{}", everything(&output));
        let list = fs::read_to_string(folder.path().join("outcomes.md")).unwrap();
        assert!(list.contains(listed), "{list}");
    }
}
