//! Storage quotas: counted exactly and never exceeded.

use std::time::Duration;

use futures_util::future::join_all;
use prowess_store::{
    NewFile, NewSkill, NewVersion, SkillDeleteRule, StorageLimits, StorageUsage, Store, TenantId,
    UnchangedRule, VersionDeleteRule, VersionSelector,
};

use crate::attack_data::{NEW_FILE, upload};
use crate::searching::{EARLIER_WORDS_POSTGRES, EARLIER_WORDS_SQLITE};
use crate::testbed::{TestBed, described, execute, on_both_databases, skill};

on_both_databases! {
    a_file_beyond_the_quota_is_refused_and_leaves_nothing,
    parallel_uploads_do_not_exceed_the_quota,
    deleting_and_expiring_free_the_quota,
    skills_versions_and_files_are_counted,
    an_upload_that_changes_nothing_needs_no_quota,
    tenants_do_not_share_a_quota,
    totals_of_what_was_stored_before_are_filled_in,
    uploads_and_deletions_of_one_tenant_do_not_lock_each_other_out,
}

async fn limited(bed: &mut TestBed, limits: StorageLimits) -> Store {
    bed.config.limits = limits;
    bed.open().await
}

fn bytes(most: u64) -> StorageLimits {
    StorageLimits {
        bytes: Some(most),
        ..StorageLimits::default()
    }
}

async fn a_file_beyond_the_quota_is_refused_and_leaves_nothing(mut bed: TestBed) {
    let store = limited(&mut bed, bytes(100_000)).await;
    upload(&store, &bed.tenant, 1, 60_000).await.unwrap();
    let objects = bed.objects();
    for size in [40_001, 90_000, 5 << 20] {
        let error = upload(&store, &bed.tenant, 2, size).await.unwrap_err();
        assert_eq!(error.code(), "storage-quota-exceeded", "{error}");
        assert!(!error.is_transient());
        let message = error.to_string();
        assert!(message.contains("60000 of 100000 bytes"), "{message}");
    }
    assert_eq!(bed.objects(), objects);
    upload(&store, &bed.tenant, 3, 40_000).await.unwrap();
    let error = upload(&store, &bed.tenant, 4, 1).await.unwrap_err();
    assert_eq!(error.code(), "storage-quota-exceeded");
    assert_eq!(
        store.storage_usage(&bed.tenant).await.unwrap().bytes,
        100_000
    );
}

async fn parallel_uploads_do_not_exceed_the_quota(mut bed: TestBed) {
    let store = limited(&mut bed, bytes(50_000)).await;
    let other = bed.open().await;
    let uploads = (0..30).map(|number| {
        let store = if number % 2 == 0 { &store } else { &other };
        upload(store, &bed.tenant, number, 5_000)
    });
    let done = join_all(uploads).await;
    let stored = done.iter().filter(|done| done.is_ok()).count();
    assert_eq!(stored, 10);
    for error in done.iter().filter_map(|done| done.as_ref().err()) {
        assert_eq!(error.code(), "storage-quota-exceeded", "{error}");
    }
    let used = store.storage_usage(&bed.tenant).await.unwrap();
    assert_eq!((used.bytes, used.files), (50_000, 10));
    assert_eq!(bed.objects(), 10);
}

