//! Bytes from nowhere and archives with a few bytes changed: nothing panics,
//! nothing that is accepted exceeds its limits.

use proptest::prelude::*;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits};
use prowess_testkit::{friendly, hostile};

fn small_limits() -> BundleLimits {
    BundleLimits {
        total_bytes: 20_000,
        file_bytes: 10_000,
        files: 20,
        entries: 40,
        ..BundleLimits::default()
    }
}

/// Reads bytes by every door, and holds what gets through to the limits.
fn try_all(bytes: &[u8]) {
    let limits = small_limits();
    let readers = [Bundle::from_archive, Bundle::from_zip, Bundle::from_tar_gz];
    for bundle in readers.iter().filter_map(|read| read(bytes, &limits).ok()) {
        assert!(bundle.total_bytes() <= limits.total_bytes);
        assert!(bundle.len() <= limits.files);
        for (path, file) in bundle.files() {
            assert!(path.as_str().len() <= limits.path_bytes);
            assert!(file.data.len() as u64 <= limits.file_bytes);
        }
        assert!(!bundle.skill_file().as_str().contains('/'));
        // Whatever was accepted once is accepted again in our own packing.
        let again = bundle
            .to_zip(&ArchiveLayout::FLAT)
            .map(|zip| Bundle::from_zip(&zip, &limits));
        assert!(again.is_ok_and(|read| read.is_ok_and(|read| read.files().eq(bundle.files()))));
    }
}

/// A small generator with a fixed seed: the same mutations on every run.
struct Lcg(u64);

impl Lcg {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) as usize % below.max(1)
    }
}

/// Changes, cuts, doubles or inserts somewhere, mostly where headers are.
fn mutate(bytes: &mut Vec<u8>, random: &mut Lcg) {
    const INTERESTING: [u8; 8] = [0, 1, 0x7f, 0x80, 0xff, b'/', b'P', b'.'];
    for _ in 0..=random.next(4) {
        let at = random.next(bytes.len());
        match random.next(8) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, 0),
            2 => bytes.extend_from_within(at..),
            3 if at < bytes.len() => drop(bytes.remove(at)),
            4 | 5 => bytes
                .iter_mut()
                .skip(at)
                .take(1)
                .for_each(|b| *b ^= 1 << random.next(8)),
            _ => {
                let value = *INTERESTING.get(random.next(8)).unwrap_or(&0);
                let run = 1 + random.next(4);
                bytes.iter_mut().skip(at).take(run).for_each(|b| *b = value);
            }
        }
    }
}

#[test]
fn thousands_of_changed_archives_neither_panic_nor_exceed_limits() {
    let mut random = Lcg(1);
    let hostile = hostile::all().into_iter().map(|archive| archive.bytes);
    let friendly = friendly::all().into_iter().map(|archive| archive.bytes);
    let seeds: Vec<_> = hostile.chain(friendly).filter(|b| b.len() < 4096).collect();
    for round in 0..8_000 {
        let mut bytes = seeds[round % seeds.len()].clone();
        mutate(&mut bytes, &mut random);
        try_all(&bytes);
    }
}

/// Reaches the tar reader past the checksums of gzip.
#[test]
fn changed_tars_inside_a_sound_gzip_neither_panic_nor_exceed_limits() {
    let mut random = Lcg(2);
    let tar = prowess_testkit::raw_tar::RawTar::skill()
        .pax(&[("path", "a/b"), ("mtime", "1.5")])
        .file("short", b"content")
        .long_name(b"long/name")
        .file("long", b"more");
    for _ in 0..2_000 {
        let mut bytes = tar.bytes();
        mutate(&mut bytes, &mut random);
        try_all(&prowess_testkit::raw_tar::gzip(&bytes));
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_are_refused_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        try_all(&bytes);
        try_all(&[b"PK\x03\x04", &bytes[..]].concat());
        try_all(&[b"\x1f\x8b\x08\0\0\0\0\0\0\xff", &bytes[..]].concat());
    }
}
