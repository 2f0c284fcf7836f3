//! Starts the helper, a minimal server, as root and as a user.

use prowess_sandbox::{ContainerSpec, Error, Execution, ExecutionReport, Sandbox, SandboxSettings};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The id of the ordinary user that tests run as when they are started by root.
const USER: u32 = 65532;

/// A variable of the server that no one inside may ever see.
pub(crate) const SECRET: &str = "canary-7f3a9b";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    Root,
    User,
}

/// Set to run the suite without root. What needs root is then listed as not run.
const WITHOUT_ROOT: &str = "PROWESS_TEST_WITHOUT_ROOT";

/// The users that tests run as: both, which needs root.
pub(crate) fn everyone() -> Vec<Who> {
    if has_root() {
        vec![Who::Root, Who::User]
    } else {
        vec![Who::User]
    }
}

/// Whether the test runs as root. Fails the test otherwise, unless running without root was
/// requested.
pub(crate) fn has_root() -> bool {
    if rustix::process::getuid().is_root() {
        return true;
    }
    assert!(
        std::env::var_os(WITHOUT_ROOT).is_some(),
        "this test needs root: run the tests as root, or set {WITHOUT_ROOT}=1 to leave out \
         what needs it"
    );
    not_run("needs root");
    false
}

/// Prints that the current test, or its part as root, is not run. CONTRIBUTING.md lists the
/// tests that this can happen to.
pub(crate) fn not_run(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    // Written directly: the test harness captures what macros print.
    let _ = writeln!(std::io::stderr(), "NOT_RUN {test}: {reason}");
}

/// A command outside of any sandbox, as this user.
pub(crate) fn on_the_host(who: Who, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if who == Who::User && rustix::process::getuid().is_root() {
        command.uid(USER).gid(USER);
    }
    command
}

/// A host with a sandbox folder of its own.
pub(crate) struct TestHost {
    pub(crate) who: Who,
    folder: TempDir,
    program: PathBuf,
}

impl TestHost {
    pub(crate) fn new(who: Who) -> Self {
        let folder = TempDir::new().unwrap();
        // The build folder may be inaccessible to the user; this one is not.
        let program = folder.path().join("helper");
        let built = env!("CARGO_BIN_EXE_prowess-sandbox-helper");
        // A copy takes longer than many tests do. On another file system it is the only way.
        if fs::hard_link(built, &program).is_err() {
            fs::copy(built, &program).unwrap();
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let state = folder.path().join("sandbox");
        fs::create_dir(&state).unwrap();
        if who == Who::User && rustix::process::getuid().is_root() {
            chown(&state, Some(USER), Some(USER)).unwrap();
        }
        Self {
            who,
            folder,
            program,
        }
    }

    /// The sandbox's folder on the host.
    pub(crate) fn state(&self) -> PathBuf {
        self.folder.path().join("sandbox")
    }

    /// The helper's path, which any user can run.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// A request in full.
    pub(crate) fn request(&self, mut request: Value) -> Value {
        let fields = request.as_object_mut().unwrap();
        fields.insert("folder".into(), json!(self.state()));
        // An ordinary user has no control groups here, except in tests of limits.
        fields
            .entry("allow_reduced")
            .or_insert(json!(self.who == Who::User));
        request
    }

    /// Starts the helper with a request, for tests that do more than wait for it.
    pub(crate) fn start(&self, request: Value) -> Child {
        self.start_by(on_the_host(self.who, &self.program), request)
    }

    /// The same by a command that becomes the helper.
    fn start_by(&self, mut command: Command, request: Value) -> Child {
        command
            .env("SECRET", SECRET)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let request = self.request(request).to_string();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(request.as_bytes()).unwrap();
        child
    }

    /// Runs the helper and returns its response.
    pub(crate) fn ask(&self, request: Value) -> Value {
        answer(self.start(request))
    }

    /// Runs commands in one new container and returns their reports.
    pub(crate) fn run(&self, request: Value) -> Vec<Value> {
        reports(&self.ask(request))
    }

    /// The same by a command that becomes the helper.
    pub(crate) fn run_by(&self, command: Command, request: Value) -> Vec<Value> {
        reports(&answer(self.start_by(command, request)))
    }

    /// Runs one command under the default limits.
    pub(crate) fn one(&self, command: Value) -> Value {
        self.run(json!({ "runs": [{ "command": command }] }))
            .remove(0)
    }
}

fn answer(helper: Child) -> Value {
    let output = helper.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {:?}", String::from_utf8_lossy(&output.stdout)))
}

fn reports(answer: &Value) -> Vec<Value> {
    let Some(reports) = answer["reports"].as_array() else {
        panic!("{answer}")
    };
    reports.clone()
}

pub(crate) fn stdout(report: &Value) -> &str {
    report["stdout"]["text"].as_str().unwrap()
}

pub(crate) fn stderr(report: &Value) -> &str {
    report["stderr"]["text"].as_str().unwrap()
}

/// A control group created by root and delegated to the user. Removed when dropped.
pub(crate) struct DelegatedGroup(String);

impl DelegatedGroup {
    /// `None` without root, or where control groups of version 1 are not mounted.
    pub(crate) fn to_user() -> Option<Self> {
        if !has_root() {
            return None;
        }
        let controllers =
            ["memory", "pids", "cpu"].map(|name| PathBuf::from("/sys/fs/cgroup").join(name));
        if !controllers.iter().all(|folder| folder.is_dir()) {
            not_run("needs control groups of version 1 at /sys/fs/cgroup");
            return None;
        }
        let name = format!("delegated-{}", std::process::id());
        for folder in controllers {
            fs::create_dir(folder.join(&name)).unwrap();
            chown(folder.join(&name), Some(USER), Some(USER)).unwrap();
        }
        Some(Self(name))
    }

