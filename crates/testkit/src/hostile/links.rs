//! Entries that are neither files nor folders.

use super::HostileArchive;
use crate::raw_tar::RawTar;
use crate::raw_zip::{RawEntry, RawZip};

pub(super) fn all() -> Vec<HostileArchive> {
    let zips = ZIP_MODES.iter().map(|&(what, mode, code)| {
        let entry = RawEntry::stored("x", b"/etc/passwd").mode(mode);
        let name = format!("zip with a {what}");
        HostileArchive::new(name, code, RawZip::skill([entry]).bytes())
    });
    let tars = TAR_TYPES.iter().map(|&(what, kind, code)| {
        let tar = RawTar::skill().header_with(kind, "x", 0, 0o644, |header| {
            for (slot, byte) in header.iter_mut().skip(157).zip(b"/etc/passwd") {
                *slot = *byte;
            }
        });
        HostileArchive::new(format!("tar with a {what}"), code, tar.gz())
    });
    zips.chain(tars).chain(others()).collect()
}

const ZIP_MODES: &[(&str, u32, &str)] = &[
    ("symbolic link", 0o120_777, "link"),
    ("named pipe", 0o010_644, "special-file"),
    ("character device", 0o020_644, "special-file"),
    ("block device", 0o060_644, "special-file"),
    ("socket", 0o140_644, "special-file"),
    ("file of unknown type", 0o150_644, "special-file"),
    ("folder's mode on a file", 0o040_755, "special-file"),
];

const TAR_TYPES: &[(&str, u8, &str)] = &[
    ("hard link", b'1', "link"),
    ("symbolic link", b'2', "link"),
    ("character device", b'3', "special-file"),
    ("block device", b'4', "special-file"),
    ("named pipe", b'6', "special-file"),
    ("contiguous file", b'7', "special-file"),
    ("multi-volume part", b'M', "special-file"),
    ("volume label", b'V', "special-file"),
    ("long link name", b'K', "special-file"),
    ("file of unknown type", b'Z', "special-file"),
    ("GNU sparse file", b'S', "sparse-file"),
];

fn others() -> Vec<HostileArchive> {
    vec![
        HostileArchive::new(
            "zip with a symbolic link as SKILL.md",
            "link",
            RawZip::from_entries([RawEntry::stored("SKILL.md", b"/etc/passwd").mode(0o120_777)])
                .bytes(),
        ),
        HostileArchive::new(
            "zip with a folder that has content",
            "folder-with-data",
            RawZip::skill([RawEntry::stored("a/", b"hidden").mode(0o040_755)]).bytes(),
        ),
        HostileArchive::new(
            "tar with a folder that has content",
            "folder-with-data",
            RawTar::skill().entry(b'5', "a/", b"hidden").gz(),
        ),
        HostileArchive::new(
            "tar with a pax sparse file",
            "sparse-file",
            RawTar::skill()
                .pax(&[("GNU.sparse.realsize", "1000000000")])
                .file("x", b"x")
                .gz(),
        ),
    ]
}
