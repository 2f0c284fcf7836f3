//! Ranks skills for a task.
//!
//! The store's search, routing and the search tool of a toolbox share this code, so they
//! agree. It is pure and deterministic: an index gives it counts, from any database, and
//! gets the same order. It knows neither databases nor how a skill is loaded.
//!
//! # Layout
//!
//! | module | owns |
//! |---|---|
//! | `limits` | bounds on what a text may cost |
//! | `fold`, `stem`, `aliases`, `terms` | from text to terms |
//! | `pairs` | pairs of neighbouring words |
//! | `triggers` | phrases that are declared to be about a skill |
//! | `headings` | headings of a Markdown text |
//! | `field` | the ranked fields, and numbers per field |
//! | `skill_terms` | the terms of one skill |
//! | `varint`, `encoding` | these as bytes |
//! | `stop_words`, `query` | the terms of a query |
//! | `corpus` | number and lengths of all skills |
//! | `bm25f` | the weight of a term in a skill |
//! | `best`, `scorer` | the best documents of a ranking; ranks from posting lists |
//! | `int8_vector`, `hybrid` | vectors, compared in memory; fusing them with the ranking by words |
//! | `explanation` | which words of a query a skill has, and where |
//! | `rank`, `rank_with_words` | ranks in memory, and with the words that match |
//! | `posting_lists` | the same for many queries over the same skills |
//! | `overlap` | which skills are found for the queries of another |
//! | `mentions` | skills that a text names outright |

mod aliases;
mod best;
mod bm25f;
mod corpus;
mod encoding;
mod explanation;
mod field;
mod fold;
mod headings;
mod hybrid;
mod int8_vector;
mod limits;
mod mentions;
mod overlap;
mod pairs;
mod posting_lists;
mod query;
mod rank;
mod rank_with_words;
mod scorer;
mod skill_terms;
mod stem;
mod stop_words;
mod terms;
mod triggers;
mod varint;

pub use best::ScoredDocument;
pub use bm25f::{FieldNorms, WeighedCounts};
pub use corpus::CorpusStats;
pub use encoding::{InvalidTerms, each_encoded_term, each_selected_term};
pub use explanation::{Explainer, MatchedWord};
pub use field::{Field, FieldCounts};
pub use hybrid::{FusedDocument, SimilarDocument, fuse};
pub use int8_vector::Int8Vector;
pub use limits::{MAX_QUERY_CHARS, MAX_QUERY_TERMS};
pub use mentions::{MAX_MENTIONS, mentions};
pub use overlap::{MAX_RIVALS, MAX_SHARED_WORDS, OVERLAP_DEPTH, OverlapRanks, Rival, find_rivals};
pub use posting_lists::PostingLists;
pub use query::{QueryTerm, SkillQuery};
pub use rank::rank;
pub use rank_with_words::rank_with_words;
pub use scorer::{DocumentFrequency, Posting, Scorer};
pub use skill_terms::{SkillTerms, SkillText};
pub use triggers::{MAX_TRIGGERS, TriggerPhrases};
pub use varint::{read_varint, write_varint};
