//! Opens the sources of commands that take several.

use std::path::{Path, PathBuf};

use prowess_source::{Origin, SearchBounds, SourceError};

use crate::fetch::FetchArgs;
use crate::{display_path, output};

/// The skills of some sources, and whether all of them could be read.
pub(super) struct SkillInputs {
    pub(super) origins: Vec<Origin>,
    pub(super) unreadable: Vec<SourceError>,
}

/// Opens every source. One that cannot be read, or that has no skill, is reported and
/// counted; the others are still opened.
pub(super) fn open_all(paths: &[PathBuf], fetch: &FetchArgs) -> anyhow::Result<SkillInputs> {
    let mut inputs = SkillInputs {
        origins: Vec::new(),
        unreadable: Vec::new(),
    };
    for (path, opened) in paths.iter().zip(fetch.open(paths)?) {
        match opened {
            Ok((origins, discovery)) => {
                if origins.is_empty() && discovery.unreadable.is_empty() {
                    output::print_remark(&format!(
                        "{}: no SKILL.md in this folder or below",
                        display_path(path)
                    ));
                    inputs
                        .unreadable
                        .push(SourceError::NotASource(path.clone()));
                }
                if discovery.cut_short {
                    let limit = SearchBounds::default();
                    output::print_remark(&format!(
                        "{}: the search ended early, after {} folders or {} levels",
                        display_path(path),
                        limit.max_folders,
                        limit.max_depth
                    ));
                }
                inputs.origins.extend(origins);
                for error in discovery.unreadable {
                    inputs.add_unreadable(error);
                }
            }
            Err(error) => inputs.add_unreadable(error),
        }
    }
    Ok(inputs)
}

impl SkillInputs {
    fn add_unreadable(&mut self, error: SourceError) {
        output::print_error(&error.to_string());
        self.unreadable.push(error);
    }
}

/// Opens a source that must have exactly one skill.
pub(crate) fn open_one(path: &Path, fetch: &FetchArgs) -> anyhow::Result<Origin> {
    let (mut origins, discovery) = fetch.open_one(path)??;
    if let (true, Some(error)) = (origins.is_empty(), discovery.unreadable.into_iter().next()) {
        return Err(error.into());
    }
    match (origins.pop(), origins.len()) {
        (Some(origin), 0) => Ok(origin),
        (None, _) => anyhow::bail!(
            "{}: no SKILL.md in this folder or below",
            display_path(path)
        ),
        (Some(_), more) => anyhow::bail!(
            "{}: has {} skills; select one{}",
            display_path(path),
            more + 1,
            if prowess_source::url::is_url(path) {
                " by adding #NAME"
            } else {
                ""
            }
        ),
    }
}
