//! Checks SQLite's query plans: keeps queries fast in a large store, without measuring
//! time.

use crate::db::Sql;
use crate::{Store, StoreConfig};

/// The values that a query itself passes may be scanned, and what it has found by an index
/// (`found`, by convention).
const ALLOWED_SCANS: [&str; 4] = [
    "SCAN json_each VIRTUAL TABLE",
    "SCAN n VIRTUAL TABLE",
    "SCAN CONSTANT ROW",
    "SCAN found",
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
