//! API keys: where they are read from, and how they are kept out of all output.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use tokio::time::Instant;

use crate::env::Env;
use crate::masked_key::redact_masked;
use crate::small_file::read_small_file;

/// How long a key read from a file is used before the file is read again, so that a key
/// can be replaced while the gateway runs.
const MAX_KEY_FILE_AGE: Duration = Duration::from_secs(30);
/// Larger than any key or token; a wrong path must not fill the memory.
const MAX_KEY_BYTES: u64 = 64 * 1024;

/// What is shown instead of a secret.
const REDACTED: &str = "[redacted]";

/// A secret text: never printed, and wiped from memory when dropped.
#[derive(Clone)]
pub struct SecretText(Arc<SecretString>);

impl SecretText {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Self {
        SecretText(Arc::new(SecretString::from(text.into())))
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// The text with every occurrence of this secret replaced.
    pub(crate) fn redact(&self, text: String) -> String {
        // Shorter texts are not keys, and would match ordinary words.
        let key = self.expose();
        if key.len() < 8 {
            return text;
        }
        let text = match text.contains(key) {
            true => text.replace(key, REDACTED),
            false => text,
        };
        redact_masked(text, key, REDACTED)
    }

    /// The same for what is not text.
    pub(crate) fn redact_bytes(&self, bytes: Vec<u8>) -> Vec<u8> {
        let secret = self.expose().as_bytes();
        if secret.len() < 8 {
            return bytes;
        }
        let find = |rest: &[u8]| rest.windows(secret.len()).position(|part| part == secret);
        let mut out = Vec::new();
        let mut rest = bytes.as_slice();
        while let Some(at) = find(rest) {
            let (before, found) = rest.split_at(at);
            out.extend_from_slice(before);
            out.extend_from_slice(REDACTED.as_bytes());
            rest = found.get(secret.len()..).unwrap_or_default();
        }
        if out.is_empty() {
            return bytes;
        }
        out.extend_from_slice(rest);
        out
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// Where a key is read from.
#[derive(Debug, Clone)]
pub enum KeySource {
    /// From an environment variable: `env:NAME`.
    Env(String),
    /// From a file, read again every half minute: `file:PATH`.
    File(PathBuf),
    /// A literal key.
    Literal(SecretText),
}

impl KeySource {
    /// Parses `env:NAME`, `file:PATH` or the key itself.
    pub fn parse(text: &str) -> Self {
        if let Some(name) = text.strip_prefix("env:") {
            KeySource::Env(name.trim().to_owned())
        } else if let Some(path) = text.strip_prefix("file:") {
            KeySource::File(PathBuf::from(path.trim()))
        } else {
            KeySource::Literal(SecretText::new(text))
        }
    }

    /// The current key.
    pub fn look_up(&self, env: &Env) -> Result<SecretText, KeyError> {
        match self {
            KeySource::Literal(secret) => Ok(secret.clone()),
            KeySource::Env(name) => match env.get(name) {
                Some(value) => Ok(SecretText::new(value.trim())),
                None => Err(KeyError::NotSet(name.clone())),
            },
            KeySource::File(path) => read_key(path).map_err(|error| KeyError::File {
                path: path.to_owned(),
                reason: error.to_string(),
            }),
        }
    }
}

/// Why there is no key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The variable is not set.
    #[error("the variable {0} is not set")]
    NotSet(String),
    /// The file cannot be read.
    #[error("the key file {} cannot be read: {reason}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
    /// No key is configured.
    #[error("set api_key in its configuration")]
    NotConfigured,
    /// Only clients' own keys are used, and the one that was sent is meant for another provider.
    #[error("it has none of its own, and the key of the client is meant for another provider")]
    OnlyClientKeys,
    /// Credentials of a cloud, which replace the key, could not be obtained.
    #[error("could not obtain credentials: {0}")]
    Credentials(String),
    /// The same, for now: their source is busy, or does not answer.
    #[error("could not obtain credentials: {reason}")]
    CredentialsUnavailable {
        /// What the source did.
        reason: String,
        /// When it is asked again.
        retry_in: Duration,
    },
    /// The key cannot be sent in a header.
    #[error("the key contains characters that are not allowed in a header")]
    NotHeaderSafe,
}

impl KeyError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            KeyError::NotSet(_) => "key-not-set",
            KeyError::File { .. } => "key-file-unreadable",
            KeyError::NotConfigured => "key-not-configured",
            KeyError::OnlyClientKeys => "key-of-other-provider",
            KeyError::Credentials(_) => "key-no-credentials",
            KeyError::CredentialsUnavailable { .. } => "key-credentials-unavailable",
            KeyError::NotHeaderSafe => "key-not-sendable",
        }
    }
}

