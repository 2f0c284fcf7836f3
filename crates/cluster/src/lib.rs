//! The gateway's side of a cluster: containers whose files are in the store, and commands that
//! workers run.
//!
//! [`ClusterSandboxes`] is the [`Sandboxes`](prowess_sandbox::Sandboxes) of a gateway. The store
//! is the truth of a container: its setup, skills and files, by digest. A worker only has a
//! copy. A command is a transaction: a worker runs it from the stored files, reports what it
//! changed, and the gateway checks and commits that as the next generation, or it never
//! happened. Everything else needs no worker.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `cluster`, `settings` | [`ClusterSandboxes`] and what it is made of; [`ClusterSettings`] |
//! | `sandboxes` | the interface of the sandbox, operation by operation |
//! | `operation` | one module for each operation |
//! | `command` | one command: workers, messages, checks |
//! | `registry` | the workers that announce themselves |
//! | `placement` | which worker gets a command |
//! | `waiting` | commands that wait for a worker, fair between tenants |
//! | `containers` | containers as they are now |
//! | `contents` | small contents that commands have just created |
//! | `deferred` | changes that a kept run commits itself |
//! | `temporary` | containers that are in the memory of this gateway only |
//! | `file_set`, `entries`, `file_stream` | files of a container in memory, in the store, and as streams |
//! | `skills` | skills of containers, by digest |
//! | `layers` | packages that workers have installed |
//! | `expiry` | containers that were not used for long |
//! | `uses` | when containers were used a moment ago |
//! | `locks` | one user of a container at a time |
//! | `counters`, `recent`, `store_error` | counting commands; a bounded map; errors of the store |
//!
//! It contains no HTTP and no model, and trusts no worker.

mod cluster;
mod command;
mod containers;
mod contents;
mod counters;
mod deferred;
mod entries;
mod expiry;
mod file_set;
mod file_stream;
mod layers;
mod locks;
mod operation;
mod placement;
mod recent;
mod registry;
mod sandboxes;
mod settings;
mod skills;
mod store_error;
mod temporary;
mod uses;
mod waiting;

pub use cluster::ClusterSandboxes;
pub use registry::WorkerStatus;
pub use settings::ClusterSettings;

/// Names of the places at which tests end a gateway, in the order in which a command reaches
/// them.
pub const FAIL_POINTS: &[&str] = &[
    "before-exec",
    "exec-ended",
    "changes-staged",
    "changes-committed",
];
