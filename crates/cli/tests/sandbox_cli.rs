//! `prowess sandbox`, `prowess runtime` and `prowess doctor`, from outside.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "test support stops at the first surprise, like the tests themselves"
)]

mod doctor;
mod markdown;
mod runtimes;
mod terminal;

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use terminal::on_a_terminal;

/// The command in a folder of its own, with this configuration.
struct Place(TempDir);

impl Place {
    fn new(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("prowess.toml"), config).unwrap();
        Self(folder)
    }

    fn folder(&self) -> &Path {
        self.0.path()
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_prowess"));
        command.args(arguments).current_dir(self.folder());
        command.env("PROWESS_DATA_DIR", self.folder().join("data"));
        command.env_remove("PROWESS_CONFIG");
        command
    }

    fn run(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        let Output {
            stdout,
            stderr,
            status,
        } = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (text(stdout), text(stderr), status.code())
    }
}

/// Whether a test that needs root is left out, which is requested by a variable.
fn not_run_without_root() -> bool {
    const WITHOUT_ROOT: &str = "PROWESS_TEST_WITHOUT_ROOT";
    if rustix::process::getuid().is_root() {
        return false;
    }
    assert!(
        std::env::var_os(WITHOUT_ROOT).is_some(),
        "this test needs root: run the tests as root, or set {WITHOUT_ROOT}=1"
    );
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Written directly: the test harness captures what macros print.
    let _ = writeln!(std::io::stderr(), "NOT_RUN {test}: needs root");
    true
}

/// Where an ordinary user runs the tests there may be no control groups.
const REDUCED: &str = "[sandbox]\nreduced = true\n";

#[test]
fn streams_and_exit_code_are_the_commands_own_and_files_are_saved() {
    let place = Place::new(REDUCED);
    let line = "echo out; echo err >&2; mkdir d; echo made > d/f.txt; exit 5";
    let (stdout, stderr, code) = place.run(&[
        "sandbox", "exec", "--out", "saved", "--", "bash", "-c", line,
    ]);
    assert_eq!((stdout.as_str(), code), ("out\n", Some(5)), "{stderr}");
    assert!(stderr.starts_with("err\n"), "{stderr}");
    assert!(
        stderr.contains("created saved/d/f.txt (text/plain, 5 B)"),
        "{stderr}"
    );
    let saved = fs::read_to_string(place.folder().join("saved/d/f.txt"));
    assert_eq!(saved.unwrap(), "made\n");
}

#[test]
fn hidden_files_of_the_folder_are_not_replaced_by_outputs() {
    let place = Place::new(REDUCED);
    let config = place.folder().join("saved/.git/config");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "mine").unwrap();
    let line = "mkdir .git; echo evil > .git/config; echo new > .git/new; echo made > f.txt";
    let (_, stderr, code) = place.run(&[
        "sandbox", "exec", "--out", "saved", "--", "bash", "-c", line,
    ]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("not saved: saved/.git/config"), "{stderr}");
    assert!(!stderr.contains("created saved/.git/config"), "{stderr}");
    assert_eq!(fs::read_to_string(config).unwrap(), "mine");
    for (path, text) in [("saved/.git/new", "new\n"), ("saved/f.txt", "made\n")] {
        let saved = fs::read_to_string(place.folder().join(path));
        assert_eq!(saved.unwrap(), text, "{path}");
    }
}

#[test]
fn output_in_a_terminal_has_text_and_colours_and_cannot_steer_it() {
    let place = Place::new(REDUCED);
    let text = r"\033[31mred\033[0m \033]52;c;ZXZpbA==\007 \033[2J end";
    let arguments = ["sandbox", "exec", "--", "printf", text];
    let mut outer = on_a_terminal(&place.command(&arguments));
    let shown = String::from_utf8(outer.output().unwrap().stdout).unwrap();
    assert!(shown.contains("\u{1b}[31mred\u{1b}[0m"), "{shown:?}");
    assert!(shown.contains(" end"), "{shown:?}");
    for steers in ["\u{1b}]52", "\u{7}", "\u{1b}[2J"] {
        assert!(!shown.contains(steers), "{shown:?}");
    }
    // Elsewhere it is byte for byte what the command has written.
    let (stdout, _, _) = place.run(&arguments);
    let written = "\u{1b}[31mred\u{1b}[0m \u{1b}]52;c;ZXZpbA==\u{7} \u{1b}[2J end";
    assert_eq!(stdout, written);
}

