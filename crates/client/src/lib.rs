//! A client for servers that store skills.
//!
//! For the command line and for Python: every operation on a server's skills and kept runs is
//! a method of [`Client`], and every failure an [`Error`] with a stable code. It uses OpenAI's
//! dialect, whose objects have a skill's name and numbered versions. It has no terminal
//! output and reads no files: uploads are checked skills, and downloads are checked before
//! they are returned.
//!
//! | module | owns |
//! |---|---|
//! | `connection` | requests, errors of the server, pages |
//! | `skills` | find, list, download, delete |
//! | `push` | a new skill, or a new version of one |
//! | `record` | skills and versions as a server returns them |
//! | `runs` | kept runs: submit, follow, cancel |
//! | `error` | why a request failed |

mod connection;
mod error;
mod push;
mod record;
mod runs;
mod skills;

use std::sync::Arc;

pub use connection::Client;
pub use error::Error;
pub use push::{PushOptions, PushResult, PushTarget};
pub use record::{RemoteSkill, RemoteVersion};
pub use runs::{RemoteEvent, RemoteEvents, RemoteRun, SubmittedRun};

/// Called with the number of bytes of each chunk that is sent or received.
pub type ProgressCallback = Arc<dyn Fn(u64) + Send + Sync>;
