//! The way to a server that stores skills.
//!
//! For the command line and for Python: what either does with a server's skills is a
//! verb of [`Client`], and what goes wrong an [`Error`] with a stable code. It speaks
//! OpenAI's dialect, whose objects name a skill and count its versions. It knows nothing
//! of terminals, and reads no files: a skill comes checked, and what is downloaded is
//! checked before it is given out.
//!
//! | module | owns |
//! |---|---|
//! | `connection` | requests, refusals, pages |
//! | `skills` | find, list, download, delete |
//! | `push` | a new skill, or a new version of one |
//! | `record` | what a server tells of skills |

mod connection;
mod error;
mod push;
mod record;
mod skills;

use std::sync::Arc;

pub use connection::Client;
pub use error::Error;
pub use push::{PushOptions, PushResult, PushTarget};
pub use record::{RemoteSkill, RemoteVersion};

/// Told the number of bytes of each piece that is sent or arrives.
pub type ProgressCallback = Arc<dyn Fn(u64) + Send + Sync>;
