//! The same binary gives the same bytes; the sums and the bill of materials describe them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::{artefacts, dist, succeeded};

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).unwrap();
    let files = entries.map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, std::fs::read(entry.path()).unwrap())
    });
    files.collect()
}

#[test]
fn the_same_binary_gives_the_same_bytes() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for folder in [&first, &second] {
        dist(&["--only=deb,tarball,npm"], folder.path());
    }
    let (first, second) = (contents(first.path()), contents(second.path()));
    assert_eq!(first.len(), 7, "{:?}", first.keys());
    for (name, content) in &first {
        assert!(second.get(name) == Some(content), "{name} differs");
    }
    assert_eq!(first.len(), second.len());
}

#[test]
fn the_sums_are_those_of_all_files() {
    let mut check = Command::new("sha256sum");
    check.args(["--check", "--strict", "SHA256SUMS"]);
    let checked = succeeded(check.current_dir(artefacts()));
    let files = std::fs::read_dir(artefacts()).unwrap().count();
    assert_eq!(checked.lines().count(), files - 1);
}

#[test]
fn the_bill_of_materials_lists_what_is_linked() {
    let bill = super::artefact("prowess-", ".cdx.json");
    let bill: Value = serde_json::from_slice(&std::fs::read(bill).unwrap()).unwrap();
    let components = bill.get("components").unwrap().as_array().unwrap();
    let find = |name: &str| {
        components
            .iter()
            .find(|one| one.get("name").unwrap() == name)
    };
    let linked = find("tokio").unwrap();
    assert!(linked.get("licenses").is_some());
    let digest = linked.pointer("/hashes/0/content").unwrap();
    assert_eq!(digest.as_str().unwrap().len(), 64);
    assert!(find("prowess-launcher").is_some());
    for not_linked in ["insta", "cc", "serde_derive", "prowess-testkit"] {
        assert!(find(not_linked).is_none(), "{not_linked}");
    }
}

#[test]
fn a_folder_with_other_files_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("diary.txt"), "mine").unwrap();
    let mut dist = Command::new(env!("CARGO_BIN_EXE_xtask"));
    dist.args(["dist", "--quick", "--binary=/nothing", "--out"]);
    let refused = dist.arg(folder.path()).output().unwrap();
    assert!(!refused.status.success());
    assert!(super::everything(&refused).contains("choose another folder with --out"));
    assert!(folder.path().join("diary.txt").exists());
}
