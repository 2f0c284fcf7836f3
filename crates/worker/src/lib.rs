//! Workers of a cluster: the messages between gateways and workers, and the service that runs
//! the commands of gateways in this host's sandbox.
//!
//! | module | owns |
//! |---|---|
//! | `protocol` | the messages: requests, replies, beats, errors |
//! | `service` | a worker: copies of containers, commands, results, drain |
//!
//! A worker has no database, no provider and no key: it gets files and skills by digest from
//! the gateway whose command needs them, and gives back what changed. This crate must not know
//! a store, HTTP servers or models.

pub mod protocol;
pub mod service;

pub use service::{WorkerError, WorkerService, WorkerSettings};
