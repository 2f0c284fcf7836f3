//! Names of runtimes, and what `[sandbox] runtime` may be.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::error::RuntimeError;

const MAX_NAME_BYTES: usize = 32;

/// The name of a runtime: small letters, digits and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuntimeName(String);

impl RuntimeName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RuntimeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RuntimeName {
    type Err = RuntimeError;

    fn from_str(text: &str) -> Result<Self, RuntimeError> {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let outer = |c: char| inner(c) && c != '-';
        let fits = text.len() <= MAX_NAME_BYTES && text.chars().all(inner);
        if fits && text.starts_with(outer) && text.ends_with(outer) {
            return Ok(Self(text.to_owned()));
        }
        let name = text.chars().take(2 * MAX_NAME_BYTES).collect();
        Err(RuntimeError::BadName { name })
    }
}

/// Where the programs and libraries of sandboxes come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RuntimeSource {
    /// The root file system in a folder; `/` is the host's own.
    Folder(PathBuf),
    /// A runtime that was installed in the folder of the sandbox.
    Installed(RuntimeName),
}

impl RuntimeSource {
    /// Reads what an operator wrote: a path, or a name, which has no slash.
    ///
    /// # Errors
    /// [`RuntimeError::BadName`] when it is neither.
    pub fn parse(written: &Path) -> Result<Self, RuntimeError> {
        match written.to_str() {
            Some(text) if !text.contains('/') => text.parse().map(Self::Installed),
            _ => Ok(Self::Folder(written.to_owned())),
        }
    }
}

impl From<PathBuf> for RuntimeSource {
    fn from(folder: PathBuf) -> Self {
        Self::Folder(folder)
    }
}

impl fmt::Display for RuntimeSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => folder.display().fmt(f),
            Self::Installed(name) => name.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_no_slash_and_a_path_has_one() {
        let parse = |text: &str| RuntimeSource::parse(Path::new(text));
        let full = RuntimeName("full".into());
        assert_eq!(parse("full").unwrap(), RuntimeSource::Installed(full));
        for path in ["/", "/srv/root", "./full", "../x/y"] {
            assert_eq!(
                parse(path).unwrap(),
                RuntimeSource::Folder(path.into()),
                "{path}"
            );
        }
        for bad in ["", ".", "..", "Full", "a b", "-a", "a-", "a_b", "é"] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
        assert!("a".repeat(33).parse::<RuntimeName>().is_err());
    }
}
