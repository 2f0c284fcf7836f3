//! Labels, notes and revoked versions.

use prowess_store::{
    AuditActor, AuditFilter, AuditOrigin, LabelName, NewRevocation, NewVersion, PageRequest,
    SkillDeleteRule, Store, TenantId, UnchangedRule, UploadOutcome, VersionDeleteRule,
    VersionSelector,
};

use crate::testbed::{TestBed, on_both_databases, skill};

on_both_databases! {
    a_label_points_to_one_version_and_moves,
    a_label_that_does_not_exist_is_reported_with_those_that_do,
    a_skill_has_a_bounded_number_of_labels,
    labels_of_others_are_not_found,
    notes_are_set_at_upload_and_later,
    nothing_leads_to_a_revoked_version_until_it_is_restored,
    what_points_to_a_version_moves_when_it_is_revoked,
    the_last_version_can_be_revoked_and_another_upload_replaces_it,
    a_revoked_version_is_not_found_by_searching,
    a_labelled_version_is_not_deleted,
    another_server_sees_labels_and_revocations,
    each_change_is_in_the_audit_log,
}

fn select(text: &str) -> VersionSelector {
    VersionSelector::parse(text).unwrap()
}

fn label(text: &str) -> LabelName {
    LabelName::parse(text).unwrap()
}

fn because(reason: &str) -> NewRevocation<'_> {
    NewRevocation {
        reason,
        move_to: None,
        locked_labels: &[],
    }
}

/// A skill with so many versions.
async fn skill_with(bed: &TestBed, store: &Store, versions: usize) -> String {
    let id = bed.create(store, "one").await.skill.id;
    for number in 1..versions {
        bed.update(store, &id, &format!("text {number}")).await;
    }
    id
}

async fn resolved(bed: &TestBed, store: &Store, id: &str, version: &str) -> Result<i64, String> {
    let found = store.resolve(&bed.tenant, id, &select(version)).await;
    let found = found.map_err(|error| error.code().to_owned())?;
    Ok(found.detail.version.ordinal)
}

async fn a_label_points_to_one_version_and_moves(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 3).await;
    let production = label("production");
    for (version, ordinal) in [("1", 1), ("latest", 3), ("2", 2)] {
        let set = store
            .set_label(&bed.tenant, &id, &production, &select(version))
            .await;
        let set = set.unwrap();
        assert_eq!((set.name.as_str(), set.ordinal), ("production", ordinal));
        assert_eq!(resolved(&bed, &store, &id, "production").await, Ok(ordinal));
        let labels = store.labels_of_skill(&bed.tenant, &id).await.unwrap();
        assert_eq!(labels, [set]);
    }
    // Another label stands for the version that it points to.
    let staging = store
        .set_label(&bed.tenant, &id, &label("staging"), &select("3"))
        .await;
    staging.unwrap();
    let promoted = store
        .set_label(&bed.tenant, &id, &production, &select("staging"))
        .await;
    assert_eq!(promoted.unwrap().ordinal, 3);
    let labels = store.skill_labels(&bed.tenant, &[&id]).await.unwrap();
    let names = labels[&id].iter().map(|label| label.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["production", "staging"]);
    store
        .delete_label(&bed.tenant, &id, &label("staging"))
        .await
        .unwrap();
    let gone = resolved(&bed, &store, &id, "staging").await;
    assert_eq!(gone.unwrap_err(), "skill-label-not-found");
    let deleted = store.delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade);
    deleted.await.unwrap();
    assert!(
        store
            .skill_labels(&bed.tenant, &[&id])
            .await
            .unwrap()
            .is_empty()
    );
}

