//! A client for servers that store skills.
//!
//! For the command line and for Python: every operation on a server's skills, runs, batches and
//! keys is a method of [`Client`], and every failure an [`Error`] with a stable code. It
//! uses OpenAI's dialect, whose objects have a skill's name and numbered versions. It has no
//! terminal output and reads no files: uploads are checked skills, and downloads of skills are
//! checked before they are returned.
//!
//! | module | owns |
//! |---|---|
//! | `connection` | requests, errors of the server, pages |
//! | `skills` | find, list, download, delete |
//! | `push` | a new skill, or a new version of one |
//! | `record` | skills and versions as a server returns them |
//! | `releases` | labels, notes, revocations, comparisons and imports of skills |
//! | `route` | the skills that fit a task |
//! | `overlap` | the skills that are found for each other's queries |
//! | `skill_usage` | how often skills were offered, loaded and used |
//! | `runs` | kept runs: submit, follow, cancel |
//! | `messages` | requests to models, streamed |
//! | `batches` | batches of both vendors' APIs: create, read, cancel |
//! | `keys` | API keys: create, list, change, rotate, revoke |
//! | `audit` | the audit log |
//! | `reload` | the configuration, read again |
//! | `reports` | usage, runs, tenants, providers, the configuration |
//! | `cluster` | the gateways and workers of a cluster |
//! | `files` | files: upload, names and contents |
//! | `lines` | a response of lines, one at a time |
//! | `error` | why a request failed |

mod audit;
mod batches;
mod cluster;
mod connection;
mod error;
mod files;
mod keys;
mod lines;
mod messages;
mod overlap;
mod push;
mod record;
mod releases;
mod reload;
mod reports;
mod route;
mod runs;
mod skill_usage;
mod skills;

use std::sync::Arc;

pub use batches::RemoteBatch;
pub use cluster::{RemoteBus, RemoteCluster, RemoteGateway, RemoteWorker};
pub use connection::Client;
pub use error::Error;
pub use files::{RemoteContent, RemoteFile};
pub use keys::{CreatedKey, RemoteBudget, RemoteKey};
pub use lines::RemoteLines;
pub use messages::MessageStream;
pub use overlap::{OverlapPair, OverlapReport};
pub use push::{PushOptions, PushResult, PushTarget};
pub use record::{RemoteSkill, RemoteVersion};
pub use releases::{
    ImportOptions, ImportReport, ImportedSkill, RemoteLabel, RemoteRevocation, VersionState,
};
pub use reload::RemoteReload;
pub use route::{CatalogueSize, RankedSkill, SkillRanking, WordMatch};
pub use runs::{RemoteEvent, RemoteEvents, RemoteRun, SubmittedRun};
pub use skill_usage::{SkillUsage, SkillUsageReport};

/// Called with the number of bytes of each chunk that is sent or received.
pub type ProgressCallback = Arc<dyn Fn(u64) + Send + Sync>;
