//! Zips that tools read in different ways, or that are inconsistent.

use super::HostileArchive;
use crate::raw_zip::{RawEntry, RawHeader, RawZip, deflate};

pub(super) fn all() -> Vec<HostileArchive> {
    [
        kinds(),
        mismatches(),
        descriptors(),
        places(),
        ends(),
        damage(),
    ]
    .concat()
}

fn content_entry() -> RawEntry {
    RawEntry::stored("x", b"content")
}

fn one_entry(name: &str, code: &'static str, entry: RawEntry) -> HostileArchive {
    HostileArchive::new(name, code, RawZip::skill([entry]).bytes())
}

fn whole_archive(
    name: &str,
    code: &'static str,
    change: impl FnOnce(&mut RawZip),
) -> HostileArchive {
    HostileArchive::new(
        name,
        code,
        RawZip::skill([content_entry()]).with(change).bytes(),
    )
}

fn kinds() -> Vec<HostileArchive> {
    let flagged = |flag: u16| content_entry().change_both(|header| header.flags |= flag);
    let packed = |method: u16| content_entry().change_both(|header| header.method = method);
    vec![
        one_entry("zip with an encrypted entry", "encrypted", flagged(1)),
        one_entry(
            "zip with a strongly encrypted entry",
            "encrypted",
            flagged(1 << 6),
        ),
        one_entry("zip with masked headers", "encrypted", flagged(1 << 13)),
        one_entry("zip with patch data", "zip-flags", flagged(1 << 5)),
        one_entry("zip with bzip2", "zip-method", packed(12)),
        one_entry("zip with lzma", "zip-method", packed(14)),
        one_entry("zip with zstd", "zip-method", packed(93)),
        one_entry("zip with deflate64", "zip-method", packed(9)),
        one_entry("zip with AES", "zip-method", packed(99)),
    ]
}

/// One header is correct, the other is not.
fn mismatches() -> Vec<HostileArchive> {
    type HeaderChange = fn(&mut RawHeader);
    let lies: [(&str, HeaderChange); 7] = [
        ("name", |header| header.name = b"y".to_vec()),
        ("longer name", |header| header.name = b"x/../y".to_vec()),
        ("flags", |header| header.flags = 1 << 11),
        ("method", |header| header.method = 8),
        ("size", |header| header.size += 1),
        ("packed size", |header| header.packed -= 1),
        ("checksum", |header| header.crc ^= 1),
    ];
    let code = "zip-header-mismatch";
    lies.into_iter()
        .map(|(field, lie)| {
            let entry = content_entry().with(|entry| lie(&mut entry.local));
            one_entry(&format!("zip with two values for {field}"), code, entry)
        })
        .collect()
}

fn descriptors() -> Vec<HostileArchive> {
    let code = "zip-header-mismatch";
    let streamed = || content_entry().described_after(true);
    vec![
        one_entry(
            "zip with a false size after its data",
            code,
            streamed().with(|entry| entry.after.reverse()),
        ),
        one_entry(
            "zip with nothing after its data",
            code,
            streamed().with(|entry| entry.after.clear()),
        ),
        one_entry(
            "zip with bytes hidden after its descriptor",
            code,
            streamed().with(|entry| entry.after.extend(b"hidden")),
        ),
        one_entry(
            "zip with a false size before and a true one after its data",
            code,
            streamed().with(|entry| entry.local.size = 3),
        ),
    ]
}

fn places() -> Vec<HostileArchive> {
    let at = |offset: u32| content_entry().with(|entry| entry.offset = Some(offset));
    let points_into = |offset: u32| RawEntry {
        has_data: false,
        ..at(offset).change_both(|header| header.name = b"SKILL.md".to_vec())
    };
    vec![
        one_entry(
            "zip with one entry inside another",
            "zip-overlap",
            points_into(0),
        ),
        one_entry(
            "zip with an entry in the middle of another",
            "zip-overlap",
            points_into(10),
        ),
        HostileArchive::new(
            "zip with a nested local header",
            "zip-overlap",
            quoting_zip(),
        ),
        whole_archive("zip with bytes between entries", "zip-gap", |zip| {
            zip.entries[0].after = b"hidden".to_vec();
        }),
        whole_archive(
            "zip with bytes before its directory",
            "zip-directory",
            |zip| {
                zip.before_directory = b"hidden".to_vec();
            },
        ),
        whole_archive(
            "zip with bytes before its end record",
            "zip-directory",
            |zip| {
                zip.before_end = b"hidden".to_vec();
            },
        ),
        whole_archive("zip behind other bytes", "zip-leading-bytes", |zip| {
            zip.prefix = b"#!/bin/sh\nexit\n".to_vec();
        }),
        HostileArchive::new(
            "zip behind bytes that its offsets count",
            "zip-leading-bytes",
            shifted(),
        ),
        one_entry("zip with an entry past its end", "zip-gap", at(1_000_000)),
        whole_archive(
            "zip with an entry that reaches into the directory",
            "zip-overlap",
            |zip| {
                let last = zip.entries.pop();
                let grow = |header: &mut RawHeader| {
                    header.packed += 10;
                    header.size += 10;
                };
                zip.entries
                    .extend(last.map(|entry| entry.change_both(grow)));
            },
        ),
    ]
}

