//! Who can be the launcher: any program that the sandbox is linked into, without a call in
//! its `main`. These tests are such a program.

use crate::support::TestSandbox;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

const HELPER: &str = env!("CARGO_BIN_EXE_prowess-sandbox-helper");

#[tokio::test]
async fn a_program_needs_no_call_in_its_main() {
    let own = Path::new("/proc/self/exe");
    let open = TestSandbox::open(|settings| assert_eq!(settings.launcher, own)).await;
    assert_eq!(open.bash("echo $((6 * 7))").await.stdout.text, "42\n");
}

#[tokio::test]
async fn another_program_can_be_the_launcher() {
    let open = TestSandbox::open(|settings| settings.launcher = HELPER.into()).await;
    assert_eq!(open.bash("echo $((6 * 7))").await.stdout.text, "42\n");
}

/// The helper's `main` would print what is wrong with its input, in any case.
#[test]
fn a_launcher_never_gets_to_main_and_any_other_name_does() {
    let output = |name: &str| {
        let mut command = Command::new(HELPER);
        command.arg0(name).env_clear().stdin(Stdio::null());
        let output = command.output().unwrap();
        (output.status.code(), output.stderr.is_empty())
    };
    assert_eq!(output("prowess-launcher"), (Some(1), true));
    assert_eq!(output("prowess-launchers"), (Some(1), false));
    assert_eq!(output(""), (Some(1), false));
}

/// The launcher ignores the signal, and a command must not inherit that.
#[tokio::test]
async fn a_writer_ends_quietly_when_nobody_reads() {
    let open = TestSandbox::open(|_| {}).await;
    let report = open
        .bash("yes | head -n 1; echo \"${PIPESTATUS[0]}\"")
        .await;
    assert_eq!(report.stdout.text, "y\n141\n");
    assert_eq!(report.stderr.text, "");
}
