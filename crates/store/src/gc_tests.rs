//! Races between uploads and the collector for the same content, each forced
//! deliberately, on both databases.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::{Digest, LoadOptions, Skill};
use prowess_testkit::postgres::TestPostgres;
use tempfile::TempDir;

use super::GarbageCandidate;
use crate::blob::{ActivationOutcome, StagedBlob, activate};
use crate::db::{Database, Sql, Tx};
use crate::{NewSkill, SkillDeleteRule, Store, StoreConfig, TenantId, Timestamp};

/// Content is small or large; every race is run with both.
const SIZES: [usize; 2] = [100, 5_000];

struct TestBed {
    store: Store,
    _folder: TempDir,
    _postgres: Option<TestPostgres>,
}

impl TestBed {
    async fn new(database: Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        config.inline_bytes = 1_000;
        let postgres = (database == Database::Postgres).then(TestPostgres::start);
        if let Some(postgres) = &postgres {
            config.database = postgres.database();
        }
        TestBed {
            store: Store::open(&config).await.unwrap(),
            _folder: folder,
            _postgres: postgres,
        }
    }

    async fn stage(&self, data: &Bytes) -> Vec<StagedBlob> {
        let contents = BTreeMap::from([(Digest::from_content(data), data.clone())]);
        self.store.blobs().stage(contents).await.unwrap()
    }

    /// Activates content and adds a file that references it, without committing.
    async fn add_reference(&self, staged: &[StagedBlob]) -> (Tx, ActivationOutcome) {
        let mut tx = self.store.db().begin().await.unwrap();
        let outcome = activate(&mut tx, staged, Timestamp::now()).await.unwrap();
        let sql = Sql::new(
            "INSERT INTO files (id, tenant, name, mime, size, digest, purpose, downloadable, created_at)
             VALUES ($1, 'default', 'n', 'm', 0, $2, 'p', 1, 0)",
        );
        let id = crate::id::random_text(20).unwrap();
        let sql = sql.bind(id).bind(staged[0].digest.to_string());
        tx.execute(sql).await.unwrap();
        (tx, outcome)
    }

    /// Stores content without a reference.
    async fn leave_unreferenced(&self, data: &Bytes) {
        let staged = self.stage(data).await;
        let mut tx = self.store.db().begin().await.unwrap();
        let outcome = activate(&mut tx, &staged, Timestamp::now()).await.unwrap();
        assert_eq!(outcome, ActivationOutcome::Activated);
        tx.commit().await.unwrap();
    }

    async fn candidates(&self) -> Vec<GarbageCandidate> {
        let now = Timestamp::now();
        self.store.find_unreferenced(now, "").await.unwrap()
    }

    async fn assert_readable(&self, data: &Bytes) {
        let content = self
            .store
            .blobs()
            .open(Digest::from_content(data))
            .await
            .unwrap();
        assert_eq!(content.collect().await.unwrap(), data);
    }

    /// Waits until a PostgreSQL connection is blocked by a lock of another.
    async fn until_blocked(&self) {
        let sql = Sql::new(
            "SELECT pid FROM pg_stat_activity
             WHERE wait_event_type = 'Lock' AND datname = current_database()",
        );
        while self
            .store
            .db()
            .fetch_optional(sql.clone())
            .await
            .is_ok_and(|row| row.is_none())
        {
            tokio::task::yield_now().await;
        }
    }
}

fn contents() -> impl Iterator<Item = Bytes> {
    SIZES.into_iter().map(|size| Bytes::from(vec![1; size]))
}

async fn content_referred_to_after_it_was_found_unreferenced_stays(bed: TestBed) {
    for data in contents() {
        bed.leave_unreferenced(&data).await;
        let candidates = bed.candidates().await;
        assert_eq!(candidates.len(), 1);
        let staged = bed.stage(&data).await;
        let (tx, outcome) = bed.add_reference(&staged).await;
        assert_eq!(outcome, ActivationOutcome::Activated);
        tx.commit().await.unwrap();
        assert!(!bed.store.collect_blob(&candidates[0]).await.unwrap());
        bed.assert_readable(&data).await;
    }
}

/// The collector's statement starts before the uploader's commit and continues after it,
/// with a snapshot of the references from before.
async fn content_being_referred_to_while_it_is_collected_stays(bed: TestBed) {
    for data in contents() {
        bed.leave_unreferenced(&data).await;
        let candidates = bed.candidates().await;
        let staged = bed.stage(&data).await;
        let (tx, outcome) = bed.add_reference(&staged).await;
        assert_eq!(outcome, ActivationOutcome::Activated);
        let commit = async {
            if bed.store.database() == Database::Postgres {
                bed.until_blocked().await;
            }
            tx.commit().await.unwrap();
        };
        let collect = bed.store.collect_blob(&candidates[0]);
        let (collected, ()) = futures_util::future::join(collect, commit).await;
        assert!(!collected.unwrap());
        bed.assert_readable(&data).await;
    }
}

