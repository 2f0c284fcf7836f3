//! Reading the configuration again while the server runs.
//!
//! It is read and checked first, then replaced whole: a request, run or stream has the
//! configuration with which it began. If anything is wrong, or can only change with a restart,
//! nothing changes. What is counted across requests (rate limits, budgets, open connections,
//! sessions, kept runs) does not belong to a configuration and goes on.
//!
//! | module | owns |
//! |---|---|
//! | `live_value` | a value that can be replaced while others use it |
//! | `config_reader` | who reads the configuration, and what comes of it |
//! | `apply` | one reload: reading, replacing, log and metrics |
//!
//! Knows no file: the reader is given by whoever starts the server.

mod apply;
pub(crate) mod config_reader;
pub(crate) mod live_value;