async fn a_label_that_does_not_exist_is_reported_with_those_that_do(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 1).await;
    let missing = async || {
        let found = store.resolve(&bed.tenant, &id, &select("canary")).await;
        found.unwrap_err().to_string().replace(&id, "ID")
    };
    assert_eq!(
        missing().await,
        "skill `ID` has no label `canary`; it has none: name a version, or set the label first"
    );
    for name in ["staging", "production"] {
        let set = store
            .set_label(&bed.tenant, &id, &label(name), &select("1"))
            .await;
        set.unwrap();
    }
    assert_eq!(
        missing().await,
        "skill `ID` has no label `canary`; its labels are production, staging"
    );
    let deleted = store.delete_label(&bed.tenant, &id, &label("canary")).await;
    assert_eq!(deleted.unwrap_err().code(), "skill-label-not-found");
    let target = store
        .set_label(&bed.tenant, &id, &label("canary"), &select("9"))
        .await;
    assert_eq!(target.unwrap_err().code(), "skill-version-not-found");
}

async fn a_skill_has_a_bounded_number_of_labels(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 1).await;
    let set = async |number: usize| {
        let name = label(&format!("label-{number}"));
        let set = store.set_label(&bed.tenant, &id, &name, &select("1")).await;
        set.map(drop).map_err(|error| error.code())
    };
    for number in 0..50 {
        assert_eq!(set(number).await, Ok(()));
    }
    assert_eq!(set(50).await, Err("too-many-labels"));
    assert_eq!(set(7).await, Ok(()), "one that exists is moved");
}

async fn labels_of_others_are_not_found(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 2).await;
    let set = store
        .set_label(&bed.tenant, &id, &label("production"), &select("1"))
        .await;
    set.unwrap();
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let name = label("production");
    let version = select("1");
    let codes = [
        store.labels_of_skill(&other, &id).await.map(drop),
        store
            .set_label(&other, &id, &name, &version)
            .await
            .map(drop),
        store.delete_label(&other, &id, &name).await.map(drop),
        store
            .set_version_notes(&other, &id, &version, Some("x"))
            .await
            .map(drop),
        store
            .revoke_version(&other, &id, &version, &because("x"))
            .await
            .map(drop),
        store.restore_version(&other, &id, &version).await.map(drop),
        store
            .resolve_for_reading(&other, &id, &version)
            .await
            .map(drop),
    ];
    for result in codes {
        assert_eq!(result.unwrap_err().code(), "skill-not-found");
    }
    assert!(store.skill_labels(&other, &[&id]).await.unwrap().is_empty());
    assert_eq!(resolved(&bed, &store, &id, "production").await, Ok(1));
}

async fn notes_are_set_at_upload_and_later(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 1).await;
    let upload = skill("one", "second");
    let new = NewVersion {
        notes: Some("  Fills in dates.\nSee #7.  "),
        ..NewVersion::from_skill(&upload)
    };
    let made = store.create_version(&bed.tenant, &id, &new).await.unwrap();
    let noted = store.version(&bed.tenant, &id, &select("2")).await.unwrap();
    assert_eq!(noted.notes.as_deref(), Some("Fills in dates.\nSee #7."));
    assert_eq!(noted, made.version);
    let set = async |notes: Option<&str>| {
        let set = store
            .set_version_notes(&bed.tenant, &id, &select("1"), notes)
            .await;
        set.map(|version| version.notes)
    };
    assert_eq!(
        set(Some("First.")).await.unwrap().as_deref(),
        Some("First.")
    );
    let page = PageRequest::default();
    let listed = store.list_versions(&bed.tenant, &id, &page).await.unwrap();
    let notes: Vec<_> = listed.items.iter().map(|v| v.notes.as_deref()).collect();
    assert_eq!(notes, [Some("Fills in dates.\nSee #7."), Some("First.")]);
    assert_eq!(set(None).await.unwrap(), None);
    for wrong in ["x".repeat(4_001), "\u{1b}[31m".to_owned()] {
        assert_eq!(set(Some(&wrong)).await.unwrap_err().code(), "value-invalid");
        let new = NewVersion {
            notes: Some(&wrong),
            ..NewVersion::from_skill(&upload)
        };
        let refused = store.create_version(&bed.tenant, &id, &new).await;
        assert_eq!(refused.unwrap_err().code(), "value-invalid");
    }
}

