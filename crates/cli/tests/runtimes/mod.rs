//! `prowess runtime`, with programs in place of apt-get and mmdebstrap that make a tiny root:
//! steps, journal, lock and checks are real.

mod ordinary_user;

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::markdown::{blocks, read_page};
use super::{Place, not_run_without_root};

const LIST: &str = "description = 'for tests'\n[debian]\npackages = ['tiny']\n[python]\n\
    packages = ['six']\n[npm]\npackages = ['left']\n[check]\n\
    commands = ['cat /usr/share/tiny']\npython = ['six']\n";

/// The steps of an installation from [`LIST`].
const STEPS: [&str; 6] = [
    "1/6 downloading Debian packages",
    "2/6 installing Debian packages",
    "3/6 unpacking the root file system",
    "4/6 installing Python packages",
    "5/6 installing npm packages",
    "6/6 checking programs and modules",
];

const INSTALL: [&str; 5] = ["runtime", "install", "tiny", "--list", "tiny.toml"];

/// A place with the list `tiny.toml` and programs that pretend.
struct RuntimePlace(Place);

impl RuntimePlace {
    fn new() -> Self {
        let place = Place::new("[sandbox]\nreduced = true\nruntime = \"tiny\"\n");
        fs::write(place.folder().join("tiny.toml"), LIST).unwrap();
        let here = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/runtimes");
        let programs = place.folder().join("programs");
        fs::create_dir(&programs).unwrap();
        for name in ["apt-get", "mmdebstrap"] {
            fs::copy(here.join(name), programs.join(name)).unwrap();
            fs::set_permissions(programs.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(place)
    }

    fn programs(&self) -> PathBuf {
        self.0.folder().join("programs")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.0.command(arguments);
        command.env("PATH", self.path());
        command
    }

    /// Where programs are found: those that pretend first.
    fn path(&self) -> String {
        let path = std::env::var("PATH").unwrap();
        format!("{}:{path}", self.programs().display())
    }

    fn run(&self, arguments: &[&str]) -> (String, String, Option<i32>) {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (
            text(output.stdout),
            text(output.stderr),
            output.status.code(),
        )
    }

    fn install(&self) {
        let (_, stderr, code) = self.run(&INSTALL);
        assert_eq!(code, Some(0), "{stderr}");
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let (stdout, stderr, _) = self.run(&[arguments, &["--json"]].concat());
        serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"))
    }

    /// How often each program has worked.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.programs().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    fn folder_of_runtime(&self) -> PathBuf {
        self.0.folder().join("data/sandbox/runtimes/tiny")
    }
}

#[test]
fn a_runtime_is_made_step_by_step_and_containers_use_it() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    let (_, stderr, code) = place.run(&["sandbox", "exec", "--", "true"]);
    assert_ne!(code, Some(0));
    let expected = "runtime `tiny` is not installed; run `prowess runtime install tiny`";
    assert!(stderr.contains(expected), "{stderr}");

    let (stdout, stderr, code) = place.run(&INSTALL);
    assert_eq!(code, Some(0), "{stderr}");
    let steps: Vec<&str> = stderr.lines().take(STEPS.len()).collect();
    assert_eq!(steps, STEPS, "{stderr}");
    assert!(
        stdout.contains("1 Debian, 1 Python and 1 npm packages"),
        "{stdout}"
    );
    let line = "cat /usr/share/tiny; cat /node_modules/left/package.json; cat /etc/apt/auth.conf";
    let (stdout, stderr, _) = place.run(&["sandbox", "exec", "--", "sh", "-c", line]);
    assert!(stdout.starts_with("a tiny runtime\n"), "{stdout}{stderr}");
    assert!(stdout.contains("\"name\": \"left\""), "{stdout}");
    // Nothing of apt's configuration, which may have credentials, is in it.
    assert!(!stdout.contains("secret"), "{stdout}");

