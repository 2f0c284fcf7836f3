//! Fixtures for the tests of every crate.
//!
//! | module | owns |
//! |---|---|
//! | [`skill`] | small skills, as files in memory or in a folder |
//! | [`raw_zip`], [`raw_tar`] | archives written byte by byte, so that their headers can be false |
//! | [`hostile`] | archives that must be refused, each with the code it must be refused by |
//! | [`friendly`] | archives as common tools write them, which must be read |
//! | [`pdf`] | PDF files: valid ones, and ones that state false page counts or sizes |
//! | [`pdf_programs`] | programs in place of those that draw their pages, as slow as a test needs |
//! | [`postgres`], [`s3`], [`seaweed`], [`nats`], [`haproxy`] | real servers, started for a test and gone with it |
//! | [`fleet`] | a cluster of real processes, each of which can be killed |
//! | [`tcp_proxy`] | a network between two programs that can be lost |
//! | [`watched`] | any server program, started for a test and gone with it |
//! | [`bytecode`] | compiled modules of Python programs, kept from one to the next |
//! | `kept_folder` | folders that take long to make, made once and copied |
//! | `upstream` | a mock HTTP server with prepared responses, valid or broken, that records requests |
//! | `embedding_vendors` | vendors' embedding APIs, for that server |
//! | `endpoint_vendor` | OpenAI's endpoints besides conversations, for that server |
//!
//! Nothing here depends on the crates under test: the tables have the expected results, in
//! words that do not depend on the interface that is tested.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a fixture that cannot be made should stop the test"
)]

pub mod bytecode;
#[cfg(feature = "upstream")]
pub mod embedding_vendors;
#[cfg(feature = "upstream")]
pub mod endpoint_vendor;
pub mod fleet;
pub mod friendly;
pub mod haproxy;
pub mod hostile;
mod kept_folder;
pub mod nats;
pub mod pdf;
pub mod pdf_programs;
pub mod postgres;
pub mod raw_tar;
pub mod raw_zip;
pub mod s3;
pub mod seaweed;
pub mod skill;
pub mod tcp_proxy;
#[cfg(feature = "upstream")]
pub mod upstream;
pub mod watched;

pub use pdf::PdfFixture;
pub use pdf_programs::PdfPrograms;
pub use skill::SkillFixture;
