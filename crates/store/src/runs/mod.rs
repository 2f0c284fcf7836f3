//! Runs as people read them: records, which are written when a run has ended, and runs in
//! progress.
//!
//! | module | owns |
//! |---|---|
//! | `record` | the record of a run: writing |
//! | `view` | a run as it is read, from whichever tables have it |
//! | `list`, `filter` | pages of runs; which of them |
//! | `get` | one run |
//!
//! Runs in progress are in the tables of `journal` and `foreground_runs`, which do not know of
//! this module's lists.

mod filter;
mod get;
mod list;
mod record;
mod view;

pub use filter::RunFilter;
pub use record::NewRun;
pub use view::{KeptProgress, RunDetail, RunRecord, RunSkillName};

pub(crate) use record::insert_records;
