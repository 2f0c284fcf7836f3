//! The skills that a path or a URL names.

use std::path::Path;

use crate::discover::{self, Discovery, SearchBounds};
use crate::error::SourceError;
use crate::origin::{OpenResult, Origin};
use crate::url::{Fetcher, is_url};
use crate::{archive, archive_cache};

/// Finds the skills that a path or a URL names.
pub async fn open_source(source: &Path, bounds: &SearchBounds, fetcher: &Fetcher) -> OpenResult {
    match source.to_str() {
        Some(url) if is_url(source) => fetcher.open(url).await,
        _ => open(source, bounds),
    }
}

/// Finds the skills that a path names. Folders without a SKILL.md are searched;
/// a SKILL.md means its folder.
pub fn open(path: &Path, bounds: &SearchBounds) -> OpenResult {
    let meta = std::fs::metadata(path).map_err(|error| SourceError::io(path, error))?;
    let one = |origin| Ok((vec![origin], Discovery::default()));
    if meta.is_dir() {
        let discovery = discover::discover(path, bounds);
        let origins = discovery
            .skills
            .iter()
            .cloned()
            .map(Origin::Folder)
            .collect();
        return Ok((origins, discovery));
    }
    if discover::is_skill_file(path) {
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        return one(Origin::Folder(folder.unwrap_or(Path::new(".")).to_owned()));
    }
    if archive::is_archive(path) {
        return archive_cache::open(path, &meta);
    }
    if path
        .extension()
        .is_some_and(|ending| ending.eq_ignore_ascii_case("md"))
    {
        return one(Origin::Markdown(path.to_owned()));
    }
    Err(SourceError::NotASource(path.to_owned()))
}
