//! The lowest layer of the sandbox, and the only crate with `unsafe`.
//!
//! Prowess starts its own binary again: [`maybe_run`], called first in every `main`,
//! checks `argv[0]` and, when it is [`ARG0`], becomes a *broker* and never returns. There
//! are three kinds of process:
//!
//! | process | lifetime | task |
//! |---|---|---|
//! | `broker` | as long as the server's slot | builds the read-only root once, clones an init per sandbox |
//! | `init` | one execution | pid 1 of all new namespaces: mounts, waits, reaps, reports the status |
//! | `worker` | one execution | drops its remaining privileges and executes the command |
//!
//! The broker starts with an empty environment and one descriptor, and has one thread, so
//! that its clones contain no secrets. When the server dies, the broker reads end of file
//! from its socket and exits; its children have a parent-death signal and die too, and
//! when pid 1 dies the kernel kills all processes of its namespace.
//!
//! This crate does what a [`spec`] says. It contains no policy and never does less than
//! the spec: every step that fails is reported by name.
//!
//! | module | owns |
//! |---|---|
//! | `broker`, `init`, `worker` | the three processes |
//! | `spec` | the messages between server, broker and init |
//! | `channel` | sending them, with descriptors, over a socket |
//! | `layout` | paths inside a sandbox |
//! | `root` | the read-only root that all sandboxes of a broker share |
//! | `command_mounts` | the mounts of one command |
//! | `mounts` | the mount system calls |
//! | `seccomp`, `bpf` | the system call filter, and its compiler |
//! | `landlock` | file access rules |
//! | `caps`, `limits` | capabilities, resource limits |
//! | `schedule` | the scheduling class of a thread |
//! | `sys` | every `unsafe` system call |

mod bpf;
mod broker;
mod caps;
pub mod channel;
mod command_mounts;
mod init;
mod landlock;
pub mod layout;
mod limits;
mod mounts;
mod root;
pub mod schedule;
mod seccomp;
pub mod spec;
mod sys;
mod worker;

pub use layout::{ContainerLayout, LAYOUT};
pub use seccomp::docker_profile;
pub use spec::{ARG0, LaunchFailure, LaunchStep};

/// Becomes a launcher process, and never returns, when this process was started as
/// one; otherwise does nothing. Call it before anything else in `main`: the launcher
/// must not inherit threads.
pub fn maybe_run() {
    if std::env::args_os().next().is_some_and(|name| name == ARG0) {
        broker::run();
    }
}
