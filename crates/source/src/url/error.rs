//! Why a URL cannot be fetched: one variant per reason, with a stable code.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use prowess_skill::{BundleError, Digest};

/// Why a URL cannot be fetched. Each message follows the URL and a colon.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FetchError {
    // The URL.
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

    // Redirects and addresses.
    /// A redirect or an index leads from TLS to plain HTTP.
    #[error("redirects from https to unencrypted http at {host}")]
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
    /// The host is in a private network, or is this machine.
    #[error(
        "{host} is at {address}, which is not on the public internet; --allow-private lets it through"
    )]
    PrivateAddress {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// The host is a cloud's metadata service.
    #[error("{host} is at {address}, a cloud metadata address; such addresses are always blocked")]
    MetadataAddress {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },

    // The host.
    /// No address for the name.
    #[error("{host} cannot be found: {why}")]
    Unresolved {
        /// The host.
        host: String,
        /// The cause.
        why: String,
    },
    /// No connection, or no TLS.
    #[error("cannot be reached: {0}")]
    Unreachable(String),
    /// Nothing was received for too long.
    #[error("sent nothing for {} s", .0.as_secs_f32())]
    Idle(Duration),
    /// The request took too long.
    #[error("timed out after {} s", .0.as_secs_f32())]
    Timeout(Duration),
    /// The transfer is too slow.
    #[error("sends less than {0} bytes in a second")]
    TooSlow(u64),
    /// More bytes than allowed.
    #[error("sends more than the {0} bytes allowed")]
    TooLarge(u64),
    /// The response is an error.
    #[error("answered with status {0}")]
    Status(u16),
    /// The response ended too early.
    #[error("the response was interrupted: {0}")]
    Interrupted(String),

    // The content.
    /// The content does not match the digest in the index.
    #[error("the index states {stated}, but the content is {computed}; it is not used")]
    DigestMismatch {
        /// As the index states.
        stated: Digest,
        /// As they are.
        computed: Digest,
    },
    /// The content is not what was approved.
    #[error(
        "has changed: {pinned} was approved, but its content is now {found}; review it before you change the pin"
    )]
    Changed {
        /// As approved.
        pinned: Digest,
        /// As it is.
        found: Digest,
    },
    /// Not a skill, an archive or an index.
    #[error("is not a skill: {0}")]
    NotASource(String),
    /// An archive or a file that is not a bundle.
    #[error("{0}")]
    Bundle(#[from] BundleError),
    /// The skills of one source are too large in total.
    #[error("its skills exceed {0} bytes in total; add #NAME to the URL to take one of them")]
    SourceTooLarge(u64),

    // Indexes.
    /// Not the JSON of an index.
    #[error("the index cannot be read: {0}")]
    IndexMalformed(String),
    /// An index of an unsupported version.
    #[error("the index has the schema `{0}`, which is not supported")]
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
    /// One entry is invalid.
    #[error("the index's entry `{name}` {why}")]
    Entry {
        /// The entry.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The name in the skill differs from that in the index.
    #[error("the index calls it `{listed}`, but its SKILL.md says `{found}`")]
    NameMismatch {
        /// As the index says.
        listed: String,
        /// As the skill states.
        found: String,
    },
    /// There is no skill of the URL's `#NAME`.
    #[error("has no skill called `{name}`; it has {have}")]
    NoSuchSkill {
        /// The requested name.
        name: String,
        /// What there is.
        have: String,
    },

    // This side.
    /// Offline, and not in the cache.
    #[error("is not fetched while offline, and {0}")]
    Offline(&'static str),
    /// The cache cannot be used.
    #[error("the cache {} cannot be used: {why}; set PROWESS_CACHE_DIR to another folder", .folder.display())]
    Cache {
        /// Its folder.
        folder: PathBuf,
        /// The cause.
        why: String,
    },
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client: {0}")]
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

    /// Whether the host failed, rather than its content: then an older response may be used
    /// if the caller allows it.
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

/// A URL for a message: without user name and password.
pub fn display_url(source: &str) -> String {
    match source.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let host = authority.rsplit('@').next().unwrap_or(authority);
            format!("{scheme}://{host}{path}")
                .escape_debug()
                .to_string()
        }
        None => source.escape_debug().to_string(),
    }
}