async fn nothing_leads_to_a_revoked_version_until_it_is_restored(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 3).await;
    let pinned = store.version(&bed.tenant, &id, &select("3")).await.unwrap();
    assert_eq!(resolved(&bed, &store, &id, "latest").await, Ok(3));
    let revoked = store
        .revoke_version(&bed.tenant, &id, &select("3"), &because("it deletes files"))
        .await
        .unwrap();
    assert_eq!(revoked.revoked.unwrap().reason, "it deletes files");
    assert_eq!(resolved(&bed, &store, &id, "latest").await, Ok(2));
    let latest = store.resolve_latest(&bed.tenant, &[&id]).await.unwrap();
    assert_eq!(latest[&id].detail.version.ordinal, 2);
    for version in [pinned.id.clone(), "3".to_owned(), pinned.number.to_string()] {
        let error = store
            .resolve(&bed.tenant, &id, &select(&version))
            .await
            .unwrap_err();
        assert_eq!(error.code(), "skill-version-revoked");
        let text = error.to_string().replace(&id, "ID");
        let expected = "version 3 of skill `one` (ID) is revoked: it deletes files; use another \
            version, or have it restored; a container that was created with it cannot be continued";
        assert_eq!(text, expected);
    }
    // It can be read, but neither be the default nor get a label.
    let read = store.version(&bed.tenant, &id, &select("3")).await.unwrap();
    assert!(read.revoked.is_some());
    let detail = store
        .resolve_for_reading(&bed.tenant, &id, &select("3"))
        .await;
    assert_eq!(detail.unwrap().detail.version.ordinal, 3);
    let default = store
        .set_default_version(&bed.tenant, &id, &select("3"))
        .await;
    assert_eq!(default.unwrap_err().code(), "skill-version-revoked");
    let labelled = store
        .set_label(&bed.tenant, &id, &label("staging"), &select("3"))
        .await;
    assert_eq!(labelled.unwrap_err().code(), "skill-version-revoked");
    // The same files are a new version: the latest one has others.
    let upload = skill("one", "text 2");
    let new = NewVersion {
        unchanged: UnchangedRule::KeepLatest,
        ..NewVersion::from_skill(&upload)
    };
    let made = store.create_version(&bed.tenant, &id, &new).await.unwrap();
    assert_eq!(
        (made.outcome, made.version.ordinal),
        (UploadOutcome::Created, 4)
    );
    let rule = VersionDeleteRule::ANTHROPIC;
    let deleted = store
        .delete_version(&bed.tenant, &id, &select("4"), rule)
        .await;
    deleted.unwrap();
    assert_eq!(resolved(&bed, &store, &id, "latest").await, Ok(2));

    let restored = store.restore_version(&bed.tenant, &id, &select("3")).await;
    assert_eq!(restored.unwrap().revoked, None);
    assert_eq!(resolved(&bed, &store, &id, "latest").await, Ok(3));
    assert_eq!(resolved(&bed, &store, &id, &pinned.id).await, Ok(3));
    let again = store.restore_version(&bed.tenant, &id, &select("3")).await;
    assert_eq!(again.unwrap().revoked, None);
}

