//! Tars and gzip streams that tools read in different ways, or that are broken.

use super::HostileArchive;
use crate::raw_tar::{RawTar, gzip};

pub(super) fn all() -> Vec<HostileArchive> {
    [streams(), headers(), extensions()].concat()
}

fn streams() -> Vec<HostileArchive> {
    let good = RawTar::skill().gz();
    let more = |bytes: &[u8]| [&good[..], bytes].concat();
    let flip = |from_end: usize| {
        let mut bytes = good.clone();
        let at = bytes.len() - from_end;
        bytes[at] ^= 0xff;
        bytes
    };
    let rest = |bytes: &[u8]| gzip(&[&RawTar::skill().bytes(), bytes].concat());
    vec![
        HostileArchive::new(
            "two gzip streams",
            "gzip-members",
            more(&RawTar::new().file("x", b"").gz()),
        ),
        HostileArchive::new(
            "gzip with bytes after it",
            "gzip-trailing-bytes",
            more(b"more"),
        ),
        HostileArchive::new(
            "gzip with zeros after it",
            "gzip-trailing-bytes",
            more(&[0; 512]),
        ),
        HostileArchive::new("gzip with a false checksum", "gzip-corrupt", flip(8)),
        HostileArchive::new("gzip with a false length", "gzip-corrupt", flip(1)),
        HostileArchive::new(
            "gzip cut short",
            "gzip-corrupt",
            good[..good.len() - 12].to_vec(),
        ),
        HostileArchive::new("gzip header alone", "gzip-corrupt", good[..10].to_vec()),
        HostileArchive::new("gzip of no tar", "tar-header", gzip(&[b'x'; 2000])),
        HostileArchive::new(
            "tar with another tar after it",
            "tar-trailing-bytes",
            rest(&RawTar::new().file("x", b"").bytes()),
        ),
        HostileArchive::new(
            "tar with bytes after it",
            "tar-trailing-bytes",
            rest(b"more"),
        ),
    ]
}

fn headers() -> Vec<HostileArchive> {
    let skill = RawTar::skill;
    let with_size = |field: &'static [u8]| {
        let change = move |header: &mut [u8]| {
            for (slot, byte) in header.iter_mut().skip(124).zip(field) {
                *slot = *byte;
            }
        };
        skill().header_with(b'0', "x", 0, 0o644, change).gz()
    };
    let mut broken = skill().file("x", b"").bytes();
    broken[1024] ^= 1;
    vec![
        HostileArchive::new("tar with a false checksum", "tar-header", gzip(&broken)),
        HostileArchive::new(
            "tar with a size that is no number",
            "tar-header",
            with_size(b"hello"),
        ),
        HostileArchive::new(
            "tar with a size beyond all bounds",
            "tar-header",
            with_size(b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        ),
        HostileArchive::new(
            "tar with a huge binary size",
            "file-too-large",
            with_size(b"\x80\0\0\0\0\xff\xff\xff\xff\xff\xff\0"),
        ),
        HostileArchive::new(
            "tar with an entry larger than itself",
            "tar-truncated",
            skill().header(b'0', "x", 1_000_000).gz(),
        ),
    ]
}

fn extensions() -> Vec<HostileArchive> {
    let skill = RawTar::skill;
    let code = "tar-extension";
    let records = |records: &[u8]| skill().entry(b'x', "p", records).file("x", b"").gz();
    vec![
        HostileArchive::new(
            "tar with a long name beyond bounds",
            "tar-extension-too-large",
            skill().header(b'L', "n", 100_000).gz(),
        ),
        HostileArchive::new(
            "tar with pax records beyond bounds",
            "tar-extension-too-large",
            skill().header(b'x', "n", 1 << 30).gz(),
        ),
        HostileArchive::new(
            "tar with two sizes for an entry",
            code,
            skill().pax(&[("size", "600")]).file("x", b"x").gz(),
        ),
        HostileArchive::new(
            "tar with two long names for an entry",
            code,
            skill().long_name(b"a").long_name(b"b").file("x", b"").gz(),
        ),
        HostileArchive::new(
            "tar with two pax paths for an entry",
            code,
            skill()
                .pax(&[("path", "a"), ("path", "b")])
                .file("x", b"")
                .gz(),
        ),
        HostileArchive::new(
            "tar with a path for all entries",
            code,
            skill().pax_global(&[("path", "a")]).file("x", b"").gz(),
        ),
        HostileArchive::new(
            "tar with names in an unknown encoding",
            code,
            skill().pax(&[("hdrcharset", "BINARY")]).file("x", b"").gz(),
        ),
        HostileArchive::new(
            "tar with a long name for nothing",
            code,
            skill().long_name(b"a").gz(),
        ),
        HostileArchive::new(
            "tar with pax records that are none",
            code,
            records(b"hello"),
        ),
        HostileArchive::new(
            "tar with a pax record of no length",
            code,
            records(b"0 a=b\n"),
        ),
        HostileArchive::new(
            "tar with a pax record past its end",
            code,
            records(b"99 a=b\n"),
        ),
        HostileArchive::new(
            "tar with a pax size that is no number",
            code,
            records(b"10 size=x\n"),
        ),
        HostileArchive::new(
            "tar with pax records after an empty line",
            code,
            records(b"6 a=b\n\n10 path=y\n"),
        ),
    ]
}
