//! Where skills come from.
//!
//! A source is named by a path (a folder that is a skill, a folder of skills, an
//! archive, or a Markdown file) or by a URL. This crate turns each into the one thing
//! that the rest knows, a [`Bundle`](prowess_skill::Bundle), through the one door
//! that checks it: a path inside a skill means the same bytes wherever the skill came
//! from. It knows nothing of databases or models.
//!
//! | module | owns |
//! |---|---|
//! | [`open`](mod@open) | what a path or a URL names: one skill or several |
//! | [`discover`] | the search for skills below a folder |
//! | [`folder`] | a folder's files to a bundle |
//! | [`home`] | `~` at the start of a path that a person wrote |
//! | [`archive`] | an archive's or a bare file's bytes to a bundle |
//! | `packed` | what an archive holds: one skill or several |
//! | `archives` | what archives held when they were last looked at |
//! | [`url`] | skills by URL: what it names, fetching, the cache |
//! | [`catalogue`] | several sources with labels: later wins, and says so |

pub mod archive;
mod archive_cache;
mod archive_contents;
pub mod catalogue;
pub mod discover;
mod error;
pub mod folder;
pub mod home;
pub mod open;
pub mod url;

pub use archive_contents::PackedSkill;
pub use catalogue::{Catalogue, LabelledSource, ShadowedSkill};
pub use discover::{Discovery, SearchBounds};
pub use error::SourceError;
pub use open::{OpenResult, Origin, open, open_source};
pub use url::{FetchError, Fetcher};