async fn what_points_to_a_version_moves_when_it_is_revoked(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 3).await;
    for name in ["production", "staging"] {
        let set = store
            .set_label(&bed.tenant, &id, &label(name), &select("1"))
            .await;
        set.unwrap();
    }
    let revoke = async |move_to: Option<&VersionSelector>, locked: &[String]| {
        let new = NewRevocation {
            reason: "broken",
            move_to,
            locked_labels: locked,
        };
        let revoked = store
            .revoke_version(&bed.tenant, &id, &select("1"), &new)
            .await;
        revoked.map_err(|error| error.to_string().replace(&id, "ID"))
    };
    let refused = revoke(None, &[]).await.unwrap_err();
    assert_eq!(
        refused,
        "version 1 of skill `ID` is in use by the default, label `production` and label \
         `staging`; move them to another version first, or say with `move_to` which one; a label \
         may also be deleted"
    );
    let locked = ["production".to_owned()];
    let refused = revoke(Some(&select("2")), &locked).await.unwrap_err();
    assert!(
        refused.contains("label `production` of skill `ID` is protected"),
        "{refused}"
    );
    for (target, expected) in [("1", "name another one"), ("7", "has no version `7`")] {
        let refused = revoke(Some(&select(target)), &[]).await.unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
    assert_eq!(
        resolved(&bed, &store, &id, "production").await,
        Ok(1),
        "nothing has changed"
    );
    revoke(Some(&select("2")), &[]).await.unwrap();
    for (name, ordinal) in [
        ("production", 2),
        ("staging", 2),
        ("default", 2),
        ("latest", 3),
    ] {
        assert_eq!(
            resolved(&bed, &store, &id, name).await,
            Ok(ordinal),
            "{name}"
        );
    }
    // A reason can be replaced; nothing points to it any more.
    let again = revoke(None, &[]).await.unwrap();
    assert_eq!(again.revoked.unwrap().reason, "broken");
}

async fn the_last_version_can_be_revoked_and_another_upload_replaces_it(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 2).await;
    let revoke = async |version: &str| {
        let revoked = store
            .revoke_version(&bed.tenant, &id, &select(version), &because("bad"))
            .await;
        revoked.map(drop).map_err(|error| error.code())
    };
    assert_eq!(revoke("2").await, Ok(()));
    assert_eq!(
        revoke("1").await,
        Ok(()),
        "no other version could be the default"
    );
    let found = store.skill(&bed.tenant, &id).await.unwrap();
    assert!(found.default.unwrap().is_revoked && found.latest.unwrap().is_revoked);
    for version in ["latest", "default", "1"] {
        let refused = resolved(&bed, &store, &id, version).await;
        assert_eq!(refused.unwrap_err(), "skill-version-revoked", "{version}");
    }
    assert!(
        store
            .resolve_latest(&bed.tenant, &[&id])
            .await
            .unwrap()
            .is_empty()
    );
    bed.update(&store, &id, "repaired").await;
    for version in ["latest", "default"] {
        assert_eq!(
            resolved(&bed, &store, &id, version).await,
            Ok(3),
            "{version}"
        );
    }
}

async fn a_revoked_version_is_not_found_by_searching(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "a walrus").await;
    let hits = async |query: &str| {
        let routed = store.route_skills(&bed.tenant, query, 10).await.unwrap();
        routed.len()
    };
    assert_eq!((hits("walrus").await, hits("thing").await), (1, 1));
    let revoke = async |version: &str| {
        let revoked = store
            .revoke_version(&bed.tenant, &id, &select(version), &because("bad"))
            .await;
        revoked.unwrap();
    };
    revoke("2").await;
    assert_eq!((hits("walrus").await, hits("thing").await), (0, 1));
    revoke("1").await;
    assert_eq!(hits("thing").await, 0);
    let restored = store.restore_version(&bed.tenant, &id, &select("2")).await;
    restored.unwrap();
    assert_eq!((hits("walrus").await, hits("thing").await), (1, 1));
}

async fn a_labelled_version_is_not_deleted(bed: TestBed) {
    let store = bed.open().await;
    let id = skill_with(&bed, &store, 2).await;
    let set = store
        .set_label(&bed.tenant, &id, &label("production"), &select("2"))
        .await;
    set.unwrap();
    for rule in [
        VersionDeleteRule::ANTHROPIC,
        VersionDeleteRule::ANTHROPIC_BETA,
        VersionDeleteRule::OPENAI,
    ] {
        let deleted = store
            .delete_version(&bed.tenant, &id, &select("2"), rule)
            .await;
        let error = deleted.unwrap_err();
        assert_eq!(error.code(), "version-in-use", "{error}");
    }
    assert_eq!(resolved(&bed, &store, &id, "production").await, Ok(2));
}

