//! A server program for the length of a test.
//!
//! A small shell process watches over it: when the test process ends, in whatever way, the
//! watcher's input ends, and the program is killed. What the program writes is its log.
//! Knows nothing about the program.
#![expect(
    clippy::panic,
    reason = "without its server a test must stop, and say why"
)]

use std::collections::BTreeSet;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Starts the program, says its process id and how it ended, and kills it when our input ends.
/// The reader ends with the program: the id may belong to another process later.
const WATCHER: &str = r#"
    exec 4<&0
    "$@" 2>&1 </dev/null 4<&- &
    server=$!
    echo "watcher: started $server"
    (read -r _; kill -KILL "$server") <&4 >/dev/null 2>&1 &
    reader=$!
    wait "$server"
    status=$?
    kill "$reader"
    echo "watcher: exited $status"
"#;

const STARTED: &str = "watcher: started ";
const EXITED: &str = "watcher: exited ";
/// How long a program may take until it is ready, or ends after it was killed.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A running program, killed when this is dropped or the test process ends.
#[derive(Debug)]
pub struct WatchedProcess {
    name: String,
    watcher: Child,
    input: Option<ChildStdin>,
    output: Arc<ProcessOutput>,
}

#[derive(Debug, Default)]
struct ProcessOutput {
    state: Mutex<OutputState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct OutputState {
    log: String,
    pid: Option<u32>,
    /// 128 and more: ended by a signal.
    status: Option<i32>,
    /// No line follows.
    is_complete: bool,
}

impl WatchedProcess {
    /// Starts a program in its own process group. Its standard input is empty; what it writes
    /// becomes the log.
    ///
    /// # Panics
    ///
    /// When no shell can be started.
    pub fn start(name: &str, program: &Command) -> Self {
        let mut watcher = Command::new("/bin/sh");
        watcher.args(["-c", WATCHER, "sh"]);
        watcher
            .arg(program.get_program())
            .args(program.get_args())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(folder) = program.get_current_dir() {
            watcher.current_dir(folder);
        }
        for (name, value) in program.get_envs() {
            match value {
                Some(value) => watcher.env(name, value),
                None => watcher.env_remove(name),
            };
        }
        let mut watcher = watcher.spawn().unwrap();
        let input = watcher.stdin.take();
        let lines = BufReader::new(watcher.stdout.take().unwrap());
        let output = Arc::new(ProcessOutput::default());
        let shared = Arc::clone(&output);
        std::thread::spawn(move || shared.read(lines));
        WatchedProcess {
            name: name.to_owned(),
            watcher,
            input,
            output,
        }
    }

    /// Waits for the first line of the log from which `find` takes something.
    ///
    /// # Panics
    ///
    /// When the program ends before, or takes too long; with its log.
    pub fn wait_for_line<T>(&self, mut find: impl FnMut(&str) -> Option<T>) -> T {
        let found = self.output.wait(|state| {
            let found = state.log.lines().find_map(&mut find);
            match found {
                Some(found) => Some(Some(found)),
                None if state.status.is_some() || state.is_complete => Some(None),
                None => None,
            }
        });
        match found.flatten() {
            Some(found) => found,
            None => panic!("{} did not become ready:\n{}", self.name, self.log()),
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        match self.output.wait(|state| state.pid) {
            Some(pid) => pid,
            None => panic!("{} was not started:\n{}", self.name, self.log()),
        }
    }

    /// Sends a signal, named as in `KILL`, unless the program has ended.
    pub fn signal(&self, signal: &str) {
        if self.status().is_some() {
            return;
        }
        let script = format!("kill -{signal} {}", self.pid());
        let mut kill = Command::new("/bin/sh");
        // It may end by itself meanwhile.
        let _ = kill.args(["-c", &script]).stderr(Stdio::null()).status();
    }

    /// Kills it without a warning, and waits for its end.
    pub fn kill(&self) {
        self.signal("KILL");
        self.wait();
    }

    /// How it ended, if it has: 128 and more for a signal.
    pub fn status(&self) -> Option<i32> {
        self.output.state.lock().unwrap().status
    }

    /// Waits for its end.
    ///
    /// # Panics
    ///
    /// When it takes too long; with its log.
    pub fn wait(&self) -> i32 {
        match self.output.wait(|state| state.status) {
            Some(status) => status,
            None => panic!("{} does not end:\n{}", self.name, self.log()),
        }
    }

    /// What it has written so far.
    pub fn log(&self) -> String {
        self.output.state.lock().unwrap().log.clone()
    }
}

impl Drop for WatchedProcess {
    fn drop(&mut self) {
        // The watcher kills what still runs, stopped or not.
        drop(self.input.take());
        let _ = self.watcher.wait();
    }
}

impl ProcessOutput {
    fn read(&self, lines: impl BufRead) {
        for line in lines.split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            let mut state = self.state.lock().unwrap();
            if let Some(pid) = line.strip_prefix(STARTED) {
                state.pid = pid.parse().ok();
            } else if let Some(status) = line.strip_prefix(EXITED) {
                state.status = status.parse().ok();
            } else {
                state.log.push_str(&line);
                state.log.push('\n');
            }
            drop(state);
            self.changed.notify_all();
        }
        self.state.lock().unwrap().is_complete = true;
        self.changed.notify_all();
    }

    fn wait<T>(&self, mut check: impl FnMut(&OutputState) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + MAX_WAIT;
        let mut state = self.state.lock().unwrap();
        loop {
            if let Some(found) = check(&state) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            state = self.changed.wait_timeout(state, left).unwrap().0;
        }
    }
}

/// Below those that the system gives to connections: one of these could take a port between the
/// moment in which it was found free and the start of the program that is to listen there.
const LISTENING_PORTS: std::ops::Range<u16> = 10_000..32_000;

/// A port of this machine that was free a moment ago, and that this process was not given before.
/// A program that is started again must listen where it did.
pub fn free_port() -> u16 {
    static GIVEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());
    let mut given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        let number = RandomState::new().build_hasher().finish();
        let number = number % u64::from(LISTENING_PORTS.end - LISTENING_PORTS.start);
        let port = LISTENING_PORTS.start + u16::try_from(number).unwrap();
        let is_free = std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
        if is_free && given.insert(port) {
            return port;
        }
    }
}

/// A program in a folder that `cargo xtask test` unpacks below the target folder, or of the
/// system.
///
/// # Panics
///
/// When it is missing, with what to do.
pub fn find_program(name: &str, unpacked: &str, package: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let installed = test
        .ancestors()
        .map(|folder| folder.join(unpacked).join(name));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = std::env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/bin".into()]);
    let system = system.map(|folder| folder.join(name));
    let found = installed.chain(system).find(|program| program.is_file());
    found.unwrap_or_else(|| {
        panic!(
            "this test needs `{name}`, which is neither in {unpacked} below the target folder nor \
             on the PATH: run `cargo xtask test`, which installs it, or install {package}"
        )
    })
}
