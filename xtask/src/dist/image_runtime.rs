//! The runtime inside the container image `full`: a tar archive of a root file system that
//! `prowess runtime install` has made, with the configuration that names it.
//!
//! Must not know images, nor how a runtime is made.

use std::fs::{self, DirEntry, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::Context;
use tar::{Builder, EntryType, Header};

use super::tarball::read;

/// The root file system and its versions, in the folder of a build.
const ROOT: &str = "root";
const LOCK: &str = "lock.json";

/// Where they are in the image.
const ROOT_INSIDE: &str = "usr/lib/prowess/runtime";
const LOCK_INSIDE: &str = "usr/share/doc/prowess/runtime.lock.json";

/// The configuration, which replaces that of the image without a runtime.
const CONFIG: &str = "packaging/image/prowess.toml";
const CONFIG_INSIDE: &str = "etc/prowess/prowess.toml";

/// Whether a folder is what `prowess runtime install` makes.
pub(super) fn check(build: &Path) -> anyhow::Result<()> {
    anyhow::ensure!(
        build.join(ROOT).join("usr").is_dir() && build.join(LOCK).is_file(),
        "{} has no runtime: name DATA/sandbox/runtimes/NAME/current, which `prowess runtime \
         install NAME` makes, with the data folder as DATA",
        build.display()
    );
    Ok(())
}

/// Writes the archive.
pub(super) fn write(build: &Path, date: u64, place: &Path) -> anyhow::Result<()> {
    check(build)?;
    let mut layer = RuntimeArchive {
        archive: Builder::new(BufWriter::new(File::create(place)?)),
        date,
    };
    let mut config = read(CONFIG)?;
    let setting = format!("\n[sandbox]\nruntime = \"/{ROOT_INSIDE}\"\n");
    config.extend_from_slice(setting.as_bytes());
    layer.append_text(CONFIG_INSIDE, &config)?;
    layer.append_text(LOCK_INSIDE, &fs::read(build.join(LOCK))?)?;
    // The link `current` is followed, and no other.
    let root = fs::canonicalize(build)?.join(ROOT);
    layer.append_folder(&root, Path::new(ROOT_INSIDE))?;
    layer.archive.into_inner()?.flush()?;
    Ok(())
}

struct RuntimeArchive {
    archive: Builder<BufWriter<File>>,
    date: u64,
}

impl RuntimeArchive {
    fn append_text(&mut self, inside: &str, text: &[u8]) -> anyhow::Result<()> {
        let mut header = self.header(EntryType::Regular, 0o644, u64::try_from(text.len())?);
        Ok(self.archive.append_data(&mut header, inside, text)?)
    }

    /// Everything in a folder, in the order of names.
    fn append_folder(&mut self, folder: &Path, inside: &Path) -> anyhow::Result<()> {
        let mut header = self.header(EntryType::Directory, 0o755, 0);
        let archive = &mut self.archive;
        archive.append_data(&mut header, inside, io::empty())?;
        let entries = fs::read_dir(folder);
        let entries = entries.and_then(Iterator::collect::<io::Result<Vec<DirEntry>>>);
        let mut entries = entries.with_context(|| format!("cannot list {}", folder.display()))?;
        entries.sort_by_key(DirEntry::file_name);
        for entry in entries {
            let (place, inside) = (entry.path(), inside.join(entry.file_name()));
            let appended = if entry.file_type()?.is_dir() {
                self.append_folder(&place, &inside)
            } else {
                self.append_entry(&place, &inside)
            };
            appended.with_context(|| format!("cannot archive {}", place.display()))?;
        }
        Ok(())
    }

    fn append_entry(&mut self, place: &Path, inside: &Path) -> anyhow::Result<()> {
        let found = fs::symlink_metadata(place)?;
        if found.is_symlink() {
            let mut header = self.header(EntryType::Symlink, 0o777, 0);
            let target = fs::read_link(place)?;
            return Ok(self.archive.append_link(&mut header, inside, target)?);
        }
        anyhow::ensure!(found.is_file(), "it is neither file, folder nor link");
        // Owners are those of the image: everyone may read and run what is there.
        let is_program = found.permissions().mode() & 0o111 != 0;
        let mode = if is_program { 0o755 } else { 0o644 };
        let mut header = self.header(EntryType::Regular, mode, found.len());
        let file = File::open(place)?;
        Ok(self.archive.append_data(&mut header, inside, file)?)
    }

    fn header(&self, kind: EntryType, mode: u32, size: u64) -> Header {
        let mut header = Header::new_gnu();
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_size(size);
        header.set_mtime(self.date);
        header.set_uid(0);
        header.set_gid(0);
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_runtime_is_archived_in_one_order_with_the_setting_that_names_it() {
        let build = tempfile::tempdir().unwrap();
        let root = build.path().join("root");
        let long = "a".repeat(120);
        fs::create_dir_all(root.join("usr/bin")).unwrap();
        fs::write(root.join("usr/bin/tool"), "#!/bin/sh\n").unwrap();
        fs::set_permissions(root.join("usr/bin/tool"), PermissionsExt::from_mode(0o700)).unwrap();
        fs::write(root.join("usr").join(&long), "text").unwrap();
        symlink("usr/bin", root.join("bin")).unwrap();
        symlink("/etc/nothing", root.join("usr/link")).unwrap();

        let place = build.path().join("layer.tar");
        let without_versions = write(build.path(), 7, &place).unwrap_err().to_string();
        assert!(without_versions.contains("prowess runtime install"));
        fs::write(build.path().join("lock.json"), "{}").unwrap();
        write(build.path(), 7, &place).unwrap();

        let mut archive = tar::Archive::new(File::open(&place).unwrap());
        let lines = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let target = entry.link_name().unwrap();
            let target = target.map_or(String::new(), |target| format!(" -> {}", target.display()));
            let header = entry.header();
            let (mode, owner) = (header.mode().unwrap(), header.uid().unwrap());
            assert_eq!((header.mtime().unwrap(), owner), (7, 0));
            format!("{mode:o} {path}{target}")
        });
        let inside = "usr/lib/prowess/runtime";
        let expected = [
            "644 etc/prowess/prowess.toml".to_owned(),
            "644 usr/share/doc/prowess/runtime.lock.json".to_owned(),
            format!("755 {inside}"),
            format!("777 {inside}/bin -> usr/bin"),
            format!("755 {inside}/usr"),
            format!("644 {inside}/usr/{long}"),
            format!("755 {inside}/usr/bin"),
            format!("755 {inside}/usr/bin/tool"),
            format!("777 {inside}/usr/link -> /etc/nothing"),
        ];
        assert_eq!(lines.collect::<Vec<_>>(), expected);

        let mut archive = tar::Archive::new(File::open(&place).unwrap());
        let first = archive.entries().unwrap().next().unwrap().unwrap();
        let config: toml::Table = io::read_to_string(first).unwrap().parse().unwrap();
        let runtime = config.get("sandbox").and_then(|it| it.get("runtime"));
        let runtime = runtime.and_then(toml::Value::as_str);
        assert_eq!(runtime, Some("/usr/lib/prowess/runtime"));
    }
}
