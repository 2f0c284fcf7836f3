//! Why a source cannot be read.

use std::io;
use std::path::{Path, PathBuf};

use prowess_skill::BundleError;

use crate::url::{FetchError, display_url};

/// Why a source could not be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// There is nothing at the path.
    #[error("{}: no such file or folder", .0.display())]
    NotFound(PathBuf),
    /// It cannot be read.
    #[error("{}: cannot be read: {error}", .path.display())]
    Io {
        /// What was being read.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// It is not a file that can contain a skill.
    #[error("{}: not a skill: give a folder, a .zip, .skill or .tar.gz archive, or a Markdown file", .0.display())]
    NotASource(PathBuf),
    /// A file name is not text, so it cannot be a path inside a skill.
    #[error("{}: the file's name is not UTF-8; rename the file", .0.display())]
    NameNotText(PathBuf),
    /// Its files are not a valid skill.
    #[error("{}: {error}", .path.display())]
    Bundle {
        /// The source.
        path: PathBuf,
        /// What is wrong with it.
        error: BundleError,
    },
    /// It is a URL, and fetching failed.
    #[error("{url}: {error}")]
    Url {
        /// The URL.
        url: String,
        /// The cause.
        error: FetchError,
    },
}

impl SourceError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            SourceError::NotFound(_) => "source-not-found",
            SourceError::Io { .. } => "source-unreadable",
            SourceError::NotASource(_) => "source-unknown-kind",
            SourceError::NameNotText(_) => "source-name-not-text",
            SourceError::Bundle { error, .. } => error.code(),
            SourceError::Url { error, .. } => error.code(),
        }
    }

    pub(crate) fn io(path: &Path, error: io::Error) -> SourceError {
        match error.kind() {
            io::ErrorKind::NotFound => SourceError::NotFound(path.to_owned()),
            _ => SourceError::Io {
                path: path.to_owned(),
                error,
            },
        }
    }

    pub(crate) fn url(url: &str, error: FetchError) -> SourceError {
        SourceError::Url {
            url: display_url(url),
            error,
        }
    }

    pub(crate) fn bundle(path: &Path, error: BundleError) -> SourceError {
        SourceError::Bundle {
            path: path.to_owned(),
            error,
        }
    }
}
