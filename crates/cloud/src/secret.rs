//! Secrets that are never printed, and the small files they are read from.

use std::fmt;
use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;
use std::sync::Arc;

use secrecy::{ExposeSecret, SecretString};

/// Larger than any key or token; a wrong path must not fill the memory.
const MAX_FILE_BYTES: u64 = 64 * 1024;

/// Reads a secret whenever it is needed; the error says why it cannot.
pub type ReadSecret = Arc<dyn Fn() -> std::result::Result<CloudToken, String> + Send + Sync>;

/// A secret text of a cloud: never printed, and wiped from memory when dropped.
#[derive(Clone)]
pub struct CloudToken(Arc<SecretString>);

impl CloudToken {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        CloudToken(Arc::new(SecretString::from(text.into())))
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        self.0.expose_secret()
    }
}

impl fmt::Debug for CloudToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CloudToken(..)")
    }
}

/// Reads a small text file. Blocks for the time of one read.
pub(crate) fn read_secret_file(path: &Path) -> Result<CloudToken> {
    let mut text = String::new();
    File::open(path)?
        .take(MAX_FILE_BYTES + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(Error::other(format!(
            "it is larger than {MAX_FILE_BYTES} bytes"
        )));
    }
    if text.trim().is_empty() {
        return Err(Error::other("it is empty"));
    }
    Ok(CloudToken::new(text.trim()))
}
