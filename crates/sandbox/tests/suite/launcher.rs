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

/// Rust's set-up before `main` ignores the signal, and commands have always inherited that.
#[tokio::test]
async fn a_command_gets_an_error_from_a_broken_pipe() {
    const SIGPIPE: u32 = 13;
    let open = TestSandbox::open(|_| {}).await;
    let line = "while read -r key value; do [ $key = SigIgn: ] && echo $value; done \
                < /proc/self/status";
    let ignored = open.bash(line).await.stdout.text;
    let ignored = u64::from_str_radix(ignored.trim(), 16).unwrap();
    assert_ne!(ignored & (1 << (SIGPIPE - 1)), 0, "{ignored:x}");
}
