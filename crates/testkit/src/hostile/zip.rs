//! Zips that tools read in different ways, or that do not hold together.

use super::Hostile;
use crate::raw_zip::{RawEntry, RawHeader, RawZip, deflate};

pub(super) fn all() -> Vec<Hostile> {
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

fn x() -> RawEntry {
    RawEntry::stored("x", b"content")
}

fn one(name: &str, code: &'static str, entry: RawEntry) -> Hostile {
    Hostile::new(name, code, RawZip::skill([entry]).bytes())
}

fn whole(name: &str, code: &'static str, change: impl FnOnce(&mut RawZip)) -> Hostile {
    Hostile::new(name, code, RawZip::skill([x()]).with(change).bytes())
}

fn kinds() -> Vec<Hostile> {
    let flagged = |flag: u16| x().both(|header| header.flags |= flag);
    let packed = |method: u16| x().both(|header| header.method = method);
    vec![
        one("zip with an encrypted entry", "encrypted", flagged(1)),
        one(
            "zip with a strongly encrypted entry",
            "encrypted",
            flagged(1 << 6),
        ),
        one("zip with masked headers", "encrypted", flagged(1 << 13)),
        one("zip with patch data", "zip-flags", flagged(1 << 5)),
        one("zip with bzip2", "zip-method", packed(12)),
        one("zip with lzma", "zip-method", packed(14)),
        one("zip with zstd", "zip-method", packed(93)),
        one("zip with deflate64", "zip-method", packed(9)),
        one("zip with AES", "zip-method", packed(99)),
    ]
}

/// One header tells the truth, the other does not.
fn mismatches() -> Vec<Hostile> {
    type Lie = fn(&mut RawHeader);
    let lies: [(&str, Lie); 7] = [
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
            let entry = x().with(|entry| lie(&mut entry.local));
            one(&format!("zip with two values for {field}"), code, entry)
        })
        .collect()
}

fn descriptors() -> Vec<Hostile> {
    let code = "zip-header-mismatch";
    let streamed = || x().described_after(true);
    vec![
        one(
            "zip with a false size after its data",
            code,
            streamed().with(|entry| entry.after.reverse()),
        ),
        one(
            "zip with nothing after its data",
            code,
            streamed().with(|entry| entry.after.clear()),
        ),
        one(
            "zip with bytes hidden after its descriptor",
            code,
            streamed().with(|entry| entry.after.extend(b"hidden")),
        ),
        one(
            "zip with a false size before and a true one after its data",
            code,
            streamed().with(|entry| entry.local.size = 3),
        ),
    ]
}

fn places() -> Vec<Hostile> {
    let at = |offset: u32| x().with(|entry| entry.offset = Some(offset));
    let points_into = |offset: u32| RawEntry {
        has_data: false,
        ..at(offset).both(|header| header.name = b"SKILL.md".to_vec())
    };
    vec![
        one(
            "zip with one entry inside another",
            "zip-overlap",
            points_into(0),
        ),
        one(
            "zip with an entry in the middle of another",
            "zip-overlap",
            points_into(10),
        ),
        Hostile::new(
            "zip with a nested local header",
            "zip-overlap",
            quoting_zip(),
        ),
        whole("zip with bytes between entries", "zip-gap", |zip| {
            zip.entries[0].after = b"hidden".to_vec();
        }),
        whole(
            "zip with bytes before its directory",
            "zip-directory",
            |zip| {
                zip.before_directory = b"hidden".to_vec();
            },
        ),
        whole(
            "zip with bytes before its end record",
            "zip-directory",
            |zip| {
                zip.before_end = b"hidden".to_vec();
            },
        ),
        whole("zip behind other bytes", "zip-leading-bytes", |zip| {
            zip.prefix = b"#!/bin/sh\nexit\n".to_vec();
        }),
        Hostile::new(
            "zip behind bytes that its offsets count",
            "zip-leading-bytes",
            shifted(),
        ),
        one("zip with an entry past its end", "zip-gap", at(1_000_000)),
        whole(
            "zip with an entry that reaches into the directory",
            "zip-overlap",
            |zip| {
                let last = zip.entries.pop();
                let grow = |header: &mut RawHeader| {
                    header.packed += 10;
                    header.size += 10;
                };
                zip.entries.extend(last.map(|entry| entry.both(grow)));
            },
        ),
    ]
}