    pub(crate) fn name(&self) -> &str {
        &self.0
    }
}

impl Drop for DelegatedGroup {
    fn drop(&mut self) {
        for controller in ["memory", "pids", "cpu"] {
            let _ = fs::remove_dir(
                PathBuf::from("/sys/fs/cgroup")
                    .join(controller)
                    .join(&self.0),
            );
        }
    }
}

/// A sandbox in the test's own process, with one container.
pub(crate) struct TestSandbox {
    pub(crate) sandbox: Sandbox,
    pub(crate) container: String,
    pub(crate) folder: std::sync::Arc<TempDir>,
}

pub(crate) const OWNER: &str = "someone";

impl TestSandbox {
    pub(crate) async fn open(change: impl FnOnce(&mut SandboxSettings)) -> Self {
        let folder = std::sync::Arc::new(TempDir::new().unwrap());
        Self::open_in(folder, change).await
    }

    pub(crate) async fn open_in(
        folder: std::sync::Arc<TempDir>,
        change: impl FnOnce(&mut SandboxSettings),
    ) -> Self {
        let mut settings = SandboxSettings::new(folder.path());
        settings.allow_reduced = !rustix::process::getuid().is_root();
        settings.warm = 0;
        change(&mut settings);
        let sandbox = Sandbox::open(settings).await.unwrap();
        let container = sandbox
            .create(OWNER, ContainerSpec::default())
            .await
            .unwrap();
        Self {
            sandbox,
            container,
            folder,
        }
    }

    /// A sandbox in the same folder, to which older containers have expired.
    pub(crate) async fn open_in_expiring(
        folder: std::sync::Arc<TempDir>,
        idle: u64,
        life: u64,
    ) -> Sandbox {
        let mut settings = SandboxSettings::new(folder.path());
        settings.allow_reduced = !rustix::process::getuid().is_root();
        settings.warm = 0;
        settings.container_idle = Duration::from_secs(idle);
        settings.container_life = Duration::from_secs(life);
        Sandbox::open(settings).await.unwrap()
    }

    /// The same sandbox with another container.
    pub(crate) async fn another(&self) -> Self {
        let container = self
            .sandbox
            .create(OWNER, ContainerSpec::default())
            .await
            .unwrap();
        Self {
            sandbox: self.sandbox.clone(),
            container,
            folder: self.folder.clone(),
        }
    }

    pub(crate) async fn exec(&self, execution: Execution) -> Result<ExecutionReport, Error> {
        self.sandbox.exec(OWNER, &self.container, execution).await
    }

    pub(crate) async fn try_bash(&self, line: &str) -> Result<ExecutionReport, Error> {
        let command = prowess_sandbox::Command::Bash(line.into());
        self.exec(Execution {
            command,
            ..Execution::default()
        })
        .await
    }

    pub(crate) async fn bash(&self, line: &str) -> ExecutionReport {
        self.try_bash(line).await.unwrap()
    }
}
