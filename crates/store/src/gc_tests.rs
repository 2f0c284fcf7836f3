//! The moments in which an uploader and the collector want the same content,
//! each brought about on purpose, on both engines.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use prowess_skill::{Digest, Options, Skill};
use prowess_testkit::postgres::Postgres;
use tempfile::TempDir;

use super::Candidate;
use crate::blob::{Adopted, Staged, adopt};
use crate::db::{Engine, Sql, Tx};
use crate::{DeleteSkill, NewSkill, Store, StoreConfig, TenantId, Timestamp};

/// Content is small or large; every race is run with both.
const SIZES: [usize; 2] = [100, 5_000];

struct Bed {
    store: Store,
    _folder: TempDir,
    _postgres: Option<Postgres>,
}

impl Bed {
    async fn new(engine: Engine) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut config = StoreConfig::local(folder.path());
        config.inline_bytes = 1_000;
        let postgres = (engine == Engine::Postgres).then(Postgres::start);
        if let Some(postgres) = &postgres {
            config.database = postgres.database();
        }
        Bed {
            store: Store::open(&config).await.unwrap(),
            _folder: folder,
            _postgres: postgres,
        }
    }

    async fn stage(&self, data: &Bytes) -> Vec<Staged> {
        let contents = BTreeMap::from([(Digest::of(data), data.clone())]);
        self.store.blobs().stage(contents).await.unwrap()
    }

    /// Adopts content and lets a file refer to it, without committing.
    async fn refer(&self, staged: &[Staged]) -> (Tx, Adopted) {
        let mut tx = self.store.db().begin().await.unwrap();
        let adopted = adopt(&mut tx, staged, Timestamp::now()).await.unwrap();
        let sql = Sql::new(
            "INSERT INTO files (id, tenant, name, mime, size, digest, purpose, downloadable, created_at)
             VALUES ($1, 'default', 'n', 'm', 0, $2, 'p', 1, 0)",
        );
        let id = crate::id::chance(20).unwrap();
        let sql = sql.bind(id).bind(staged[0].digest.to_string());
        tx.run(sql).await.unwrap();
        (tx, adopted)
    }

    /// Content that is stored, and that nobody refers to.
    async fn leave_unreferenced(&self, data: &Bytes) {
        let staged = self.stage(data).await;
        let mut tx = self.store.db().begin().await.unwrap();
        let adopted = adopt(&mut tx, &staged, Timestamp::now()).await.unwrap();
        assert_eq!(adopted, Adopted::All);
        tx.commit().await.unwrap();
    }

    async fn candidates(&self) -> Vec<Candidate> {
        let now = Timestamp::now();
        self.store.unreferenced(now, "").await.unwrap()
    }

    async fn assert_readable(&self, data: &Bytes) {
        let content = self.store.blobs().open(Digest::of(data)).await.unwrap();
        assert_eq!(content.collect().await.unwrap(), data);
    }

    /// Until some connection of PostgreSQL waits for a lock of another.
    async fn until_blocked(&self) {
        let sql = Sql::new("SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
        while self
            .store
            .db()
            .one(sql.clone())
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

async fn content_referred_to_after_it_was_found_unreferenced_stays(bed: Bed) {
    for data in contents() {
        bed.leave_unreferenced(&data).await;
        let candidates = bed.candidates().await;
        assert_eq!(candidates.len(), 1);
        let staged = bed.stage(&data).await;
        let (tx, adopted) = bed.refer(&staged).await;
        assert_eq!(adopted, Adopted::All);
        tx.commit().await.unwrap();
        assert!(!bed.store.collect(&candidates[0]).await.unwrap());
        bed.assert_readable(&data).await;
    }
}

/// The collector's statement begins before the uploader's commit and goes on after
/// it, with a view of the references from before.
async fn content_being_referred_to_while_it_is_collected_stays(bed: Bed) {
    for data in contents() {
        bed.leave_unreferenced(&data).await;
        let candidates = bed.candidates().await;
        let staged = bed.stage(&data).await;
        let (tx, adopted) = bed.refer(&staged).await;
        assert_eq!(adopted, Adopted::All);
        let commit = async {
            if bed.store.engine() == Engine::Postgres {
                bed.until_blocked().await;
            }
            tx.commit().await.unwrap();
        };
        let collect = bed.store.collect(&candidates[0]);
        let (collected, ()) = futures_util::future::join(collect, commit).await;
        assert!(!collected.unwrap());
        bed.assert_readable(&data).await;
    }
}

async fn content_collected_after_it_was_found_stored_is_noticed(bed: Bed) {
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
        let (tx, adopted) = bed.refer(&staged).await;
        assert_eq!(adopted, Adopted::Gone);
        tx.rollback().await;
    }
}

async fn an_object_collected_before_it_was_adopted_is_noticed(bed: Bed) {
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
    let (tx, adopted) = bed.refer(&staged).await;
    assert_eq!(adopted, Adopted::Gone);
    tx.rollback().await;
}

async fn of_two_uploaders_of_the_same_object_one_leaves_a_copy_to_collect(bed: Bed) {
    let data = Bytes::from(vec![1; SIZES[1]]);
    let (first, second) = (bed.stage(&data).await, bed.stage(&data).await);
    for staged in [first, second] {
        let (tx, adopted) = bed.refer(&staged).await;
        assert_eq!(adopted, Adopted::All);
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

/// The collector died after it doomed a row; the next one finishes the work, and
/// uploads of the same content do not care.
async fn a_collection_that_was_cut_short_is_finished_later(bed: Bed) {
    let data = Bytes::from(vec![1; SIZES[1]]);
    bed.leave_unreferenced(&data).await;
    let sql = Sql::new("UPDATE blobs SET state = 'doomed'");
    bed.store.db().run(sql).await.unwrap();
    let staged = bed.stage(&data).await;
    let (tx, adopted) = bed.refer(&staged).await;
    assert_eq!(adopted, Adopted::All);
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

async fn content_of_a_deleted_skill_is_kept_for_the_grace_period(bed: Bed) {
    let text = "---\nname: one\ndescription: One.\n---\nBody.\n";
    let skill = Skill::from_text(text, &Options::default()).skill.unwrap();
    let tenant = TenantId::default_tenant();
    let made = bed
        .store
        .create_skill(&tenant, &NewSkill::of(&skill))
        .await
        .unwrap();
    // As if it had been uploaded long ago.
    let sql = Sql::new("UPDATE blobs SET touched_at = 1");
    bed.store.db().run(sql).await.unwrap();
    let id = &made.skill.id;
    bed.store
        .delete_skill(&tenant, id, DeleteSkill::Cascade)
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

macro_rules! on_both_engines {
    ($($behaviour:ident,)+) => {
        mod sqlite {
            $(#[test]
            fn $behaviour() {
                super::run(super::Engine::Sqlite, super::$behaviour);
            })+
        }
        mod postgres {
            $(#[test]
            fn $behaviour() {
                super::run(super::Engine::Postgres, super::$behaviour);
            })+
        }
    };
}

on_both_engines! {
    content_referred_to_after_it_was_found_unreferenced_stays,
    content_being_referred_to_while_it_is_collected_stays,
    content_collected_after_it_was_found_stored_is_noticed,
    an_object_collected_before_it_was_adopted_is_noticed,
    of_two_uploaders_of_the_same_object_one_leaves_a_copy_to_collect,
    a_collection_that_was_cut_short_is_finished_later,
    content_of_a_deleted_skill_is_kept_for_the_grace_period,
}

fn run<F: Future<Output = ()>>(engine: Engine, behaviour: impl Fn(Bed) -> F) {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async { behaviour(Bed::new(engine).await).await });
}
