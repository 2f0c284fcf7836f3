//! Small contents that commands of this gateway have created a moment ago, so that a run need not
//! read from the store what its command has just sent here.
//!
//! A content never changes: it is found by its digest, for the container that has had it. This
//! does not know which files have it now.

use bytes::Bytes;
use prowess_skill::Digest;

use crate::recent::RecentMap;

/// Bytes of one content that is kept.
const MAX_CONTENT_BYTES: usize = 64 << 10;
/// Bytes of all of them.
const MAX_ALL_BYTES: usize = 16 << 20;
/// Bytes that one counts at least, which bounds their number.
const MIN_COUNTED_BYTES: usize = 8 << 10;

/// The contents, by container and digest. What was not used for longest is forgotten.
#[derive(Debug)]
pub(crate) struct RecentContents(RecentMap<(String, Digest), RecentContent>);

#[derive(Debug, Clone)]
struct RecentContent {
    owner: String,
    bytes: Bytes,
}

impl Default for RecentContents {
    fn default() -> Self {
        Self(RecentMap::new(MAX_ALL_BYTES))
    }
}

impl RecentContents {
    /// A container of this owner has this content, which has this digest. A large one is not
    /// kept.
    pub(crate) fn add(&self, owner: &str, id: &str, digest: Digest, bytes: Bytes) {
        let length = bytes.len();
        if length > MAX_CONTENT_BYTES {
            return;
        }
        let recent = RecentContent {
            owner: owner.to_owned(),
            bytes,
        };
        let weight = length.max(MIN_COUNTED_BYTES);
        self.0.insert((id.to_owned(), digest), recent, weight);
    }

    /// A content that this owner's container has had a moment ago.
    pub(crate) fn get(&self, owner: &str, id: &str, digest: Digest) -> Option<Bytes> {
        let known = self.0.get(&(id.to_owned(), digest))?;
        (known.owner == owner).then_some(known.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_known_to_their_owner_and_bounded() {
        let contents = RecentContents::default();
        let bytes = Bytes::from_static(b"content");
        let digest = Digest::from_content(&bytes);
        contents.add("owner", "container_1", digest, bytes.clone());
        let known = |owner, id| contents.get(owner, id, digest);
        assert_eq!(known("owner", "container_1"), Some(bytes));
        assert_eq!(known("another", "container_1"), None);
        assert_eq!(known("owner", "container_2"), None);
        let large = Bytes::from(vec![0; MAX_CONTENT_BYTES + 1]);
        let large_digest = Digest::from_content(&large);
        contents.add("owner", "container_1", large_digest, large);
        assert_eq!(contents.get("owner", "container_1", large_digest), None);
        // So many that the first one is forgotten.
        for number in 0..=MAX_ALL_BYTES / MIN_COUNTED_BYTES {
            let bytes = Bytes::from(number.to_string());
            let digest = Digest::from_content(&bytes);
            contents.add("owner", "container_3", digest, bytes);
        }
        assert_eq!(known("owner", "container_1"), None);
    }
}