/// Each entry's data begins with the next entry's header, as in the bombs that
/// list one kernel of zeros thousands of times.
fn quoting_zip() -> Vec<u8> {
    let inner = RawEntry::stored("y", b"kernel");
    let inner_bytes = RawZip::from_entries([inner.clone()]).bytes();
    let header_and_data = inner_bytes.get(..30 + 1 + 6).unwrap();
    let outer = RawEntry::stored("x", header_and_data);
    let skill_length = u32::try_from(30 + 8 + RawZip::skill([]).entries[0].data.len()).unwrap();
    let inside = RawEntry {
        has_data: false,
        offset: Some(skill_length + 31),
        ..inner
    };
    RawZip::skill([outer, inside]).bytes()
}

fn shifted() -> Vec<u8> {
    let mut zip = RawZip::skill([]);
    let length = u32::try_from(30 + 8 + zip.entries[0].data.len()).unwrap();
    zip.entries[0].offset = Some(4);
    zip.prefix = b"junk".to_vec();
    zip.end.directory_offset = Some(length + 4);
    zip.bytes()
}

fn ends() -> Vec<HostileArchive> {
    let locator = [&b"PK\x06\x07"[..], &[0; 16]].concat();
    let second_end = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    vec![
        whole_archive(
            "zip with bytes after its end",
            "zip-trailing-bytes",
            |zip| {
                zip.trailing = b"more".to_vec();
            },
        ),
        whole_archive(
            "zip with a second end record in its comment",
            "zip-several-ends",
            |zip| {
                zip.comment = second_end.clone();
            },
        ),
        whole_archive(
            "zip with a second end record that lies about its comment",
            "zip-trailing-bytes",
            |zip| zip.comment = [&second_end[..20], &[9, 0]].concat(),
        ),
        HostileArchive::new("zip cut short", "zip-no-end", cut_short()),
        whole_archive(
            "zip with fewer entries than stated",
            "zip-directory",
            |zip| {
                zip.end.entries = Some(3);
            },
        ),
        whole_archive(
            "zip with more entries than stated",
            "zip-directory",
            |zip| {
                zip.end.entries = Some(1);
            },
        ),
        whole_archive(
            "zip with a directory past its end",
            "zip-directory",
            |zip| {
                zip.end.directory_offset = Some(1_000_000);
            },
        ),
        whole_archive(
            "zip with a directory of another size",
            "zip-directory",
            |zip| {
                zip.end.directory_size = Some(10);
            },
        ),
        whole_archive("zip that is one of several disks", "zip-split", |zip| {
            zip.end.disk = 1;
        }),
        whole_archive("zip with a ZIP64 end record", "zip64", |zip| {
            zip.before_end = locator;
        }),
        whole_archive("zip with ZIP64 counts", "zip64", |zip| {
            zip.end.entries = Some(u16::MAX);
        }),
        one_entry(
            "zip with ZIP64 sizes that are missing",
            "zip-header",
            content_entry().with(|entry| entry.central.size = u32::MAX),
        ),
        one_entry(
            "zip with a broken extra field",
            "zip-header",
            content_entry().change_both(|header| header.extra = vec![1, 0, 99, 0, 1]),
        ),
        one_entry(
            "zip with no header where an entry should be",
            "zip-header",
            RawEntry {
                has_data: false,
                ..RawEntry::stored("x", b"")
            },
        ),
    ]
}

fn cut_short() -> Vec<u8> {
    let mut bytes = RawZip::skill([content_entry()]).bytes();
    bytes.truncate(bytes.len() - 20);
    bytes
}

fn damage() -> Vec<HostileArchive> {
    let content = b"content that is long enough to deflate, deflate, deflate";
    let deflated = || RawEntry::deflated("x", content);
    let resize = |data: Vec<u8>| {
        deflated()
            .change_both(|header| header.packed = u32::try_from(data.len()).unwrap())
            .with(|entry| entry.data = data.clone())
    };
    let stream = deflate(content);
    vec![
        one_entry(
            "zip with a false checksum",
            "checksum",
            content_entry().change_both(|header| header.crc ^= 1),
        ),
        one_entry(
            "zip with a flipped byte in a stored file",
            "checksum",
            content_entry().with(|entry| entry.data[0] ^= 1),
        ),
        one_entry(
            "zip with no deflate stream",
            "corrupt",
            resize(vec![0xff; 40]),
        ),
        one_entry(
            "zip with a deflate stream that ends early",
            "corrupt",
            resize(stream[..stream.len() - 3].to_vec()),
        ),
        one_entry(
            "zip with bytes after a deflate stream",
            "corrupt",
            resize([&stream[..], b"hidden"].concat()),
        ),
        one_entry(
            "zip with an empty deflate stream",
            "corrupt",
            resize(Vec::new()),
        ),
        one_entry(
            "zip that unpacks to less than it states",
            "size-mismatch",
            deflated().change_both(|header| header.size += 1),
        ),
        one_entry(
            "zip that stores less than it states",
            "size-mismatch",
            content_entry().change_both(|header| header.size += 1),
        ),
    ]
}
