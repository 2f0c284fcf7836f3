//! The journal of runs: what a run has done so far, so that it can be resumed by any server
//! and is never done twice.
//!
//! | module | owns |
//! |---|---|
//! | `run_state` | the states of a run |
//! | `begin` | the row with which a run begins; idempotency keys |
//! | `run_owner` | the name of a run's owner, and how many servers died with the run |
//! | `lease` | who may continue a run: claiming, renewing, releasing |
//! | `append` | finished steps, with the files, usage and container changes they produced |
//! | `append_outcome` | whether a write was stored |
//! | `read` | reading runs and their steps |
//! | `events` | what was sent to the client, in order |
//! | `end` | ending and cancelling a run |
//! | `container_files` | the files of a container by generation |
//! | `container_hold` | which run uses a container |
//! | `container_expiry` | deleting files of containers that no run needs any more |
//! | `staged_content` | contents of a container's files, before and after the commit |
//! | `webhooks` | deliveries to be made because a run has ended |
//! | `expiry` | deleting runs that ended long ago, or that their tenant deletes |
//!
//! # Protocol
//!
//! A server owns a run while it holds its lease. Claiming a run increments its `epoch`, and
//! every write of an owner names its epoch and the step it believes to be next. A write that
//! changes no row means that another server owns the run, or that the run was cancelled or
//! has ended: the caller must stop at once and discard what it was doing. Leases are
//! compared with the clock of the database only.
//!
//! A step is committed in one transaction with everything it produced. An error while
//! committing leaves unknown whether it was committed: the caller must give the run up, and
//! whoever claims it next reads the truth.
//!
//! This module does not know what a step contains.

mod append;
mod append_outcome;
mod begin;
mod container_expiry;
mod container_files;
mod container_hold;
mod end;
mod events;
mod expiry;
mod lease;
mod read;
mod run_owner;
mod run_state;
mod staged_content;
mod webhooks;

#[cfg(test)]
mod protocol_tests;

pub(crate) use container_expiry::delete_files;
pub(crate) use container_files::{commit_container, entry_row};
pub(crate) use container_hold::{and_no_run_holds, is_held};
pub(crate) use lease::micros;

pub use append::{NewStep, StagedFile, StepChanges};
pub use append_outcome::AppendOutcome;
pub use begin::{BeginOutcome, NewJournalRun};
pub use container_files::{ContainerChange, ContainerEntry, ContainerFiles, EntryContent};
pub use container_hold::HoldOutcome;
pub use end::{CancelOutcome, EndOutcome, RunResult};
pub use events::{EventChunk, NewEventChunk};
pub use lease::{ClaimedRun, LeaseStatus, RunLease};
pub use read::{JournalRun, JournalStep, StepKind};
pub use run_state::RunState;
pub use staged_content::{StagedContent, StagingPlace};
pub use webhooks::{NewWebhook, WebhookDelivery};
