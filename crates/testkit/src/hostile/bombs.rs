//! Small archives that would unpack to something large.

use super::HostileArchive;
use crate::raw_tar::{RawTar, gzip};
use crate::raw_zip::{RawEntry, RawZip};

pub(super) fn all() -> Vec<HostileArchive> {
    [zips(), tars()].concat()
}

/// States a size without having it: refused before anything is unpacked.
fn oversized_entry(name: &str, size: u32, packed: usize) -> RawEntry {
    RawEntry::stored(name, &vec![0; packed]).change_both(|header| {
        header.method = 8;
        header.size = size;
    })
}

fn zips() -> Vec<HostileArchive> {
    let zip = |entries: Vec<RawEntry>| RawZip::skill(entries).bytes();
    let zeros = || RawEntry::deflated("zeros", &vec![0; 3_000_000]);
    let numbered = |count: u32, name: fn(u32) -> RawEntry| zip((0..count).map(name).collect());
    vec![
        HostileArchive::new(
            "zip of 3 MB of zeros",
            "compression-ratio",
            zip(vec![zeros()]),
        ),
        HostileArchive::new(
            "zip of 3 MB of zeros that states 1 kB",
            "size-mismatch",
            zip(vec![zeros().change_both(|header| header.size = 1000)]),
        ),
        HostileArchive::new(
            "zip that states a ratio of a million",
            "compression-ratio",
            zip(vec![oversized_entry("x", 20_000_000, 20)]),
        ),
        HostileArchive::new(
            "zip of many files of zeros, each just below suspicion",
            "compression-ratio",
            zip((0..4)
                .map(|n| oversized_entry(&format!("f{n}"), 1_000_000, 1100))
                .collect()),
        ),
        HostileArchive::new(
            "zip with a file that states more than allowed",
            "file-too-large",
            zip(vec![oversized_entry("x", 26_000_000, 300_000)]),
        ),
        HostileArchive::new(
            "zip with files that state more than allowed together",
            "total-too-large",
            zip(vec![
                oversized_entry("x", 20_000_000, 210_000),
                oversized_entry("y", 20_000_000, 210_000),
            ]),
        ),
        HostileArchive::new(
            "zip of 1,001 files",
            "too-many-files",
            numbered(1000, |n| RawEntry::stored(format!("f{n}"), b"")),
        ),
        HostileArchive::new(
            "zip of 4,001 entries",
            "too-many-entries",
            numbered(4000, |n| RawEntry::folder(&format!("d{n}/"))),
        ),
        HostileArchive::new(
            "zip that lists one file a hundred times",
            "zip-overlap",
            numbered(100, |n| RawEntry {
                has_data: false,
                offset: Some(0),
                ..RawEntry::stored(format!("f{n}"), b"x")
            }),
        ),
    ]
}

fn tars() -> Vec<HostileArchive> {
    let many = |count: u32, kind: u8| {
        let tar = (0..count).fold(RawTar::skill(), |tar, n| {
            tar.header(kind, format!("e{n}"), 0)
        });
        tar.gz()
    };
    vec![
        HostileArchive::new(
            "tar of 3 MB of zeros",
            "compression-ratio",
            RawTar::skill().file("zeros", &vec![0; 3_000_000]).gz(),
        ),
        HostileArchive::new(
            "tar with 3 MB of zeros after its end",
            "compression-ratio",
            gzip(&[RawTar::skill().bytes(), vec![0; 3_000_000]].concat()),
        ),
        HostileArchive::new(
            "tar with a file that states more than allowed",
            "file-too-large",
            RawTar::skill().header(b'0', "x", 26_000_000).gz(),
        ),
        HostileArchive::new("tar of 1,001 files", "too-many-files", many(1000, b'0')),
        // Too many for the limit on entries as well, but its zeros show first.
        HostileArchive::new(
            "tar of 4,001 entries",
            "compression-ratio",
            many(4000, b'5'),
        ),
    ]
}
