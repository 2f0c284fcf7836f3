//! Every query about containers of a cluster uses an index.

use std::time::Duration;

use prowess_skill::Digest;

use super::expire::AgeColumn;
use super::{apply, create, expire, file, list, rows, signed_content, skills};
use crate::db::Database;
use crate::gc::select_unreferenced;
use crate::skills::query_plan::assert_no_table_is_scanned;
use crate::{TenantId, Timestamp};

#[test]
fn containers_are_found_by_indexes() {
    let tenant = TenantId::default_tenant();
    let (id, idle) = ("container_1", Duration::from_secs(1));
    let digests = [Digest::from_content(b"one"), Digest::from_content(b"two")];
    let texts = digests.map(|digest| digest.to_string());
    let steps = assert_no_table_is_scanned([
        rows::select(Database::Sqlite, &tenant, id),
        rows::select_with_totals(Database::Sqlite, &tenant, id, &["a", "b"]),
        list::select_all(&tenant),
        list::select_one(&tenant, "container_1"),
        skills::select_skills(id),
        create::count_containers(&tenant),
        create::select_idle(Database::Sqlite, &tenant, id, idle),
        expire::select_old(Database::Sqlite, AgeColumn::UsedAt, idle),
        expire::select_old(Database::Sqlite, AgeColumn::CreatedAt, idle),
        file::select_file(&tenant, id, "a"),
        apply::select_contents(id, &texts),
        signed_content::select_contents(&tenant, id, &digests),
        select_unreferenced(Timestamp::now(), "blob_1"),
    ]);
    for index in [
        "cluster_containers_by_tenant",
        "cluster_containers_by_use",
        "cluster_containers_by_age",
        "container_skill_files_by_digest",
    ] {
        assert!(steps.iter().any(|step| step.contains(index)), "{steps:#?}");
    }
}
