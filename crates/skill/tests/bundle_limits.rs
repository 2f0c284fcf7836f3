//! Each limit applies exactly at its value.

use bytes::Bytes;
use prowess_skill::{Bundle, BundleError, BundleLimits};
use prowess_testkit::SkillFixture;
use prowess_testkit::raw_tar::RawTar;
use prowess_testkit::raw_zip::{RawEntry, RawZip, SKILL_MD, extra_field};

/// Ten files of a hundred bytes beside `SKILL.md`, as zip, tar and loose.
fn read_all(limits: &BundleLimits) -> [Result<Bundle, BundleError>; 3] {
    let content = [7; 100];
    let names: Vec<String> = (0..10).map(|n| format!("dir/f{n}")).collect();
    let zip = RawZip::skill(names.iter().map(|name| RawEntry::stored(name, &content)));
    let tar = names
        .iter()
        .fold(RawTar::skill(), |tar, name| tar.file(name, &content));
    let loose = names.iter().map(|name| (name.as_str(), content.to_vec()));
    let loose = loose.chain([("SKILL.md", SKILL_MD.to_vec())]);
    [
        Bundle::from_zip(&zip.bytes(), limits),
        Bundle::from_tar_gz(&tar.gz(), limits),
        Bundle::from_files(loose.map(|(n, data)| (n, Bytes::from(data), false)), limits),
    ]
}

/// Reads under `enough`, then under one less than that.
fn check(code: &str, enough: u64, set: impl Fn(&mut BundleLimits, u64)) {
    let mut limits = BundleLimits::default();
    set(&mut limits, enough);
    for read in read_all(&limits) {
        assert!(read.is_ok(), "{code}: {read:?}");
    }
    set(&mut limits, enough - 1);
    for read in read_all(&limits) {
        assert_eq!(read.map_err(|error| error.code()), Err(code));
    }
}

#[test]
fn each_limit_holds_for_zips_tars_and_loose_files_alike() {
    let total = 1000 + SKILL_MD.len() as u64;
    check("total-too-large", total, |l, n| l.total_bytes = n);
    check("file-too-large", 100, |l, n| l.file_bytes = n);
    check("too-many-files", 11, |l, n| l.files = n as usize);
    check("too-many-entries", 11, |l, n| l.entries = n as usize);
    check("path-too-deep", 1, |l, n| l.depth = n as usize);
    check("path-part-too-long", 8, |l, n| l.part_bytes = n as usize);
}

#[test]
fn limits_without_bounds_are_no_reason_to_panic() {
    let limits = BundleLimits {
        archive_bytes: u64::MAX,
        total_bytes: u64::MAX,
        file_bytes: u64::MAX,
        files: usize::MAX,
        entries: usize::MAX,
        depth: usize::MAX,
        path_bytes: usize::MAX,
        part_bytes: usize::MAX,
        directory_bytes: u64::MAX,
        extension_bytes: u64::MAX,
        ..BundleLimits::default()
    };
    for read in read_all(&limits) {
        assert!(read.is_ok(), "{read:?}");
    }
}

#[test]
fn an_archive_is_refused_by_its_size_before_it_is_read() {
    let zip = RawZip::skill([]).bytes();
    let mut limits = BundleLimits {
        archive_bytes: zip.len() as u64,
        ..BundleLimits::default()
    };
    assert!(Bundle::from_zip(&zip, &limits).is_ok());
    limits.archive_bytes -= 1;
    let error = Bundle::from_zip(&zip, &limits).unwrap_err();
    assert_eq!(error.code(), "archive-too-large");
    let noise = vec![0; zip.len()];
    let error = Bundle::from_tar_gz(&noise, &limits).unwrap_err();
    assert_eq!(error.code(), "archive-too-large");
}

#[test]
fn a_large_zip_directory_is_refused() {
    let padding = extra_field(0x4343, &[0; 1000]);
    let entry = RawEntry::stored("x", b"").with(|entry| entry.central.extra = padding);
    let zip = RawZip::skill([entry]).bytes();
    assert!(Bundle::from_zip(&zip, &BundleLimits::default()).is_ok());
    let limits = BundleLimits {
        directory_bytes: 1000,
        ..BundleLimits::default()
    };
    let error = Bundle::from_zip(&zip, &limits).unwrap_err();
    assert_eq!(error.code(), "zip-directory-too-large");
}

