//! An archive's or a bare file's bytes to a bundle.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use prowess_skill::{Bundle, BundleLimits};

use crate::error::SourceError;

/// Endings of archives that hold a skill.
const EXTENSIONS: [&str; 4] = [".zip", ".skill", ".tar.gz", ".tgz"];

/// Whether a path is named like an archive.
pub fn is_archive(path: &Path) -> bool {
    extension(path).is_some()
}

/// The name of an archive without its ending.
pub fn stem(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    name.get(..name.len() - extension(path)?.len())
        .map(str::to_owned)
}

fn extension(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?.to_ascii_lowercase();
    EXTENSIONS.into_iter().find(|ending| name.ends_with(ending))
}

/// Reads an archive, whichever format its bytes are in.
pub fn read(path: &Path, limits: &BundleLimits) -> Result<Bundle, SourceError> {
    let bytes = read_capped(path, limits.archive_bytes)?;
    Bundle::from_archive(&bytes, limits).map_err(|error| SourceError::bundle(path, error))
}

/// Reads a Markdown file as a skill of one file.
pub fn read_markdown(path: &Path, limits: &BundleLimits) -> Result<Bundle, SourceError> {
    let bytes = read_capped(path, limits.file_bytes)?;
    Bundle::from_skill_md(bytes, limits).map_err(|error| SourceError::bundle(path, error))
}

/// Reads at most one byte more than the cap: enough for the bundle to detect and report
/// that it is too large.
pub(crate) fn read_capped(path: &Path, cap: u64) -> Result<Vec<u8>, SourceError> {
    let unreadable = |error| SourceError::io(path, error);
    let file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(cap + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    Ok(bytes)
}
