//! Resource limits of the command.
//!
//! Some of what a process uses is counted for its user on the host, or for the user that
//! made its namespace, which is the server's. Those counters are bounded here, or the calls
//! that raise them are not in the system call filter:
//!
//! | counter | bound by |
//! |---|---|
//! | pending signals, timers | `RLIMIT_SIGPENDING`, for all of a sandbox together |
//! | bytes of message queues | `RLIMIT_MSGQUEUE` is 0, and the filter |
//! | locked memory | `RLIMIT_MEMLOCK` |
//! | processes | `RLIMIT_NPROC`, for all of a sandbox together; the control group |
//! | descriptors in flight | `RLIMIT_NOFILE`, see [`raise_own`] |
//! | inotify, fanotify, namespaces, keys, asynchronous IO, io_uring, bpf, perf | the filter |
//! | memory for compiled filters of system calls and sockets, of the whole host | the filter |

use crate::spec::{LaunchFailure, LaunchStep, MAX_PENDING_SIGNALS, Rlimits, StepContext};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Maximum descriptors per process, for any spec.
const MAX_OPEN_FILES: u64 = 512;

/// Raises the soft limit of descriptors to the hard one, for the launcher itself.
///
/// Descriptors sent over a socket and not yet received count for their sender's user. A
/// process may send more while that count is below its own `RLIMIT_NOFILE`. Where all
/// sandboxes run as the server's user the count is shared: commands cannot raise it much
/// above [`MAX_OPEN_FILES`] (one message, of 253, may go over it), however many run; so the
/// launcher and the server, whose limits are higher than that, can always send.
pub(crate) fn raise_own() -> Result<(), LaunchFailure> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).at(LaunchStep::Limits, "open files of the launcher")
}

/// Lowers every limit the spec names. A limit that is lower already stays.
pub(crate) fn set(limits: &Rlimits) -> Result<(), LaunchFailure> {
    lower(Resource::Core, 0)?;
    lower(Resource::Memlock, 64 << 10)?;
    lower(Resource::Msgqueue, 0)?;
    lower(Resource::Fsize, limits.file_bytes)?;
    lower(Resource::Sigpending, MAX_PENDING_SIGNALS)?;
    lower(Resource::Nofile, limits.open_files.min(MAX_OPEN_FILES))?;
    lower(Resource::Nproc, limits.processes)?;
    limits
        .address_space
        .map_or(Ok(()), |bytes| lower(Resource::As, bytes))
}

fn lower(resource: Resource, to: u64) -> Result<(), LaunchFailure> {
    let hard = getrlimit(resource).maximum.map_or(to, |hard| hard.min(to));
    let both = Rlimit {
        current: Some(hard),
        maximum: Some(hard),
    };
    setrlimit(resource, both).at(LaunchStep::Limits, format_args!("{resource:?} to {to}"))
}