    let lock = fs::read(place.folder_of_runtime().join("current/lock.json")).unwrap();
    let lock: Value = serde_json::from_slice(&lock).unwrap();
    assert_eq!(lock["debian"]["tiny"], "1.0-1");
    assert_eq!(lock["python"]["six"], "2.0");
    assert_eq!(lock["npm"]["left"], "3.0.0");

    // It is there, and is not made again.
    place.install();
    assert_eq!(place.calls(), ["download", "bootstrap"]);
    let listed = place.json(&["runtime", "list"]);
    let listed = listed.as_array().unwrap();
    let state = |name: &str| {
        let line = listed.iter().find(|line| line["name"] == name).unwrap();
        line["state"].clone()
    };
    assert_eq!(state("tiny"), "installed");
    assert_eq!(state("full"), "available");

    assert_eq!(place.run(&["runtime", "remove", "tiny"]).2, Some(0));
    let (_, stderr, code) = place.run(&["runtime", "remove", "tiny"]);
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("is not installed"), "{stderr}");
    assert_ne!(place.run(&["sandbox", "exec", "--", "true"]).2, Some(0));
}

/// An installation whose program for Debian packages has begun and waits.
fn held_installation(place: &RuntimePlace) -> Child {
    for name in ["started", "continue"] {
        let pipe = place.programs().join(name);
        let made = Command::new("mkfifo").arg(pipe).status().unwrap();
        assert!(made.success());
    }
    let child = place.command(&INSTALL).stderr(Stdio::null()).spawn();
    let started = fs::read_to_string(place.programs().join("started")).unwrap();
    assert_eq!(started, "started\n");
    // The next one does not wait.
    fs::remove_file(place.programs().join("started")).unwrap();
    child.unwrap()
}

#[test]
fn a_killed_installation_is_continued_when_its_programs_have_ended() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    let mut killed = held_installation(&place);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let listed = place.json(&["runtime", "list"]);
    assert_eq!(listed[2]["name"], "tiny");
    assert_eq!(listed[2]["state"], "unfinished");

    // Its program still runs and would write into the same folder.
    let mut next = place.command(&INSTALL);
    let mut next = next.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(next.stderr.take().unwrap()).lines();
    let waiting = lines.next().unwrap().unwrap();
    let expected = format!(
        "process {} is installing this runtime; waiting for it to end",
        killed.id()
    );
    assert_eq!(waiting, expected);
    fs::write(place.programs().join("continue"), "\n").unwrap();
    let steps: Vec<String> = lines.map(Result::unwrap).take(STEPS.len()).collect();
    assert!(next.wait().unwrap().success(), "{steps:?}");
    assert_eq!(steps[0], format!("{}: done before", STEPS[0]));
    assert_eq!(steps[1..], STEPS[1..]);
    assert_eq!(place.calls(), ["download", "bootstrap", "bootstrap"]);
    assert!(!place.folder_of_runtime().join("staging").exists());
}

#[test]
fn two_installations_at_once_make_one_runtime() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    let mut first = held_installation(&place);
    let mut second = place.command(&INSTALL);
    let mut second = second.stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
    let waiting = lines.next().unwrap().unwrap();
    assert!(waiting.contains(&first.id().to_string()), "{waiting}");
    // Nobody may remove it meanwhile.
    let (_, stderr, code) = place.run(&["runtime", "remove", "tiny"]);
    assert_eq!(code, Some(3));
    assert!(stderr.contains("in use"), "{stderr}");
    fs::write(place.programs().join("continue"), "\n").unwrap();
    assert!(first.wait().unwrap().success());
    let rest: Vec<String> = lines.map(Result::unwrap).collect();
    assert!(second.wait().unwrap().success(), "{rest:?}");
    assert_eq!(place.calls(), ["download", "bootstrap"]);
}

