//! Virtual keys.

use std::time::Duration;

use futures_util::future::join_all;
use prowess_store::{
    KeyChange, KeyGranter, KeyScope, NewKey, StorageLimits, Store, StoreConfig, TenantId,
};

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
    a_rotated_key_has_a_new_secret_and_keeps_all_else,
    the_secret_before_a_rotation_is_accepted_for_a_while,
    a_revoked_or_expired_key_is_not_rotated,
    parallel_requests_do_not_create_more_keys_than_permitted,
    a_change_of_a_key_takes_effect_at_once,
}

const READER: NewKey<'static> = NewKey {
    name: "ci",
    scopes: &[KeyScope::Use, KeyScope::Read, KeyScope::Use],
    expires_in: None,
    auto: None,
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
    for auto in [None, Some(false), Some(true)] {
        let new = NewKey { auto, ..READER };
        let (made, secret) = store.create_key(&bed.tenant, &new).await.unwrap();
        let found = store.authenticate(secret.reveal()).await.unwrap().unwrap();
        assert_eq!((made.auto, found.auto), (auto, auto));
    }
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

const OPERATOR: KeyGranter<'static> = KeyGranter::Operator;

async fn a_rotated_key_has_a_new_secret_and_keeps_all_else(bed: TestBed) {
    let store = Store::open(&slow(&bed)).await.unwrap();
    let (key, old) = store.create_key(&bed.tenant, &READER).await.unwrap();
    assert!(store.authenticate(old.reveal()).await.unwrap().is_some());
    let rotated = store.rotate_key(Some(&bed.tenant), &key.id, Duration::ZERO, &OPERATOR);
    let (rotated, new) = rotated.await.unwrap();
    assert_eq!(store.authenticate(old.reveal()).await.unwrap(), None);
    let found = store.authenticate(new.reveal()).await.unwrap().unwrap();
    assert_eq!(found.id, key.id);
    assert_eq!(*found, rotated);
    assert_ne!(rotated.prefix, key.prefix);
    let other = TenantId::new("other").unwrap();
    let foreign = store.rotate_key(Some(&other), &key.id, Duration::ZERO, &OPERATOR);
    assert_eq!(foreign.await.unwrap_err().code(), "key-not-found");
}

async fn the_secret_before_a_rotation_is_accepted_for_a_while(bed: TestBed) {
    let store = bed.open().await;
    let (key, first) = store.create_key(&bed.tenant, &READER).await.unwrap();
    let opens = async |secret: &prowess_store::SecretKey| {
        let found = store.authenticate(secret.reveal()).await.unwrap();
        found.is_some()
    };
    let grace = Duration::from_secs(3_600);
    let rotated = store.rotate_key(None, &key.id, grace, &OPERATOR).await;
    let (rotated, second) = rotated.unwrap();
    assert!(opens(&first).await && opens(&second).await);
    let found = store.authenticate(first.reveal()).await.unwrap().unwrap();
    assert_eq!(found.id, key.id);
    assert_eq!(found.expires_at, rotated.previous_until);
    // Another rotation ends it.
    let rotated = store.rotate_key(None, &key.id, grace, &OPERATOR).await;
    let (_, third) = rotated.unwrap();
    assert!(!opens(&first).await && opens(&second).await && opens(&third).await);
    // Its time may be over, and revoking ends all.
    let past = "UPDATE keys SET previous_until = 1";
    crate::testbed::execute(&bed, past).await;
    assert!(!opens(&second).await && opens(&third).await);
    store.revoke_key(&bed.tenant, &key.id).await.unwrap();
    assert!(!opens(&second).await && !opens(&third).await);
}

async fn a_revoked_or_expired_key_is_not_rotated(bed: TestBed) {
    let store = bed.open().await;
    let (revoked, _) = store.create_key(&bed.tenant, &READER).await.unwrap();
    store.revoke_key(&bed.tenant, &revoked.id).await.unwrap();
    let brief = NewKey {
        expires_in: Some(Duration::ZERO),
        ..READER
    };
    let (expired, _) = store.create_key(&bed.tenant, &brief).await.unwrap();
    for (key, state) in [(revoked, "revoked"), (expired, "expired")] {
        let refused = store.rotate_key(None, &key.id, Duration::ZERO, &OPERATOR);
        let refused = refused.await.unwrap_err();
        assert_eq!(refused.code(), "key-inactive");
        assert!(refused.to_string().contains(state), "{refused}");
    }
}

async fn parallel_requests_do_not_create_more_keys_than_permitted(mut bed: TestBed) {
    bed.config.limits = StorageLimits {
        keys: Some(5),
        ..StorageLimits::default()
    };
    let (one, other) = (bed.open().await, bed.open().await);
    let create = |number: usize| {
        let store = if number.is_multiple_of(2) {
            &one
        } else {
            &other
        };
        let (store, tenant) = (store.clone(), bed.tenant.clone());
        tokio::spawn(async move { store.create_key(&tenant, &READER).await })
    };
    let mut created = Vec::new();
    for outcome in join_all((0..20).map(create)).await {
        match outcome.unwrap() {
            Ok((key, _)) => created.push(key),
            Err(error) => assert_eq!(error.code(), "storage-quota-exceeded", "{error}"),
        }
    }
    assert_eq!(created.len(), 5);
    assert_eq!(one.list_keys(&bed.tenant).await.unwrap().len(), 5);
    one.revoke_key(&bed.tenant, &created[0].id).await.unwrap();
    one.create_key(&bed.tenant, &READER).await.unwrap();
}

async fn a_change_of_a_key_takes_effect_at_once(bed: TestBed) {
    let store = Store::open(&slow(&bed)).await.unwrap();
    let (key, secret) = store.create_key(&bed.tenant, &READER).await.unwrap();
    assert!(store.authenticate(secret.reveal()).await.unwrap().is_some());
    let change = KeyChange {
        name: Some("renamed".to_owned()),
        scopes: Some(vec![KeyScope::Publish]),
        models: Some(vec!["small".to_owned()]),
        tokens_per_minute: Some(Some(9)),
        auto: Some(Some(false)),
        ..KeyChange::default()
    };
    let changed = store
        .update_key(None, &key.prefix, &change, &OPERATOR)
        .await;
    let changed = changed.unwrap();
    let found = store.authenticate(secret.reveal()).await.unwrap().unwrap();
    assert_eq!(*found, changed);
    assert_eq!(found.name, "renamed");
    assert!(!found.allows(KeyScope::Read) && found.limits.allows_model("small"));
    for bad in ["", "two\nlines"] {
        let change = KeyChange {
            name: Some(bad.to_owned()),
            ..KeyChange::default()
        };
        let refused = store.update_key(None, &key.id, &change, &OPERATOR).await;
        assert_eq!(refused.unwrap_err().code(), "value-invalid");
    }
    assert_eq!(store.key(None, &key.id).await.unwrap(), changed);
}