/// A key source with a cache: a key file is read again when it may have changed.
#[derive(Debug)]
pub(crate) struct CachedKey {
    source: KeySource,
    env: Env,
    cached_file: Mutex<Option<(Instant, SecretText)>>,
}

impl CachedKey {
    pub(crate) fn new(source: KeySource, env: &Env) -> Self {
        CachedKey {
            source,
            env: env.clone(),
            cached_file: Mutex::new(None),
        }
    }

    pub(crate) fn get(&self) -> Result<SecretText, KeyError> {
        match &self.source {
            KeySource::File(_) => self.read_cached_file(),
            source => source.look_up(&self.env),
        }
    }

    fn read_cached_file(&self) -> Result<SecretText, KeyError> {
        let mut cached = self
            .cached_file
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some((read_at, secret)) = cached.as_ref()
            && read_at.elapsed() < MAX_KEY_FILE_AGE
        {
            return Ok(secret.clone());
        }
        let secret = self.source.look_up(&self.env)?;
        *cached = Some((Instant::now(), secret.clone()));
        Ok(secret)
    }
}

/// Reads a key from a file.
pub(crate) fn read_key(path: &Path) -> std::io::Result<SecretText> {
    let text = read_small_file(path, MAX_KEY_BYTES)?;
    if text.trim().is_empty() {
        return Err(std::io::Error::other("it is empty"));
    }
    Ok(SecretText::new(text.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_from_the_place_its_text_names() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "from-file\n").unwrap();
        let env = Env::from_pairs([("ACME_KEY", " from-env "), ("EMPTY", "")]);
        let get = |text: &str| CachedKey::new(KeySource::parse(text), &env).get();
        assert_eq!(get("env:ACME_KEY").unwrap().expose(), "from-env");
        assert_eq!(
            get(&format!("file:{}", path.display())).unwrap().expose(),
            "from-file"
        );
        assert_eq!(get("sk-literal").unwrap().expose(), "sk-literal");
        assert_eq!(get("env:EMPTY").unwrap_err().code(), "key-not-set");
        std::fs::write(&path, vec![b'x'; 100_000]).unwrap();
        let error = get(&format!("file:{}", path.display())).unwrap_err();
        assert!(error.to_string().ends_with("it is larger than 65536 bytes"));
        assert_eq!(get("file:/none").unwrap_err().code(), "key-file-unreadable");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_file_is_read_again_after_half_a_minute() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        std::fs::write(&path, "old").unwrap();
        let key = CachedKey::new(KeySource::File(path.clone()), &Env::from_pairs([]));
        assert_eq!(key.get().unwrap().expose(), "old");
        std::fs::write(&path, "new").unwrap();
        assert_eq!(key.get().unwrap().expose(), "old");
        tokio::time::advance(MAX_KEY_FILE_AGE).await;
        assert_eq!(key.get().unwrap().expose(), "new");
    }

    #[test]
    fn a_secret_does_not_print_and_can_be_taken_out_of_a_text() {
        let secret = SecretText::new("sk-very-secret");
        let source = KeySource::Literal(secret.clone());
        assert!(!format!("{secret:?} {source:?}").contains("very"));
        let text = "Incorrect key: sk-very-secret.".to_owned();
        assert_eq!(secret.redact(text), "Incorrect key: [redacted].");
        assert_eq!(SecretText::new("a").redact("a cat".to_owned()), "a cat");
        let bytes = b"\xff sk-very-secret \xfesk-very-secret".to_vec();
        let expected = b"\xff [redacted] \xfe[redacted]";
        assert_eq!(secret.redact_bytes(bytes), expected);
        assert_eq!(secret.redact_bytes(b"\xff".to_vec()), b"\xff");
    }
}
