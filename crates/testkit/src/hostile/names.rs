//! Names that would leave the folder, hide, or meet another name on some disk.

use super::HostileArchive;
use crate::raw_tar::RawTar;
use crate::raw_zip::{RawEntry, RawZip, crc, extra_field};

pub(super) fn all() -> Vec<HostileArchive> {
    let single = NAMES
        .iter()
        .flat_map(|(name, code)| zip_and_tar(&[name], code));
    let long = [
        ("d/".repeat(20) + "f", "path-too-deep"),
        ("dir/".repeat(250) + "f", "path-too-long"),
        ("p".repeat(256), "path-part-too-long"),
    ];
    let long = long
        .iter()
        .flat_map(|(name, code)| zip_and_tar(&[name], code));
    let pairs = PAIRS
        .iter()
        .flat_map(|(names, code)| zip_and_tar(names, code));
    single
        .chain(long)
        .chain(pairs)
        .chain(zip_only())
        .chain(tar_only())
        .collect()
}

const NAMES: &[(&str, &str)] = &[
    ("../evil.sh", "path-dot-dot"),
    ("a/../../evil.sh", "path-dot-dot"),
    ("/etc/passwd", "path-absolute"),
    ("//host/share/x", "path-share"),
    ("\\\\host\\share\\x", "path-share"),
    ("C:/Windows/x", "path-colon"),
    ("C:\\Windows\\x", "path-colon"),
    ("x.txt:stream", "path-colon"),
    ("..\\evil.sh", "path-backslash"),
    ("a/./b", "path-dot"),
    ("././b", "path-dot"),
    (".//etc/passwd", "path-absolute"),
    ("./../evil.sh", "path-dot-dot"),
    ("a//b", "path-empty-part"),
    ("CON", "path-reserved"),
    ("a/nul.txt", "path-reserved"),
    ("COM1.log", "path-reserved"),
    ("a./b", "path-trailing-dot-or-space"),
    ("a ", "path-trailing-dot-or-space"),
    ("line\nbreak", "path-control"),
    ("escape\u{1b}[2J", "path-control"),
    ("invoice_\u{202e}fdp.sh", "path-invisible"),
    ("\u{feff}SKILL.md", "path-invisible"),
    ("read\u{200b}me.md", "path-invisible"),
    ("a\u{2028}b.md", "path-invisible"),
    ("__MACOSX/../../evil", "path-dot-dot"),
];

const PAIRS: &[(&[&str], &str)] = &[
    (&["x", "x"], "duplicate-entry"),
    (&["x", "./x"], "duplicate-entry"),
    (&["x", "X"], "name-collision"),
    (&["Skill.md"], "name-collision"),
    (&["dir/x", "DIR/X"], "name-collision"),
    (&["caf\u{e9}", "cafe\u{301}"], "name-collision"),
    (&["stra\u{df}e", "STRASSE"], "name-collision"),
    (&["a", "a/b"], "file-and-folder"),
    (&["a/b", "a"], "file-and-folder"),
    (&["A", "a/b"], "file-and-folder"),
];

/// The same names in a zip and in a tar.
fn zip_and_tar(names: &[&str], code: &'static str) -> [HostileArchive; 2] {
    let shown: Vec<String> = names
        .iter()
        .map(|name| name.escape_debug().take(30).collect())
        .collect();
    let shown = shown.join(" and ");
    let zip = RawZip::skill(names.iter().map(|name| RawEntry::stored(name, b"x")));
    let tar = names.iter().fold(RawTar::skill(), |tar, name| {
        tar.long_name(name.as_bytes()).file("short", b"x")
    });
    [
        HostileArchive::new(format!("zip with {shown}"), code, zip.bytes()),
        HostileArchive::new(format!("tar with {shown}"), code, tar.gz()),
    ]
}

fn unicode_copy(of: &[u8], copy: &str) -> Vec<u8> {
    let content = [&[1], &crc(of).to_le_bytes()[..], copy.as_bytes()].concat();
    extra_field(0x7075, &content)
}

