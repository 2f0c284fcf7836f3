//! The process that becomes the command: lowers its limits, confines itself, closes
//! what it inherited, and executes.

use crate::spec::{At, Failure, Go, Prepare, Step, Warm};
use crate::{caps, channel, landlock, limits, seccomp, sys};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// What a shell answers for a command that is not there, or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_RUNNABLE: i32 = 126;

/// When the last steps before the command fail: nothing of it has run.
const CONFINEMENT_FAILED: i32 = 125;

/// The descriptor on which a warm interpreter waits for its program.
const PROGRAM_FD: i32 = 3;

/// Gives up every capability and installs the system call filter, for this process
/// and those it starts.
pub(crate) fn confine(filter: &seccomp::Filter) -> Result<(), Failure> {
    caps::drop_all()?;
    filter.install()
}

/// Starts the command and returns its id.
pub(crate) fn start(go: &Go, stdio: &[OwnedFd], prepare: &Prepare) -> Result<i32, Failure> {
    match sys::fork().at(Step::Start, "fork")? {
        Some(pid) => Ok(pid),
        None => {
            let error = become_command(
                &go.argv,
                &go.env,
                &go.cwd,
                &Descriptors::Stdio(stdio),
                prepare,
            );
            refuse(&go.argv, &error)
        }
    }
}

/// An interpreter that has started and waits for its program.
pub(crate) struct Waiting {
    pid: i32,
    socket: OwnedFd,
}

/// Starts an interpreter, confined, that will get its program and its standard
/// streams later.
pub(crate) fn start_warm(
    warm: &Warm,
    prepare: &Prepare,
    filter: &seccomp::Filter,
) -> Result<Waiting, Failure> {
    let (socket, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .at(Step::Start, "socketpair")?;
    match sys::fork().at(Step::Start, "fork")? {
        Some(pid) => Ok(Waiting { pid, socket }),
        None => {
            let error = match confine(filter) {
                Ok(()) => {
                    let program = Descriptors::Program(&theirs);
                    become_command(&warm.argv, &warm.env, "/", &program, prepare)
                }
                Err(failure) => Refusal::Confinement(failure),
            };
            refuse(&warm.argv, &error)
        }
    }
}

impl Waiting {
    /// Hands over program and streams, and returns the interpreter's id.
    pub(crate) fn go(self, go: &Go, stdio: &[OwnedFd]) -> Result<i32, Failure> {
        let fds: Vec<_> = stdio.iter().map(|fd| fd.as_fd()).collect();
        channel::send(&self.socket, go, &fds).at(Step::Start, "program")?;
        Ok(self.pid)
    }

    /// Lets it go: what is to run is no program for it.
    pub(crate) fn dismiss(self) -> Result<(), Failure> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(());
        };
        rustix::process::kill_process(pid, Signal::KILL)
            .and_then(|()| rustix::process::waitpid(Some(pid), WaitOptions::empty()))
            .map(drop)
            .at(Step::Start, "the waiting interpreter")
    }
}

/// Why the command could not be started.
enum Refusal {
    Confinement(Failure),
    Execute(io::Error),
}

/// The descriptors a command starts with.
enum Descriptors<'a> {
    /// Standard input, output and error.
    Stdio(&'a [OwnedFd]),
    /// The socket of a warm interpreter; its streams lead nowhere yet.
    Program(&'a OwnedFd),
}

/// Never returns on success.
fn become_command(
    argv: &[String],
    env: &[(String, String)],
    cwd: &str,
    descriptors: &Descriptors<'_>,
    prepare: &Prepare,
) -> Refusal {
    if let Err(failure) = last_steps(cwd, descriptors, prepare) {
        return Refusal::Confinement(failure);
    }
    Refusal::Execute(execute(argv, env))
}

fn last_steps(cwd: &str, descriptors: &Descriptors<'_>, prepare: &Prepare) -> Result<(), Failure> {
    // First, so that what fails after it can be told on standard error.
    place(descriptors).at(Step::Start, "descriptors")?;
    rustix::process::setsid().at(Step::Start, "setsid")?;
    if prepare.landlock {
        landlock::restrict()?;
    }
    limits::set(&prepare.rlimits)?;
    // Last, so that a folder that is not there reads as the command's own failure.
    rustix::process::chdir(cwd).at(Step::Start, cwd)
}

/// Puts the descriptors where the program expects them and closes all others.
fn place(descriptors: &Descriptors<'_>) -> io::Result<()> {
    match descriptors {
        Descriptors::Stdio([stdin, stdout, stderr]) => {
            rustix::stdio::dup2_stdin(stdin)?;
            rustix::stdio::dup2_stdout(stdout)?;
            rustix::stdio::dup2_stderr(stderr)?;
            sys::close_from(3)
        }
        Descriptors::Stdio(_) => Err(io::Error::other("not three streams")),
        Descriptors::Program(socket) => {
            let null = std::fs::OpenOptions::new()
                .read(true)
                .write(true)
                .open("/dev/null")?;
            rustix::stdio::dup2_stdin(&null)?;
            rustix::stdio::dup2_stdout(&null)?;
            rustix::stdio::dup2_stderr(&null)?;
            drop(null);
            sys::move_to(socket.as_fd(), PROGRAM_FD)?;
            sys::close_from(PROGRAM_FD.cast_unsigned() + 1)
        }
    }
}

/// Looks the program up as a shell does and becomes it. Returns only on failure.
fn execute(argv: &[String], env: &[(String, String)]) -> io::Error {
    let Ok(arguments) = argv
        .iter()
        .map(|a| CString::new(a.as_str()))
        .collect::<Result<Vec<_>, _>>()
    else {
        return io::Error::new(io::ErrorKind::InvalidInput, "an argument holds a NUL byte");
    };
    let Ok(environment) = env
        .iter()
        .map(|(k, v)| CString::new(format!("{k}={v}")))
        .collect::<Result<Vec<_>, _>>()
    else {
        return io::Error::new(io::ErrorKind::InvalidInput, "a variable holds a NUL byte");
    };
    let mut error = io::Error::from(io::ErrorKind::NotFound);
    for program in candidates(argv, env) {
        error = sys::execute(&program, &arguments, &environment);
        if error.kind() != io::ErrorKind::NotFound {
            break;
        }
    }
    error
}

fn candidates(argv: &[String], env: &[(String, String)]) -> Vec<CString> {
    let Some(name) = argv.first() else {
        return Vec::new();
    };
    if name.contains('/') {
        return CString::new(name.as_str()).into_iter().collect();
    }
    let path = env
        .iter()
        .find(|(key, _)| key == "PATH")
        .map_or("", |(_, value)| value);
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .filter_map(|folder| CString::new(Path::new(folder).join(name).as_os_str().as_bytes()).ok())
        .collect()
}

/// Says on standard error why the command did not start, and leaves as a shell would.
fn refuse(argv: &[String], refusal: &Refusal) -> ! {
    let (code, why) = match refusal {
        Refusal::Confinement(failure) => (CONFINEMENT_FAILED, failure.to_string()),
        Refusal::Execute(error) if error.kind() == io::ErrorKind::NotFound => {
            (NOT_FOUND, "command not found".into())
        }
        Refusal::Execute(error) => (NOT_RUNNABLE, error.to_string()),
    };
    let name = argv.first().map_or("", String::as_str);
    // Where even that cannot be written, the code says the same.
    let _ = rustix::io::write(
        rustix::stdio::stderr(),
        format!("{name}: {why}\n").as_bytes(),
    );
    sys::exit(code)
}
