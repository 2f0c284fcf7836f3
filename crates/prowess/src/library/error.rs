//! Errors of the library.

use std::io;
use std::path::PathBuf;

use prowess_engine::RunError;
use prowess_provider::RouteError;
use prowess_provider::config::ProviderConfigError;
use prowess_source::SourceError;
use prowess_store::Error as StoreError;

/// An error of the library.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Invalid providers or models.
    #[error(transparent)]
    Config(#[from] ProviderConfigError),
    /// No folder for temporary data could be created.
    #[error("cannot create a temporary folder: {0}")]
    NoFolder(io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The cluster cannot be joined.
    #[error("cannot join the cluster: {why}")]
    Cluster {
        /// What is wrong, for the operator.
        why: String,
    },
    /// An unknown or unreachable model.
    #[error(transparent)]
    Model(#[from] RouteError),
    /// A source of skills that cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source without a valid skill.
    #[error("{}: {why}", .place.display())]
    NotASkill {
        /// The source.
        place: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The run could not start, or failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A generated file cannot be written.
    #[error("{}: cannot be written: {error}", .path.display())]
    Save {
        /// Its path.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
}

impl Error {
    /// Stable identifier of the reason.
    #[must_use]
    pub fn code(&self) -> &str {
        match self {
            Error::Config(error) => error.code(),
            Error::NoFolder(_) => "folder-unavailable",
            Error::Store(error) => error.code(),
            Error::Cluster { .. } => "cluster-unavailable",
            Error::Model(error) => error.code(),
            Error::Source(error) => error.code(),
            Error::NotASkill { .. } => "source-not-a-skill",
            Error::Run(error) => error.code(),
            Error::Save { .. } => "file-not-written",
        }
    }
}
