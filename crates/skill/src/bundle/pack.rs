//! Packs a bundle into an archive: the same files give the same bytes.
//!
//! Times, owners, modes and the compressor's effort are fixed and entries are
//! sorted, so a digest of the archive changes only when the skill does.

use std::io::{Cursor, Write};

use flate2::{Compression, GzBuilder};
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, System, ZipWriter};

use super::{Bundle, BundleFile};
use crate::limits::BundleLimits;
use crate::path::{PathError, SkillPath};

/// zlib's middle way between time and size.
const COMPRESSION_LEVEL: u32 = 6;

/// Where in an archive the skill's files lie.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ArchiveLayout(Option<SkillPath>);

impl ArchiveLayout {
    /// `SKILL.md` at the top, as well-known indexes require it.
    pub const FLAT: ArchiveLayout = ArchiveLayout(None);

    /// Everything in one folder, as skill uploads and `.skill` files have it.
    pub fn wrapped(folder: &str) -> Result<Self, PathError> {
        let one_part = BundleLimits {
            depth: 0,
            ..BundleLimits::default()
        };
        SkillPath::parse(folder, &one_part).map(|folder| ArchiveLayout(Some(folder)))
    }

    fn entry_name(&self, path: &SkillPath) -> String {
        match &self.0 {
            None => path.to_string(),
            Some(folder) => format!("{folder}/{path}"),
        }
    }
}

/// Why a bundle cannot be packed. Only one read under limits far above the
/// defaults can outgrow an archive format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot pack the bundle as {format}: {reason}")]
pub struct PackError {
    format: &'static str,
    reason: String,
}

impl PackError {
    fn new(format: &'static str, reason: impl ToString) -> Self {
        PackError {
            format,
            reason: reason.to_string(),
        }
    }

    /// Stable identifier of the reason.
    pub fn code(&self) -> &'static str {
        "pack-failed"
    }
}

impl Bundle {
    /// Packs the files as a zip.
    pub fn to_zip(&self, layout: &ArchiveLayout) -> Result<Vec<u8>, PackError> {
        self.write_zip(layout)
            .map_err(|error| PackError::new("zip", error))
    }

    fn write_zip(&self, layout: &ArchiveLayout) -> zip::result::ZipResult<Vec<u8>> {
        let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(i64::from(COMPRESSION_LEVEL)))
            .last_modified_time(DateTime::default())
            .system(System::Unix);
        for (path, file) in self.files() {
            zip.start_file(
                layout.entry_name(path),
                options.unix_permissions(unix_mode(file)),
            )?;
            zip.write_all(&file.data)?;
        }
        Ok(zip.finish()?.into_inner())
    }

    /// Packs the files as a gzipped tar.
    pub fn to_tar_gz(&self, layout: &ArchiveLayout) -> Result<Vec<u8>, PackError> {
        self.write_tar_gz(layout)
            .map_err(|error| PackError::new("tar.gz", error))
    }

    fn write_tar_gz(&self, layout: &ArchiveLayout) -> std::io::Result<Vec<u8>> {
        // 255 means "unknown": the bytes must not depend on the platform.
        let gzip = GzBuilder::new().mtime(0).operating_system(255);
        let gzip = gzip.write(Vec::new(), Compression::new(COMPRESSION_LEVEL));
        let mut tar = tar::Builder::new(gzip);
        for (path, file) in self.files() {
            let mut header = tar::Header::new_gnu();
            header.set_size(file.data.len() as u64);
            header.set_mode(unix_mode(file));
            header.set_mtime(0);
            tar.append_data(&mut header, layout.entry_name(path), &*file.data)?;
        }
        tar.into_inner()?.finish()
    }
}

fn unix_mode(file: &BundleFile) -> u32 {
    if file.executable { 0o755 } else { 0o644 }
}
