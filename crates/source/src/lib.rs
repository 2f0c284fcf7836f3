//! Where skills come from.
//!
//! A source is named by a path: a folder that is a skill, a folder of skills, an
//! archive, or a Markdown file. This crate turns each into the one thing that
//! the rest knows, a [`Bundle`](prowess_skill::Bundle), through the one door that
//! checks it. It reads disks; it knows nothing of networks, databases or models.
//!
//! | module | owns |
//! |---|---|
//! | [`open`](mod@open) | what a path names: one skill or several |
//! | [`discover`] | the search for skills below a folder |
//! | [`folder`] | a folder's files to a bundle |
//! | [`archive`] | an archive's or a bare file's bytes to a bundle |
//! | [`catalogue`] | several sources with labels: later wins, and says so |

pub mod archive;
pub mod catalogue;
pub mod discover;
mod error;
pub mod folder;
pub mod open;

pub use catalogue::{Catalogue, Labelled, Shadowed};
pub use discover::{Bounds, Discovery};
pub use error::SourceError;
pub use open::{Origin, open};
