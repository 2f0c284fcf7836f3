//! Caches that processes drop for one another.

use std::time::Duration;

use prowess_store::{
    CacheDrop, CacheKind, KeyChange, KeyGranter, KeyScope, LabelName, NewKey, SkillDeleteRule,
    Store, VersionSelector,
};
use tokio::sync::broadcast::Receiver;

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    every_change_of_keys_and_skills_is_sent,
    a_drop_is_seen_at_once_by_another_process,
}

fn received(drops: &mut Receiver<CacheDrop>) -> Vec<CacheKind> {
    let mut all = Vec::new();
    while let Ok(dropped) = drops.try_recv() {
        assert_eq!(dropped.tenant.unwrap().as_str(), "default");
        all.push(dropped.what);
    }
    all
}

async fn create_key(bed: &TestBed, store: &Store) -> (String, String) {
    let new = NewKey {
        name: "one",
        scopes: &[KeyScope::Use],
        expires_in: None,
        auto: None,
    };
    let (key, secret) = store.create_key(&bed.tenant, &new).await.unwrap();
    (key.id, secret.reveal().to_owned())
}

async fn every_change_of_keys_and_skills_is_sent(bed: TestBed) {
    let store = bed.open().await;
    let mut drops = store.cache_drops();
    let (key, _) = create_key(&bed, &store).await;
    assert_eq!(received(&mut drops), [], "nobody has cached a new key");
    let operator = &KeyGranter::Operator;
    let change = KeyChange {
        name: Some("two".to_owned()),
        ..KeyChange::default()
    };
    let updated = store.update_key(None, &key, &change, operator);
    updated.await.unwrap();
    let rotated = store.rotate_key(None, &key, Duration::ZERO, operator);
    rotated.await.unwrap();
    store.revoke_key(&bed.tenant, &key).await.unwrap();
    assert_eq!(received(&mut drops), [CacheKind::Keys; 3]);

    let skill = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &skill, "second").await;
    let label = LabelName::parse("production").unwrap();
    let set = store.set_label(&bed.tenant, &skill, &label, &VersionSelector::Latest);
    set.await.unwrap();
    let gone = store.delete_skill(&bed.tenant, &skill, SkillDeleteRule::Cascade);
    gone.await.unwrap();
    assert_eq!(received(&mut drops), [CacheKind::Skills; 4]);
    // What other processes have changed is not sent on.
    store.forget_caches(None, CacheKind::All);
    assert_eq!(received(&mut drops), []);
}

async fn a_drop_is_seen_at_once_by_another_process(mut bed: TestBed) {
    bed.config.freshness = Duration::from_secs(3_600);
    let store = bed.open().await;
    let other = bed.open().await;
    let (key, secret) = create_key(&bed, &store).await;
    let skill = bed.create(&store, "one").await.skill.id;
    let ordinal = async || {
        let latest = VersionSelector::Latest;
        let resolved = other.resolve(&bed.tenant, &skill, &latest).await.unwrap();
        resolved.detail.version.ordinal
    };
    assert!(other.authenticate(&secret).await.unwrap().is_some());
    assert_eq!(ordinal().await, 1);
    let mut drops = store.cache_drops();
    store.revoke_key(&bed.tenant, &key).await.unwrap();
    bed.update(&store, &skill, "second").await;
    assert!(other.authenticate(&secret).await.unwrap().is_some());
    assert_eq!(ordinal().await, 1);
    while let Ok(dropped) = drops.try_recv() {
        other.forget_caches(dropped.tenant.as_ref(), dropped.what);
    }
    assert!(other.authenticate(&secret).await.unwrap().is_none());
    assert_eq!(ordinal().await, 2);
}
