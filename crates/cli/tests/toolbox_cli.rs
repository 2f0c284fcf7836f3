//! `prowess tools` and `prowess call` as a person or a script uses them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod terminal;

use std::process::{Command, Stdio};

use insta::assert_snapshot;
use prowess_testkit::SkillFixture;
use serde_json::Value;
use terminal::on_a_terminal;

/// A folder with two skills, and the command in it.
struct Workdir {
    dir: tempfile::TempDir,
}

impl Workdir {
    fn new() -> Workdir {
        let dir = tempfile::tempdir().unwrap();
        SkillFixture::new("greet")
            .field(
                "tools",
                "{hello: {description: Say hello., script: hello.py, args: {name: string, \
                 loud: {type: boolean, default: false}}}}",
            )
            .file(
                "hello.py",
                "import sys\nprint('hello', *sys.argv[1:])\nopen('card.txt', 'w').write('hi')",
            )
            .write_to(&dir.path().join("skills"));
        SkillFixture::new("maths")
            .file("tools.py", "from prowess import tool\n@tool\ndef add(a: int, b: int = 1):\n    'Add.'\n    return a + b\n")
            .file("pixel.png", b"\x89PNG\r\n\x1a\n\0\0".as_slice())
            .write_to(&dir.path().join("skills"));
        Workdir { dir }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command
            .args(args)
            .env("XDG_DATA_HOME", self.dir.path().join("data"))
            .current_dir(self.dir.path());
        command
    }

    fn output(&self, args: &[&str]) -> std::process::Output {
        self.command(args).output().unwrap()
    }

    fn run(&self, args: &[&str]) -> String {
        let output = self.output(args);
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap();
        let (out, err) = (text(output.stdout), text(output.stderr));
        format!("exit {code}\n--- stdout\n{out}--- stderr\n{err}")
    }
}

