//! One command: reserving its container, sending it to workers until one has run it, checking
//! and keeping what it changed.
//!
//! | module | owns |
//! |---|---|
//! | `link` | sending requests to workers |
//! | `conversation` | the messages of one command with one worker |
//! | `asks` | what a worker may have for a command |
//! | `output` | passing on output once, however often the command is run |
//! | `dispatcher` | what all commands use to get to workers |
//! | `find_worker` | finding a worker that takes a request |
//! | `converse` | listening to a worker until the command has ended |
//! | `attempts` | sending the command to workers until one has run it |
//! | `attach` | finding a worker that runs a command of an earlier gateway, or has its result |
//! | `hold` | the reservation of the container in the store |
//! | `install` | packages instead of a command |
//! | `verify` | checking the changes that a worker reports |
//! | `uploaded` | contents that a worker has uploaded |

pub(crate) mod asks;
mod attach;
pub(crate) mod attempts;
mod conversation;
mod converse;
pub(crate) mod dispatcher;
mod find_worker;
pub(crate) mod hold;
mod install;
pub(crate) mod link;
pub(crate) mod output;
mod uploaded;
pub(crate) mod verify;