fn zip_only() -> Vec<HostileArchive> {
    let zip = |entry| RawZip::skill([entry]).bytes();
    let x = || RawEntry::stored("x", b"x");
    vec![
        HostileArchive::new(
            "zip with an empty name",
            "path-empty",
            zip(RawEntry::stored("", b"x")),
        ),
        HostileArchive::new(
            "zip with NUL in a name",
            "path-nul",
            zip(RawEntry::stored("a\0b", b"")),
        ),
        HostileArchive::new(
            "zip with a name in no known encoding",
            "name-not-utf8",
            zip(RawEntry::stored(b"\xff\xfe.md", b"x")),
        ),
        HostileArchive::new(
            "zip with a false UTF-8 flag",
            "name-not-utf8",
            zip(RawEntry::stored(b"\xff.md", b"x").change_both(|header| header.flags = 1 << 11)),
        ),
        HostileArchive::new(
            "zip with another name in its Unicode copy",
            "name-ambiguous",
            zip(x().change_both(|header| header.extra = unicode_copy(b"x", "y"))),
        ),
        HostileArchive::new(
            "zip with another name in one header's Unicode copy",
            "name-ambiguous",
            zip(x().with(|entry| entry.local.extra = unicode_copy(b"x", "y"))),
        ),
        HostileArchive::new(
            "zip with a Unicode copy made for another name",
            "name-ambiguous",
            zip(x().change_both(|header| header.extra = unicode_copy(b"z", "x"))),
        ),
        HostileArchive::new(
            "zip with a traversal in its Unicode copy",
            "path-dot-dot",
            zip(RawEntry::stored(b"\x82", b"")
                .change_both(|header| header.extra = unicode_copy(b"\x82", "../é"))),
        ),
        HostileArchive::new(
            "zip with a traversing folder",
            "path-dot-dot",
            zip(RawEntry::folder("../a/")),
        ),
        HostileArchive::new(
            "zip with a file under a folder's name",
            "file-and-folder",
            RawZip::skill([RawEntry::folder("a/"), RawEntry::stored("a", b"")]).bytes(),
        ),
    ]
}

fn tar_only() -> Vec<HostileArchive> {
    let skill = RawTar::skill;
    vec![
        HostileArchive::new(
            "tar with an empty name",
            "path-empty",
            skill().file("", b"").gz(),
        ),
        HostileArchive::new(
            "tar with a traversing pax path",
            "path-dot-dot",
            skill().pax(&[("path", "../x")]).file("x", b"").gz(),
        ),
        HostileArchive::new(
            "tar with a traversing prefix",
            "path-dot-dot",
            skill()
                .header_with(b'0', "x", 0, 0o644, |header| {
                    for (slot, byte) in header.iter_mut().skip(345).zip(b"..") {
                        *slot = *byte;
                    }
                })
                .gz(),
        ),
        HostileArchive::new(
            "tar with NUL in a long name",
            "path-nul",
            skill().long_name(b"a\0b").file("a", b"").gz(),
        ),
        HostileArchive::new(
            "tar with a name in no known encoding",
            "name-not-utf8",
            skill().file(b"\xff\xfe", b"").gz(),
        ),
        HostileArchive::new(
            "tar with a long name and a pax path",
            "name-ambiguous",
            skill()
                .long_name(b"a")
                .pax(&[("path", "b")])
                .file("c", b"")
                .gz(),
        ),
        HostileArchive::new(
            "tar with a prefix in a header of GNU's format",
            "name-ambiguous",
            skill()
                .header_with(b'0', "x", 0, 0o644, |header| {
                    let prefix = header.iter_mut().skip(345).zip(b"other");
                    prefix.for_each(|(slot, byte)| *slot = *byte);
                    let magic = header.iter_mut().skip(257).zip(b"ustar  \0");
                    magic.for_each(|(slot, byte)| *slot = *byte);
                })
                .gz(),
        ),
    ]
}
