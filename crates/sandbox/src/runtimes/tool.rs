//! Programs of the host that an installation runs. They get an environment without secrets,
//! and their output goes to a file.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::error::{AtPlace, RuntimeError};
use super::staging_lock::StagingLock;

/// How long one program may take.
const MAX_DURATION: Duration = Duration::from_secs(3 * 3_600);
/// How often progress is reported.
const WATCH_INTERVAL: Duration = Duration::from_millis(200);

/// Where programs are that only administrators have on their path.
const MORE_PATHS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Variables of the host that its package managers need.
const PASSED: [&str; 14] = [
    "HOME",
    "TMPDIR",
    "APT_CONFIG",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "all_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "ALL_PROXY",
];

/// A program of the host, with nothing of the environment but what package managers need.
pub(super) fn host_program(program: &str) -> Command {
    let mut command = Command::new(find_program(program).unwrap_or_else(|| program.into()));
    command.env_clear().env("PATH", search_path());
    for name in PASSED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C.UTF-8");
    command.env("DEBIAN_FRONTEND", "noninteractive");
    command.stdin(Stdio::null());
    command
}

fn search_path() -> OsString {
    let own = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&own).chain(MORE_PATHS.map(PathBuf::from));
    std::env::join_paths(folders).unwrap_or(own)
}

/// The path of a program of the host.
pub(super) fn find_program(program: &str) -> Option<PathBuf> {
    let path = search_path();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(program));
    places.find(|place| place.is_file())
}

/// Runs a program to its end, and calls `watch` meanwhile. Its output goes to the log.
pub(super) fn run(
    what: &'static str,
    command: &mut Command,
    lock: &StagingLock,
    watch: &mut dyn FnMut(),
) -> Result<(), RuntimeError> {
    const FAILED: &str = "cannot run a program";
    let program = PathBuf::from(command.get_program());
    let mut child = command
        .stdout(lock.log()?)
        .stderr(lock.log()?)
        .spawn()
        .at_place(FAILED, &program)?;
    let began = Instant::now();
    let why = loop {
        match child.try_wait().at_place(FAILED, &program)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => break describe(status),
            None if began.elapsed() > MAX_DURATION => {
                // It may have ended meanwhile.
                let _ = child.kill();
                let _ = child.wait();
                break format!("it took longer than {} s", MAX_DURATION.as_secs());
            }
            None => {
                watch();
                std::thread::sleep(WATCH_INTERVAL);
            }
        }
    };
    Err(failure(what, why, lock))
}

/// Runs a program and returns what it prints.
pub(super) fn run_for_output(
    what: &'static str,
    command: &mut Command,
    lock: &StagingLock,
) -> Result<String, RuntimeError> {
    let program = PathBuf::from(command.get_program());
    let output = command.stderr(lock.log()?).output();
    let output = output.at_place("cannot run a program", &program)?;
    if !output.status.success() {
        return Err(failure(what, describe(output.status), lock));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn failure(what: &'static str, why: String, lock: &StagingLock) -> RuntimeError {
    RuntimeError::Tool {
        what,
        why,
        tail: lock.tail(),
        log: lock.log_path().to_owned(),
    }
}

fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with {code}"),
        None => "it was killed".to_owned(),
    }
}

/// Bytes on disk of all files below a folder.
pub(super) fn disk_bytes(folder: &Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let mut waiting = vec![folder.to_owned()];
    let mut bytes = 0_u64;
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            // Does not follow links.
            let Ok(found) = entry.metadata() else {
                continue;
            };
            bytes = bytes.saturating_add(found.blocks().saturating_mul(512));
            if found.is_dir() {
                waiting.push(entry.path());
            }
        }
    }
    bytes
}