async fn another_server_sees_labels_and_revocations(bed: TestBed) {
    let (store, other) = (bed.open().await, bed.open().await);
    let id = skill_with(&bed, &store, 2).await;
    let set = store
        .set_label(&bed.tenant, &id, &label("production"), &select("2"))
        .await;
    set.unwrap();
    assert_eq!(resolved(&bed, &other, &id, "production").await, Ok(2));
    let target = select("1");
    let new = NewRevocation {
        move_to: Some(&target),
        ..because("bad")
    };
    let revoked = store
        .revoke_version(&bed.tenant, &id, &select("2"), &new)
        .await;
    revoked.unwrap();
    assert_eq!(resolved(&bed, &other, &id, "production").await, Ok(1));
    let refused = resolved(&bed, &other, &id, "2").await;
    assert_eq!(refused.unwrap_err(), "skill-version-revoked");
}

async fn each_change_is_in_the_audit_log(bed: TestBed) {
    let peer = Some("192.0.2.7".to_owned());
    let origin = AuditOrigin::of_request(AuditActor::Master, peer, "req_1".to_owned(), None);
    let store = bed.open().await.audited(origin);
    let id = skill_with(&bed, &store, 2).await;
    let production = label("production");
    for version in ["1", "2"] {
        let set = store
            .set_label(&bed.tenant, &id, &production, &select(version))
            .await;
        set.unwrap();
    }
    let noted = store
        .set_version_notes(&bed.tenant, &id, &select("2"), Some("Good."))
        .await;
    noted.unwrap();
    let target = select("1");
    let new = NewRevocation {
        move_to: Some(&target),
        ..because("bad")
    };
    let revoked = store
        .revoke_version(&bed.tenant, &id, &select("2"), &new)
        .await;
    revoked.unwrap();
    // One that changes nothing is not in it.
    for _ in 0..2 {
        let restored = store.restore_version(&bed.tenant, &id, &select("2")).await;
        restored.unwrap();
    }
    store
        .delete_label(&bed.tenant, &id, &production)
        .await
        .unwrap();
    let refused = store.delete_label(&bed.tenant, &id, &production).await;
    refused.unwrap_err();
    let filter = AuditFilter::default();
    let page = PageRequest::default();
    let events = store.audit_events(&filter, &page).await.unwrap().items;
    let shown = events.iter().rev().skip(2).map(|event| {
        let field = |state: &Option<serde_json::Value>| {
            let state = state.as_ref()?;
            let fields = ["revoked", "moved_to", "label", "version", "notes"];
            let fields = fields
                .iter()
                .filter_map(|field| Some((field, state.get(*field)?)));
            let fields = fields.map(|(field, value)| format!("{field}={value}"));
            Some(fields.collect::<Vec<_>>().join(","))
        };
        let text = |state| field(state).unwrap_or_else(|| "-".to_owned());
        let (before, after) = (text(&event.before), text(&event.after));
        format!("{} {before} -> {after}", event.action)
    });
    let shown: Vec<String> = shown.collect();
    let expected = [
        r#"label.set - -> label="production",version=1"#,
        r#"label.set label="production",version=1 -> label="production",version=2"#,
        r#"version.update notes=null -> notes="Good.""#,
        r#"version.revoke revoked=null,version=2 -> revoked="bad",moved_to=1,version=2"#,
        r#"version.restore revoked="bad",version=2 -> revoked=null,version=2"#,
        r#"label.delete label="production",version=1 -> -"#,
    ];
    assert_eq!(shown, expected);
}
