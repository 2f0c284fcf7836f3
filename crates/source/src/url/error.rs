//! Why a URL gave no skill: one reason each, with a stable code.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess_skill::{BundleError, Digest};

/// Why a URL gave no skill. Each reads as what follows the URL and a colon.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FetchError {
    // What was asked for.
    /// Not a URL.
    #[error("is not a URL: {0}")]
    Malformed(String),
    /// `https://user:secret@host`.
    #[error(
        "holds a user name or a password, which would end up in caches and messages; remove it"
    )]
    Credentials,
    /// Not `http` or `https`.
    #[error("has the scheme `{0}`; only http and https are fetched")]
    Scheme(String),

    // Where it leads.
    /// A redirect or an index leads from TLS to none.
    #[error("leads from https to http at {host}; what comes from there could be anyone's")]
    Downgrade {
        /// The host it leads to.
        host: String,
    },
    /// More redirects than allowed.
    #[error("redirects more than {0} times")]
    Redirects(usize),
    /// A redirect without a usable `location`.
    #[error("redirects, but not to a URL: {0}")]
    RedirectBroken(String),
    /// The name leads into a private network.
    #[error(
        "{host} is at {address}, which is not on the public internet; --allow-private lets it through"
    )]
    PrivateAddress {
        /// The host.
        host: String,
        /// Where it is.
        address: IpAddr,
    },
    /// The name leads to a cloud's own service.
    #[error(
        "{host} is at {address}, where clouds keep secrets of their machines; nothing is fetched there"
    )]
    MetadataAddress {
        /// The host.
        host: String,
        /// Where it is.
        address: IpAddr,
    },

    // What the host did.
    /// No address for the name.
    #[error("{host} cannot be found: {why}")]
    Unresolved {
        /// The host.
        host: String,
        /// What the system said.
        why: String,
    },
    /// No connection, or no TLS.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// Nothing came for too long.
    #[error("sent nothing for {} s", .0.as_secs_f32())]
    Idle(Duration),
    /// It took too long altogether.
    #[error("was not done after {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// It sends, but so slowly that it holds us up.
    #[error("sends less than {0} bytes in a second")]
    TooSlow(u64),
    /// More bytes than allowed.
    #[error("sends more than the {0} bytes allowed")]
    TooLarge(u64),
    /// The answer is no success.
    #[error("answered with status {0}")]
    Status(u16),
    /// The answer ended too early.
    #[error("the answer broke off: {0}")]
    Interrupted(String),

    // What came.
    /// The bytes are not those that the index promised.
    #[error(
        "the index promises {stated}, but the bytes that came are {computed}; nothing of them is used"
    )]
    DigestMismatch {
        /// As the index says.
        stated: Digest,
        /// As they are.
        computed: Digest,
    },
    /// The content is not what was approved.
    #[error(
        "has changed: {pinned} was approved, but its content is now {found}; look at it before you pin it anew"
    )]
    Changed {
        /// As approved.
        pinned: Digest,
        /// As it is.
        found: Digest,
    },
    /// Not a skill, an archive or an index.
    #[error("is no skill: {0}")]
    NotASource(String),
    /// An archive or a file that is no bundle.
    #[error("{0}")]
    Bundle(#[from] BundleError),
    /// All skills of one source are too large together.
    #[error(
        "its skills have more than {0} bytes together; add #NAME to the URL to take one of them"
    )]
    SourceTooLarge(u64),

    // Indexes.
    /// Not the JSON of an index.
    #[error("the index cannot be read: {0}")]
    IndexMalformed(String),
    /// An index of a version that is not known.
    #[error("the index has the schema `{0}`, which is not known here")]
    IndexVersion(String),
    /// More entries than allowed.
    #[error(
        "lists {found} skills, more than the {limit} allowed; add #NAME to the URL to take one of them"
    )]
    TooManyEntries {
        /// As listed.
        found: usize,
        /// As allowed.
        limit: usize,
    },
    /// One entry is not as it must be.
    #[error("the index's entry `{name}` {why}")]
    Entry {
        /// The entry.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The skill calls itself something else than the index does.
    #[error("the index calls it `{listed}`, but its SKILL.md says `{found}`")]
    NameMismatch {
        /// As the index says.
        listed: String,
        /// As the skill says.
        found: String,
    },
    /// The URL's `#NAME` is not there.
    #[error("has no skill called `{name}`; it has {have}")]
    NoSuchSkill {
        /// What was asked for.
        name: String,
        /// What there is.
        have: String,
    },

    // Our own side.
    /// No request may be made, and the cache does not help.
    #[error("is not fetched while offline, and {0}")]
    Offline(&'static str),
    /// The cache cannot be used.
    #[error("the cache {} cannot be used: {why}; PROWESS_CACHE_DIR names another folder", .folder.display())]
    Cache {
        /// Its folder.
        folder: PathBuf,
        /// What the system said.
        why: String,
    },
    /// There is no HTTP client.
    #[error("no HTTP client could be made: {0}")]
    Client(String),
}

impl FetchError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            FetchError::Malformed(_) => "url-malformed",
            FetchError::Credentials => "url-credentials",
            FetchError::Scheme(_) => "url-scheme",
            FetchError::Downgrade { .. } => "url-downgrade",
            FetchError::Redirects(_) => "url-too-many-redirects",
            FetchError::RedirectBroken(_) => "url-redirect-broken",
            FetchError::PrivateAddress { .. } => "url-private-address",
            FetchError::MetadataAddress { .. } => "url-metadata-address",
            FetchError::Unresolved { .. } => "url-unresolved",
            FetchError::Unreachable(_) => "url-unreachable",
            FetchError::Idle(_) => "url-idle",
            FetchError::Timeout(_) => "url-timeout",
            FetchError::TooSlow(_) => "url-too-slow",
            FetchError::TooLarge(_) => "url-too-large",
            FetchError::Status(_) => "url-status",
            FetchError::Interrupted(_) => "url-interrupted",
            FetchError::DigestMismatch { .. } => "url-digest-mismatch",
            FetchError::Changed { .. } => "url-changed",
            FetchError::NotASource(_) => "url-not-a-source",
            FetchError::Bundle(error) => error.code(),
            FetchError::SourceTooLarge(_) => "url-source-too-large",
            FetchError::IndexMalformed(_) => "url-index-malformed",
            FetchError::IndexVersion(_) => "url-index-version",
            FetchError::TooManyEntries { .. } => "url-too-many-entries",
            FetchError::Entry { .. } => "url-index-entry",
            FetchError::NameMismatch { .. } => "url-name-mismatch",
            FetchError::NoSuchSkill { .. } => "url-no-such-skill",
            FetchError::Offline(_) => "url-offline",
            FetchError::Cache { .. } => "url-cache",
            FetchError::Client(_) => "url-client",
        }
    }

    /// Whether the host failed, rather than what it sent: then an older answer may
    /// stand in, if the caller chose so.
    pub fn is_outage(&self) -> bool {
        match self {
            FetchError::Unresolved { .. }
            | FetchError::Unreachable(_)
            | FetchError::Idle(_)
            | FetchError::Timeout(_)
            | FetchError::TooSlow(_)
            | FetchError::Interrupted(_)
            | FetchError::Offline(_) => true,
            FetchError::Status(status) => *status >= 500 || *status == 429,
            _ => false,
        }
    }
}
