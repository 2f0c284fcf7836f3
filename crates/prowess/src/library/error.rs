//! Why a request could not be run, or its files not be had.

use std::io;
use std::path::PathBuf;

use prowess_engine::RunError;
use prowess_provider::RouteError;
use prowess_provider::config::ProviderConfigError;
use prowess_source::SourceError;
use prowess_store::Error as StoreError;

/// Why something did not work.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Providers or models that cannot be used as they are described.
    #[error(transparent)]
    Config(#[from] ProviderConfigError),
    /// There is no place for temporary data.
    #[error("no temporary folder can be made: {0}")]
    NoFolder(io::Error),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A model that nobody knows, or that cannot be reached.
    #[error(transparent)]
    Model(#[from] RouteError),
    /// A source of skills that cannot be read.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// A source that holds no usable skill.
    #[error("{}: {why}", .place.display())]
    NotASkill {
        /// The source.
        place: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The run did not begin, or did not end well.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A file that a run made cannot be written.
    #[error("{}: cannot be written: {error}", .path.display())]
    Save {
        /// Where it was to go.
        path: PathBuf,
        /// What the system said.
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
            Error::Model(error) => error.code(),
            Error::Source(error) => error.code(),
            Error::NotASkill { .. } => "source-not-a-skill",
            Error::Run(error) => error.code(),
            Error::Save { .. } => "file-not-written",
        }
    }
}
