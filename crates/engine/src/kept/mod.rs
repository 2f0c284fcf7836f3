//! Kept runs: they go on without their client, and another server resumes them.
//!
//! | module | owns |
//! |---|---|
//! | `run` | a kept run, from its beginning or from where another server left it |
//! | `journal` | the lease, finished steps and events, as the owner of a run writes them |
//! | `journal_stop` | why the owner of a run must stop |
//! | `lease_times` | how long leases last |
//! | `pending_events` | events that are not stored yet |
//! | `steps`, `store_steps` | reading finished steps again; storing new ones |
//! | `step_record`, `step_costs` | what is stored of a step; what skills took of it |
//! | `recorded_start` | how a resumed run began, from its steps |
//! | `log_event` | what is stored of an event |
//! | `output` | where the events of a run go: its log and its result |
//! | `container_state`, `container_contents` | the files of the container, committed with the steps |
//! | `container_retry` | waiting for a container that is in use |
//! | `replaced_container` | storing a container that takes the place of another one within a call |
//! | `recreate` | the container of a resumed run, which may have expired |
//! | `fail_point` | places where tests end the process |
//!
//! A finished step is read and never made again: `turns` runs the same loop for a resumed run,
//! and `steps` provides the turns and results that are in the journal. What was not finished
//! is made again, from the files of the last finished step.

mod container_contents;
mod container_retry;
mod container_state;
pub(crate) mod fail_point;
pub(crate) mod journal;
pub(crate) mod journal_stop;
pub(crate) mod lease_times;
pub(crate) mod log_event;
pub(crate) mod output;
mod pending_events;
mod recorded_start;
mod recreate;
mod replaced_container;
pub(crate) mod run;
mod step_costs;
pub(crate) mod step_record;
pub(crate) mod steps;
mod store_steps;
