//! Archives as common tools write them. Strictness must not cost any of these.

use crate::raw_tar::RawTar;
use crate::raw_zip::{RawEntry, RawZip, SKILL_MD, crc, extra_field};

/// An archive that must be read.
#[derive(Debug, Clone)]
pub struct FriendlyArchive {
    /// What is special about it.
    pub name: &'static str,
    /// The archive.
    pub bytes: Vec<u8>,
    /// The files it holds below the skill's root, sorted.
    pub files: &'static [&'static str],
    /// The folder it is wrapped in.
    pub folder: Option<&'static str>,
}

/// All of them.
pub fn all() -> Vec<FriendlyArchive> {
    [zips(), tars()].concat()
}

fn friendly(name: &'static str, bytes: Vec<u8>, files: &'static [&'static str]) -> FriendlyArchive {
    FriendlyArchive {
        name,
        bytes,
        files,
        folder: None,
    }
}

fn wrapped(archive: FriendlyArchive, folder: &'static str) -> FriendlyArchive {
    FriendlyArchive {
        folder: Some(folder),
        ..archive
    }
}

fn zips() -> Vec<FriendlyArchive> {
    let x = || RawEntry::deflated("x", b"content");
    let wide = |values: [u64; 2]| extra_field(1, &values.map(u64::to_le_bytes).concat());
    vec![
        friendly(
            "plain zip",
            RawZip::skill([x()]).bytes(),
            &["SKILL.md", "x"],
        ),
        friendly(
            "streamed zip with signed descriptors",
            RawZip::skill([x().described_after(true)]).bytes(),
            &["SKILL.md", "x"],
        ),
        friendly(
            "streamed zip with bare descriptors",
            RawZip::skill([x().described_after(false)]).bytes(),
            &["SKILL.md", "x"],
        ),
        friendly(
            "zip with wide sizes in one local header",
            RawZip::skill([RawEntry::stored("x", b"content").with(|entry| {
                entry.local.extra = wide([7, 7]);
                (entry.local.size, entry.local.packed) = (u32::MAX, u32::MAX);
            })])
            .bytes(),
            &["SKILL.md", "x"],
        ),
        friendly(
            "zip of the folder it was made in",
            RawZip::from_entries([
                RawEntry::folder("./"),
                RawEntry::stored("./SKILL.md", SKILL_MD),
                RawEntry::folder("./a/"),
                RawEntry::stored("./a/x", b"x"),
            ])
            .bytes(),
            &["SKILL.md", "a/x"],
        ),
        friendly(
            "zip with a commit in its comment",
            RawZip::skill([x()])
                .with(|zip| zip.comment = b"30e8fe9a0c".to_vec())
                .bytes(),
            &["SKILL.md", "x"],
        ),
        friendly(
            "zip that stores another zip",
            RawZip::skill([RawEntry::stored("inner.zip", &RawZip::skill([]).bytes())]).bytes(),
            &["SKILL.md", "inner.zip"],
        ),
        friendly(
            "zip with a name in UTF-8 but no flag",
            RawZip::skill([RawEntry::stored("é.md", b"")]).bytes(),
            &["SKILL.md", "é.md"],
        ),
        friendly(
            "zip with an old name and its Unicode copy",
            RawZip::skill([RawEntry::stored(b"\x82.md", b"").change_both(|header| {
                let crc = crc(b"\x82.md").to_le_bytes();
                let copy = [&[1], &crc[..], "é.md".as_bytes()].concat();
                header.extra = extra_field(0x7075, &copy);
            })])
            .bytes(),
            &["SKILL.md", "é.md"],
        ),
        wrapped(
            friendly(
                "zip by the macOS Finder",
                finder_zip(),
                &["SKILL.md", "a/x"],
            ),
            "demo",
        ),
        friendly(
            "skill that holds another skill",
            RawZip::skill([RawEntry::stored("examples/other/SKILL.md", b"")]).bytes(),
            &["SKILL.md", "examples/other/SKILL.md"],
        ),
        friendly(
            "zip with skill.md in small letters",
            RawZip::from_entries([RawEntry::stored("skill.md", SKILL_MD)]).bytes(),
            &["skill.md"],
        ),
        friendly(
            "zip that packs 1 MB of blanks",
            RawZip::skill([RawEntry::deflated("blank", &vec![b' '; 1_000_000])]).bytes(),
            &["SKILL.md", "blank"],
        ),
    ]
}

fn finder_zip() -> Vec<u8> {
    RawZip::from_entries([
        RawEntry::folder("demo/"),
        RawEntry::deflated("demo/SKILL.md", SKILL_MD).described_after(true),
        RawEntry::deflated("__MACOSX/demo/._SKILL.md", b"\x00\x05\x16\x07").described_after(true),
        RawEntry::deflated("demo/.DS_Store", b"\0\0\0\x01Bud1"),
        RawEntry::folder("demo/a/"),
        RawEntry::stored("demo/a/x", b"x"),
    ])
    .bytes()
}

fn tars() -> Vec<FriendlyArchive> {
    vec![
        friendly("plain tar", RawTar::skill().gz(), &["SKILL.md"]),
        friendly(
            "tar of the folder it was made in",
            RawTar::new()
                .entry(b'5', "./", b"")
                .file("./SKILL.md", SKILL_MD)
                .entry(b'5', "./a/", b"")
                .file("./a/x", b"x")
                .gz(),
            &["SKILL.md", "a/x"],
        ),
        wrapped(
            friendly(
                "tar by git archive",
                RawTar::new()
                    .pax_global(&[("comment", "30e8fe9a0c")])
                    .entry(b'5', "demo/", b"")
                    .file("demo/SKILL.md", SKILL_MD)
                    .gz(),
                &["SKILL.md"],
            ),
            "demo",
        ),
        friendly(
            "tar with a GNU long name",
            RawTar::skill()
                .long_name(b"references/a-name-that-came-the-long-way")
                .file("references/a-na", b"")
                .gz(),
            &["SKILL.md", "references/a-name-that-came-the-long-way"],
        ),
        friendly(
            "tar with pax names, times and sizes",
            RawTar::skill()
                .pax(&[("mtime", "1.5"), ("path", "a/é"), ("size", "1")])
                .file("a/_", b"x")
                .gz(),
            &["SKILL.md", "a/é"],
        ),
        friendly(
            "tar by macOS with shadow files",
            RawTar::new()
                .file("./._SKILL.md", b"\x00\x05\x16\x07\x00\x02")
                .file("./SKILL.md", SKILL_MD)
                .gz(),
            &["SKILL.md"],
        ),
        friendly(
            "tar with set-user bits and an owner",
            RawTar::skill()
                .header_with(b'0', "run", 0, 0o6755, |_| {})
                .gz(),
            &["SKILL.md", "run"],
        ),
    ]
}
