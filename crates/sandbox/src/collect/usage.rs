//! How much a folder holds, counted as the bytes its files claim to have: a sparse file
//! is as large as it says.

use super::folder::{Folder, Kind};
use crate::error::{During, Error};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What a folder holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
}

/// Measures a folder of a session, calling `visit` with each regular file's path and
/// size.
pub(crate) fn measure(folder: &Path, visit: &mut dyn FnMut(&str, u64)) -> Result<Usage, Error> {
    let mut usage = Usage::default();
    let folder = Folder::open_path(folder).during(folder.display())?;
    add(&folder, "", &mut usage, visit)?;
    Ok(usage)
}

fn add(
    folder: &Folder,
    path: &str,
    usage: &mut Usage,
    visit: &mut dyn FnMut(&str, u64),
) -> Result<(), Error> {
    for entry in folder.entries().during(format_args!("listing {path:?}"))? {
        usage.entries += 1;
        let name = entry.name.to_string_lossy();
        let here = if path.is_empty() {
            name.into_owned()
        } else {
            format!("{path}/{name}")
        };
        match entry.kind {
            Kind::File => {
                usage.bytes = usage.bytes.saturating_add(entry.size);
                visit(&here, entry.size);
            }
            Kind::Folder => add(
                &folder.enter(&entry.name).during(&here)?,
                &here,
                usage,
                visit,
            )?,
            Kind::Symlink | Kind::Deleted | Kind::Special => {}
        }
    }
    Ok(())
}
