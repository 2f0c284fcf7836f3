//! The messages between gateways and workers.
//!
//! Every payload is one version byte, then JSON ([`encode`], [`decode`]). Within a version,
//! unknown fields are ignored and new fields have defaults, so that neighbouring releases
//! understand each other. Messages can be lost at any time: nothing here assumes delivery.
//!
//! One command, as a gateway sees it:
//!
//! 1. It publishes [`WorkerRequest::Exec`] to [`requests_subject`] of a worker, with an inbox of
//!    its own as the reply subject.
//! 2. The worker publishes [`WorkerReply`] messages to that inbox: `Accepted` unless the command
//!    ends within a moment, `Beat` each second, `Output`, and at last `Ended`, `Failed`, `Busy` or
//!    `Draining`.
//! 3. What the worker lacks it requests with `Ask`, which has a reply subject of its own; the
//!    gateway publishes a [`GatewayAnswer`] there.
//! 4. Every two seconds the gateway sends `Keep` with the commands that it still waits for. A
//!    command that no gateway has kept for half a minute is killed.
//!
//! | module | owns |
//! |---|---|
//! | `payload` | the version byte |
//! | `subjects` | subjects of workers |
//! | `beat` | what a worker announces each second |
//! | `request` | what gateways request |
//! | `reply` | what workers answer |
//! | `ask` | what a worker needs for a command, and the gateway's answer |
//! | `changes` | the result of a command, and the files it changed |
//! | `remote_error` | errors of a worker's sandbox |
//! | `encoded_bytes` | bytes inside JSON |
//!
//! It contains no service, no bus and no store.

mod ask;
mod beat;
mod changes;
mod encoded_bytes;
mod payload;
mod remote_error;
mod reply;
mod request;
mod subjects;

#[cfg(test)]
mod tests;

pub use ask::{Ask, ContentPlace, FilesPage, GatewayAnswer, UploadPlace};
pub use beat::WorkerBeat;
pub use changes::{ChangedContent, CommandTimings, ExecEnded, FileChanges};
pub use encoded_bytes::EncodedBytes;
pub use payload::{PROTOCOL_VERSION, ProtocolError, decode, encode};
pub use remote_error::{RemoteError, RemoteErrorKind};
pub use reply::WorkerReply;
pub use request::{
    CommandRequest, CommandSecret, ExecRequest, LayerRequest, MountedSkill, MountedSkillFile,
    WorkerRequest, requirements_key,
};
pub use subjects::{beats_subject, gateway_inbox_prefix, requests_subject, worker_inbox_prefix};

use std::time::Duration;

/// How often a worker announces itself, and sends a beat for each command.
pub const BEAT_INTERVAL: Duration = Duration::from_secs(1);

/// How often a gateway sends [`WorkerRequest::Keep`] for the commands it waits for.
pub const KEEP_INTERVAL: Duration = Duration::from_secs(2);

/// How long a worker continues a command that no gateway keeps.
pub const KEEP_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a worker keeps the result of a command under the command's id.
pub const RESULT_RETENTION: Duration = Duration::from_secs(10 * 60);

/// Silence of a worker during a command after which it counts as lost.
pub const SILENCE_TIMEOUT: Duration = Duration::from_secs(4);

/// Contents of at most this many bytes travel inside messages; others by URL.
pub const MAX_INLINE_CONTENT_BYTES: u64 = 256 << 10;

/// Bytes of all contents inside one message.
pub const MAX_INLINE_TOTAL_BYTES: u64 = 4 << 20;

/// Digests or upload sizes in one [`Ask`].
pub const MAX_ASK_ITEMS: usize = 256;

/// Entries of a [`FilesPage`], and bytes of their paths and link targets.
pub const MAX_PAGE_ENTRIES: usize = 20_000;

/// Bytes of the paths and link targets of a [`FilesPage`].
pub const MAX_PAGE_BYTES: usize = 4 << 20;

/// Commands in one [`WorkerRequest::Keep`], and containers in one [`WorkerRequest::Forget`].
pub const MAX_LISTED_IDS: usize = 1_000;