#[test]
fn a_container_keeps_its_files_until_it_is_removed() {
    let place = Place::new(REDUCED);
    let (_, stderr, _) = place.run(&[
        "sandbox",
        "exec",
        "--container",
        "new",
        "--",
        "touch",
        "kept",
    ]);
    let id = stderr.split("container ").nth(1).unwrap().trim().to_owned();
    let (stdout, _, _) = place.run(&["sandbox", "exec", "--session", &id, "--", "ls"]);
    assert_eq!(stdout, "kept\n");
    let (listed, _, _) = place.run(&["sandbox", "list"]);
    assert!(listed.contains(&id), "{listed}");
    place.run(&["sandbox", "rm", &id]);
    assert_eq!(place.run(&["sandbox", "list"]).0, "");
}

#[test]
fn a_container_without_a_name_is_removed_also_when_the_command_does_not_end_well() {
    let place = Place::new(REDUCED);
    // A reader of the result that is gone.
    let arguments = ["sandbox", "exec", "--json", "--", "true"];
    let mut command = place.command(&arguments);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(place.run(&["sandbox", "list"]).0, "");

    let line = "echo ready; sleep 600";
    let mut command = place.command(&["sandbox", "exec", "--", "bash", "-c", line]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 6];
    let stdout = child.stdout.as_mut().unwrap();
    stdout.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"ready\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(place.run(&["sandbox", "list"]).0, "");
}

#[test]
fn a_sandbox_that_is_off_is_reported_and_can_be_requested() {
    let place = Place::new("[sandbox]\nbackend = \"off\"\nreduced = true\n");
    let (_, stderr, code) = place.run(&["sandbox", "exec", "--", "true"]);
    assert_ne!(code, Some(0));
    assert!(stderr.contains("the sandbox is off"), "{stderr}");
    let (_, stderr, code) = place.run(&["sandbox", "exec", "--backend", "native", "--", "true"]);
    assert_eq!(code, Some(0), "{stderr}");
}

#[test]
fn the_doctor_reports_that_there_is_no_docker_and_what_to_do() {
    let place = Place::new("[sandbox]\ndocker_socket = \"/nowhere/docker.sock\"\n");
    let (stdout, stderr, code) = place.run(&["doctor", "--backend", "docker"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("start a Docker daemon"), "{stdout}");
    assert!(stdout.contains("refused"), "{stdout}");
}

#[test]
fn limits_of_the_configuration_hold() {
    let place = Place::new("[sandbox]\nreduced = true\ntimeout_seconds = 1\n");
    let (_, stderr, code) = place.run(&["sandbox", "exec", "--", "sleep", "600"]);
    assert_eq!(code, Some(124), "{stderr}");
    assert!(stderr.contains("killed: timeout"), "{stderr}");
}

#[test]
fn too_little_memory_is_refused_with_the_least_that_is_possible() {
    let place = Place::new(REDUCED);
    let (_, stderr, code) = place.run(&["sandbox", "exec", "--memory", "5", "--", "true"]);
    assert_eq!(code, Some(2), "{stderr}");
    let expected = "5 bytes of memory are too few to start a program; use at least 16M";
    assert!(stderr.contains(expected), "{stderr}");
}

#[test]
fn a_skill_whose_script_needs_packages_gets_a_remark_when_there_is_no_index() {
    let place = Place::new(REDUCED);
    let skill = place.folder().join("asks");
    fs::create_dir_all(skill.join("scripts")).unwrap();
    fs::write(
        skill.join("SKILL.md"),
        "---\nname: asks\ndescription: Asks for packages.\n---\n",
    )
    .unwrap();
    let script = "# /// script\n# dependencies = ['numpy']\n# ///\nprint('ran')\n";
    fs::write(skill.join("scripts/x.py"), script).unwrap();
    let run = ["sandbox", "exec", "--skill", "asks", "--"];
    let script = ["python3", "/skills/asks/scripts/x.py"];
    let (stdout, stderr, _) = place.run(&[run.as_slice(), &script].concat());
    assert_eq!(stdout, "ran\n", "{stderr}");
    assert!(stderr.contains("sandbox.package_index"), "{stderr}");
}

#[test]
fn killed_in_mid_run_it_leaves_nothing_running() {
    let place = Place::new(REDUCED);
    let line = "(setsid sleep 6543 &); sleep 6543";
    let mut command = place.command(&["sandbox", "exec", "--", "bash", "-c", line]);
    let mut server = command.stderr(Stdio::null()).spawn().unwrap();
    while sleeping() < 2 {
        std::thread::yield_now();
    }
    server.kill().unwrap();
    server.wait().unwrap();
    while sleeping() > 0 {
        std::thread::yield_now();
    }
}

/// Processes anywhere on this host that are the ones of the test above.
fn sleeping() -> usize {
    let all = fs::read_dir("/proc").unwrap().flatten();
    let is_ours = |entry: &fs::DirEntry| {
        fs::read(entry.path().join("cmdline")).is_ok_and(|line| line == b"sleep\x006543\0")
    };
    all.filter(is_ours).count()
}
