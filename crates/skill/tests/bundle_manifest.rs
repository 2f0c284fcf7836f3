//! What a manifest says of a bundle, and what its digest depends on.

use bytes::Bytes;
use prowess_skill::{Bundle, BundleLimits, Digest, Manifest};

#[expect(clippy::unwrap_used, reason = "the files are known to be good")]
fn manifest(files: &[(&str, &str, bool)]) -> Manifest {
    let skill = ("SKILL.md", "---\n---\n", false);
    let files = files.iter().chain([&skill]);
    let files = files.map(|(name, text, x)| (name, Bytes::copy_from_slice(text.as_bytes()), *x));
    Manifest::from_bundle(&Bundle::from_files(files, &BundleLimits::default()).unwrap())
}

#[test]
fn a_manifest_lists_every_file_with_its_digest() {
    let manifest = manifest(&[("scripts/run.sh", "#!/bin/sh\n", true)]);
    insta::assert_json_snapshot!(manifest, @r#"
    {
      "digest": "sha256:c2f99ff70e757e022166bb312156c6ae9fae2360515fbb491c5b7768d571ee9c",
      "files": [
        {
          "path": "SKILL.md",
          "digest": "sha256:d487269d2de0655a9ed127c83b0d1006d724e600385b32f4f4b39893c1e0164b",
          "size": 8,
          "executable": false
        },
        {
          "path": "scripts/run.sh",
          "digest": "sha256:a8076d3d28d21e02012b20eaf7dbf75409a6277134439025f282e368e3305abf",
          "size": 10,
          "executable": true
        }
      ]
    }
    "#);
    assert_eq!(manifest.total_bytes(), 18);
    assert_eq!(manifest.get("scripts/run.sh").map(|f| f.size), Some(10));
    assert_eq!(manifest.get("scripts"), None);
}

#[test]
fn the_digest_is_that_of_the_documented_lines() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let skill = Digest::from_content(b"---\n---\n").hex();
    let lines = format!("prowess-manifest-v1\n{skill} 8 - SKILL.md\n{empty} 0 x a b\n");
    let manifest = manifest(&[("a b", "", true)]);
    assert_eq!(manifest.digest(), Digest::from_content(lines.as_bytes()));
}

#[test]
fn the_digest_changes_with_anything_a_skill_is_made_of() {
    let same = manifest(&[("a", "1", false), ("b", "2", false)]).digest();
    let others = [
        manifest(&[("a", "1", false), ("c", "2", false)]),
        manifest(&[("a", "2", false), ("b", "1", false)]),
        manifest(&[("a", "1", true), ("b", "2", false)]),
        manifest(&[("a", "1", false)]),
        manifest(&[("a", "12", false), ("b", "", false)]),
        manifest(&[("a", "1", false), ("b", "2", false), ("c", "", false)]),
    ];
    for other in others {
        assert_ne!(other.digest(), same);
    }
    let reordered = manifest(&[("b", "2", false), ("a", "1", false)]);
    assert_eq!(reordered.digest(), same);
}

#[test]
fn a_manifest_is_checked_when_it_is_read_back() {
    let manifest = manifest(&[("a", "1", false)]);
    let json = serde_json::to_string(&manifest).unwrap();
    assert_eq!(serde_json::from_str::<Manifest>(&json).unwrap(), manifest);
    for (from, to) in [
        ("\"size\":1", "\"size\":2"),
        ("\"path\":\"a\"", "\"path\":\"../a\""),
        ("\"path\":\"a\"", "\"path\":\"A\""),
        ("\"executable\":false", "\"executable\":true"),
        ("sha256:", "sha1:"),
    ] {
        let changed = json.replacen(from, to, 1);
        assert_ne!(changed, json, "{from}");
        assert!(serde_json::from_str::<Manifest>(&changed).is_err(), "{to}");
    }
}

#[test]
fn digests_have_one_spelling() {
    let digest = Digest::from_content(b"");
    let text = digest.to_string();
    assert_eq!(text.parse(), Ok(digest));
    for bad in [
        text.to_uppercase(),
        text.replace("sha256:", ""),
        text.replace('e', "é"),
        format!("{text}0"),
        String::new(),
    ] {
        assert!(bad.parse::<Digest>().is_err(), "{bad}");
    }
}
