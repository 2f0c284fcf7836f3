//! A command to run, and its result.

use crate::collect::{SandboxOutput, SkippedFile};
use crate::command_id::CommandId;
use crate::egress::{EgressConnection, EgressSecret};
use crate::error::Error;
use crate::probe::Grade;
use crate::run_ownership::RunOwnership;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Longest single argument of the kernel, without the terminating byte.
const MAX_ARGUMENT_BYTES: usize = (128 << 10) - 1;

/// One command to run.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// What to run.
    pub command: Command,
    /// Its standard input.
    pub stdin: Vec<u8>,
    /// Variables in addition to the default ones. The server's own are never passed on.
    pub env: Vec<(String, String)>,
    /// Secrets it may use by their stand-ins, if it has network access. Never stored.
    pub secrets: Vec<EgressSecret>,
    /// A shorter timeout than the policy's.
    pub timeout: Option<Duration>,
    /// Receives output as it is written, at most `output_flood` bytes (see the limits).
    pub stream: Option<UnboundedSender<OutputChunk>>,
    /// The same for the same command of a run that is repeated, so that a result that another
    /// host still has is used instead. `None` for a command that is never repeated.
    pub id: Option<CommandId>,
    /// Whether only the result of a command of this id is wanted, which a server before this one
    /// has begun: it is not run if nobody has it. Where commands run on this host, nobody has.
    pub attach_only: bool,
    /// The run it belongs to, for traces.
    pub run: Option<String>,
    /// The epoch of that run's lease: of two servers that want the same command, the one with
    /// the greater epoch gets it. 0 if the run has no lease.
    pub epoch: i64,
    /// Whether this server still has that run. If not, giving up the command does not end it
    /// where commands run on other hosts.
    pub ownership: RunOwnership,
    /// Its span, as a W3C trace context, for the host that runs it.
    pub traceparent: Option<String>,
}

/// The three forms of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Program and arguments.
    Argv(Vec<String>),
    /// A line for bash.
    Bash(String),
    /// A Python program.
    Python(String),
}

impl Default for Command {
    fn default() -> Self {
        Self::Argv(Vec::new())
    }
}

impl Command {
    /// The command as program and arguments.
    pub(crate) fn argv(&self) -> Result<Vec<String>, Error> {
        let argv: Vec<String> = match self {
            Self::Argv(argv) => argv.clone(),
            Self::Bash(line) => vec!["bash".into(), "-c".into(), line.clone()],
            Self::Python(code) => vec!["python3".into(), "-c".into(), code.clone()],
        };
        if argv.first().is_none_or(String::is_empty) {
            let why = "there is nothing to run";
            return Err(Error::BadName {
                what: "command",
                name: String::new(),
                why,
            });
        }
        for argument in &argv {
            if argument.len() > MAX_ARGUMENT_BYTES {
                let (bytes, most) = (argument.len(), MAX_ARGUMENT_BYTES);
                return Err(Error::TooLong {
                    what: "command",
                    bytes,
                    most,
                });
            }
            if argument.contains('\0') {
                let (name, why) = (argument.clone(), "it holds a NUL byte");
                return Err(Error::BadName {
                    what: "argument",
                    name,
                    why,
                });
            }
        }
        Ok(argv)
    }
}

/// A chunk of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Its stream.
    pub stream: OutputStream,
    /// The bytes, which may end within a character.
    pub bytes: Vec<u8>,
}

/// The output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandOutcome {
    /// It exited with this code.
    Exit(i32),
    /// It was ended by this signal.
    Signal(i32),
    /// It exceeded its timeout.
    Timeout,
    /// It ran out of memory.
    OutOfMemory,
    /// It exceeded the limit on output.
    OutputFlood,
}

impl fmt::Display for CommandOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout => f.write_str("timed out"),
            Self::OutOfMemory => f.write_str("out of memory"),
            Self::OutputFlood => f.write_str("too much output"),
        }
    }
}

impl CommandOutcome {
    /// The exit code a shell would report.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => signal.saturating_add(128),
            Self::Timeout => 124,
            Self::OutOfMemory => 137,
            Self::OutputFlood => 141,
        }
    }
}

/// A limit that was reached, whether or not it ended the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitHit {
    /// A process was killed because memory ran out.
    Memory,
    /// A process or thread could not be started.
    Processes,
    /// `/mnt/data` was full.
    Data,
}

/// The result of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecutionReport {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Limits that were reached.
    pub hits: Vec<LimitHit>,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
    /// New and changed files in `/mnt/data`.
    pub outputs: Vec<SandboxOutput>,
    /// Files there that are not reported as outputs, and why.
    pub skipped: Vec<SkippedFile>,
    /// Wall-clock time of the command, without waiting in the queue.
    #[serde(rename = "elapsed_ms", with = "crate::policy::millis")]
    pub elapsed: Duration,
    /// Connections it requested through the proxy.
    pub connections: Vec<EgressConnection>,
    /// The isolation of the sandbox.
    pub level: Grade,
    /// Whether it surely left the container's files as they were. Unknown to others than the
    /// sandbox that ran it.
    #[serde(skip)]
    pub files_unchanged: bool,
    /// The worker that ran it; `None` if this process did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

/// The retained part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedOutput {
    /// Beginning and end, with the number of omitted bytes between them if any. Bytes
    /// that are not UTF-8 are replaced.
    pub text: String,
    /// Bytes written in total.
    pub bytes: u64,
    /// Bytes omitted from `text`.
    pub cut: u64,
}
