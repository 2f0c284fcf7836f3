//! From an id to a skill, mostly from a cache.

use std::sync::Arc;
use std::time::Duration;

use prowess_store::{
    SkillDeleteRule, Store, StoreConfig, TenantId, VersionDeleteRule, VersionSelector,
};

use crate::testbed::{TestBed, described, on_both_databases};

on_both_databases! {
    a_resolved_skill_is_shared_and_loaded_once,
    a_skill_in_use_is_not_loaded_again_without_a_cache,
    newest_versions_are_found_together,
    only_the_tenants_own_newest_versions_are_found,
    own_changes_are_seen_at_once,
    changes_by_others_are_seen_when_freshness_is_over,
    a_pinned_version_that_was_deleted_elsewhere_is_not_found,
    resolving_needs_no_content_but_loading_does,
    many_who_load_at_once_get_the_same,
}

const LATEST: VersionSelector = VersionSelector::Latest;

async fn slow(bed: &TestBed) -> Store {
    let config = StoreConfig {
        freshness: Duration::from_secs(3_600),
        ..bed.config.clone()
    };
    Store::open(&config).await.unwrap()
}

async fn a_resolved_skill_is_shared_and_loaded_once(bed: TestBed) {
    let store = slow(&bed).await;
    let id = bed.create(&store, "one").await.skill.id;
    let first = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
    let second = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
    let pinned = VersionSelector::Ordinal(1);
    let third = store.resolve(&bed.tenant, &id, &pinned).await.unwrap();
    assert!(Arc::ptr_eq(&first, &second) && Arc::ptr_eq(&first, &third));
    let (one, two) = (
        store.load(&first).await.unwrap(),
        store.load(&third).await.unwrap(),
    );
    assert!(Arc::ptr_eq(&one, &two));
    assert_eq!(one.body, "first");
}

async fn a_skill_in_use_is_not_loaded_again_without_a_cache(bed: TestBed) {
    let config = StoreConfig {
        cache_bytes: 0,
        ..bed.config.clone()
    };
    let store = Store::open(&config).await.unwrap();
    let id = bed.create(&store, "one").await.skill.id;
    let mut loaded = Vec::new();
    for _ in 0..2 {
        let resolved = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
        loaded.push(store.load(&resolved).await.unwrap());
    }
    assert!(Arc::ptr_eq(&loaded[0], &loaded[1]));
}

async fn newest_versions_are_found_together(bed: TestBed) {
    let store = slow(&bed).await;
    let [one, two, empty] = [
        bed.create(&store, "one").await.skill.id,
        bed.create(&store, "two").await.skill.id,
        bed.create(&store, "empty").await.skill.id,
    ];
    bed.update(&store, &two, "second").await;
    let rule = VersionDeleteRule::ANTHROPIC_BETA;
    let deleted = store.delete_version(&bed.tenant, &empty, &LATEST, rule);
    deleted.await.unwrap();
    let known = store.resolve(&bed.tenant, &one, &LATEST).await.unwrap();
    let requested: [&str; 5] = [&two, &one, "skill_none", &empty, &two];
    let found = store.resolve_latest(&bed.tenant, &requested).await.unwrap();
    assert_eq!(found.len(), 2);
    assert!(Arc::ptr_eq(&found[&one], &known));
    assert_eq!(found[&two].detail.body, "second");
    let alone = store.resolve(&bed.tenant, &two, &LATEST).await.unwrap();
    assert!(Arc::ptr_eq(&found[&two], &alone));

    bed.update(&store, &one, "third").await;
    let found = store.resolve_latest(&bed.tenant, &requested).await.unwrap();
    assert_eq!(found[&one].detail.body, "third");
    let none = store.resolve_latest(&bed.tenant, &[]).await.unwrap();
    assert!(none.is_empty());
}

async fn only_the_tenants_own_newest_versions_are_found(bed: TestBed) {
    let store = slow(&bed).await;
    let id = bed.create(&store, "one").await.skill.id;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    for (tenant, count) in [(&other, 0), (&bed.tenant, 1), (&other, 0)] {
        let found = store.resolve_latest(tenant, &[&id]).await.unwrap();
        assert_eq!(found.len(), count);
    }
}

async fn own_changes_are_seen_at_once(bed: TestBed) {
    let store = slow(&bed).await;
    let id = bed.create(&store, "one").await.skill.id;
    let body = async |selector: &VersionSelector| {
        let resolved = store.resolve(&bed.tenant, &id, selector).await;
        resolved.map(|resolved| resolved.detail.body.clone())
    };
    let default = VersionSelector::Default;
    assert_eq!(body(&LATEST).await.unwrap(), "first");
    bed.update(&store, &id, "second").await;
    assert_eq!(body(&LATEST).await.unwrap(), "second");
    assert_eq!(body(&default).await.unwrap(), "first");
    let second = VersionSelector::Ordinal(2);
    store
        .set_default_version(&bed.tenant, &id, &second)
        .await
        .unwrap();
    assert_eq!(body(&default).await.unwrap(), "second");
    store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    assert_eq!(body(&LATEST).await.unwrap_err().code(), "skill-not-found");
}

async fn changes_by_others_are_seen_when_freshness_is_over(bed: TestBed) {
    let (patient, eager, other) = (slow(&bed).await, bed.open().await, bed.open().await);
    let id = bed.create(&other, "one").await.skill.id;
    let body = async |store: &Store| {
        let resolved = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
        resolved.detail.body.clone()
    };
    assert_eq!(
        (body(&patient).await, body(&eager).await),
        ("first".into(), "first".into())
    );
    bed.update(&other, &id, "second").await;
    assert_eq!(
        (body(&patient).await, body(&eager).await),
        ("first".into(), "second".into())
    );
}

async fn a_pinned_version_that_was_deleted_elsewhere_is_not_found(bed: TestBed) {
    let (here, there) = (bed.open().await, bed.open().await);
    let made = bed.create(&here, "one").await;
    let (id, pinned) = (&made.skill.id, VersionSelector::Id(made.version.id.clone()));
    here.resolve(&bed.tenant, id, &pinned).await.unwrap();
    there
        .delete_skill(&bed.tenant, id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    let error = here.resolve(&bed.tenant, id, &pinned).await.unwrap_err();
    assert_eq!(error.code(), "skill-not-found");
}

async fn resolving_needs_no_content_but_loading_does(bed: TestBed) {
    let store = bed.open().await;
    let large = vec![1; 5_000];
    let skill = described("one", "Large.", "x", &[("large", &large, false)]);
    let new = prowess_store::NewSkill {
        title: Some("One"),
        ..prowess_store::NewSkill::from_skill(&skill)
    };
    let id = store
        .create_skill(&bed.tenant, &new)
        .await
        .unwrap()
        .skill
        .id;
    std::fs::remove_dir_all(bed.blob_folder()).unwrap();
    let resolved = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
    assert_eq!(resolved.title.as_deref(), Some("One"));
    assert_eq!(resolved.detail.manifest, skill.manifest);
    let error = store.load(&resolved).await.unwrap_err();
    assert_eq!(error.code(), "blob-storage");
}

async fn many_who_load_at_once_get_the_same(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let resolved = store.resolve(&bed.tenant, &id, &LATEST).await.unwrap();
    let loads = (0..16).map(|_| store.load(&resolved));
    let loaded = futures_util::future::try_join_all(loads).await.unwrap();
    assert!(loaded.iter().all(|skill| Arc::ptr_eq(skill, &loaded[0])));
}
