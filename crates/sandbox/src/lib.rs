//! The one place that starts processes: hostile code, real isolation, milliseconds.
//!
//! A [`Sandbox`] is opened once per server. It looks at the host by really trying
//! ([`Probe`]), and then runs commands in sessions: a session has an owner, a policy,
//! read-only skills at `/skills/NAME` and files at `/mnt/data`; each command runs in a
//! sandbox of its own, and what it left in `/mnt/data` is collected when all its
//! processes are dead.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `sandbox` | the face: open, create, exec, put, get, list, destroy, layer |
//! | `policy` | what a sandbox may have: limits, network |
//! | `execution` | what to run, and what came of it |
//! | `backend` | what a backend is, and what both have in common |
//! | `native` | the default backend: slots, control groups, one run |
//! | `docker` | the other one: a hardened container per session |
//! | `collect` | taking what was written, safely |
//! | `egress` | the proxy: the only way out, to named domains |
//! | `session` | owners, files, expiry, shares of the disk, eviction |
//! | `skills` | skills on disk, once per digest |
//! | `packages` | requirements to read-only layers |
//! | `probe` | what this host can give |
//! | `queue` | who may run now |
//! | `variable` | names of variables that a request may choose |
//!
//! It knows nothing of HTTP, models or tools. What needs `unsafe` is in the launcher.

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
pub use sandbox::{ContainerSpec, Sandbox};
pub use settings::{BackendKind, SandboxSettings};
pub use skills::{SkillFile, SkillFiles};
pub use variable::check_variable;
