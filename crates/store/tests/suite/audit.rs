//! The audit log: what is in it, and that it only grows.

use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use prowess_store::{
    AuditAction, AuditActor, AuditEvent, AuditFilter, AuditOrigin, AuditOutcome, KeyChange,
    KeyGranter, KeyScope, NewAuditEvent, NewFile, NewKey, PagePosition, PageRequest,
    SkillDeleteRule, SortOrder, Store, TenantId, Timestamp, VersionSelector,
};

use crate::testbed::{TestBed, on_both_databases, try_execute};

on_both_databases! {
    every_change_has_an_entry_with_what_was_before_and_after,
    a_change_that_fails_leaves_no_entry,
    entries_are_found_by_time_actor_action_and_object,
    entries_cannot_be_changed_or_deleted,
    entries_older_than_the_retention_are_deleted,
    a_store_without_an_origin_writes_no_entries,
    deleting_files_counts_and_needs_no_space_and_revoking_keys_does_not_count,
    an_entry_of_its_own_counts_if_a_key_has_made_such_a_change,
}

const CI: NewKey<'static> = NewKey {
    name: "ci",
    scopes: &[KeyScope::Use],
    expires_in: None,
    auto: None,
};

fn origin(actor: AuditActor) -> AuditOrigin {
    let peer = Some("192.0.2.7".to_owned());
    AuditOrigin::of_request(actor, peer, "req_1".to_owned(), Some("curl/8"))
}

async fn audited(bed: &TestBed) -> Store {
    bed.open().await.audited(origin(AuditActor::Master))
}

/// All entries that match, oldest first.
async fn entries(store: &Store, filter: &AuditFilter<'_>) -> Vec<AuditEvent> {
    let mut request = PageRequest {
        limit: 2,
        order: SortOrder::Ascending,
        from: PagePosition::Start,
    };
    let mut all = Vec::new();
    loop {
        let page = store.audit_events(filter, &request).await.unwrap();
        all.extend(page.items);
        match page.next {
            Some(cursor) => request.from = PagePosition::After(cursor),
            None => return all,
        }
    }
}

