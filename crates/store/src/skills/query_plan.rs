//! Checks SQLite's query plans: keeps queries fast in a large store, without measuring
//! time.

use crate::db::Sql;
use crate::{Store, StoreConfig};

/// Results of the query itself may be scanned, and so may the matches of the full-text
/// index.
const ALLOWED_SCANS: [&str; 3] = [
    "SCAN skill_index VIRTUAL TABLE",
    "SCAN found",
    "SCAN (subquery",
];

/// Asserts that every table is accessed by an index. Returns the steps of all plans.
pub(crate) fn assert_no_table_is_scanned(queries: impl IntoIterator<Item = Sql>) -> Vec<String> {
    let mut all = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&StoreConfig::local(folder.path()))
            .await
            .unwrap();
        for query in queries {
            let rows = store
                .db()
                .fetch_all(query.clone().explain_query_plan())
                .await
                .unwrap();
            for row in rows {
                let step = row.text("detail").unwrap();
                let scans =
                    step.starts_with("SCAN") && !ALLOWED_SCANS.iter().any(|f| step.starts_with(f));
                assert!(!scans, "{step}\n{query:?}");
                all.push(step);
            }
        }
    });
    all
}
