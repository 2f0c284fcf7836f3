//! How SQLite means to answer a query: what keeps answers quick in a large store,
//! asked without a clock.

use crate::db::Sql;
use crate::{Store, StoreConfig};

/// Results of the query itself may be walked through, and so may what the
/// full-text index finds.
const ALLOWED_SCANS: [&str; 3] = [
    "SCAN skill_index VIRTUAL TABLE",
    "SCAN found",
    "SCAN (subquery",
];

/// Every table must be met by one of its indexes. Gives the steps of all queries.
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
