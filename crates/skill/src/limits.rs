//! Every limit on untrusted input, in one type.
//!
//! Everything in this crate that reads input takes a [`BundleLimits`]. The defaults are the
//! widest that the large hosts have in common, so a skill that loads here also uploads there.

/// Bounds for reading one skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleLimits {
    /// Bytes of the archive as sent, before anything is inflated.
    pub archive_bytes: u64,
    /// Bytes of all files together, unpacked.
    pub total_bytes: u64,
    /// Bytes of one file, unpacked.
    pub file_bytes: u64,
    /// Files in one skill.
    pub files: usize,
    /// Entries of an archive: files, folders, and ignored ones, such as the metadata files that
    /// macOS adds.
    pub entries: usize,
    /// Unpacked bytes per packed byte. Only checked for entries large enough for the ratio to
    /// be meaningful ([`BundleLimits::RATIO_FLOOR_BYTES`]).
    pub ratio: u64,
    /// Folders above a file.
    pub depth: usize,
    /// Bytes of one path.
    pub path_bytes: usize,
    /// Bytes of one part of a path. File systems refuse longer ones.
    pub part_bytes: usize,
    /// Bytes of a zip's central directory.
    pub directory_bytes: u64,
    /// Bytes of one tar entry that only describes the next one (a long name, pax
    /// records).
    pub extension_bytes: u64,
    /// Bytes of the frontmatter between its fences.
    pub frontmatter_bytes: usize,
    /// Nodes (scalars, sequences and mappings) in the frontmatter.
    pub frontmatter_nodes: usize,
    /// Nesting in the frontmatter.
    pub frontmatter_depth: usize,
}

impl BundleLimits {
    /// Below this many unpacked bytes an entry may be compressed as well as it
    /// likes: a page of blanks is not a bomb.
    pub const RATIO_FLOOR_BYTES: u64 = 1 << 20;

    /// The most that `packed` bytes may unpack to before they are treated as a bomb.
    pub fn max_unpacked_bytes(&self, packed: u64) -> u64 {
        packed
            .saturating_mul(self.ratio)
            .max(Self::RATIO_FLOOR_BYTES)
    }
}

impl Default for BundleLimits {
    fn default() -> Self {
        const MB: u64 = 1_000_000;
        BundleLimits {
            archive_bytes: 30 * MB,
            total_bytes: 30 * MB,
            file_bytes: 25 * MB,
            files: 1_000,
            entries: 4_000,
            ratio: 100,
            depth: 16,
            path_bytes: 512,
            part_bytes: 255,
            directory_bytes: 4 << 20,
            extension_bytes: 64 << 10,
            frontmatter_bytes: 256 << 10,
            frontmatter_nodes: 10_000,
            frontmatter_depth: 64,
        }
    }
}
