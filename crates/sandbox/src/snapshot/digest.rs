//! One digest of all files of a container. Two containers have the same digest if and only if
//! commands find the same files in them.
//!
//! It is the SHA-256 of this encoding, in which a text is its length in bytes (8 bytes, least
//! significant first) and its UTF-8, and a number has 8 bytes, least significant first:
//!
//! 1. the text `prowess-files-v1`;
//! 2. for each entry in the order of the bytes of the paths: the path as a text; the byte `f`
//!    and the 32 bytes of the content's digest, or `l` and the target as a text in the form of
//!    [`SnapshotContent::Link`], or `d`; and the permissions as a number.
//!
//! Sizes follow from contents. Times, owners, and the identity of files on a disk are no part
//! of it. The encoding never changes: digests are stored, and hosts of different versions
//! compare them.

use super::{Snapshot, SnapshotContent, SnapshotEntry};
use prowess_skill::Digest;
use sha2::{Digest as _, Sha256};

const FORMAT: &str = "prowess-files-v1";

impl Snapshot {
    /// One digest of all entries: their paths, kinds, contents and permissions.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut encoded = Vec::with_capacity(256);
        add_text(&mut encoded, FORMAT);
        // In parts, so that the encoding of many entries is never in memory as a whole.
        let mut hash = Sha256::new();
        for entry in self.entries() {
            add_entry(&mut encoded, entry);
            hash.update(&encoded);
            encoded.clear();
        }
        hash.update(&encoded);
        Digest::from_hash(hash.finalize().into())
    }
}

fn add_entry(encoded: &mut Vec<u8>, entry: &SnapshotEntry) {
    add_text(encoded, &entry.path);
    match &entry.content {
        SnapshotContent::File(digest) => {
            encoded.push(b'f');
            encoded.extend_from_slice(digest.as_bytes());
        }
        SnapshotContent::Link(target) => {
            encoded.push(b'l');
            add_text(encoded, target);
        }
        SnapshotContent::Directory => encoded.push(b'd'),
    }
    encoded.extend_from_slice(&entry.mode.to_le_bytes());
}

fn add_text(encoded: &mut Vec<u8>, text: &str) {
    encoded.extend_from_slice(&(text.len() as u64).to_le_bytes());
    encoded.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn entry(path: &str, content: SnapshotContent, mode: i64) -> SnapshotEntry {
        SnapshotEntry {
            path: path.to_owned(),
            content,
            size: 0,
            mode,
        }
    }

    fn digest(entries: Vec<SnapshotEntry>) -> String {
        Snapshot::from_entries(entries).digest().hex()
    }

    /// Stored digests must not change: these were computed from the description by another
    /// program.
    #[test]
    fn the_encoding_is_the_documented_one() {
        let none = "3fb18fd5b1a04a5feb8ab338da5d7a6eaf30b9125858de1a0760b43c0c9a8d73";
        assert_eq!(digest(Vec::new()), none);
        let some = "ca20fadffc7c11d43a870bd7d2d9c45aa42b56bc46c5e4f96e518781ec1929dc";
        let content = SnapshotContent::File(Digest::from_content(b"one"));
        let entries = vec![
            entry("deep/l", SnapshotContent::Link("../a".into()), 0),
            entry("a", content, 0o644),
            entry("deep", SnapshotContent::Directory, 0o755),
        ];
        assert_eq!(digest(entries), some);
    }

    fn contents() -> impl Strategy<Value = SnapshotContent> {
        let target = "[a-c]{0,3}";
        prop_oneof![
            "[a-c]{0,2}"
                .prop_map(|text| { SnapshotContent::File(Digest::from_content(text.as_bytes())) }),
            target.prop_map(SnapshotContent::Link),
            Just(SnapshotContent::Directory),
        ]
    }

    /// Few different parts, so that snapshots are often alike.
    fn snapshots() -> impl Strategy<Value = BTreeMap<String, (SnapshotContent, i64)>> {
        let modes = prop_oneof![Just(0o644), Just(0o755)];
        proptest::collection::btree_map("[ab]{1,2}", (contents(), modes), 0..4)
    }

    fn entries(of: &BTreeMap<String, (SnapshotContent, i64)>) -> Vec<SnapshotEntry> {
        let one = |(path, (content, mode)): (&String, &(SnapshotContent, i64))| {
            entry(path, content.clone(), *mode)
        };
        of.iter().map(one).collect()
    }

    proptest! {
        #[test]
        fn the_order_of_entries_does_not_matter(
            shuffled in snapshots()
                .prop_map(|one| entries(&one))
                .prop_flat_map(|one| (Just(one.clone()), Just(one).prop_shuffle())),
        ) {
            let (ordered, shuffled) = shuffled;
            prop_assert_eq!(digest(ordered), digest(shuffled));
        }

        #[test]
        fn paths_kinds_contents_and_permissions_do(one in snapshots(), other in snapshots()) {
            prop_assert_eq!(digest(entries(&one)) == digest(entries(&other)), one == other);
        }

        #[test]
        fn sizes_are_left_to_the_contents(one in snapshots(), size in any::<u64>()) {
            let mut resized = entries(&one);
            for entry in &mut resized {
                entry.size = size;
            }
            prop_assert_eq!(digest(resized), digest(entries(&one)));
        }

        #[test]
        fn an_entry_is_the_same_after_its_form_in_json(one in snapshots()) {
            let sent = serde_json::to_string(&entries(&one)).unwrap();
            let read: Vec<SnapshotEntry> = serde_json::from_str(&sent).unwrap();
            prop_assert_eq!(read, entries(&one));
        }
    }

    #[test]
    fn the_form_in_json_is_stable() {
        let content = SnapshotContent::File(Digest::from_content(b"one"));
        let entries = [
            entry("a", content, 0o644),
            entry("d", SnapshotContent::Directory, 0o755),
            entry("l", SnapshotContent::Link("a".into()), 0),
        ];
        let hex = Digest::from_content(b"one").hex();
        let expected = serde_json::json!([
            {"path": "a", "content": {"file": format!("sha256:{hex}")}, "size": 0, "mode": 420},
            {"path": "d", "content": "directory", "size": 0, "mode": 493},
            {"path": "l", "content": {"link": "a"}, "size": 0, "mode": 0},
        ]);
        assert_eq!(serde_json::json!(entries), expected);
    }
}
