//! Foreground runs in progress: runs that end when their client leaves, as far as they are
//! stored, so that one whose server dies is recorded with its usage.
//!
//! | module | owns |
//! |---|---|
//! | `row` | what is stored of a run |
//! | `write` | writing rows behind the runs, and the lease of a server on all of them |
//! | `end` | ending runs: the record and the usage take the place of the row |
//! | `interrupt` | recording the runs of servers that died |
//!
//! They have a table of their own, not a part of the journal's: nothing is resumed from a row, a
//! row is written late or not at all, and one lease covers all rows of a server, so that claims
//! of kept runs need not know of them. A row has what its record and its usage row would be if
//! the run ended now. Both are written in the transaction that removes the row, by its own
//! server or by the one that finds it: so they are written once.
//!
//! A server that was thought to be dead may come back. It finds that its row is gone, replaces
//! the record, and adds only the usage that was not in the row. This module does not decide
//! when a row is worth writing.

mod end;
mod interrupt;
mod row;
mod write;

pub use end::EndedForegroundRun;
pub use row::ForegroundRun;
