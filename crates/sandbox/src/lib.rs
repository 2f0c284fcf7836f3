//! Runs hostile code in isolation. The only crate that starts processes for others.
//!
//! Users know the interface [`Sandboxes`]. On this host it is a [`Sandbox`], which is opened
//! once per server. It probes the host ([`Probe`]) and then runs commands in containers: a
//! container has an owner, a policy, read-only skills at `/skills/NAME` and files at `/mnt/data`
//! ([`ContainerLayout`]). Each command runs in a sandbox of its own; the files it wrote to
//! `/mnt/data` are collected when all its processes are dead.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `sandboxes` | the interface that users of containers know: on this host or on others |
//! | `sandbox` | this host's: open, create, exec, put, get, list, snapshot, restore, destroy, layer |
//! | `container_spec`, `changes_guard`, `file_stream`, `command_id`, `run_ownership` | what that interface passes |
//! | `settings` | the operator's settings |
//! | `policy` | limits and network access of a container |
//! | `execution` | a command and its result |
//! | `error` | errors of the sandbox itself |
//! | `fail_point` | places where tests end the process |
//! | `backend` | the interface of backends, and their common parts |
//! | `native` | the default backend: slots, control groups, probing, one run; Linux only |
//! | `docker` | the Docker backend: one hardened Docker container per container; feature `docker` |
//! | `beneath` | opening files of hostile code without following links |
//! | `capture` | retaining the beginning and end of output |
//! | `collect` | collecting written files safely |
//! | `egress` | the proxy: network access to allowed domains |
//! | `container` | owners, files, expiry, disk quotas, eviction |
//! | `snapshot` | the files of a container at one moment, and restoring them |
//! | `skills` | skills on disk, once per digest |
//! | `packages` | requirements installed into read-only layers |
//! | `runtimes` | root file systems made from packages, which all containers share |
//! | `probe` | checks of a host's isolation, and their grade |
//! | `queue`, `statistics` | scheduling of commands; counters of them |
//! | `variable` | names of variables that a request may set |
//! | `id`, `name` | random ids, validation of names |
//!
//! It contains no HTTP API, models or tools. `unsafe` code is in the launcher.
//!
//! # Systems
//!
//! The native backend needs Linux. On macOS and other Unix systems this crate builds with
//! the Docker backend only, and opening the native one is refused with the reason.

#![cfg_attr(
    not(all(feature = "docker", target_os = "linux")),
    expect(
        dead_code,
        reason = "some parts are used only by the backend that this build lacks"
    )
)]

#[cfg(not(unix))]
compile_error!("the sandbox needs Linux or another Unix: on Windows, build Prowess in WSL");

mod backend;
mod beneath;
mod capture;
mod changes_guard;
pub mod collect;
mod command_id;
pub mod container;
mod container_spec;
#[cfg(feature = "docker")]
mod docker;
pub mod egress;
mod error;
pub mod execution;
mod fail_point;
mod file_stream;
mod id;
mod name;
#[cfg(target_os = "linux")]
mod native;
pub mod packages;
pub mod policy;
pub mod probe;
mod queue;
mod run_ownership;
pub mod runtimes;
mod sandbox;
mod sandboxes;
mod settings;
mod skills;
mod snapshot;
mod statistics;
mod variable;

pub use changes_guard::ChangesGuard;
pub use collect::{SandboxOutput, SkipReason, SkippedFile};
pub use command_id::CommandId;
pub use container::{ContainerInfo, FileInfo, check_container_id, new_container_id};
pub use container_spec::{ContainerSetup, ContainerSpec};
pub use egress::{
    Dial, DomainRule, EgressConnection, EgressSecret, InvalidDomain, SystemDial, Verdict,
};
pub use error::{BusyScope, DockerError, Error, HostError};
pub use execution::{
    CapturedOutput, Command, CommandOutcome, Execution, ExecutionReport, LimitHit, OutputChunk,
    OutputStream,
};
pub use fail_point::fail_point;
pub use file_stream::FileStream;
pub use packages::{Layer, NpmRegistry, PackageIndex, Requirements};
pub use policy::{Network, OutputLimits, Policy, SandboxLimits};
pub use probe::{Grade, Probe, ProbeCheck};
pub use prowess_launcher::{ContainerLayout, LAYOUT};
pub use run_ownership::RunOwnership;
pub use runtimes::{RuntimeName, RuntimeSource};
pub use sandbox::Sandbox;
pub use sandboxes::{RestoreContents, SandboxFuture, Sandboxes, SharedSandboxes};
pub use settings::{BackendKind, DockerSettings, SandboxSettings};
pub use skills::{SkillFile, SkillFiles};
pub use snapshot::{
    ContentReader, FilesAfter, FilesUsage, Snapshot, SnapshotChanges, SnapshotContent,
    SnapshotEntry, check_entries, check_file_path,
};
pub use statistics::SandboxStatistics;
pub use variable::check_variable;
