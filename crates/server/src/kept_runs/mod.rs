//! Kept runs: runs that go on without their client, on this server or on another.
//!
//! | module | owns |
//! |---|---|
//! | `keep` | whether a request is to be kept |
//! | `secrets` | whether a request has secrets, and so cannot be kept |
//! | `stored_request` | a request, as stored with its run |
//! | `submit` | beginning a run, or finding the one that an idempotency key names |
//! | `pending_run` | a run that is about to start |
//! | `local_runs` | the runs that this server has, and how many it may have |
//! | `delayed_keys` | keys whose runs are not claimed for some time |
//! | `task` | the task of one run, to its end |
//! | `key` | the key of a run |
//! | `run_meter` | the meter of a run |
//! | `claim` | taking over runs that no server has |
//! | `claim_admission` | the limits of the key of a run that was claimed |
//! | `release` | giving up runs when the server stops |
//! | `outcome` | how a run ended, as stored and as its client reads it |
//! | `run_events` | reading the events of a run as they are stored |
//! | `numbered_events` | server-sent events with numbers |
//! | `written_log` | the events of a run in a client's dialect |
//! | `step_stream` | what happens in a run, in no dialect |
//! | `attach` | responses to clients that wait for a run or follow it |
//! | `response_object` | a run as an object of the Responses API |
//! | `cancel` | cancelling a run |
//! | `end_webhooks` | the webhooks that announce the end of a run |
//! | `batch_runs` | runs for the requests of batches |
//!
//! Steps, leases and resuming belong to `prowess-engine`; the dialects to `prowess-wire`.

pub(crate) mod attach;
pub(crate) mod batch_runs;
pub(crate) mod cancel;
pub(crate) mod claim;
mod claim_admission;
mod delayed_keys;
mod end_webhooks;
pub(crate) mod keep;
mod key;
pub(crate) mod local_runs;
mod numbered_events;
pub(crate) mod outcome;
pub(crate) mod pending_run;
pub(crate) mod release;
pub(crate) mod response_object;
mod run_events;
mod run_meter;
pub(crate) mod secrets;
mod step_stream;
pub(crate) mod stored_request;
pub(crate) mod submit;
pub(crate) mod task;
mod written_log;
