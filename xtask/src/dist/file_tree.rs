//! Files in memory, and archives whose bytes depend on nothing but those files and a date.
//!
//! Must not know what the files are for.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use flate2::{Compression, GzBuilder};

/// Files by their path, in one order.
#[derive(Debug, Default)]
pub(super) struct FileTree {
    files: BTreeMap<String, TreeFile>,
}

#[derive(Debug)]
struct TreeFile {
    mode: u32,
    content: Vec<u8>,
}

impl FileTree {
    /// Adds a file that anyone may read.
    pub(super) fn add(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.insert(path.into(), 0o644, content.into());
    }

    /// Adds a program.
    pub(super) fn add_program(&mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) {
        self.insert(path.into(), 0o755, content.into());
    }

    fn insert(&mut self, path: String, mode: u32, content: Vec<u8>) {
        self.files.insert(path, TreeFile { mode, content });
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The size of all files, in bytes.
    pub(super) fn size(&self) -> usize {
        self.files.values().map(|file| file.content.len()).sum()
    }

    /// Writes the files below a new folder, with fixed modes and dates whatever the
    /// caller's umask is.
    pub(super) fn write_to(&self, folder: &Path, date: u64) -> anyhow::Result<()> {
        for (path, file) in &self.files {
            let place = folder.join(path);
            let parent = place.parent().unwrap_or(folder);
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot create {}", parent.display()))?;
            std::fs::write(&place, &file.content)
                .with_context(|| format!("cannot write {}", place.display()))?;
            std::fs::set_permissions(&place, PermissionsExt::from_mode(file.mode))?;
            let date = SystemTime::UNIX_EPOCH + Duration::from_secs(date);
            std::fs::File::options()
                .append(true)
                .open(&place)?
                .set_modified(date)?;
        }
        for path in &self.files {
            let below = Path::new(path.0).ancestors().skip(1);
            for parent in below.map(|parent| folder.join(parent)) {
                std::fs::set_permissions(&parent, PermissionsExt::from_mode(0o755))?;
            }
        }
        Ok(())
    }

    /// A compressed tar archive with all files below one folder.
    pub(super) fn tar_gz(
        &self,
        folder: &str,
        date: u64,
        level: Compression,
    ) -> anyhow::Result<Vec<u8>> {
        let encoder = GzBuilder::new().write(Vec::new(), level);
        let encoder = self.append_to(tar::Builder::new(encoder), &format!("{folder}/"), date)?;
        Ok(encoder.finish()?)
    }

    /// A tar archive of the files as they are.
    pub(super) fn tar(&self, date: u64) -> anyhow::Result<Vec<u8>> {
        self.append_to(tar::Builder::new(Vec::new()), "", date)
    }

    fn append_to<W: Write>(
        &self,
        mut archive: tar::Builder<W>,
        start: &str,
        date: u64,
    ) -> anyhow::Result<W> {
        for (path, file) in &self.files {
            let mut header = tar::Header::new_ustar();
            header.set_size(u64::try_from(file.content.len())?);
            header.set_mode(file.mode);
            header.set_mtime(date);
            header.set_uid(0);
            header.set_gid(0);
            header.set_username("root")?;
            header.set_groupname("root")?;
            let path = format!("{start}{path}");
            archive
                .append_data(&mut header, &path, file.content.as_slice())
                .with_context(|| format!("cannot archive {path}"))?;
        }
        Ok(archive.into_inner()?)
    }
}

/// A file compressed by itself.
pub(super) fn gzip(content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new().write(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}
