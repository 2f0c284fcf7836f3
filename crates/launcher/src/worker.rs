//! The process that becomes the command: lowers its limits, confines itself, closes
//! what it inherited, and executes.

use crate::spec::{
    CommandSpec, LaunchFailure, LaunchStep, SandboxSpec, StepContext, WarmInterpreter,
};
use crate::{caps, channel, landlock, limits, seccomp, sys};
use rustix::fd::{AsFd, OwnedFd};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use rustix::process::{Pid, Signal, WaitOptions};
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Exit codes of a shell for a command that does not exist, or cannot be run.
const NOT_FOUND: i32 = 127;
const NOT_RUNNABLE: i32 = 126;

/// When the last steps before the command fail: nothing of it has run.
const CONFINEMENT_FAILED: i32 = 125;

/// The descriptor on which a warm interpreter waits for its program.
const PROGRAM_FD: i32 = 3;

/// Gives up every capability and installs the system call filter, for this process
/// and those it starts.
pub(crate) fn confine(filter: &seccomp::Filter) -> Result<(), LaunchFailure> {
    caps::drop_all()?;
    filter.install()
}

/// Starts the command and returns its id.
pub(crate) fn start(
    command: &CommandSpec,
    stdio: &[OwnedFd],
    spec: &SandboxSpec,
) -> Result<i32, LaunchFailure> {
    match sys::fork().at(LaunchStep::Start, "fork")? {
        Some(pid) => Ok(pid),
        None => {
            let error = become_command(
                &command.argv,
                &command.env,
                &command.cwd,
                &Descriptors::Stdio(stdio),
                spec,
            );
            exit_with_error(&command.argv, &error)
        }
    }
}

/// An interpreter that has started and waits for its program.
pub(crate) struct WaitingInterpreter {
    pid: i32,
    socket: OwnedFd,
}

/// Starts an interpreter, confined, that will get its program and its standard
/// streams later.
pub(crate) fn start_warm(
    warm: &WarmInterpreter,
    spec: &SandboxSpec,
    filter: &seccomp::Filter,
) -> Result<WaitingInterpreter, LaunchFailure> {
    let (socket, theirs) = rustix::net::socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )
    .at(LaunchStep::Start, "socketpair")?;
    match sys::fork().at(LaunchStep::Start, "fork")? {
        Some(pid) => Ok(WaitingInterpreter { pid, socket }),
        None => {
            let error = match confine(filter) {
                Ok(()) => {
                    let program = Descriptors::Program(&theirs);
                    become_command(&warm.argv, &warm.env, "/", &program, spec)
                }
                Err(failure) => StartError::Confinement(failure),
            };
            exit_with_error(&warm.argv, &error)
        }
    }
}

impl WaitingInterpreter {
    /// Hands over program and streams, and returns the interpreter's id.
    pub(crate) fn run_program(
        self,
        go: &CommandSpec,
        stdio: &[OwnedFd],
    ) -> Result<i32, LaunchFailure> {
        let fds: Vec<_> = stdio.iter().map(|fd| fd.as_fd()).collect();
        channel::send(&self.socket, go, &fds).at(LaunchStep::Start, "program")?;
        Ok(self.pid)
    }

    /// Ends the interpreter: the command is not a program for it.
    pub(crate) fn dismiss(self) -> Result<(), LaunchFailure> {
        let Some(pid) = Pid::from_raw(self.pid) else {
            return Ok(());
        };
        rustix::process::kill_process(pid, Signal::KILL)
            .and_then(|()| rustix::process::waitpid(Some(pid), WaitOptions::empty()))
            .map(drop)
            .at(LaunchStep::Start, "the waiting interpreter")
    }
}

/// Why the command could not be started.
enum StartError {
    Confinement(LaunchFailure),
    Execute(io::Error),
}

/// The descriptors a command starts with.
enum Descriptors<'a> {
    /// Standard input, output and error.
    Stdio(&'a [OwnedFd]),
    /// The socket of a warm interpreter; its streams are `/dev/null` until then.
    Program(&'a OwnedFd),
}

/// Never returns on success.
fn become_command(
    argv: &[String],
    env: &[(String, String)],
    cwd: &str,
    descriptors: &Descriptors<'_>,
    spec: &SandboxSpec,
) -> StartError {
    if let Err(failure) = finish_confinement(cwd, descriptors, spec) {
        return StartError::Confinement(failure);
    }
    sys::die_of_broken_pipes();
    StartError::Execute(execute(argv, env))
}

fn finish_confinement(
    cwd: &str,
    descriptors: &Descriptors<'_>,
    spec: &SandboxSpec,
) -> Result<(), LaunchFailure> {
    // First, so that later failures can be reported on standard error.
    place_descriptors(descriptors).at(LaunchStep::Start, "descriptors")?;
    rustix::process::setsid().at(LaunchStep::Start, "setsid")?;
    if spec.landlock {
        landlock::restrict()?;
    }
    limits::set(&spec.rlimits)?;
    // Last, so that a missing folder is reported as the command's own failure.
    rustix::process::chdir(cwd).at(LaunchStep::Start, cwd)
}

/// Puts the descriptors where the program expects them and closes all others.
fn place_descriptors(descriptors: &Descriptors<'_>) -> io::Result<()> {
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
    for program in program_candidates(argv, env) {
        error = sys::execute(&program, &arguments, &environment);
        if error.kind() != io::ErrorKind::NotFound {
            break;
        }
    }
    error
}

fn program_candidates(argv: &[String], env: &[(String, String)]) -> Vec<CString> {
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

/// Reports on standard error why the command did not start, and exits as a shell would.
fn exit_with_error(argv: &[String], error: &StartError) -> ! {
    let (code, why) = match error {
        StartError::Confinement(failure) => (CONFINEMENT_FAILED, failure.to_string()),
        StartError::Execute(error) if error.kind() == io::ErrorKind::NotFound => {
            (NOT_FOUND, "command not found".into())
        }
        StartError::Execute(error) => (NOT_RUNNABLE, error.to_string()),
    };
    let name = argv.first().map_or("", String::as_str);
    // If that cannot be written, the exit code remains.
    let _ = rustix::io::write(
        rustix::stdio::stderr(),
        format!("{name}: {why}\n").as_bytes(),
    );
    sys::exit(code)
}
