//! Skills and their versions: what is known of them, and every operation on them.
//!
//! | module | owns |
//! |---|---|
//! | `record` | what a caller gets to see of the rows |
//! | `selector` | the ways to name a version |
//! | `upload`, `insert` | a new skill or version: blobs first, then rows, one transaction |
//! | `read` | get and list |
//! | `default` | the default version |
//! | `delete` | deletion, with the rules of each wire generation |
//! | `search` | full-text search, the one place with a query per engine |
//! | `rank` | in which order what was found is shown |

mod default;
mod delete;
mod insert;
#[cfg(test)]
pub(crate) mod plan;
mod rank;
mod read;
mod record;
mod search;
mod selector;
mod upload;

pub use delete::{DeleteSkill, DeleteVersion, DeletedVersion, LastVersion};
pub use read::SkillFilter;
pub use record::{SkillRecord, SkillSource, VersionDetail, VersionRecord, VersionRef};
pub use search::SearchHit;
pub use selector::VersionSelector;
pub use upload::{NewSkill, NewVersion, Outcome, Scan, Unchanged, Uploaded};

pub(crate) use read::{IDS, latest_version_ids, paged, title, version_detail_by_id, version_id};