async fn deleting_and_expiring_free_the_quota(mut bed: TestBed) {
    let store = limited(&mut bed, bytes(10_000)).await;
    let file = upload(&store, &bed.tenant, 1, 8_000).await.unwrap();
    upload(&store, &bed.tenant, 2, 8_000).await.unwrap_err();
    store.delete_file(&bed.tenant, &file.id).await.unwrap();
    let brief = NewFile {
        expires_in: Some(Duration::ZERO),
        ..NEW_FILE
    };
    let content = futures_util::stream::iter([Ok(vec![5; 8_000].into())]);
    store
        .create_file(&bed.tenant, &brief, content)
        .await
        .unwrap();
    store.collect_garbage(Duration::ZERO).await.unwrap();
    let made = bed.create(&store, "one").await.skill.id;
    let large = described("one", "Large.", "x", &[("f", &[1; 8_000], false)]);
    let new = NewVersion::from_skill(&large);
    store
        .create_version(&bed.tenant, &made, &new)
        .await
        .unwrap();
    upload(&store, &bed.tenant, 3, 8_000).await.unwrap_err();
    let latest = VersionSelector::Latest;
    let rule = VersionDeleteRule::ANTHROPIC;
    let gone = store.delete_version(&bed.tenant, &made, &latest, rule);
    gone.await.unwrap();
    let file = upload(&store, &bed.tenant, 4, 8_000).await.unwrap();
    store.delete_file(&bed.tenant, &file.id).await.unwrap();
    store
        .delete_skill(&bed.tenant, &made, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    let used = store.storage_usage(&bed.tenant).await.unwrap();
    assert_eq!(used, StorageUsage::default());
}

async fn skills_versions_and_files_are_counted(mut bed: TestBed) {
    let limits = StorageLimits {
        bytes: None,
        files: Some(2),
        skills: Some(2),
        versions: Some(3),
        keys: None,
    };
    let store = limited(&mut bed, limits).await;
    let first = bed.create(&store, "one").await.skill.id;
    bed.create(&store, "two").await;
    let third = skill("three", "x");
    let error = store
        .create_skill(&bed.tenant, &NewSkill::from_skill(&third))
        .await;
    assert!(error.unwrap_err().to_string().contains("2 of 2 skills"));
    bed.update(&store, &first, "second").await;
    let more = skill("one", "third");
    let new = NewVersion::from_skill(&more);
    let error = store.create_version(&bed.tenant, &first, &new).await;
    let error = error.unwrap_err().to_string();
    assert!(error.contains("3 of 3 versions of skills"), "{error}");
    for number in 0..2 {
        upload(&store, &bed.tenant, number, 0).await.unwrap();
    }
    let error = upload(&store, &bed.tenant, 2, 0).await.unwrap_err();
    assert!(error.to_string().contains("2 of 2 files"), "{error}");
}

async fn an_upload_that_changes_nothing_needs_no_quota(mut bed: TestBed) {
    let limits = StorageLimits {
        versions: Some(1),
        ..StorageLimits::default()
    };
    let store = limited(&mut bed, limits).await;
    let made = bed.create(&store, "one").await;
    let same = skill("one", "first");
    let new = NewVersion {
        unchanged: UnchangedRule::KeepLatest,
        ..NewVersion::from_skill(&same)
    };
    let again = store
        .create_version(&bed.tenant, &made.skill.id, &new)
        .await;
    assert_eq!(again.unwrap().version, made.version);
}

async fn tenants_do_not_share_a_quota(mut bed: TestBed) {
    let store = limited(&mut bed, bytes(10_000)).await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    // The same content is stored once, and counts for each tenant.
    for tenant in [&bed.tenant, &other] {
        upload(&store, tenant, 1, 9_000).await.unwrap();
        upload(&store, tenant, 2, 9_000).await.unwrap_err();
        assert_eq!(store.storage_usage(tenant).await.unwrap().bytes, 9_000);
    }
}

/// Undoes the migration that counts and those after it, to get a store of an earlier
/// release.
const EARLIER_SQLITE: &str = "
    DROP TRIGGER tenants_inserted; DROP TRIGGER files_inserted; DROP TRIGGER files_deleted;
    DROP TRIGGER skills_inserted; DROP TRIGGER skills_deleted;
    DROP TRIGGER versions_inserted; DROP TRIGGER versions_deleted;
    DROP TRIGGER sessions_resized; DROP TRIGGER sessions_deleted;
    DROP TABLE tenant_storage; DROP TABLE readiness;
    DROP TABLE response_items; DROP TABLE conversation_items; DROP TABLE conversations;
    DROP TABLE chat_completion_metadata; DROP TABLE chat_completions;
    DROP TABLE batch_items; DROP TABLE batches; DROP TABLE batch_scheduler;
    DROP TABLE foreground_runs;
    DROP TABLE journal_events; DROP TABLE journal_steps; DROP TABLE journal_runs;
    DROP TABLE webhook_deliveries; DROP TABLE container_files;
    ALTER TABLE sessions DROP COLUMN generation; ALTER TABLE sessions DROP COLUMN held_by;
    ALTER TABLE sessions DROP COLUMN held_epoch;
    ALTER TABLE sessions DROP COLUMN stored_bytes;
    DROP TABLE skills_to_index; DROP TABLE skill_pages; DROP TABLE skill_blocks;
    DROP TABLE skill_documents; DROP TABLE skill_index; DROP TABLE skill_vectors;
    DROP TABLE skill_costs; ALTER TABLE usage DROP COLUMN sandbox_ms;
    ALTER TABLE keys DROP COLUMN auto;
    DROP TABLE audit_log; DROP TABLE audit_retention;
    DROP TABLE skill_labels; DROP TABLE version_marks;
    DROP INDEX keys_by_previous_prefix;
    ALTER TABLE keys DROP COLUMN previous_prefix; ALTER TABLE keys DROP COLUMN previous_hash;
    ALTER TABLE keys DROP COLUMN previous_until;
    ALTER TABLE runs DROP COLUMN api_key;
    DROP TABLE console_sessions;
    DROP TABLE container_skill_files; DROP TABLE cluster_containers;
    ALTER TABLE sessions DROP COLUMN files_digest;
    ALTER TABLE foreign_files DROP COLUMN client_key;
    DELETE FROM schema_version WHERE version >= 6;";
const EARLIER_POSTGRES: &str = "
    DROP FUNCTION count_tenant CASCADE; DROP FUNCTION count_file CASCADE;
    DROP FUNCTION count_skill CASCADE; DROP FUNCTION count_version CASCADE;
    DROP FUNCTION count_journal_run CASCADE; DROP FUNCTION count_container CASCADE;
    DROP TABLE tenant_storage; DROP TABLE readiness;
    DROP TABLE response_items; DROP TABLE conversation_items; DROP TABLE conversations;
    DROP TABLE chat_completion_metadata; DROP TABLE chat_completions;
    DROP TABLE batch_items; DROP TABLE batches; DROP TABLE batch_scheduler;
    DROP TABLE foreground_runs;
    DROP TABLE journal_events; DROP TABLE journal_steps; DROP TABLE journal_runs;
    DROP TABLE webhook_deliveries; DROP TABLE container_files;
    ALTER TABLE sessions DROP COLUMN generation; ALTER TABLE sessions DROP COLUMN held_by;
    ALTER TABLE sessions DROP COLUMN held_epoch;
    ALTER TABLE sessions DROP COLUMN stored_bytes;
    DROP TABLE skills_to_index; DROP TABLE skill_pages; DROP TABLE skill_blocks;
    DROP TABLE skill_documents; DROP TABLE skill_index; DROP TABLE skill_vectors;
    DROP TABLE skill_costs; ALTER TABLE usage DROP COLUMN sandbox_ms;
    ALTER TABLE keys DROP COLUMN auto;
    DROP TABLE audit_log; DROP TABLE audit_retention;
    DROP TABLE skill_labels; DROP TABLE version_marks;
    DROP INDEX keys_by_previous_prefix;
    ALTER TABLE keys DROP COLUMN previous_prefix; ALTER TABLE keys DROP COLUMN previous_hash;
    ALTER TABLE keys DROP COLUMN previous_until;
    ALTER TABLE runs DROP COLUMN api_key;
    DROP TABLE console_sessions;
    DROP TABLE container_skill_files; DROP TABLE cluster_containers;
    ALTER TABLE sessions DROP COLUMN files_digest;
    ALTER TABLE foreign_files DROP COLUMN client_key;
    DELETE FROM schema_version WHERE version >= 6;";

async fn totals_of_what_was_stored_before_are_filled_in(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let made = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &made, "second").await;
    upload(&store, &bed.tenant, 1, 5_000).await.unwrap();
    upload(&store, &other, 2, 70).await.unwrap();
    let totals = async |store: &Store| {
        let mine = store.storage_usage(&bed.tenant).await.unwrap();
        (mine, store.storage_usage(&other).await.unwrap())
    };
    let before = totals(&store).await;
    assert_eq!(
        (before.0.files, before.0.skills, before.0.versions),
        (1, 1, 2)
    );
    assert_eq!((before.1.files, before.1.bytes), (1, 70));
    store.close().await;
    let earlier = match bed.config.database.as_str() {
        "sqlite" => [EARLIER_SQLITE, EARLIER_WORDS_SQLITE],
        _ => [EARLIER_POSTGRES, EARLIER_WORDS_POSTGRES],
    };
    execute(&bed, &earlier.concat()).await;
    let store = bed.open().await;
    assert_eq!(totals(&store).await, before);
    let gone = store.delete_skill(&bed.tenant, &made, SkillDeleteRule::Cascade);
    gone.await.unwrap();
    let after = totals(&store).await.0;
    assert_eq!((after.bytes, after.skills, after.versions), (5_000, 0, 0));
}

