//! What is to be run, and what came of it.

use crate::collect::{SandboxOutput, SkippedFile};
use crate::egress::{EgressConnection, EgressSecret};
use crate::error::Error;
use crate::probe::Grade;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::sync::mpsc::UnboundedSender;

/// Longest single argument the system takes, less a little for the terminating byte.
const MAX_ARGUMENT_BYTES: usize = (128 << 10) - 1;

/// One command to run.
#[derive(Debug, Clone, Default)]
pub struct Execution {
    /// What to run.
    pub command: Command,
    /// What it reads from standard input; nothing if empty.
    pub stdin: Vec<u8>,
    /// Variables beside the few that are always set. Nothing of the server's own.
    pub env: Vec<(String, String)>,
    /// Secrets it may use by their stand-ins, when it has a way out. Never stored.
    pub secrets: Vec<EgressSecret>,
    /// A tighter wall-clock bound than the policy's.
    pub timeout: Option<Duration>,
    /// Receives output as it comes. What it can hold is bounded by the policy's
    /// `output_flood`.
    pub stream: Option<UnboundedSender<OutputChunk>>,
}

/// The three ways to say what to run.
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

/// A piece of output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputChunk {
    /// Which stream it came from.
    pub stream: OutputStream,
    /// The bytes, not necessarily whole characters.
    pub bytes: Vec<u8>,
}

/// The output streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// By itself, with this code.
    Exit(i32),
    /// By this signal, of its own making.
    Signal(i32),
    /// Its time was up.
    Timeout,
    /// It ran out of memory.
    OutOfMemory,
    /// It wrote more output than allowed.
    OutputFlood,
}

impl CommandOutcome {
    /// The code a shell would give: what a caller with room for one number should use.
    #[must_use]
    pub fn exit_code(self) -> i32 {
        match self {
            Self::Exit(code) => code,
            Self::Signal(signal) => 128 + signal,
            Self::Timeout => 124,
            Self::OutOfMemory => 137,
            Self::OutputFlood => 141,
        }
    }
}

/// A limit that was met, whether or not it ended the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitHit {
    /// A process was killed for want of memory.
    Memory,
    /// A process or thread could not be started.
    Processes,
    /// `/mnt/data` was full.
    Data,
}

/// What came of a command.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ExecutionReport {
    /// How it ended.
    pub outcome: CommandOutcome,
    /// Limits that were met.
    pub hits: Vec<LimitHit>,
    /// Standard output.
    pub stdout: CapturedOutput,
    /// Standard error.
    pub stderr: CapturedOutput,
    /// New and changed files in `/mnt/data`.
    pub outputs: Vec<SandboxOutput>,
    /// What was found there and not taken, and why.
    pub skipped: Vec<SkippedFile>,
    /// Wall-clock time of the command, without waiting in the queue.
    #[serde(rename = "elapsed_ms", with = "crate::policy::millis")]
    pub elapsed: Duration,
    /// Connections it asked for, when it has a way out.
    pub connections: Vec<EgressConnection>,
    /// How strong the sandbox was.
    pub level: Grade,
}

/// The kept part of a stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedOutput {
    /// Beginning and end, with the cut named between them if there is one. Bytes that
    /// are not UTF-8 are replaced.
    pub text: String,
    /// Bytes written in all.
    pub bytes: u64,
    /// Bytes left out of `text`.
    pub cut: u64,
}
