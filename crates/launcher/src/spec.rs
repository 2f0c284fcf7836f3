//! Messages between the server and the launcher, serialized and sent over
//! [`crate::channel`]. Host paths are either part of [`RootSpec`], which comes from the
//! operator's settings, or relative to its state folder.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// `argv[0]` of a launcher process.
pub const ARG0: &str = "prowess-launcher";

/// Pending signals and timers of a sandbox. The host's counter allows about a
/// hundred thousand, so for hundreds of sandboxes at once.
pub const MAX_PENDING_SIGNALS: u64 = 256;

/// The user and group id of every command, inside its sandbox.
pub const INNER_ID: u32 = 1000;

/// The loopback port of the egress proxy, if the command has one.
pub const PROXY_PORT: u16 = 3128;

/// First message to a broker: the part of the root that all its sandboxes share.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RootSpec {
    /// Host folder with everything that can be mounted into a sandbox: container files,
    /// skills, package layers. It also has `stage`, an empty folder to mount on.
    pub state: PathBuf,
    /// Host paths shown read-only, as (source, path inside).
    pub runtime: Vec<(PathBuf, PathBuf)>,
    /// Symbolic links of the root, as (path inside, target).
    pub links: Vec<(PathBuf, PathBuf)>,
    /// Small files of the root, as (path inside, text).
    pub files: Vec<(PathBuf, String)>,
    /// Whether the broker must first enter a user namespace of its own: true unless it
    /// is root, because an ordinary user cannot create a mount namespace otherwise.
    pub own_user_namespace: bool,
}

/// Every later message to a broker: create one sandbox. Carries the new init's socket to
/// the server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxSpec {
    /// The id, as the broker sees it, that [`INNER_ID`] maps to. Never 0.
    pub outer_id: u32,
    /// Bytes of `/tmp`.
    pub tmp_bytes: u64,
    /// Files and folders `/tmp` can hold.
    pub tmp_inodes: u64,
    /// Limits set on the command with `setrlimit`.
    pub rlimits: Rlimits,
    /// Whether to confine by Landlock; false only where the host has none and the
    /// operator accepts that.
    pub landlock: bool,
    /// Start this interpreter now, to wait for its program, instead of at [`CommandSpec`].
    pub warm: Option<WarmInterpreter>,
}

impl SandboxSpec {
    /// Whether the other describes the same sandbox, apart from a warm interpreter.
    #[must_use]
    pub fn is_same_sandbox(&self, other: &Self) -> bool {
        let Self {
            outer_id,
            tmp_bytes,
            tmp_inodes,
            rlimits,
            landlock,
            warm: _,
        } = self;
        *outer_id == other.outer_id
            && (*tmp_bytes, *tmp_inodes) == (other.tmp_bytes, other.tmp_inodes)
            && *rlimits == other.rlimits
            && *landlock == other.landlock
    }
}

/// An interpreter started ahead of its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmInterpreter {
    /// The command that will wait for its program on descriptor 3.
    pub argv: Vec<String>,
    /// Its environment.
    pub env: Vec<(String, String)>,
}

/// Limits of the command's own process and those it starts. `None` leaves as is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rlimits {
    /// Largest file it may write.
    pub file_bytes: u64,
    /// Open descriptors.
    pub open_files: u64,
    /// Processes and threads of its user.
    pub processes: u64,
    /// Address space, set only where no cgroup bounds memory.
    pub address_space: Option<u64>,
}

/// Message to an init: the command and what is mounted for it. Carries stdin, stdout
/// and stderr.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct CommandSpec {
    /// Program and arguments.
    pub argv: Vec<String>,
    /// The whole environment.
    pub env: Vec<(String, String)>,
    /// Working directory inside.
    pub cwd: String,
    /// The writable folder.
    pub data: DataSpec,
    /// Read-only mounts, as (path relative to the state folder, path inside). The
    /// path inside must be a new name in one of the layout's folders.
    pub mounts: Vec<(String, String)>,
    /// Small read-only files, as (path inside, text), in the layout's `files` folder.
    /// They are never written to the host's disk.
    pub files: Vec<(String, String)>,
    /// Whether to listen on [`PROXY_PORT`] of the sandbox's loopback and hand the
    /// listening socket to the server.
    pub proxy: bool,
    /// What a warm interpreter runs instead of `argv`. Without it, the interpreter is ended.
    pub program: Option<String>,
}

