//! Databases for many servers, one each.

use prowess_store::{Store, StoreConfig};
use prowess_testkit::postgres::TestPostgres;

/// A database that has its schema already: giving it one takes a server longer than the rest of its
/// start.
pub(crate) fn migrated_database(postgres: &TestPostgres) -> String {
    postgres.filled_database("store", |url| {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        config.database = url.to_owned();
        let migrate = || {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(async { Store::open(&config).await.unwrap().close().await });
        };
        // On another thread: a test may be inside a runtime.
        std::thread::scope(|scope| scope.spawn(migrate).join().unwrap());
    })
}
