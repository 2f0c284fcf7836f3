//! What is packed here is read back here, whole and alike.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use prowess_skill::{ArchiveLayout, Bundle, BundleLimits, Digest, Manifest};

type Files = BTreeMap<String, (Vec<u8>, bool)>;

/// Some files that make a skill: names that clash with none, any content.
fn files() -> impl Strategy<Value = Files> {
    let part = "[a-z0-9_é技][a-zA-Z0-9 _.é技-]{0,12}[a-z0-9_]";
    let path = proptest::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"));
    let content = (
        proptest::collection::vec(any::<u8>(), 0..2000),
        any::<bool>(),
    );
    proptest::collection::btree_map(path, content, 0..12).prop_map(|mut files| {
        files.insert("SKILL.md".to_owned(), (b"---\n".to_vec(), false));
        files
    })
}

fn to_bundle(files: &Files) -> Option<Bundle> {
    let list = files
        .iter()
        .map(|(name, (data, x))| (name, Bytes::from(data.clone()), *x));
    Bundle::from_files(list, &BundleLimits::default()).ok()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_skill_survives_both_archives_in_both_layouts(files in files()) {
        // Names that only differ in case, or that are a file here and a folder there.
        prop_assume!(to_bundle(&files).is_some());
        let bundle = to_bundle(&files).unwrap();
        let limits = BundleLimits::default();
        prop_assert_eq!(bundle.len(), files.len());
        for (layout, folder) in [(ArchiveLayout::FLAT, None), (ArchiveLayout::wrapped("my-skill").unwrap(), Some("my-skill"))] {
            let zip = bundle.to_zip(&layout).unwrap();
            let tar = bundle.to_tar_gz(&layout).unwrap();
            for read in [Bundle::from_archive(&zip, &limits), Bundle::from_archive(&tar, &limits)] {
                let read = read.unwrap();
                prop_assert_eq!(read.folder(), folder);
                prop_assert!(read.files().eq(bundle.files()));
                prop_assert_eq!(Manifest::from_bundle(&read), Manifest::from_bundle(&bundle));
            }
        }
    }
}

#[expect(clippy::unwrap_used, reason = "the sample is known to be good")]
fn sample() -> Bundle {
    let long = format!("references/{}/{}.md", "d".repeat(90), "f".repeat(120));
    let files = [
        ("SKILL.md", "---\nname: sample\n---\nRead it.\n", false),
        ("scripts/run.sh", "#!/bin/sh\necho hi\n", true),
        ("assets/empty", "", false),
        (long.as_str(), "far down\n", false),
    ];
    let files = files.map(|(name, text, x)| (name, Bytes::from_static(text.as_bytes()), x));
    Bundle::from_files(files, &BundleLimits::default()).unwrap()
}

#[test]
fn packing_gives_the_same_bytes_on_every_day_and_machine() {
    let bundle = sample();
    let wrapped = ArchiveLayout::wrapped("sample").unwrap();
    let again =
        Bundle::from_zip(&bundle.to_zip(&wrapped).unwrap(), &BundleLimits::default()).unwrap();
    assert_eq!(bundle.to_zip(&wrapped), again.to_zip(&wrapped));
    assert_eq!(bundle.to_tar_gz(&wrapped), again.to_tar_gz(&wrapped));
    // Published digests depend on these bytes. A change here, say by an upgrade of
    // a compressor, makes every client fetch every skill again.
    let zip = bundle.to_zip(&ArchiveLayout::FLAT).unwrap();
    let tar = bundle.to_tar_gz(&ArchiveLayout::FLAT).unwrap();
    let digests = [Digest::from_content(&zip), Digest::from_content(&tar)];
    insta::assert_debug_snapshot!(digests, @r"
    [
        sha256:81689e4ba90b0f0bb14501c9c96ca55922869ef64cda424b78ad1c56b6c16b8d,
        sha256:471dcb6e2a31c38e78b7f28dd8322b048d465d0d303b5f4319f6a05df63e3fbf,
    ]
    ");
}

#[test]
fn the_longest_and_deepest_names_survive_being_wrapped() {
    let limits = BundleLimits::default();
    let deep = "d/".repeat(limits.depth) + "f";
    let long = format!("{}/{}/x", "a".repeat(254), "b".repeat(254));
    assert_eq!(long.len(), limits.path_bytes - 1);
    let files = ["SKILL.md", &deep, &long].map(|name| (name, Bytes::new(), false));
    let bundle = Bundle::from_files(files, &limits).unwrap();
    let layout = ArchiveLayout::wrapped(&"w".repeat(255)).unwrap();
    for archive in [
        bundle.to_zip(&layout).unwrap(),
        bundle.to_tar_gz(&layout).unwrap(),
    ] {
        let read = Bundle::from_archive(&archive, &limits).unwrap();
        assert!(read.files().eq(bundle.files()));
    }
}

#[test]
fn a_layout_takes_one_safe_folder_name() {
    assert!(ArchiveLayout::wrapped("pdf-reader").is_ok());
    for bad in ["", "a/b", "..", "/", "C:"] {
        assert!(ArchiveLayout::wrapped(bad).is_err(), "{bad}");
    }
}