/// The writable folder of a sandbox. Writes go to a tmpfs of fixed size, which overlays
/// the container's files if there are any; the server collects them once every process is
/// dead. So the limit is hard, and nothing that hostile code creates becomes an inode of
/// the host's disk.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DataSpec {
    /// Existing files, as a path relative to the state folder.
    pub lower: Option<String>,
    /// Bytes that can be written.
    pub bytes: u64,
    /// Files and folders that can be created.
    pub inodes: u64,
}

/// Reply of a broker to [`RootSpec`] and [`SandboxSpec`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum BrokerReply {
    /// The root is built.
    Ready,
    /// An init was cloned; the message carries its pidfd.
    Spawned {
        /// Its process id on the host.
        pid: i32,
    },
    /// A step failed.
    Failed(LaunchFailure),
}

/// Reply of an init to the server.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum InitReply {
    /// The command is running. Carries the folder that receives writes to the data
    /// folder, the mount namespace, and the proxy's listening socket if one was
    /// requested. While the server holds the namespace, tearing it down does not delay
    /// the end of the sandbox.
    Started {
        /// The Landlock version in force.
        landlock_abi: i32,
    },
    /// The command ended. Everything it started dies with this message.
    Ended {
        /// Status as `wait` gives it.
        status: i32,
    },
    /// The sandbox could not be built; nothing of the command ran.
    Failed(LaunchFailure),
}

/// A step that failed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {message}")]
pub struct LaunchFailure {
    /// Which step.
    pub step: LaunchStep,
    /// The system's error number, when there is one.
    pub errno: Option<i32>,
    /// The object of the step, and the error text.
    pub message: String,
}

/// The steps of building a sandbox, so that a probe can report what a host lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LaunchStep {
    /// Reading a message.
    Message,
    /// Making the user namespace and its id map.
    UserNamespace,
    /// Making the other namespaces.
    Namespaces,
    /// Building the shared read-only root.
    Root,
    /// Mounting the process table of the new namespace.
    Proc,
    /// Mounting the sized temporary folder.
    Tmp,
    /// Overlaying the container's files with the writable layer.
    Data,
    /// Mounting skills and layers.
    Mounts,
    /// Changing to the new root.
    Pivot,
    /// Bringing the loopback device up and naming the host.
    Network,
    /// Setting resource limits.
    Limits,
    /// Giving up capabilities.
    Capabilities,
    /// Restricting the file system by Landlock.
    Landlock,
    /// Installing the system call filter.
    Seccomp,
    /// Starting the process.
    Start,
}

impl std::fmt::Display for LaunchStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Message => "message",
            Self::UserNamespace => "user-namespace",
            Self::Namespaces => "namespaces",
            Self::Root => "root",
            Self::Proc => "proc",
            Self::Tmp => "tmp",
            Self::Data => "data",
            Self::Mounts => "mounts",
            Self::Pivot => "pivot",
            Self::Network => "network",
            Self::Limits => "limits",
            Self::Capabilities => "capabilities",
            Self::Landlock => "landlock",
            Self::Seccomp => "seccomp",
            Self::Start => "start",
        })
    }
}

/// Adds the step to an error.
#[cfg(target_os = "linux")]
pub(crate) trait StepContext<T> {
    /// Turns the error into a [`LaunchFailure`] of `step` on `what`.
    fn at(self, step: LaunchStep, what: impl std::fmt::Display) -> Result<T, LaunchFailure>;
}

#[cfg(target_os = "linux")]
impl<T, E: Into<std::io::Error>> StepContext<T> for Result<T, E> {
    fn at(self, step: LaunchStep, what: impl std::fmt::Display) -> Result<T, LaunchFailure> {
        self.map_err(|error| {
            let error = error.into();
            LaunchFailure {
                step,
                errno: error.raw_os_error(),
                message: format!("{what}: {error}"),
            }
        })
    }
}