async fn uploads_and_deletions_of_one_tenant_do_not_lock_each_other_out(mut bed: TestBed) {
    let store = limited(&mut bed, bytes(1 << 30)).await;
    let other = bed.open().await;
    // The same large contents in all of them, so that all compete for the same blobs.
    let (one, two) = (vec![1; 2_000], vec![2; 2_000]);
    let work = |store: Store, name: String| {
        let (one, two, tenant) = (one.clone(), two.clone(), bed.tenant.clone());
        async move {
            for round in 0..5 {
                let files: &[(&str, &[u8], bool)] = &[("one", &one, false), ("two", &two, false)];
                let skill = described(&name, "Shares.", &format!("{round}"), files);
                let made = store
                    .create_skill(&tenant, &NewSkill::from_skill(&skill))
                    .await;
                let made = made.unwrap().skill.id;
                let new = NewVersion::from_skill(&skill);
                store.create_version(&tenant, &made, &new).await.unwrap();
                let file = upload(&store, &tenant, 1, 2_000).await.unwrap();
                store.delete_file(&tenant, &file.id).await.unwrap();
                let gone = store.delete_skill(&tenant, &made, SkillDeleteRule::Cascade);
                gone.await.unwrap();
            }
        }
    };
    let all = (0..6).map(|number| {
        let store = if number % 2 == 0 { &store } else { &other };
        tokio::spawn(work(store.clone(), format!("skill-{number}")))
    });
    for done in join_all(all).await {
        done.unwrap();
    }
    let used = store.storage_usage(&bed.tenant).await.unwrap();
    assert_eq!(used, StorageUsage::default());
}
