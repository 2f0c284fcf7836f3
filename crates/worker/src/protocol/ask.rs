//! What a worker needs for a command, and the gateway's answer. A gateway answers only with
//! what belongs to the command's container.

use super::encoded_bytes::EncodedBytes;
use prowess_sandbox::SnapshotEntry;
use prowess_skill::Digest;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a worker needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ask {
    /// The container's files, by path (in byte order), answered by `Files`.
    Files {
        /// The last path of the page before; from the beginning without one.
        #[serde(default)]
        after: Option<String>,
    },
    /// Contents of the container's files or skills, 256 at most, answered by `Contents`.
    Contents {
        /// Their digests.
        digests: Vec<Digest>,
    },
    /// Places for new contents of these sizes, 256 at most, answered by `Uploads`.
    Uploads {
        /// Lengths in bytes.
        sizes: Vec<u64>,
    },
}

/// A gateway's answer to an [`Ask`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GatewayAnswer {
    /// Files of the container.
    Files(FilesPage),
    /// Contents, each as (digest, place). Some may be missing because the message would be too
    /// large: the worker asks for those again, as long as each answer has at least one.
    Contents(Vec<(Digest, ContentPlace)>),
    /// Where to upload, one for each requested size, in their order.
    Uploads(Vec<UploadPlace>),
    /// The gateway does not answer this: the command fails.
    Refused {
        /// Why.
        why: String,
    },
}

/// A part of a container's files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesPage {
    /// Entries, by path.
    pub entries: Vec<SnapshotEntry>,
    /// Whether there are further ones.
    #[serde(default)]
    pub more: bool,
}

/// Where a content is.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContentPlace {
    /// In this message.
    Inline(EncodedBytes),
    /// At this URL, for GET without further headers.
    Url(String),
}

/// Signed URLs are as good as what they open.
impl fmt::Debug for ContentPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inline(bytes) => f.debug_tuple("Inline").field(bytes).finish(),
            Self::Url(_) => f.write_str("Url(..)"),
        }
    }
}

/// Where to upload one content.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadPlace {
    /// The gateway's number of it, which the worker names in the result.
    pub slot: u64,
    /// The URL, for PUT of exactly the requested size without further headers.
    pub url: String,
}

impl fmt::Debug for UploadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UploadPlace")
            .field("slot", &self.slot)
            .finish_non_exhaustive()
    }
}
