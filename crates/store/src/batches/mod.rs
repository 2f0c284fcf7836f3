//! Batches: many requests to models that are run within a day.
//!
//! | module | owns |
//! |---|---|
//! | `record` | a batch, its states and counts |
//! | `create` | creating a batch, and adding its requests |
//! | `create_once` | creating a batch once, however often its client sends the request |
//! | `read` | getting and listing batches; their results |
//! | `scheduler` | which server schedules batches |
//! | `start` | which requests are started, and the runs they become |
//! | `results` | results of requests, and what remains of a batch when all have one |
//! | `cancel` | cancelling a batch, and expiring those that took too long |
//! | `finish` | the files with the results |
//! | `delete` | deleting batches, also those that ended long ago |
//!
//! # Protocol
//!
//! One server schedules at a time, but nothing depends on it: every step is a statement that
//! changes a row only in the state it expects, so a step that two servers take is taken once.
//! A request is first marked as running, then submitted as a run under a name made of batch
//! and number, then its run is recorded; whoever finds a running request without a run submits
//! it again under the same name.
//!
//! This module does not know what a request or a result contains.

mod cancel;
mod create;
mod create_once;
mod delete;
mod finish;
mod read;
mod record;
mod results;
mod scheduler;
mod start;

pub use create::{AddItemsOutcome, BatchLimits, DuplicateItem, NewBatch, NewBatchItem};
pub use create_once::CreateBatchOutcome;
pub use finish::{BatchFiles, FinishOutcome};
pub use record::{BatchCounts, BatchItemState, BatchKind, BatchRecord, BatchState};
pub use results::{BatchItemResult, BatchResult};
pub use start::{BatchConcurrency, BatchItemRef, BatchItemRun, UnsubmittedItem};
