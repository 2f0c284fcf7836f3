//! Console sessions.

use std::time::Duration;

use prowess_store::{
    ConsoleHolder, ConsoleSessionHolder, KeyGranter, KeyScope, NewKey, Store, TenantId,
};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_session_has_its_key_until_it_ends,
    a_session_ends_with_the_secret_that_began_it,
    an_operators_session_has_what_binds_it,
    a_key_with_too_many_sessions_loses_its_oldest_one,
    sessions_whose_time_is_over_are_collected,
}

const HOUR: Duration = Duration::from_secs(3_600);
const NEW: NewKey<'static> = NewKey {
    name: "ada",
    scopes: &[KeyScope::Read],
    expires_in: None,
    auto: None,
};

/// The key that a session has.
async fn key_of(store: &Store, token: &str) -> Option<String> {
    match store.console_session(token).await.unwrap() {
        Some(ConsoleSessionHolder::Key(key)) => Some(key.id.clone()),
        Some(ConsoleSessionHolder::Operator { .. }) | None => None,
    }
}

/// Begins a session with a new key; returns the key's id.
async fn begin(bed: &TestBed, store: &Store, token: &str, life: Duration) -> String {
    let (record, secret) = store.create_key(&bed.tenant, &NEW).await.unwrap();
    let holder = ConsoleHolder::Key {
        record: &record,
        presented: secret.reveal(),
    };
    let began = store.begin_console_session(token, &holder, life).await;
    began.unwrap();
    record.id
}

async fn a_session_has_its_key_until_it_ends(bed: TestBed) {
    let store = bed.open().await;
    let key = begin(&bed, &store, "one", HOUR).await;
    let other = begin(&bed, &store, "other", HOUR).await;
    assert_eq!(key_of(&store, "one").await, Some(key));
    assert_eq!(key_of(&store, "none").await, None);
    store.end_console_session("one").await.unwrap();
    store.end_console_session("one").await.unwrap();
    assert_eq!(key_of(&store, "one").await, None);
    assert_eq!(key_of(&store, "other").await, Some(other));
    begin(&bed, &store, "short", Duration::ZERO).await;
    assert_eq!(key_of(&store, "short").await, None);
}

async fn a_session_ends_with_the_secret_that_began_it(bed: TestBed) {
    let store = bed.open().await;
    let key = begin(&bed, &store, "revoked", HOUR).await;
    store.revoke_key(&bed.tenant, &key).await.unwrap();
    assert_eq!(key_of(&store, "revoked").await, None);

    let key = begin(&bed, &store, "rotated", HOUR).await;
    let rotate = |grace| store.rotate_key(Some(&bed.tenant), &key, grace, &KeyGranter::Operator);
    rotate(HOUR).await.unwrap();
    assert_eq!(key_of(&store, "rotated").await, Some(key.clone()), "grace");
    rotate(HOUR).await.unwrap();
    assert_eq!(key_of(&store, "rotated").await, None, "an older secret");

    let key = begin(&bed, &store, "at once", HOUR).await;
    let grace = Duration::ZERO;
    let rotated = store.rotate_key(Some(&bed.tenant), &key, grace, &KeyGranter::Operator);
    rotated.await.unwrap();
    assert_eq!(key_of(&store, "at once").await, None);
}

async fn an_operators_session_has_what_binds_it(bed: TestBed) {
    let store = bed.open().await;
    let tenant = TenantId::new("other").unwrap();
    let holder = ConsoleHolder::Operator {
        tenant: &tenant,
        binding: "digest",
    };
    let began = store.begin_console_session("one", &holder, HOUR).await;
    began.unwrap();
    let found = store.console_session("one").await.unwrap().unwrap();
    let ConsoleSessionHolder::Operator {
        tenant: own,
        binding,
    } = found
    else {
        panic!("{found:?}");
    };
    assert_eq!((own, binding.as_str()), (tenant, "digest"));
}

async fn a_key_with_too_many_sessions_loses_its_oldest_one(bed: TestBed) {
    let store = bed.open().await;
    let other = begin(&bed, &store, "other", HOUR).await;
    let (record, secret) = store.create_key(&bed.tenant, &NEW).await.unwrap();
    let holder = ConsoleHolder::Key {
        record: &record,
        presented: secret.reveal(),
    };
    for number in 0..=100 {
        let token = format!("own {number}");
        let began = store.begin_console_session(&token, &holder, HOUR).await;
        began.unwrap();
    }
    assert_eq!(key_of(&store, "own 0").await, None);
    for token in ["own 1", "own 100"] {
        assert_eq!(key_of(&store, token).await, Some(record.id.clone()));
    }
    assert_eq!(key_of(&store, "other").await, Some(other));
}

async fn sessions_whose_time_is_over_are_collected(bed: TestBed) {
    let store = bed.open().await;
    begin(&bed, &store, "short", Duration::ZERO).await;
    let key = begin(&bed, &store, "long", HOUR).await;
    let tenant = &bed.tenant;
    let again = ConsoleHolder::Operator {
        tenant,
        binding: "digest",
    };
    let taken = store.begin_console_session("short", &again, HOUR).await;
    assert!(taken.is_err(), "its row is still there");
    store.collect_garbage(HOUR).await.unwrap();
    assert_eq!(key_of(&store, "long").await, Some(key));
    let free = store.begin_console_session("short", &again, HOUR).await;
    free.unwrap();
}
