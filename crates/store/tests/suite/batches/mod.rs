//! Batches: their requests, their scheduling by any number of servers, and their end.
//!
//! | module | owns |
//! |---|---|
//! | `setup` | what the tests share |
//! | `creating` | requests, names, keys and limits |
//! | `scheduling` | which requests run when |
//! | `ending` | results, cancelling and expiry |
//! | `result_files` | the files of results |
//! | `listing` | listing and deleting |

mod creating;
mod ending;
mod listing;
mod result_files;
mod scheduling;
mod setup;
