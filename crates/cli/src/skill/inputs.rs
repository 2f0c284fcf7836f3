//! Opens the sources of commands that take several.

use std::path::{Path, PathBuf};

use prowess_source::{Discovery, Origin, SearchBounds, SourceError};

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
                remark_cut_short(path, &discovery);
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

fn remark_cut_short(path: &Path, discovery: &Discovery) {
    if discovery.cut_short {
        let limit = SearchBounds::default();
        output::print_remark(&format!(
            "{}: the search ended early, after {} folders or {} levels",
            display_path(path),
            limit.max_folders,
            limit.max_depth
        ));
    }
}

/// Why a source has no skill.
fn no_skill(path: &Path, discovery: Discovery) -> anyhow::Error {
    match discovery.unreadable.into_iter().next() {
        Some(error) => error.into(),
        None => anyhow::anyhow!(
            "{}: no SKILL.md in this folder or below",
            display_path(path)
        ),
    }
}

/// Opens a source that must have a skill, and may have several. What of it cannot be read is
/// reported and counted.
pub(super) fn open_some(path: &Path, fetch: &FetchArgs) -> anyhow::Result<SkillInputs> {
    let (origins, discovery) = fetch.open_one(path)??;
    if origins.is_empty() {
        return Err(no_skill(path, discovery));
    }
    remark_cut_short(path, &discovery);
    let mut inputs = SkillInputs {
        origins,
        unreadable: Vec::new(),
    };
    for error in discovery.unreadable {
        inputs.add_unreadable(error);
    }
    Ok(inputs)
}

/// Opens a source that must have exactly one skill.
pub(crate) fn open_one(path: &Path, fetch: &FetchArgs) -> anyhow::Result<Origin> {
    let (mut origins, discovery) = fetch.open_one(path)??;
    match (origins.pop(), origins.len()) {
        (Some(origin), 0) => Ok(origin),
        (None, _) => Err(no_skill(path, discovery)),
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