#[test]
fn a_runtime_in_use_stays_until_nobody_uses_it() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    place.install();
    let line = "echo ready; read -r _; cat /usr/share/tiny";
    let mut user = place.command(&["sandbox", "exec", "-i", "--", "sh", "-c", line]);
    // The sandbox is opened, and then waits for the end of standard input.
    let mut user = user
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let in_use = || {
        let (_, stderr, code) = place.run(&["runtime", "remove", "tiny"]);
        assert!(code == Some(0) || stderr.contains("in use"), "{stderr}");
        code != Some(0)
    };
    let opened = place.folder_of_runtime().join("../../state/sessions");
    while fs::read_dir(&opened).map_or(0, Iterator::count) == 0 {
        std::thread::yield_now();
    }
    assert!(in_use());
    // A new one can be made meanwhile; the old one is removed later.
    let again = [INSTALL.as_slice(), &["--again"]].concat();
    let (_, stderr, code) = place.run(&again);
    assert_eq!(code, Some(0), "{stderr}");
    drop(user.stdin.take());
    let output = user.wait_with_output().unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    assert_eq!(printed, "ready\na tiny runtime\n");
    assert!(!in_use());
}

#[test]
fn a_broken_runtime_is_found_and_a_new_one_that_is_broken_is_not_used() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    place.install();
    let (stdout, _, code) = place.run(&["runtime", "check"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("tiny: everything works"), "{stdout}");

    let root = place.folder_of_runtime().join("current/root");
    fs::remove_file(root.join("usr/share/tiny")).unwrap();
    let (stdout, _, code) = place.run(&["runtime", "check", "tiny"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("tiny: 1 check failed"), "{stdout}");
    let checked = place.json(&["runtime", "check", "tiny"]);
    assert_eq!(checked[0]["ok"], false);
    let detail = checked[0]["checks"][0]["detail"].as_str().unwrap();
    assert!(detail.contains("No such file"), "{detail}");

    let list = LIST.replace("cat /usr/share/tiny", "exit 7");
    fs::write(place.0.folder().join("tiny.toml"), list).unwrap();
    let before = fs::read_link(place.folder_of_runtime().join("current")).unwrap();
    let (_, stderr, code) = place.run(&INSTALL);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("exit 7"), "{stderr}");
    let after = fs::read_link(place.folder_of_runtime().join("current")).unwrap();
    assert_eq!(before, after);
}

#[test]
fn what_the_host_lacks_and_what_is_wrong_with_a_list_is_reported() {
    let place = RuntimePlace::new();
    fs::remove_file(place.programs().join("mmdebstrap")).unwrap();
    let mut command = place.0.command(&INSTALL);
    command.env("PATH", place.programs());
    let output = command.output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(3), "{stderr}");
    let expected = "mmdebstrap is not installed; run `apt-get install mmdebstrap` as root";
    assert!(stderr.contains(expected), "{stderr}");

    let (_, stderr, code) = place.run(&["runtime", "install", "other"]);
    assert_eq!(code, Some(3));
    assert!(stderr.contains("available: slim, full"), "{stderr}");
    let (_, _, code) = place.run(&["runtime", "install", "../x"]);
    assert_eq!(code, Some(2));
    let list = place.0.folder().join("tiny.toml");
    fs::write(list, "[debian]\npackages = ['a=1']\n").unwrap();
    let (_, stderr, _) = place.run(&INSTALL);
    assert!(stderr.contains("`a=1` is not a name"), "{stderr}");
}

#[test]
fn the_commands_of_the_page_about_runtimes_work() {
    if not_run_without_root() {
        return;
    }
    let place = RuntimePlace::new();
    let page = read_page("docs/runtimes.md");
    let scripts = blocks(&page);
    let scripts: Vec<_> = scripts
        .iter()
        .filter(|block| block.language == "sh")
        .collect();
    assert_eq!(scripts.len(), 1);
    let program = PathBuf::from(env!("CARGO_BIN_EXE_prowess"));
    let path = format!(
        "{}:{}:{}",
        place.programs().display(),
        program.parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    for script in scripts {
        let mut shell = Command::new("bash");
        shell
            .args(["-euc", &script.text])
            .current_dir(place.0.folder());
        shell.env("PATH", &path);
        shell.env("PROWESS_DATA_DIR", place.0.folder().join("data"));
        let output = shell.output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
    }
}
