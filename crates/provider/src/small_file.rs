//! Small files: keys, credentials, scripts.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// Reads a small text file. A larger file than its kind ever is means that the path is
/// wrong. Blocks for the time of one read.
pub(crate) fn read_small_file(path: &Path, limit: u64) -> Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(limit + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(Error::other(format!("it is larger than {limit} bytes")));
    }
    Ok(text)
}