async fn content_collected_after_it_was_found_stored_is_noticed(bed: TestBed) {
    for data in contents() {
        bed.leave_unreferenced(&data).await;
        let staged = bed.stage(&data).await;
        assert_eq!(
            bed.store
                .collect_garbage(Duration::ZERO)
                .await
                .unwrap()
                .blobs,
            1
        );
        let (tx, outcome) = bed.add_reference(&staged).await;
        assert_eq!(outcome, ActivationOutcome::Collected);
        tx.rollback().await;
    }
}

async fn an_object_collected_before_it_was_activated_is_noticed(bed: TestBed) {
    let data = Bytes::from(vec![1; SIZES[1]]);
    let staged = bed.stage(&data).await;
    assert_eq!(
        bed.store
            .collect_garbage(Duration::ZERO)
            .await
            .unwrap()
            .blobs,
        1
    );
    let (tx, outcome) = bed.add_reference(&staged).await;
    assert_eq!(outcome, ActivationOutcome::Collected);
    tx.rollback().await;
}

async fn of_two_uploaders_of_the_same_object_one_leaves_a_copy_to_collect(bed: TestBed) {
    let data = Bytes::from(vec![1; SIZES[1]]);
    let (first, second) = (bed.stage(&data).await, bed.stage(&data).await);
    for staged in [first, second] {
        let (tx, outcome) = bed.add_reference(&staged).await;
        assert_eq!(outcome, ActivationOutcome::Activated);
        tx.commit().await.unwrap();
    }
    assert_eq!(
        bed.store
            .collect_garbage(Duration::ZERO)
            .await
            .unwrap()
            .blobs,
        1
    );
    bed.assert_readable(&data).await;
}

/// The collector died after it doomed a row; the next one finishes the work, and uploads
/// of the same content are unaffected.
async fn a_collection_that_was_cut_short_is_finished_later(bed: TestBed) {
    let data = Bytes::from(vec![1; SIZES[1]]);
    bed.leave_unreferenced(&data).await;
    let sql = Sql::new("UPDATE blobs SET state = 'doomed'");
    bed.store.db().execute(sql).await.unwrap();
    let staged = bed.stage(&data).await;
    let (tx, outcome) = bed.add_reference(&staged).await;
    assert_eq!(outcome, ActivationOutcome::Activated);
    tx.commit().await.unwrap();
    assert_eq!(
        bed.store
            .collect_garbage(Duration::ZERO)
            .await
            .unwrap()
            .blobs,
        1
    );
    assert_eq!(bed.candidates().await.len(), 0);
    bed.assert_readable(&data).await;
}

async fn content_of_a_deleted_skill_is_kept_for_the_grace_period(bed: TestBed) {
    let text = "---\nname: one\ndescription: One.\n---\nBody.\n";
    let skill = Skill::from_text(text, &LoadOptions::default())
        .skill
        .unwrap();
    let tenant = TenantId::default_tenant();
    let uploaded = bed
        .store
        .create_skill(&tenant, &NewSkill::from_skill(&skill))
        .await
        .unwrap();
    // As if it had been uploaded long ago.
    let sql = Sql::new("UPDATE blobs SET touched_at = 1");
    bed.store.db().execute(sql).await.unwrap();
    let id = &uploaded.skill.id;
    bed.store
        .delete_skill(&tenant, id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    let grace = Duration::from_secs(60);
    assert_eq!(bed.store.collect_garbage(grace).await.unwrap().blobs, 0);
    assert_eq!(
        bed.store
            .collect_garbage(Duration::ZERO)
            .await
            .unwrap()
            .blobs,
        1
    );
}

macro_rules! on_both_databases {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(#[test]
            fn $behaviour() {
                super::run(super::Database::Sqlite, super::$behaviour);
            })+
        }
        mod postgres {
            $(#[test]
            fn $behaviour() {
                super::run(super::Database::Postgres, super::$behaviour);
            })+
        }
    };
}

on_both_databases! {
    content_referred_to_after_it_was_found_unreferenced_stays,
    content_being_referred_to_while_it_is_collected_stays,
    content_collected_after_it_was_found_stored_is_noticed,
    an_object_collected_before_it_was_activated_is_noticed,
    of_two_uploaders_of_the_same_object_one_leaves_a_copy_to_collect,
    a_collection_that_was_cut_short_is_finished_later,
    content_of_a_deleted_skill_is_kept_for_the_grace_period,
}

fn run<F: Future<Output = ()>>(database: Database, behaviour: impl Fn(TestBed) -> F) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { behaviour(TestBed::new(database).await).await });
}
