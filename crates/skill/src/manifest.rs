//! What is in a bundle, by digest.
//!
//! Made once at the door; approvals, caches, indexes and signatures are all
//! derived from it, so none of them has to hash a file again.
//!
//! # The root digest
//!
//! One digest names the whole file table. It is SHA-256 over these UTF-8 lines,
//! each ended by one line feed, files in byte order of their paths:
//!
//! ```text
//! prowess-manifest-v1
//! <64 hex digits> <size> <x or -> <path>
//! ```
//!
//! The first line keeps these digests apart from any other use of SHA-256. The
//! fields before the path hold no blank, and a path holds no control character,
//! so no two file tables write the same lines. Whether a file is executable
//! counts; everything else about it (times, owners, the archive it came in) does
//! not.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::bundle::Bundle;
use crate::path::SkillPath;

const DIGEST_DOMAIN: &[u8] = b"prowess-manifest-v1\n";

/// The files of a bundle by path, with their digests and one over all of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "UncheckedManifest")]
pub struct Manifest {
    digest: Digest,
    files: Vec<ManifestFile>,
}

/// One file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ManifestFile {
    /// Where it lies in the skill.
    pub path: SkillPath,
    /// Of its content.
    pub digest: Digest,
    /// Bytes of its content.
    pub size: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

impl Manifest {
    /// Hashes every file of `bundle`.
    pub fn from_bundle(bundle: &Bundle) -> Self {
        let files: Vec<_> = bundle
            .files()
            .map(|(path, file)| ManifestFile {
                path: path.clone(),
                digest: Digest::from_content(&file.data),
                size: file.data.len() as u64,
                executable: file.executable,
            })
            .collect();
        Manifest {
            digest: root_digest(&files),
            files,
        }
    }

    /// The digest of the whole file table; see the module for its construction.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// The files, sorted by path.
    pub fn files(&self) -> &[ManifestFile] {
        &self.files
    }

    /// One file by its path.
    pub fn get(&self, path: &str) -> Option<&ManifestFile> {
        let found = self.files.binary_search_by(|f| f.path.as_str().cmp(path));
        found.ok().and_then(|at| self.files.get(at))
    }

    /// Bytes of all files together.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().map(|f| f.size).sum()
    }
}

fn root_digest(files: &[ManifestFile]) -> Digest {
    let mut hash = Sha256::new_with_prefix(DIGEST_DOMAIN);
    for file in files {
        let x = if file.executable { 'x' } else { '-' };
        let ManifestFile { path, size, .. } = file;
        hash.update(format!("{} {size} {x} {path}\n", file.digest.hex()));
    }
    Digest(hash.finalize().into())
}

/// A manifest as read back, before its digest was compared.
#[derive(Deserialize)]
struct UncheckedManifest {
    digest: Digest,
    files: Vec<ManifestFile>,
}

impl TryFrom<UncheckedManifest> for Manifest {
    type Error = ManifestError;

    fn try_from(read: UncheckedManifest) -> Result<Self, ManifestError> {
        if !read.files.is_sorted_by(|a, b| a.path < b.path) {
            return Err(ManifestError::Order);
        }
        let digest = root_digest(&read.files);
        if digest != read.digest {
            return Err(ManifestError::Digest {
                stated: read.digest,
                computed: digest,
            });
        }
        Ok(Manifest {
            digest,
            files: read.files,
        })
    }
}

/// Why a manifest that was read back cannot be trusted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// Not sorted, or a path twice.
    #[error("the manifest's files are not in strict order of their paths")]
    Order,
    /// Its files are not those it was made of.
    #[error("the manifest states {stated}, but its files give {computed}")]
    Digest {
        /// As written.
        stated: Digest,
        /// As its files give.
        computed: Digest,
    },
    /// Not `sha256:` and 64 lower-case hexadecimal digits.
    #[error("a digest must be `sha256:` and 64 lower-case hexadecimal digits")]
    Malformed,
}

impl ManifestError {
    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        match self {
            ManifestError::Order => "manifest-order",
            ManifestError::Digest { .. } => "manifest-digest",
            ManifestError::Malformed => "digest-malformed",
        }
    }
}

/// A SHA-256 digest, written `sha256:<64 lower-case hexadecimal digits>`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// Of some bytes.
    pub fn from_content(bytes: &[u8]) -> Self {
        Digest(Sha256::digest(bytes).into())
    }

    /// A SHA-256 that was computed in parts.
    pub fn from_hash(hash: [u8; 32]) -> Self {
        Digest(hash)
    }

    /// The raw 32 bytes.
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The hexadecimal digits alone, without `sha256:`.
    pub fn hex(&self) -> String {
        let digit = |n: u8| char::from_digit(u32::from(n), 16).unwrap_or_default();
        self.0
            .iter()
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ManifestError;

    fn from_str(text: &str) -> Result<Self, ManifestError> {
        let malformed = ManifestError::Malformed;
        let hex = text.strip_prefix("sha256:").ok_or(malformed.clone())?;
        let lower = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        if hex.len() != 64 || !hex.as_bytes().iter().all(lower) {
            return Err(malformed);
        }
        let mut raw = [0; 32];
        for (byte, at) in raw.iter_mut().zip((0..64).step_by(2)) {
            let pair = hex.get(at..at + 2).ok_or(malformed.clone())?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| malformed.clone())?;
        }
        Ok(Digest(raw))
    }
}

impl TryFrom<String> for Digest {
    type Error = ManifestError;

    fn try_from(text: String) -> Result<Self, ManifestError> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}
