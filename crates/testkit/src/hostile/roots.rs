//! Archives without exactly one skill, and bytes that are not an archive.

use super::HostileArchive;
use crate::raw_tar::RawTar;
use crate::raw_zip::{RawEntry, RawZip};

pub(super) fn all() -> Vec<HostileArchive> {
    let roots = ROOTS.iter().flat_map(|&(what, names, code)| {
        let zip = RawZip::from_entries(names.iter().map(|name| RawEntry::stored(name, b"x")));
        let tar = names
            .iter()
            .fold(RawTar::new(), |tar, name| tar.file(name, b"x"));
        [
            HostileArchive::new(format!("zip with {what}"), code, zip.bytes()),
            HostileArchive::new(format!("tar with {what}"), code, tar.gz()),
        ]
    });
    let others = OTHERS
        .iter()
        .map(|&(what, bytes)| HostileArchive::new(what, "unknown-format", bytes.to_vec()));
    let plain_tar = HostileArchive::new("plain tar", "unknown-format", RawTar::skill().bytes());
    roots.chain(others).chain([plain_tar]).collect()
}

const ROOTS: &[(&str, &[&str], &str)] = &[
    ("nothing in it", &[], "no-skill-file"),
    ("no SKILL.md", &["README.md", "a/b"], "no-skill-file"),
    (
        "only what macOS adds",
        &["__MACOSX/SKILL.md"],
        "no-skill-file",
    ),
    (
        "two skills",
        &["a/SKILL.md", "b/SKILL.md"],
        "several-skills",
    ),
    (
        "a folder of skills",
        &["all/a/SKILL.md", "all/b/skill.md"],
        "several-skills",
    ),
    (
        "a skill too far down",
        &["repo/skills/a/SKILL.md"],
        "skill-too-deep",
    ),
    (
        "a file beside the skill",
        &["a/SKILL.md", "b/x"],
        "stray-file",
    ),
];

const OTHERS: &[(&str, &[u8])] = &[
    ("nothing at all", b""),
    ("a bare SKILL.md", b"---\nname: demo\n---\n"),
    ("an error page", b"<!doctype html>"),
    ("a JSON error", b"{\"error\": 404}"),
    ("a bzip2 stream", b"BZh91AY&SY"),
    ("an xz stream", b"\xfd7zXZ\0\0"),
    ("a zstd stream", b"\x28\xb5\x2f\xfd\0"),
    ("a 7z archive", b"7z\xbc\xaf\x27\x1c\0"),
    ("a rar archive", b"Rar!\x1a\x07\0"),
    ("a PDF", b"%PDF-1.7"),
    ("noise", b"\x01\x02\x03\x04\x05"),
];
