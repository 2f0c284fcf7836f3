//! The index of skills' words: what searching and routing read.
//!
//! It holds, for the latest version of each skill, how often each term occurs in each field,
//! and how long the fields are. `prowess_ranking` splits texts into terms and ranks; this
//! module stores the numbers, in the same bytes on both databases, so both give the same
//! list in the same order. It knows nothing of pages of results or of records of skills.
//!
//! # Layout
//!
//! A *document* is the latest version of a skill, with a number per tenant that grows with
//! every upload. A new document is a row with its terms (`skill_documents.terms`): it is
//! *recent*. When a tenant has enough of those, the transaction of an upload packs them into
//! a *block* (`skill_blocks`): its documents in order of their numbers, and *pages*
//! (`skill_pages`) with sorted terms and their postings. Neighbouring blocks of about the
//! same size are merged later, outside of any upload, so a tenant has few of them.
//!
//! Blocks and pages never change. A document that is replaced or deleted gets a bit in its
//! block (`skill_blocks.dead`) and is dropped when the block is merged. A merged block is
//! *retired*: its pages remain for a while, for queries that have read the list of blocks
//! before.
//!
//! A query reads the blocks and the numbers of the recent documents in one statement, which is a
//! snapshot, then the terms of these documents and the pages of its own terms by key. As none of
//! these change, it keeps what it has read in memory: lists of terms as they are added up, and
//! pages only for lists that are missing.
//!
//! | module | owns |
//! |---|---|
//! | `limits` | sizes of blocks and pages |
//! | `posting` | a document in the list of a term, as bytes |
//! | `page` | sorted terms with their postings, as pages; the directory of a block's pages |
//! | `indexed_page`, `page_cache` | a page in memory with the places of its entries; those that were read |
//! | `page_read_ahead` | reading all pages of a block that queries need many of |
//! | `block` | the documents of a block, as bytes |
//! | `dead` | the set of a block's dead documents |
//! | `block_rows` | blocks in the database: states, inserting, cleaning up |
//! | `document_terms` | the terms of a version |
//! | `write` | adding and removing a document, in the transaction of an upload or a deletion |
//! | `seal` | packing recent documents into a block |
//! | `merge_plan`, `merge`, `page_cursor`, `merge_queue` | which blocks to merge; merging them; reading them in order of terms; when |
//! | `recent_cache`, `recent_index`, `recent_matches` | the terms of recent documents that were read; the same by term; those of a query |
//! | `term_list`, `term_cache` | the postings of a term in a block, in memory; those that were read |
//! | `snapshot`, `query_lists`, `query_pages` | what a query reads: blocks and recent documents; lists that are kept; pages |
//! | `term_lists` | all lists of a query's terms, as they are added up and explained |
//! | `lookup` | the ranking of a query |
//! | `backfill` | indexing what an earlier release has stored |

mod backfill;
mod block;
mod block_rows;
#[cfg(test)]
mod cache_tests;
mod dead;
mod document_terms;
mod indexed_page;
mod limits;
mod lookup;
mod merge;
mod merge_plan;
mod merge_queue;
#[cfg(test)]
pub(crate) mod model_tests;
mod page;
mod page_cache;
mod page_cursor;
mod page_read_ahead;
mod posting;
mod query_lists;
mod query_pages;
mod recent_cache;
mod recent_index;
mod recent_matches;
mod seal;
mod snapshot;
mod term_cache;
mod term_list;
mod term_lists;
mod write;

pub(crate) use block::BlockCache;
pub(crate) use document_terms::{models_may_load, row_terms, version_terms, when_to_use};
pub(crate) use lookup::{Explanation, RankedDocument, check_query};
pub(crate) use merge_queue::MergeQueue;
pub(crate) use page_cache::PageCache;
pub(crate) use page_read_ahead::PageReads;
pub(crate) use query_pages::number_list;
pub(crate) use recent_cache::RecentCache;
pub(crate) use term_cache::TermCache;
pub(crate) use write::{IndexChange, add_document, remove_document};
