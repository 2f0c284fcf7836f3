//! Where skills come from.
//!
//! A source is a path (a folder that is a skill, a folder of skills, an archive, or a
//! Markdown file) or a URL. This crate reads each into a checked
//! [`Bundle`](prowess_skill::Bundle), so that a path inside a skill means the same bytes
//! whatever its source. It uses no database and no model.
//!
//! | module | owns |
//! |---|---|
//! | [`open`](mod@open) | the skills that a path or a URL names |
//! | `origin` | the place of one skill, and how it is read from there |
//! | [`discover`] | the search for skills below a folder |
//! | [`folder`] | a folder's files to a bundle |
//! | [`home`] | expansion of `~` at the start of a path |
//! | [`archive`] | an archive's or a bare file's bytes to a bundle |
//! | `archive_contents` | the skills in an archive: one or several |
//! | `archive_cache` | the skills of archives on a disk, cached until they change |
//! | [`url`] | skills by URL: what it names, fetching, the cache |
//! | `error` | why a source cannot be read |
//! | [`catalogue`] | several sources with labels: later ones win, and that is reported |

pub mod archive;
mod archive_cache;
mod archive_contents;
pub mod catalogue;
pub mod discover;
mod error;
pub mod folder;
pub mod home;
pub mod open;
mod origin;
pub mod url;

pub use archive_contents::PackedSkill;
pub use catalogue::{Catalogue, LabelledSource, ShadowedSkill};
pub use discover::{Discovery, SearchBounds};
pub use error::SourceError;
pub use open::{open, open_source};
pub use origin::{OpenResult, Origin, refuse_left_out};
pub use url::{FetchError, Fetcher};
