//! Skills and their versions: records and operations.
//!
//! | module | owns |
//! |---|---|
//! | `record` | the records that callers receive |
//! | `selector`, `label_name` | version selectors; names of labels |
//! | `upload`, `insert` | a new skill or version: blobs first, then rows, one transaction |
//! | `read` | get and list |
//! | `default_version`, `latest` | the default version; which version is the latest |
//! | `labels`, `labelled_versions` | labels: names that point to a version; the versions that one points to |
//! | `notes` | what people say about a version |
//! | `revoke` | revoking and restoring versions |
//! | `frontmatter` | the frontmatter of several versions |
//! | `delete` | deletion, with the rules of each API generation |
//! | `search` | the skills that match a query, in pages |
//! | `route`, `routed_cache`, `routed_read_ahead` | the skills that fit a task, for a catalogue; what was read of them, and what is read before queries find it |
//! | `overlap` | the skills that take the queries of another |
//! | `audited` | changes of skills in the audit log |
//! | `query_plan` | tests that queries use indexes |

mod audited;
mod default_version;
mod delete;
mod frontmatter;
mod insert;
mod label_name;
mod labelled_versions;
mod labels;
mod latest;
mod notes;
mod overlap;
#[cfg(test)]
pub(crate) mod query_plan;
mod read;
mod record;
mod revoke;
mod route;
mod routed_cache;
mod routed_read_ahead;
mod search;
mod selector;
mod upload;

pub use delete::{DeletedVersion, LastVersionRule, SkillDeleteRule, VersionDeleteRule};
pub use label_name::LabelName;
pub use labelled_versions::LabelledVersion;
pub use labels::LabelRecord;
pub use overlap::SkillOverlap;
pub use read::SkillFilter;
pub use record::{Revocation, SkillRecord, SkillSource, VersionDetail, VersionRecord, VersionRef};
pub use revoke::NewRevocation;
pub use route::{MAX_ROUTED_SKILLS, RoutedSkill};
pub use search::SearchHit;
pub use selector::VersionSelector;
pub use upload::{NewSkill, NewVersion, ScanRecord, UnchangedRule, UploadOutcome, UploadedVersion};

pub(crate) use read::{
    ID_COLUMN, latest_version_ids, paginate, skill_title, usable_version_id, version_detail_by_id,
};
pub(crate) use routed_cache::RoutedCache;
pub(crate) use routed_read_ahead::RoutedReads;
