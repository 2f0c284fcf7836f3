//! Batches: many requests to models that are run within a day, as both vendors have them.
//!
//! Each request becomes a kept run, which any server executes. This module decides when, and
//! collects the results. It knows nothing of HTTP requests (the routes do) and nothing of how
//! a run is executed ([`runs::BatchRuns`] stands for that).
//!
//! | module | owns |
//! |---|---|
//! | `settings` | limits of batches |
//! | `runs` | what a scheduler needs of runs |
//! | `item` | one request of a batch, as each vendor writes it |
//! | `item_writer` | requests on their way to the store |
//! | `requests_scanner` | the requests in the body of Anthropic's API, found while it arrives |
//! | `validate` | the requests in a file, as in OpenAI's API |
//! | `scheduler` | the loop that starts requests and collects results, on one server at a time |
//! | `steps` | what the loop does in one round |
//! | `finish` | the files with the results |
//! | `anthropic`, `openai` | batches and results in each vendor's format |

pub(crate) mod anthropic;
mod finish;
pub(crate) mod item;
pub(crate) mod item_writer;
pub(crate) mod openai;
pub(crate) mod requests_scanner;
pub(crate) mod runs;
pub(crate) mod scheduler;
pub(crate) mod settings;
mod steps;
mod validate;

#[cfg(test)]
mod tests;
