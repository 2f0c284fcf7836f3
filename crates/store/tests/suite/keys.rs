//! Virtual keys.

use std::time::Duration;

use prowess_store::{KeyScope, NewKey, Store, StoreConfig, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_key_opens_what_it_was_made_for,
    a_wrong_key_opens_nothing,
    an_expired_key_opens_nothing,
    a_revoked_key_opens_nothing_at_once,
    a_key_revoked_elsewhere_is_refused_when_freshness_is_over,
    keys_are_listed_without_their_secrets,
    using_a_key_is_noted_at_most_once_a_minute,
    a_key_needs_a_scope_and_a_tenant,
}

const READER: NewKey<'static> = NewKey {
    name: "ci",
    scopes: &[KeyScope::Use, KeyScope::Read, KeyScope::Use],
    expires_in: None,
};

async fn a_key_opens_what_it_was_made_for(bed: TestBed) {
    let store = bed.open().await;
    let (made, secret) = store.create_key(&bed.tenant, &READER).await.unwrap();
    let found = store.authenticate(secret.reveal()).await.unwrap().unwrap();
    assert_eq!(*found, made);
    assert_eq!(found.tenant, bed.tenant);
    assert_eq!(found.scopes, [KeyScope::Read, KeyScope::Use]);
    assert!(found.allows(KeyScope::Read) && !found.allows(KeyScope::Publish));
    let admin = NewKey {
        scopes: &[KeyScope::Admin],
        ..READER
    };
    let (admin, _) = store.create_key(&bed.tenant, &admin).await.unwrap();
    assert!(admin.allows(KeyScope::Publish));
}

async fn a_wrong_key_opens_nothing(bed: TestBed) {
    let store = bed.open().await;
    let (_, secret) = store.create_key(&bed.tenant, &READER).await.unwrap();
    let right = secret.reveal();
    let (head, last) = right.split_at(right.len() - 1);
    let wrong_end = format!("{head}{}", if last == "0" { "1" } else { "0" });
    let wrong_start = right.replacen("sk-pw-", "sk-pw-x", 1);
    for wrong in [
        "",
        "x",
        head,
        &wrong_end,
        &wrong_start,
        &right.to_uppercase(),
    ] {
        assert_eq!(store.authenticate(wrong).await.unwrap(), None, "{wrong}");
    }
}

async fn an_expired_key_opens_nothing(bed: TestBed) {
    let store = bed.open().await;
    let new = NewKey {
        expires_in: Some(Duration::ZERO),
        ..READER
    };
    let (_, secret) = store.create_key(&bed.tenant, &new).await.unwrap();
    assert_eq!(store.authenticate(secret.reveal()).await.unwrap(), None);
}

fn slow(bed: &TestBed) -> StoreConfig {
    StoreConfig {
        freshness: Duration::from_secs(3_600),
        ..bed.config.clone()
    }
}

async fn a_revoked_key_opens_nothing_at_once(bed: TestBed) {
    let store = Store::open(&slow(&bed)).await.unwrap();
    for by_prefix in [false, true] {
        let (key, secret) = store.create_key(&bed.tenant, &READER).await.unwrap();
        assert!(store.authenticate(secret.reveal()).await.unwrap().is_some());
        let named = if by_prefix { &key.prefix } else { &key.id };
        store.revoke_key(&bed.tenant, named).await.unwrap();
        assert_eq!(store.authenticate(secret.reveal()).await.unwrap(), None);
    }
    let unknown = store.revoke_key(&bed.tenant, "key_none").await;
    assert_eq!(unknown.unwrap_err().code(), "key-not-found");
}

async fn a_key_revoked_elsewhere_is_refused_when_freshness_is_over(bed: TestBed) {
    let (here, there) = (bed.open().await, bed.open().await);
    let (key, secret) = here.create_key(&bed.tenant, &READER).await.unwrap();
    assert!(here.authenticate(secret.reveal()).await.unwrap().is_some());
    there.revoke_key(&bed.tenant, &key.id).await.unwrap();
    assert_eq!(here.authenticate(secret.reveal()).await.unwrap(), None);
}

async fn keys_are_listed_without_their_secrets(bed: TestBed) {
    let store = bed.open().await;
    let (first, _) = store.create_key(&bed.tenant, &READER).await.unwrap();
    let (second, secret) = store.create_key(&bed.tenant, &READER).await.unwrap();
    store.revoke_key(&bed.tenant, &first.id).await.unwrap();
    let keys = store.list_keys(&bed.tenant).await.unwrap();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], second);
    assert!(keys[1].revoked_at.is_some());
    assert!(!format!("{keys:?}").contains(secret.reveal()));
}

async fn using_a_key_is_noted_at_most_once_a_minute(bed: TestBed) {
    let store = bed.open().await;
    let (key, _) = store.create_key(&bed.tenant, &READER).await.unwrap();
    store.touch_key(&key).await.unwrap();
    let once = store
        .list_keys(&bed.tenant)
        .await
        .unwrap()
        .remove(0)
        .last_used_at;
    assert!(once.is_some());
    store.touch_key(&key).await.unwrap();
    let twice = store
        .list_keys(&bed.tenant)
        .await
        .unwrap()
        .remove(0)
        .last_used_at;
    assert_eq!(once, twice);
}

async fn a_key_needs_a_scope_and_a_tenant(bed: TestBed) {
    let store = bed.open().await;
    let none = NewKey {
        scopes: &[],
        ..READER
    };
    let error = store.create_key(&bed.tenant, &none).await.unwrap_err();
    assert_eq!(error.code(), "value-invalid");
    let nobody = TenantId::new("nobody").unwrap();
    let error = store.create_key(&nobody, &READER).await.unwrap_err();
    assert_eq!(error.code(), "tenant-not-found");
}
