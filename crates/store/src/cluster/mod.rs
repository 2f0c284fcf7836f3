//! Containers of a cluster: their setup, skills and files are in this store, and a worker only
//! ever has a copy of them.
//!
//! | module | owns |
//! |---|---|
//! | `container` | a container as it is stored |
//! | `rows` | reading and locking the rows of a container |
//! | `create`, `delete`, `expire`, `list` | the operations of those names |
//! | `hold` | which command uses a container |
//! | `hold_unused` | the same for a container that nobody uses, in one statement |
//! | `commit` | the changes of a command, as the next generation |
//! | `command_end` | the row of a container once its command has ended |
//! | `small_commit` | the same for a few small files, in fewer statements |
//! | `change` | changes without a command: uploads, removed files, the setup |
//! | `apply` | changed files within a transaction: contents, generation, quota |
//! | `file` | one file of a container, opened in one statement |
//! | `skills` | the skills of a container, and their files |
//! | `signed_content` | contents for a worker |
//! | `uploads` | new contents from a worker |
//! | `staged_read` | contents that a kept run has not committed yet |
//!
//! # Protocol
//!
//! A command holds its container for a limited time on the clock of the database, and renews
//! the hold. The hold only keeps others from working in vain: what protects the files is the
//! generation. A commit names the generation that its command started from, and nothing is
//! stored if the container has another one, if another command holds it, or if a kept run that
//! the command is not part of holds it. So a hold that was lost, with its server or with the last
//! moments of a database, never lets two commands mix their files.
//!
//! Nothing that a worker reports is trusted: a digest becomes a file of a container only if its
//! content was staged, and thereby checked, or is a content of the same container already.
//!
//! This module does not know what runs a command, or how a worker is reached.

mod apply;
mod change;
mod command_end;
mod commit;
mod container;
mod create;
mod delete;
mod expire;
mod file;
mod hold;
mod hold_unused;
mod list;
mod rows;
mod signed_content;
mod skills;
mod small_commit;
mod staged_read;
mod uploads;

#[cfg(test)]
mod protocol_tests;
#[cfg(test)]
mod query_tests;

pub use change::{ContainerUpdate, UpdateContainerOutcome};
pub use commit::{CommandCommit, CommitCommandOutcome};
pub use container::{ClusterContainer, ClusterSkill, ClusterSkillFile};
pub use create::{ContainerQuota, CreateContainerOutcome, NewClusterContainer};
pub use file::OpenedContainerFile;
pub use hold::{BeginCommandOutcome, ContainerUser};
pub use list::ClusterContainerSummary;
pub use signed_content::SignedContent;
pub use uploads::UploadSlot;
