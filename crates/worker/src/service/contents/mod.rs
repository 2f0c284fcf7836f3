//! Contents by digest: a bounded cache on disk, and transfers from and to URLs.
//!
//! | module | owns |
//! |---|---|
//! | `cache` | contents on disk, the least recently used evicted first |
//! | `transfers` | GET and PUT of signed URLs |
//!
//! A content is what its digest says, whoever sent it: it is checked when it arrives, and again
//! when it is used.

mod cache;
mod transfers;

pub(super) use cache::{ContentCache, PinnedContents};
pub(super) use transfers::{ContentTransfers, TransferError};
