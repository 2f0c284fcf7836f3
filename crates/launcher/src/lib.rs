//! The lowest layer of the sandbox, and the only crate with `unsafe`.
//!
//! It is entered by running our own binary again: [`maybe_run`], called first in
//! every `main`, looks at `argv[0]` and, when it is [`ARG0`], becomes a *broker* and
//! never returns. Three kinds of process follow each other:
//!
//! | process | lives | does |
//! |---|---|---|
//! | `broker` | as long as the server's slot | builds the read-only root once, clones an init per sandbox |
//! | `init` | one execution | pid 1 of all new namespaces: mounts, waits, reaps, tells the status |
//! | `worker` | one execution | gives up what is left of its rights and becomes the command |
//!
//! The broker starts with an empty environment and one descriptor, and is single
//! threaded, so that what it clones is a plain copy with nothing secret in it. When
//! the server dies the broker reads the end of its socket and leaves; its children
//! carry a parent-death signal and follow, and a dead pid 1 takes its namespace along.
//!
//! This crate does what a [`spec`] says. It knows no policy, no session and no skill,
//! and it never chooses to do less: every step that fails is reported by name.

mod bpf;
mod broker;
mod caps;
pub mod channel;
mod command_mounts;
mod init;
mod landlock;
mod limits;
mod mounts;
mod root;
pub mod schedule;
mod seccomp;
pub mod spec;
mod sys;
mod worker;

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
