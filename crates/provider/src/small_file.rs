//! Small files: keys, credentials, scripts.

use std::fs::File;
use std::io::{Error, Read, Result};
use std::path::Path;

/// The text of a file, unless it is bigger than what it is said to be ever is: then the
/// path is a mistake. Blocks for the time of one read.
pub(crate) fn read_small_file(path: &Path, limit: u64) -> Result<String> {
    let mut text = String::new();
    File::open(path)?
        .take(limit + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(Error::other(format!("it has more than {limit} bytes")));
    }
    Ok(text)
}
