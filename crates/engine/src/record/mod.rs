//! The record of a run: collected during the run, written in the background.
//!
//! | module | owns |
//! |---|---|
//! | `log` | the record of a run in progress, written when the run is over or dropped |
//! | `recorder` | the queue of records |
//! | `foreground` | which foreground runs the store is to know of while they are in progress |
//! | `tracked_run` | one of them, and what is to be written of it |
//! | `foreground_writer` | the task that writes their rows, and renews the lease on them |
//! | `run_usage` | the usage of a foreground run, from whoever counts it |
//! | `skill_use` | how skills were used, as the record has it |
//! | `skill_costs` | what each skill took: tokens, money and time in the sandbox |
//!
//! No run waits for any of it: queues are bounded, and what does not fit is dropped and counted.
//! The journal of kept runs is not part of it.

mod foreground;
mod foreground_writer;
mod log;
mod recorder;
mod run_usage;
mod skill_costs;
mod skill_use;
mod tracked_run;

pub use run_usage::RunUsage;

pub(crate) use log::RunLog;
pub(crate) use recorder::RunRecorder;
pub(crate) use skill_costs::CostObserver;