const EXPECTED: &str = r#"master key.create ok
  before -
  after  {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":null,"requests_per_minute":null,"scopes":["use"],"state":"valid","tokens_per_minute":null}
master key.update ok
  before {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":null,"requests_per_minute":null,"scopes":["use"],"state":"valid","tokens_per_minute":null}
  after  {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":null,"requests_per_minute":60,"scopes":["use"],"state":"valid","tokens_per_minute":null}
master key.rotate ok
  before {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":null,"requests_per_minute":60,"scopes":["use"],"state":"valid","tokens_per_minute":null}
  after  {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":"TIME","requests_per_minute":60,"scopes":["use"],"state":"valid","tokens_per_minute":null}
master key.revoke ok
  before {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":"TIME","requests_per_minute":60,"scopes":["use"],"state":"valid","tokens_per_minute":null}
  after  {"auto":null,"budget":null,"expires_at":null,"models":[],"name":"ci","previous_until":null,"requests_per_minute":60,"scopes":["use"],"state":"revoked","tokens_per_minute":null}
master skill.create ok
  before -
  after  {"is_default":true,"name":"one","version":1}
master version.create ok
  before -
  after  {"is_default":false,"name":"one","version":2}
master skill.set_default ok
  before {"default_version":1}
  after  {"default_version":2}
master skill.delete ok
  before {"name":"one","versions":2}
  after  -
"#;

/// Each entry in one line, with its state before and after.
fn lines(entries: &[AuditEvent]) -> String {
    let line = |entry: &AuditEvent| {
        let state = |state: &Option<serde_json::Value>| match state {
            None => "-".to_owned(),
            Some(state) => {
                let mut state = state.clone();
                let fields = state.as_object_mut().unwrap();
                for unstable in [
                    "prefix",
                    "digest",
                    "skill",
                    "version_id",
                    "default_version_id",
                ] {
                    fields.remove(unstable);
                }
                for time in ["expires_at", "previous_until"] {
                    if fields.get(time).is_some_and(|time| !time.is_null()) {
                        fields.insert(time.to_owned(), "TIME".into());
                    }
                }
                // Sorted, whatever order objects have in this build.
                let fields: BTreeMap<_, _> = fields.iter().collect();
                serde_json::to_string(&fields).unwrap()
            }
        };
        let (before, after) = (state(&entry.before), state(&entry.after));
        let actor = &entry.actor_kind;
        let (action, outcome) = (&entry.action, &entry.outcome);
        format!("{actor} {action} {outcome}\n  before {before}\n  after  {after}\n")
    };
    entries.iter().map(line).collect()
}

async fn every_change_has_an_entry_with_what_was_before_and_after(bed: TestBed) {
    let store = audited(&bed).await;
    let (key, secret) = store.create_key(&bed.tenant, &CI).await.unwrap();
    let change = KeyChange {
        requests_per_minute: Some(Some(60)),
        ..KeyChange::default()
    };
    let granter = KeyGranter::Operator;
    let changed = store.update_key(None, &key.id, &change, &granter).await;
    changed.unwrap();
    // What changes nothing has no entry.
    let changed = store.update_key(None, &key.id, &change, &granter).await;
    changed.unwrap();
    let grace = Duration::from_secs(60);
    let rotated = store.rotate_key(None, &key.id, grace, &granter).await;
    let (_, rotated) = rotated.unwrap();
    store.revoke_key(&bed.tenant, &key.id).await.unwrap();
    store.revoke_key(&bed.tenant, &key.id).await.unwrap();

    let skill = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &skill, "second").await;
    let second = VersionSelector::parse("2").unwrap();
    let set = store.set_default_version(&bed.tenant, &skill, &second);
    set.await.unwrap();
    let deleted = store.delete_skill(&bed.tenant, &skill, SkillDeleteRule::Cascade);
    deleted.await.unwrap();

    let entries = entries(&store, &AuditFilter::default()).await;
    assert_eq!(lines(&entries), EXPECTED);
    let first = &entries[0];
    assert_eq!(first.object.as_deref(), Some(key.id.as_str()));
    assert_eq!(first.peer.as_deref(), Some("192.0.2.7"));
    assert_eq!(first.request.as_deref(), Some("req_1"));
    assert_eq!(first.user_agent.as_deref(), Some("curl/8"));
    let all = format!("{entries:?}");
    for secret in [&secret, &rotated] {
        let (_, random) = secret.reveal().rsplit_once('-').unwrap();
        assert!(!all.contains(random), "a secret is in the log");
    }
}

async fn a_change_that_fails_leaves_no_entry(bed: TestBed) {
    let store = audited(&bed).await;
    let unknown = TenantId::new("nobody").unwrap();
    store.create_key(&unknown, &CI).await.unwrap_err();
    let gone = store.delete_skill(&bed.tenant, "skill_0", SkillDeleteRule::Cascade);
    gone.await.unwrap_err();
    assert_eq!(entries(&store, &AuditFilter::default()).await, []);
}

async fn entries_are_found_by_time_actor_action_and_object(bed: TestBed) {
    let store = audited(&bed).await;
    let (admin, _) = store.create_key(&bed.tenant, &CI).await.unwrap();
    let between = Timestamp::now().after(Duration::from_micros(1));
    while Timestamp::now() <= between {
        std::hint::spin_loop();
    }
    let by_key = store.audited(origin(AuditActor::from_key(&admin)));
    let skill = bed.create(&by_key, "one").await.skill.id;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    store.create_key(&other, &CI).await.unwrap();
    let refused = NewAuditEvent {
        tenant: &other,
        action: AuditAction::KeyRevoke,
        object: Some("key_theirs"),
        outcome: AuditOutcome::Refused("key-scope".to_owned()),
    };
    let loopback = origin(AuditActor::Loopback);
    let written = store.record_audit_event(&loopback, &refused).await;
    written.unwrap();

    let all = AuditFilter::default();
    let actions = async |filter: AuditFilter<'_>| {
        let found = entries(&store, &filter).await.into_iter();
        found.map(|entry| entry.action).collect::<Vec<_>>()
    };
    let every = ["key.create", "skill.create", "key.create", "key.revoke"];
    assert_eq!(actions(all.clone()).await, every);
    let since = AuditFilter {
        since: Some(between),
        ..all.clone()
    };
    assert_eq!(actions(since).await, &every[1..]);
    let until = AuditFilter {
        until: Some(between),
        ..all.clone()
    };
    assert_eq!(actions(until).await, &every[..1]);
    for actor in [admin.id.as_str(), "ci", "key"] {
        let by = AuditFilter {
            actor: Some(actor),
            ..all.clone()
        };
        assert_eq!(actions(by).await, ["skill.create"], "{actor}");
    }
    for (action, found) in [
        ("key.create", 2),
        ("key", 3),
        ("ke", 0),
        ("skill", 1),
        ("%", 0),
        ("key.", 0),
    ] {
        let about = AuditFilter {
            action: Some(action),
            ..all.clone()
        };
        assert_eq!(actions(about).await.len(), found, "{action}");
    }
    let object = AuditFilter {
        object: Some(&skill),
        ..all.clone()
    };
    assert_eq!(actions(object).await, ["skill.create"]);
    let tenant = AuditFilter {
        tenant: Some(&other),
        ..all
    };
    assert_eq!(actions(tenant).await, ["key.create", "key.revoke"]);
}

async fn entries_cannot_be_changed_or_deleted(bed: TestBed) {
    let store = audited(&bed).await;
    store.create_key(&bed.tenant, &CI).await.unwrap();
    let before = entries(&store, &AuditFilter::default()).await;
    let mut attempts = vec![
        "UPDATE audit_log SET outcome = 'refused'",
        "DELETE FROM audit_log",
    ];
    if bed.config.database != "sqlite" {
        attempts.push("TRUNCATE audit_log");
    }
    for attempt in attempts {
        let refused = try_execute(&bed, attempt).await.unwrap_err().to_string();
        assert!(refused.contains("append-only"), "{attempt}: {refused}");
    }
    store.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(entries(&store, &AuditFilter::default()).await, before);
    assert_eq!(before.len(), 1);
}

async fn entries_older_than_the_retention_are_deleted(mut bed: TestBed) {
    let store = audited(&bed).await;
    store.create_key(&bed.tenant, &CI).await.unwrap();
    bed.config.audit_retention = Some(Duration::from_secs(3_600));
    let long = bed.open().await;
    long.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(entries(&store, &AuditFilter::default()).await.len(), 1);
    bed.config.audit_retention = Some(Duration::ZERO);
    let short = bed.open().await;
    short.collect_garbage(Duration::ZERO).await.unwrap();
    assert_eq!(entries(&store, &AuditFilter::default()).await, []);
    // The log still takes entries, and still refuses to lose them.
    store.create_key(&bed.tenant, &CI).await.unwrap();
    let refused = try_execute(&bed, "DELETE FROM audit_log").await;
    assert!(refused.unwrap_err().to_string().contains("append-only"));
}

async fn a_store_without_an_origin_writes_no_entries(bed: TestBed) {
    let store = bed.open().await;
    store.create_key(&bed.tenant, &CI).await.unwrap();
    assert_eq!(entries(&store, &AuditFilter::default()).await, []);
}

/// A file of the test's tenant.
async fn file(bed: &TestBed, store: &Store) -> String {
    let new = NewFile {
        name: "notes.txt",
        mime: "text/plain",
        purpose: "user_data",
        scope: None,
        downloadable: true,
        expires_in: None,
        limit: 1_000,
    };
    let content = stream::iter([Ok::<_, io::Error>(Bytes::from_static(b"notes"))]);
    let made = store.create_file(&bed.tenant, &new, content).await;
    made.unwrap().id
}

async fn deleting_files_counts_and_needs_no_space_and_revoking_keys_does_not_count(
    mut bed: TestBed,
) {
    let store = bed.open().await;
    let (first, second) = (file(&bed, &store).await, file(&bed, &store).await);
    let (key, _) = store.create_key(&bed.tenant, &CI).await.unwrap();
    // No file system has that much.
    bed.config.reserve_bytes = u64::MAX;
    bed.config.changes_per_hour = 1;
    let by_key = bed.open().await;
    let by_key = by_key.audited(origin(AuditActor::from_key(&key)));
    let full = by_key.create_key(&bed.tenant, &CI).await.unwrap_err();
    assert_eq!(full.code(), "storage-full");
    by_key.delete_file(&bed.tenant, &first).await.unwrap();
    let refused = by_key.delete_file(&bed.tenant, &second).await;
    assert_eq!(refused.unwrap_err().code(), "too-many-changes");
    store.file(&bed.tenant, &second).await.unwrap();
    by_key.revoke_key(&bed.tenant, &key.id).await.unwrap();
    let all = entries(&store, &AuditFilter::default()).await;
    let actions: Vec<_> = all.iter().map(|entry| entry.action.as_str()).collect();
    assert_eq!(actions, ["file.delete", "key.revoke"]);
}

async fn an_entry_of_its_own_counts_if_a_key_has_made_such_a_change(mut bed: TestBed) {
    bed.config.changes_per_hour = 2;
    let store = bed.open().await;
    let (key, _) = store.create_key(&bed.tenant, &CI).await.unwrap();
    let master = origin(AuditActor::Master);
    let by_key = origin(AuditActor::from_key(&key));
    let event = |action, outcome| NewAuditEvent {
        tenant: &bed.tenant,
        action,
        object: None,
        outcome,
    };
    let refused = AuditOutcome::Refused("key-scope".to_owned());
    let delete = AuditAction::ConversationDelete;
    let done = AuditOutcome::Done;
    for (origin, event) in [
        (&master, event(delete, done.clone())),
        (&by_key, event(delete, refused)),
        (&by_key, event(AuditAction::LabelDelete, done.clone())),
        (&by_key, event(delete, done.clone())),
    ] {
        store.record_audit_event(origin, &event).await.unwrap();
        store.check_changes(&bed.tenant).unwrap();
    }
    let event = event(AuditAction::ResponseDelete, done);
    store.record_audit_event(&by_key, &event).await.unwrap();
    let refused = store.check_changes(&bed.tenant).unwrap_err();
    assert_eq!(refused.code(), "too-many-changes");
}
