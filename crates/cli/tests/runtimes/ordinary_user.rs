//! A runtime of an ordinary user, and the demo. The tests are root, and become that user in a
//! mount namespace in which the user's subordinate ids are what the test says.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::process::Command;

use super::{INSTALL, RuntimePlace, STEPS, not_run_without_root};

const USER: u32 = 65532;

/// The program may be in a folder that the user cannot enter, hence the mount.
const BECOME_USER: &str = r#"
set -e
mount --bind "$PROGRAM" prowess
mount --bind ids /etc/subuid
mount --bind ids /etc/subgid
exec setpriv --reuid="$ID" --regid="$ID" --clear-groups "$PWD/prowess" "$@"
"#;

/// A folder of the user, who has no subordinate ids.
fn place_of_user() -> RuntimePlace {
    let place = RuntimePlace::new();
    let folder = place.0.folder();
    for name in ["prowess", "ids", "programs/newuidmap"] {
        fs::write(folder.join(name), "").unwrap();
    }
    for name in ["", "programs"] {
        chown(folder.join(name), Some(USER), Some(USER)).unwrap();
    }
    place
}

/// Runs the command as the user: standard output, standard error, exit code.
fn run(place: &RuntimePlace, arguments: &[&str]) -> (String, String, Option<i32>) {
    let folder = place.0.folder();
    let mut command = Command::new("unshare");
    command
        .args(["--mount", "sh", "-c", BECOME_USER, "sh"])
        .args(arguments)
        .current_dir(folder)
        .env("PROGRAM", env!("CARGO_BIN_EXE_prowess"))
        .env("ID", USER.to_string())
        .env("PATH", place.path())
        .env("HOME", folder)
        .env("PROWESS_DATA_DIR", folder.join("data"))
        .env_remove("PROWESS_CONFIG");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    (stdout, stderr, output.status.code())
}

#[test]
fn an_ordinary_user_installs_a_runtime_and_uses_it() {
    if not_run_without_root() {
        return;
    }
    let place = place_of_user();
    let (_, stderr, code) = run(&place, &INSTALL);
    assert_eq!(code, Some(3), "{stderr}");
    let expected = "this user has no subordinate ids; run `usermod --add-subuids";
    assert!(stderr.contains(expected), "{stderr}");
    assert_eq!(place.calls(), [""; 0]);

    let ids = format!("{USER}:100000:65536\n");
    fs::write(place.0.folder().join("ids"), ids).unwrap();
    let (_, stderr, code) = run(&place, &INSTALL);
    assert_eq!(code, Some(0), "{stderr}");
    let steps: Vec<&str> = stderr.lines().take(STEPS.len()).collect();
    assert_eq!(steps, STEPS, "{stderr}");
    let tiny = place
        .folder_of_runtime()
        .join("current/root/usr/share/tiny");
    assert_eq!(fs::metadata(tiny).unwrap().uid(), USER);

    let line = "cat /usr/share/tiny /node_modules/left/package.json; : >>/usr/share/tiny";
    let (stdout, stderr, _) = run(&place, &["sandbox", "exec", "--", "sh", "-c", line]);
    assert!(stdout.starts_with("a tiny runtime\n"), "{stdout}{stderr}");
    assert!(stdout.contains("\"name\": \"left\""), "{stdout}");
    // The user could write to it, but not code of skills.
    assert!(stderr.contains("Read-only file system"), "{stderr}");
}

/// In a plain shell there is no control group that the user may change.
#[test]
fn an_ordinary_user_sees_the_demo_to_its_end_and_what_is_reduced() {
    if not_run_without_root() {
        return;
    }
    let place = place_of_user();
    let (stdout, stderr, code) = run(&place, &["demo", "--once", "--output", "ball.gif"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    let expected = "this host supports only a reduced sandbox, without ";
    assert!(stderr.contains(expected), "{stderr}");
    let gif = fs::read(place.0.folder().join("ball.gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a"));
}