#[test]
fn tools_shows_what_a_model_is_given_at_first_and_when_all_is_loaded() {
    let workdir = Workdir::new();
    assert_snapshot!(workdir.run(&["tools", "skills"]), @"
    exit 0
    --- stdout
     TOOL        ARGUMENTS    DESCRIPTION
     load_skill  name, path?  Load a skill: its instructions and, if it has any, its own tools. When a…
    --- stderr
    1 tool from 2 skills
    ");
    assert_snapshot!(workdir.run(&["tools", "skills", "--loaded", "--reduced"]), @"
    exit 0
    --- stdout
     TOOL          ARGUMENTS    DESCRIPTION
     load_skill    name, path?  Load a skill: its instructions and, if it has any, its own tools. When a…
     greet__hello  name, loud?  Say hello.
     maths__add    a, b?        Add.
    --- stderr
    3 tools from 2 skills
    ");
    assert_snapshot!(workdir.run(&["tools", "skills/greet", "--form", "per-skill"]), @"
    exit 0
    --- stdout
     TOOL              ARGUMENTS  DESCRIPTION
     load_skill_greet  path?      Load the skill greet: Does one thing well. Use it when asked to.
    --- stderr
    1 tool from 1 skill
    ");
}

#[test]
fn tools_prints_specs_as_json() {
    let output = Workdir::new().output(&["tools", "skills", "--loaded", "--reduced", "--json"]);
    let tools: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["load_skill", "greet__hello", "maths__add"]);
    assert_eq!(
        tools[2]["input_schema"]["required"],
        serde_json::json!(["a"])
    );
}

#[test]
fn call_prints_what_the_model_would_read_and_saves_files() {
    let workdir = Workdir::new();
    let hello = [
        "call",
        "skills",
        "greet__hello",
        "--reduced",
        "--out",
        "out",
    ];
    let args = ["--args", r#"{"name": "-you"}"#];
    assert_snapshot!(workdir.run(&[&hello[..], &args].concat()), @"
    exit 0
    --- stdout
    hello -you false
    [files: /mnt/data/card.txt (text/plain, 2 bytes)]
    --- stderr
    created out/card.txt (text/plain, 2 B)
    ");
    let saved = std::fs::read_to_string(workdir.dir.path().join("out/card.txt")).unwrap();
    assert_eq!(saved, "hi");
    let add = [
        "call",
        "skills",
        "maths__add",
        "--reduced",
        "--args",
        r#"{"a": 2}"#,
    ];
    assert_snapshot!(workdir.run(&add), @"
    exit 0
    --- stdout
    3
    --- stderr
    ");
}

#[test]
fn a_call_whose_reader_is_gone_leaves_no_container() {
    let workdir = Workdir::new();
    let args = ["call", "skills", "greet__hello", "--reduced", "--args"];
    let args = [&args[..], &[r#"{"name": "you"}"#]].concat();
    let mut command = workdir.command(&args);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let left = workdir.run(&["sandbox", "list"]);
    assert_eq!(left, "exit 0\n--- stdout\n--- stderr\n");
}

#[test]
fn call_reads_files_without_a_sandbox_byte_for_byte() {
    let workdir = Workdir::new();
    let args = r#"{"name": "maths", "path": "pixel.png"}"#;
    let output = workdir.output(&[
        "call",
        "skills/maths",
        "read_skill_resource",
        "--args",
        args,
        "--reduced",
    ]);
    assert_eq!(output.stdout, b"\x89PNG\r\n\x1a\n\0\0");
}

#[test]
fn what_is_not_text_is_never_written_to_a_terminal() {
    let workdir = Workdir::new();
    let file = r#"{"name": "maths", "path": "pixel.png"}"#;
    let read = ["call", "skills/maths", "read_skill_resource", "--reduced"];
    let outs: [&[&str]; 2] = [&[], &["--out", "out"]];
    for out in outs {
        let command = workdir.command(&[&read[..], &["--args", file], out].concat());
        let shown = on_a_terminal(&command).output().unwrap().stdout;
        let shown = String::from_utf8_lossy(&shown);
        assert!(shown.contains("redirect it to a file"), "{shown:?}");
        assert!(!shown.contains("PNG"), "{shown:?}");
    }
}

#[test]
fn a_call_that_fails_ends_with_one_and_wrong_usage_with_two() {
    let workdir = Workdir::new();
    let hello = ["call", "skills", "greet__hello", "--reduced", "--args"];
    let with = |args: &'static str| workdir.run(&[&hello[..], &[args]].concat());
    assert_snapshot!(with(r#"{"name": 7}"#), @"
    exit 1
    --- stdout
    Error: argument `name` must be a string, not a number 7
    --- stderr
    ");
    assert_snapshot!(with("[]"), @r#"
    exit 2
    --- stdout
    --- stderr
    error: --args must be a JSON object, such as '{"name": "pdf"}'
    "#);
    assert_snapshot!(with("{"), @"
    exit 2
    --- stdout
    --- stderr
    error: --args is not JSON: EOF while parsing an object at line 1 column 1
    ");
    assert_snapshot!(workdir.run(&["call", "nowhere", "load_skill"]), @"
    exit 3
    --- stdout
    --- stderr
    error: nowhere: no such file or folder
    ");
    assert_snapshot!(workdir.run(&["call", "skills", "greet__bye", "--reduced"]), @"
    exit 1
    --- stdout
    Error: there is no tool `greet__bye`. Its skill has `greet__hello`. Available: `load_skill`, `bash_code_execution`, `text_editor_code_execution`
    --- stderr
    ");
}

#[test]
fn everything_that_came_of_a_call_can_be_had_as_json() {
    let args = [
        "call",
        "skills",
        "greet__hello",
        "--reduced",
        "--json",
        "--args",
        r#"{"name": "you"}"#,
    ];
    let output = Workdir::new().output(&args);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        printed["text"],
        "hello you false\n[files: /mnt/data/card.txt (text/plain, 2 bytes)]"
    );
    assert_eq!(printed["outputs"][0]["path"], "card.txt");
    assert_eq!(printed["native"]["name"], "bash_code_execution");
}

#[test]
fn a_tool_that_is_called_by_its_short_name_is_explained() {
    let workdir = Workdir::new();
    let shown = workdir.run(&["call", "skills", "hello", "--reduced"]);
    assert!(shown.starts_with("exit 1\n"), "{shown}");
    let last = shown.lines().last();
    let expected = "tools of skills are called by their full names: see `prowess tools --loaded`";
    assert_eq!(last, Some(expected));
}
