//! Runs hostile code in isolation. The only crate that starts processes for others.
//!
//! A [`Sandbox`] is opened once per server. It probes the host ([`Probe`]) and then runs
//! commands in containers: a container has an owner, a policy, read-only skills at
//! `/skills/NAME` and files at `/mnt/data` ([`ContainerLayout`]). Each command runs in a
//! sandbox of its own; the files it wrote to `/mnt/data` are collected when all its
//! processes are dead.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `sandbox` | the API: open, create, exec, put, get, list, destroy, layer |
//! | `settings` | the operator's settings |
//! | `policy` | limits and network access of a container |
//! | `execution` | a command and its result |
//! | `error` | errors of the sandbox itself |
//! | `backend` | the interface of backends, and their common parts |
//! | `native` | the default backend: slots, control groups, one run |
//! | `docker` | the Docker backend: one hardened Docker container per container |
//! | `capture` | retaining the beginning and end of output |
//! | `collect` | collecting written files safely |
//! | `egress` | the proxy: network access to allowed domains |
//! | `container` | owners, files, expiry, disk quotas, eviction |
//! | `skills` | skills on disk, once per digest |
//! | `packages` | requirements installed into read-only layers |
//! | `probe` | which isolation this host supports |
//! | `queue` | scheduling of commands |
//! | `variable` | names of variables that a request may set |
//! | `id`, `name` | random ids, validation of names |
//!
//! It contains no HTTP API, models or tools. `unsafe` code is in the launcher.

mod backend;
mod capture;
pub mod collect;
pub mod container;
mod docker;
pub mod egress;
mod error;
pub mod execution;
mod id;
mod name;
mod native;
pub mod packages;
pub mod policy;
pub mod probe;
mod queue;
mod sandbox;
mod settings;
mod skills;
mod variable;

pub use collect::{SandboxOutput, SkipReason, SkippedFile};
pub use container::{ContainerInfo, FileInfo};
pub use docker::DockerSettings;
pub use egress::{
    Dial, DomainRule, EgressConnection, EgressSecret, InvalidDomain, SystemDial, Verdict,
};
pub use error::{BusyScope, DockerError, Error, HostError};
pub use execution::{
    CapturedOutput, Command, CommandOutcome, Execution, ExecutionReport, LimitHit, OutputChunk,
    OutputStream,
};
pub use packages::{Layer, PackageIndex, Requirements};
pub use policy::{Network, OutputLimits, Policy, SandboxLimits};
pub use probe::{Grade, Probe, ProbeCheck};
pub use prowess_launcher::{ContainerLayout, LAYOUT};
pub use sandbox::{ContainerSpec, Sandbox};
pub use settings::{BackendKind, SandboxSettings};
pub use skills::{SkillFile, SkillFiles};
pub use variable::check_variable;
