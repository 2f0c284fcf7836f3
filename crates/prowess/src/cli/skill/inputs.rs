//! Paths on the command line to skills, for the verbs that take many.

use std::path::{Path, PathBuf};

use prowess_source::{Bounds, Origin, SourceError, open};

use crate::cli::{output, shown};

/// The skills that some paths name, and whether all of the paths could be read.
pub(super) struct Inputs {
    pub(super) origins: Vec<Origin>,
    pub(super) unreadable: Vec<SourceError>,
}

/// Opens every path. A path that cannot be read, or that holds no skill, is
/// told and counted; the others still are.
pub(super) fn open_all(paths: &[PathBuf]) -> Inputs {
    let mut inputs = Inputs {
        origins: Vec::new(),
        unreadable: Vec::new(),
    };
    for path in paths {
        match open(path, &Bounds::default()) {
            Ok((origins, discovery)) => {
                if origins.is_empty() {
                    output::remark(&format!("{}: no SKILL.md here or below", shown(path)));
                    inputs
                        .unreadable
                        .push(SourceError::NotASource(path.clone()));
                }
                if discovery.cut_short {
                    let limit = Bounds::default();
                    output::remark(&format!(
                        "{}: the search ended early, after {} folders or {} levels",
                        shown(path),
                        limit.folders,
                        limit.depth
                    ));
                }
                inputs.origins.extend(origins);
                for error in discovery.unreadable {
                    inputs.refuse(error);
                }
            }
            Err(error) => inputs.refuse(error),
        }
    }
    inputs
}

impl Inputs {
    fn refuse(&mut self, error: SourceError) {
        output::error(&error.to_string());
        self.unreadable.push(error);
    }
}

/// Opens a path that must name exactly one skill.
pub(crate) fn open_one(path: &Path) -> anyhow::Result<Origin> {
    let (mut origins, _) = open(path, &Bounds::default())?;
    match (origins.pop(), origins.len()) {
        (Some(origin), 0) => Ok(origin),
        (None, _) => anyhow::bail!("{}: no SKILL.md here or below", shown(path)),
        (Some(_), more) => anyhow::bail!(
            "{}: holds {} skills; name one of them",
            shown(path),
            more + 1
        ),
    }
}