#[test]
fn a_tar_stream_ends_where_its_total_does_whatever_it_holds() {
    // Padding after the end mark counts too, and is no more compressible than data.
    let limits = BundleLimits {
        total_bytes: 1000,
        entries: 10,
        ..BundleLimits::default()
    };
    let noise: Vec<u8> = (0..40_000_u32).map(|n| ((n * n) >> 7) as u8).collect();
    let tar = RawTar::skill().entry(b'g', "g", b"").bytes();
    let gz = prowess_testkit::raw_tar::gzip(&[&tar[..], &[0; 30_000], &noise].concat());
    let error = Bundle::from_tar_gz(&gz, &limits).unwrap_err();
    assert_eq!(error.code(), "total-too-large");
}

#[test]
fn a_bundle_keeps_the_executable_bit_and_no_other() {
    let modes = [
        (0o100_644, false),
        (0o104_755, true),
        (0o102_010, true),
        (0, false),
    ];
    for (mode, executable) in modes {
        let zip = RawZip::skill([RawEntry::stored("x", b"").mode(mode)]).bytes();
        let tar = RawTar::skill().header_with(b'0', "x", 0, mode & 0o7777, |_| {});
        for archive in [zip, tar.gz()] {
            let bundle = Bundle::from_archive(&archive, &BundleLimits::default()).unwrap();
            assert_eq!(bundle.get("x").unwrap().executable, executable, "{mode:o}");
        }
    }
}

#[test]
fn a_script_in_an_archive_without_permissions_is_executable() {
    let script = b"#!/bin/sh\n";
    let made_on_windows = RawZip::skill([
        RawEntry::stored("x", script).mode(0),
        RawEntry::stored("y", b"text").mode(0),
        RawEntry::stored("z", script),
    ]);
    let zip = made_on_windows.bytes();
    let bundle = Bundle::from_zip(&zip, &BundleLimits::default()).unwrap();
    let executable = |name| bundle.get(name).unwrap().executable;
    assert_eq!(["x", "y", "z"].map(executable), [true, false, false]);
}

#[test]
fn what_macos_adds_is_left_out_and_listed() {
    let files = [
        ("demo/SKILL.md", &b"x"[..]),
        ("demo/.DS_Store", b""),
        ("__MACOSX/demo/._SKILL.md", b""),
        ("demo/._x", b"\x00\x05\x16\x07 attributes"),
        ("demo/._real", b"a file of the skill"),
    ];
    let files = files.map(|(name, data)| (name, Bytes::from_static(data), false));
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    let kept: Vec<_> = bundle.files().map(|(path, _)| path.as_str()).collect();
    assert_eq!(kept, ["._real", "SKILL.md"]);
    assert_eq!(
        bundle.ignored(),
        ["demo/.DS_Store", "__MACOSX/demo/._SKILL.md", "demo/._x"]
    );
}

#[test]
fn loose_files_may_be_flat_or_in_one_folder() {
    let skill = SkillFixture::new("pdf-reader").script("scripts/run.sh", "#!/bin/sh\n");
    let flat = Bundle::from_files(skill.files(), &BundleLimits::default()).unwrap();
    let wrapped = skill
        .files()
        .into_iter()
        .map(|(path, data, x)| (format!("pdf-reader/{path}"), data, x));
    let wrapped = Bundle::from_files(wrapped, &BundleLimits::default()).unwrap();
    assert_eq!(flat.folder(), None);
    assert_eq!(wrapped.folder(), Some("pdf-reader"));
    assert!(flat.files().eq(wrapped.files()));
    assert!(flat.get("scripts/run.sh").unwrap().executable);
    assert!(flat.get("scripts/none.sh").is_none());
    assert_eq!(flat.skill_md(), skill.skill_md().as_bytes());
}

#[test]
fn a_bare_skill_md_is_a_bundle_of_one_file() {
    let bundle = Bundle::from_skill_md("---\n---\n", &BundleLimits::default()).unwrap();
    assert_eq!(bundle.skill_file().as_str(), "SKILL.md");
    assert_eq!((bundle.len(), bundle.total_bytes()), (1, 8));
    let limits = BundleLimits {
        file_bytes: 7,
        ..BundleLimits::default()
    };
    let error = Bundle::from_skill_md("---\n---\n", &limits).unwrap_err();
    assert_eq!(error.code(), "file-too-large");
}

#[test]
fn the_skill_file_is_known_however_it_is_spelled() {
    let files = [("x/skill.MD", Bytes::new(), false)];
    let bundle = Bundle::from_files(files, &BundleLimits::default()).unwrap();
    assert_eq!(bundle.skill_file().as_str(), "skill.MD");
}
