//! What a worker answers, to the inbox of a gateway.

use super::ask::Ask;
use super::beat::WorkerBeat;
use super::changes::ExecEnded;
use super::encoded_bytes::EncodedBytes;
use super::remote_error::RemoteError;
use prowess_sandbox::OutputStream;
use serde::{Deserialize, Serialize};

/// A message of a worker about one command.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WorkerReply {
    /// The worker has the request, and sends beats from now on. A command whose result comes at
    /// once has none.
    Accepted {
        /// Whether the command was begun by an earlier request.
        #[serde(default)]
        attached: bool,
    },
    /// Too many commands wait here; another worker may have room. Also after `Accepted`, when
    /// the worker's queue refused the command. Nothing was run.
    Busy {
        /// Commands that run.
        #[serde(default)]
        running: usize,
        /// Commands that wait.
        #[serde(default)]
        waiting: usize,
        /// When a retry is likely to succeed, in milliseconds.
        #[serde(default)]
        retry_after_ms: u64,
        /// Whether there is room for other tenants, and for this command too if it can wait
        /// ([`ExecRequest::passes_on`](super::ExecRequest::passes_on)).
        #[serde(default)]
        of_tenant: bool,
    },
    /// The worker accepts no further commands. Nothing was run.
    Draining,
    /// The worker still works on the command.
    Beat,
    /// Output of the command.
    Output {
        /// From 0, without gaps; a gap means that messages were lost.
        seq: u64,
        /// Its stream.
        stream: OutputStream,
        /// The bytes, which may end within a character.
        bytes: EncodedBytes,
    },
    /// The worker needs something; the message has a reply subject for the answer.
    Ask(Ask),
    /// The command has ended.
    Ended(Box<ExecEnded>),
    /// The packages are installed.
    LayerReady {
        /// What could not be installed.
        #[serde(default)]
        remark: Option<String>,
    },
    /// The answer to `Describe`.
    Described(Box<WorkerBeat>),
    /// The command could not be run, or its result could not be delivered.
    Failed(RemoteError),
}

impl WorkerReply {
    /// Whether no further message follows.
    #[must_use]
    pub fn is_final(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::Beat | Self::Output { .. } | Self::Ask(_) => false,
            Self::Busy { .. }
            | Self::Draining
            | Self::Ended(_)
            | Self::LayerReady { .. }
            | Self::Described(_)
            | Self::Failed(_) => true,
        }
    }
}
