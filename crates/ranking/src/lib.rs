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
//! | `headings` | headings of a Markdown text |
//! | `field` | the ranked fields, and numbers per field |
//! | `skill_terms` | the terms of one skill |
//! | `varint`, `encoding` | these as bytes |
//! | `stop_words`, `query` | the terms of a query |
//! | `corpus` | number and lengths of all skills |
//! | `bm25f` | the weight of a term in a skill |
//! | `scorer` | ranks from posting lists |
//! | `explanation` | which words of a query a skill has, and where |
//! | `rank`, `rank_with_words` | ranks in memory, and with the words that match |
//! | `mentions` | skills that a text names outright |

mod aliases;
mod bm25f;
mod corpus;
mod encoding;
mod explanation;
mod field;
mod fold;
mod headings;
mod limits;
mod mentions;
mod pairs;
mod query;
mod rank;
mod rank_with_words;
mod scorer;
mod skill_terms;
mod stem;
mod stop_words;
mod terms;
mod varint;

pub use corpus::CorpusStats;
pub use encoding::{InvalidTerms, each_encoded_term};
pub use explanation::{Explainer, MatchedWord};
pub use field::{Field, FieldCounts};
pub use limits::{MAX_QUERY_CHARS, MAX_QUERY_TERMS};
pub use mentions::{MAX_MENTIONS, mentions};
pub use query::{QueryTerm, SkillQuery};
pub use rank::rank;
pub use rank_with_words::rank_with_words;
pub use scorer::{Posting, ScoredDocument, Scorer};
pub use skill_terms::{SkillTerms, SkillText};
pub use varint::{read_varint, write_varint};