/// Each entry's data begins with the next entry's header, as in the bombs that
/// list one kernel of zeros thousands of times.
fn quoting_zip() -> Vec<u8> {
    let inner = RawEntry::stored("y", b"kernel");
    let inner_bytes = RawZip::of([inner.clone()]).bytes();
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

fn ends() -> Vec<Hostile> {
    let locator = [&b"PK\x06\x07"[..], &[0; 16]].concat();
    let second_end = [&b"PK\x05\x06"[..], &[0; 18]].concat();
    vec![
        whole(
            "zip with bytes after its end",
            "zip-trailing-bytes",
            |zip| {
                zip.trailing = b"more".to_vec();
            },
        ),
        whole(
            "zip with a second end record in its comment",
            "zip-several-ends",
            |zip| {
                zip.comment = second_end.clone();
            },
        ),
        whole(
            "zip with a second end record that lies about its comment",
            "zip-trailing-bytes",
            |zip| zip.comment = [&second_end[..20], &[9, 0]].concat(),
        ),
        Hostile::new("zip cut short", "zip-no-end", cut_short()),
        whole(
            "zip with fewer entries than stated",
            "zip-directory",
            |zip| {
                zip.end.entries = Some(3);
            },
        ),
        whole(
            "zip with more entries than stated",
            "zip-directory",
            |zip| {
                zip.end.entries = Some(1);
            },
        ),
        whole(
            "zip with a directory past its end",
            "zip-directory",
            |zip| {
                zip.end.directory_offset = Some(1_000_000);
            },
        ),
        whole(
            "zip with a directory of another size",
            "zip-directory",
            |zip| {
                zip.end.directory_size = Some(10);
            },
        ),
        whole("zip that is one of several disks", "zip-split", |zip| {
            zip.end.disk = 1;
        }),
        whole("zip with a ZIP64 end record", "zip64", |zip| {
            zip.before_end = locator;
        }),
        whole("zip with ZIP64 counts", "zip64", |zip| {
            zip.end.entries = Some(u16::MAX);
        }),
        one(
            "zip with ZIP64 sizes that are missing",
            "zip-header",
            x().with(|entry| entry.central.size = u32::MAX),
        ),
        one(
            "zip with a broken extra field",
            "zip-header",
            x().both(|header| header.extra = vec![1, 0, 99, 0, 1]),
        ),
        one(
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
    let mut bytes = RawZip::skill([x()]).bytes();
    bytes.truncate(bytes.len() - 20);
    bytes
}

fn damage() -> Vec<Hostile> {
    let content = b"content that is long enough to deflate, deflate, deflate";
    let deflated = || RawEntry::deflated("x", content);
    let resize = |data: Vec<u8>| {
        deflated()
            .both(|header| header.packed = u32::try_from(data.len()).unwrap())
            .with(|entry| entry.data = data.clone())
    };
    let stream = deflate(content);
    vec![
        one(
            "zip with a false checksum",
            "checksum",
            x().both(|header| header.crc ^= 1),
        ),
        one(
            "zip with a flipped byte in a stored file",
            "checksum",
            x().with(|entry| entry.data[0] ^= 1),
        ),
        one(
            "zip with no deflate stream",
            "corrupt",
            resize(vec![0xff; 40]),
        ),
        one(
            "zip with a deflate stream that ends early",
            "corrupt",
            resize(stream[..stream.len() - 3].to_vec()),
        ),
        one(
            "zip with bytes after a deflate stream",
            "corrupt",
            resize([&stream[..], b"hidden"].concat()),
        ),
        one(
            "zip with an empty deflate stream",
            "corrupt",
            resize(Vec::new()),
        ),
        one(
            "zip that unpacks to less than it states",
            "size-mismatch",
            deflated().both(|header| header.size += 1),
        ),
        one(
            "zip that stores less than it states",
            "size-mismatch",
            x().both(|header| header.size += 1),
        ),
    ]
}
