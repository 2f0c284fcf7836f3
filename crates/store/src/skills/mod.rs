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

mod default_version;
mod delete;
mod insert;
#[cfg(test)]
pub(crate) mod query_plan;
mod ranking;
mod read;
mod record;
mod search;
mod selector;
mod upload;

pub use delete::{DeletedVersion, LastVersionRule, SkillDeleteRule, VersionDeleteRule};
pub use read::SkillFilter;
pub use record::{SkillRecord, SkillSource, VersionDetail, VersionRecord, VersionRef};
pub use search::SearchHit;
pub use selector::VersionSelector;
pub use upload::{NewSkill, NewVersion, ScanRecord, UnchangedRule, UploadOutcome, UploadedVersion};

pub(crate) use read::{
    ID_COLUMN, latest_version_ids, paginate, skill_title, version_detail_by_id, version_id,
};
