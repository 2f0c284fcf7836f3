//! Small skills, each different from the others.

use anyhow::Result;
use bytes::Bytes;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits};

/// A skill of one small file, as a zip. Name and content hold the number, so that no two
/// share anything in the store.
pub(super) fn archive(tenant: &str, number: usize) -> Result<Vec<u8>> {
    let name = format!("bench-{tenant}-{number}");
    let text = format!(
        "---\nname: {name}\ndescription: Does one thing well. Use it when number {number} is \
         wanted.\n---\n\nRun what the user says, number {number}.\n"
    );
    let files = vec![("SKILL.md".to_owned(), Bytes::from(text), false)];
    let bundle = Bundle::from_files(files, &BundleLimits::default())?;
    Ok(bundle.to_zip(&ArchiveLayout::wrapped(&name)?)?)
}
