//! The lowest layer of the sandbox, and the only crate with `unsafe`.
//!
//! Prowess starts its own program again, with [`ARG0`] as `argv[0]`. In a program that
//! this crate is linked into, a function that runs before `main` recognizes that name,
//! becomes a *broker* and never returns. There are three kinds of process:
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
//! All of this needs Linux. On other systems this crate consists of the parts that the
//! Docker backend uses: the messages, the paths and the filter in Docker's format.
//!
//! | module | owns |
//! |---|---|
//! | `before_main` | becoming a launcher process before `main` |
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

pub mod layout;
mod seccomp;
pub mod spec;

#[cfg(target_os = "linux")]
mod before_main;
#[cfg(target_os = "linux")]
mod bpf;
#[cfg(target_os = "linux")]
mod broker;
#[cfg(target_os = "linux")]
mod caps;
#[cfg(target_os = "linux")]
pub mod channel;
#[cfg(target_os = "linux")]
mod command_mounts;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod landlock;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "linux")]
mod mounts;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
pub mod schedule;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod worker;

pub use layout::{ContainerLayout, LAYOUT};
pub use seccomp::docker_profile;
pub use spec::{ARG0, LaunchFailure, LaunchStep, MAX_PENDING_SIGNALS};
