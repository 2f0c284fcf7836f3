//! The basis of every test: a new store on either database, and small skills.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::{Bundle, BundleLimits, LoadOptions, Skill};
use prowess_store::{
    Database, NewSkill, NewVersion, Store, StoreConfig, TenantId, UploadedVersion, VersionSelector,
};
use prowess_testkit::postgres::TestPostgres;
use sqlx::{AssertSqlSafe, Connection, PgConnection, SqliteConnection, raw_sql};
use tempfile::TempDir;

/// One server for all tests of a process; each test has its own database.
static POSTGRES: LazyLock<TestPostgres> = LazyLock::new(TestPostgres::start);

/// A folder and configuration for a store, and the tenant of most tests.
pub(crate) struct TestBed {
    pub(crate) config: StoreConfig,
    pub(crate) tenant: TenantId,
    folder: TempDir,
}

impl TestBed {
    pub(crate) fn new(database: Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        // Small, so that small tests cover both kinds of blobs.
        config.inline_bytes = 1_000;
        // Another handle acts as another process; tests about staleness set more.
        config.freshness = Duration::ZERO;
        if database == Database::Postgres {
            config.database = POSTGRES.filled_database("store", migrate);
        }
        TestBed {
            config,
            tenant: TenantId::default_tenant(),
            folder,
        }
    }

    /// The same over a database without a schema, for tests of opening a store.
    pub(crate) fn without_schema(mut self) -> Self {
        if self.config.database != "sqlite" {
            self.config.database = POSTGRES.database();
        }
        self
    }

    /// A separate handle, as another process would have.
    pub(crate) async fn open(&self) -> Store {
        Store::open(&self.config).await.unwrap()
    }

    /// The number of objects in the blob folder, complete or not.
    pub(crate) fn objects(&self) -> usize {
        fn count(folder: &Path) -> usize {
            let entries = std::fs::read_dir(folder).unwrap();
            let size = |entry: std::fs::DirEntry| {
                if entry.file_type().unwrap().is_dir() {
                    count(&entry.path())
                } else {
                    1
                }
            };
            entries.map(|entry| size(entry.unwrap())).sum()
        }
        count(&self.blob_folder())
    }

    pub(crate) fn blob_folder(&self) -> std::path::PathBuf {
        self.folder.path().join("blobs")
    }

    /// Uploads a skill with this name.
    pub(crate) async fn create(&self, store: &Store, name: &str) -> UploadedVersion {
        let skill = skill(name, "first");
        store
            .create_skill(&self.tenant, &NewSkill::from_skill(&skill))
            .await
            .unwrap()
    }

    /// Uploads a new version with this text.
    pub(crate) async fn update(&self, store: &Store, id: &str, text: &str) -> UploadedVersion {
        let name = store.skill(&self.tenant, id).await.unwrap().name;
        let skill = skill(&name, text);
        store
            .create_version(&self.tenant, id, &NewVersion::from_skill(&skill))
            .await
            .unwrap()
    }

    /// Loads a version through a new handle without a cache, and compares it file by
    /// file.
    pub(crate) async fn assert_intact(&self, id: &str, version: &str, expected: &Skill) {
        let selector = VersionSelector::Id(version.to_owned());
        let store = self.open().await;
        let resolved = store.resolve(&self.tenant, id, &selector).await.unwrap();
        let loaded = store.load(&resolved).await.unwrap();
        assert_eq!(loaded.bundle, expected.bundle);
        assert_eq!(loaded.manifest, expected.manifest);
        assert_eq!(resolved.detail.manifest, expected.manifest);
        store.close().await;
    }
}

/// Gives a database its schema, as the first store that opens it does.
fn migrate(url: &str) {
    let folder = tempfile::tempdir().unwrap();
    let mut config = StoreConfig::local(folder.path());
    config.database = url.to_owned();
    let open = || run(async { Store::open(&config).await.unwrap().close().await });
    // On another thread: some tests make their bed inside a runtime.
    std::thread::scope(|scope| scope.spawn(open).join().unwrap());
}

/// A skill of one file.
pub(crate) fn skill(name: &str, text: &str) -> Skill {
    described(name, "Does one thing.", text, &[])
}

/// A skill with more files: path, content, executable.
pub(crate) fn described(
    name: &str,
    description: &str,
    text: &str,
    files: &[(&str, &[u8], bool)],
) -> Skill {
    let main = format!("---\nname: {name}\ndescription: {description}\n---\n{text}\n");
    let mut all = vec![("SKILL.md".to_owned(), Bytes::from(main), false)];
    for (path, data, executable) in files {
        all.push((
            (*path).to_owned(),
            Bytes::copy_from_slice(data),
            *executable,
        ));
    }
    let bundle = Bundle::from_files(all, &BundleLimits::default()).unwrap();
    let loaded = Skill::load(bundle, &LoadOptions::default());
    loaded
        .skill
        .unwrap_or_else(|| panic!("{:?}", loaded.diagnostics))
}

/// Generates two tests for each behaviour.
macro_rules! on_both_databases {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(#[test]
            fn $behaviour() {
                let bed = $crate::testbed::TestBed::new(prowess_store::Database::Sqlite);
                $crate::testbed::run(super::$behaviour(bed));
            })+
        }
        mod postgres {
            $(#[test]
            fn $behaviour() {
                let bed = $crate::testbed::TestBed::new(prowess_store::Database::Postgres);
                $crate::testbed::run(super::$behaviour(bed));
            })+
        }
    };
}
pub(crate) use on_both_databases;

pub(crate) fn run(test: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all();
    runtime.build().unwrap().block_on(test);
}

/// Executes statements of a test, besides the store.
pub(crate) async fn execute(bed: &TestBed, sql: &str) {
    try_execute(bed, sql).await.unwrap();
}

/// The number that a statement returns, besides the store.
pub(crate) async fn count(bed: &TestBed, sql: &'static str) -> i64 {
    if bed.config.database == "sqlite" {
        let file = bed.config.data_dir.join("prowess.db");
        let url = format!("sqlite://{}", file.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let counted = sqlx::query_scalar(sql).fetch_one(&mut connection);
        counted.await.unwrap()
    } else {
        let mut connection = PgConnection::connect(&bed.config.database).await.unwrap();
        let counted = sqlx::query_scalar(sql).fetch_one(&mut connection);
        counted.await.unwrap()
    }
}

/// Like [`execute`], for statements that the database may refuse.
pub(crate) async fn try_execute(bed: &TestBed, sql: &str) -> Result<(), sqlx::Error> {
    let sql = AssertSqlSafe(sql.to_owned());
    if bed.config.database == "sqlite" {
        let file = bed.config.data_dir.join("prowess.db");
        let url = format!("sqlite://{}", file.display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        raw_sql(sql).execute(&mut connection).await.map(drop)
    } else {
        let mut connection = PgConnection::connect(&bed.config.database).await.unwrap();
        raw_sql(sql).execute(&mut connection).await.map(drop)
    }
}
