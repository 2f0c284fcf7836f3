//! The documents of a block: their numbers, the lengths of their fields, and the directory
//! of the block's pages. They never change, so they are cached by the block's id.

use std::sync::{Arc, OnceLock};

use moka::future::Cache;
use prowess_ranking::{CorpusStats, FieldCounts, read_varint, write_varint};

use super::limits::CACHE_BYTES;
use super::page::{PageDirectory, read_slice, write_slice};
use crate::error::{Error, Result};

/// The decoded documents of blocks, by id.
pub(crate) struct BlockCache(pub(super) Cache<i64, Arc<BlockDocuments>>);

impl Default for BlockCache {
    fn default() -> Self {
        let cache = Cache::builder()
            .max_capacity(CACHE_BYTES)
            .weigher(|_, block: &Arc<BlockDocuments>| {
                u32::try_from(block.memory()).unwrap_or(u32::MAX)
            })
            .build();
        BlockCache(cache)
    }
}

/// The documents of a block, by place.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct BlockDocuments {
    /// Ascending.
    pub(super) numbers: Vec<i64>,
    pub(super) lengths: Vec<FieldCounts>,
    pub(super) directory: PageDirectory,
    /// Computed by the first query.
    pub(super) stats: OnceLock<CorpusStats>,
}

impl BlockDocuments {
    fn memory(&self) -> usize {
        let document = size_of::<i64>() + size_of::<FieldCounts>();
        document * self.numbers.len() + self.directory.memory() + 256
    }

    /// Number and lengths of all documents, dead ones too.
    pub(super) fn stats(&self) -> &CorpusStats {
        self.stats.get_or_init(|| {
            let mut stats = CorpusStats::default();
            self.lengths.iter().for_each(|lengths| stats.add(*lengths));
            stats
        })
    }

    /// The column `numbers`.
    pub(super) fn encode_numbers(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(2 * self.numbers.len());
        let mut before = 0;
        for number in &self.numbers {
            write_varint(
                u64::try_from(number - before).unwrap_or_default(),
                &mut bytes,
            );
            before = *number;
        }
        bytes
    }

    /// The column `lengths`.
    pub(super) fn encode_lengths(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(6 * self.lengths.len());
        for number in self.lengths.iter().flat_map(|lengths| lengths.numbers()) {
            write_varint(u64::from(number), &mut bytes);
        }
        bytes
    }

    /// The column `directory`.
    pub(super) fn encode_directory(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for term in self.directory.terms() {
            write_slice(term, &mut bytes);
        }
        bytes
    }

    pub(super) fn decode(numbers: &[u8], lengths: &[u8], directory: &[u8]) -> Result<Self> {
        let numbers = decode_numbers(numbers)?;
        let lengths = decode_lengths(lengths).ok_or_else(malformed_block)?;
        if numbers.len() != lengths.len() {
            return Err(malformed_block());
        }
        Ok(BlockDocuments {
            numbers,
            lengths,
            directory: decode_directory(directory).ok_or_else(malformed_block)?,
            stats: OnceLock::new(),
        })
    }
}

/// Reads the column `numbers`.
pub(super) fn decode_numbers(mut bytes: &[u8]) -> Result<Vec<i64>> {
    let mut numbers = Vec::new();
    let mut before = 0i64;
    while !bytes.is_empty() {
        let distance = read_varint(&mut bytes).and_then(|number| i64::try_from(number).ok());
        let number = distance.and_then(|distance| before.checked_add(distance));
        before = number.ok_or_else(malformed_block)?;
        numbers.push(before);
    }
    Ok(numbers)
}

fn decode_lengths(mut bytes: &[u8]) -> Option<Vec<FieldCounts>> {
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let mut numbers = [0; 4];
        for number in &mut numbers {
            *number = u16::try_from(read_varint(&mut bytes)?).ok()?;
        }
        all.push(FieldCounts::new(numbers));
    }
    Some(all)
}

fn decode_directory(mut bytes: &[u8]) -> Option<PageDirectory> {
    let mut directory = PageDirectory::default();
    while !bytes.is_empty() {
        directory.push(read_slice(&mut bytes)?);
    }
    Some(directory)
}

/// A block that this program has not written.
pub(super) fn malformed_block() -> Error {
    Error::MalformedRow {
        table: "skill_blocks",
        reason: "the documents cannot be read".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn documents_read_back_as_they_were_written() {
        let mut directory = PageDirectory::default();
        directory.push(b"alpha");
        directory.push("表计".as_bytes());
        let block = BlockDocuments {
            numbers: vec![3, 4, 900, 1_000_000_000_000],
            lengths: (0..4)
                .map(|n| FieldCounts::new([n, 300, 0, 16_000]))
                .collect(),
            directory,
            stats: OnceLock::new(),
        };
        let (numbers, lengths) = (block.encode_numbers(), block.encode_lengths());
        let decode = |lengths| BlockDocuments::decode(&numbers, lengths, &block.encode_directory());
        assert_eq!(decode(&lengths).unwrap(), block);
        assert!(decode(&lengths[1..]).is_err());
        assert!(decode(&[]).is_err());
    }

    proptest! {
        #[test]
        fn no_bytes_make_decoding_panic(a: Vec<u8>, b: Vec<u8>, c: Vec<u8>) {
            let _ = BlockDocuments::decode(&a, &b, &c);
        }
    }
}
