//! Version selectors, and the default version.

use prowess_store::{NewVersion, VersionDeleteRule, VersionSelector};

use crate::testbed::{TestBed, on_both_databases, skill};

on_both_databases! {
    a_version_is_found_by_every_way_to_name_it,
    a_version_of_another_skill_is_not_found,
    the_default_stays_until_it_is_changed,
    a_version_can_become_the_default_when_it_is_made,
    numbers_are_not_given_again_after_a_deletion,
    what_is_missing_is_reported_precisely,
}

fn select(text: &str) -> VersionSelector {
    VersionSelector::parse(text).unwrap()
}

async fn a_version_is_found_by_every_way_to_name_it(bed: TestBed) {
    let store = bed.open().await;
    let first = bed.create(&store, "one").await;
    let id = &first.skill.id;
    let second = bed.update(&store, id, "second").await;
    let third = bed.update(&store, id, "third").await;
    let old_spelling = second.version.id.replace("skver_", "skill_version_");
    let ways = [
        ("latest".to_owned(), &third),
        ("default".to_owned(), &first),
        ("2".to_owned(), &second),
        (second.version.number.to_string(), &second),
        (second.version.id.clone(), &second),
        (old_spelling, &second),
    ];
    for (way, expected) in ways {
        let found = store.version(&bed.tenant, id, &select(&way)).await;
        assert_eq!(found.unwrap(), expected.version, "{way}");
    }
}

async fn a_version_of_another_skill_is_not_found(bed: TestBed) {
    let store = bed.open().await;
    let one = bed.create(&store, "one").await;
    let two = bed.create(&store, "two").await;
    let selector = VersionSelector::Id(two.version.id.clone());
    let error = store.version(&bed.tenant, &one.skill.id, &selector).await;
    assert_eq!(error.unwrap_err().code(), "skill-version-not-found");
}

async fn the_default_stays_until_it_is_changed(bed: TestBed) {
    let store = bed.open().await;
    let first = bed.create(&store, "one").await;
    let id = &first.skill.id;
    let second = bed.update(&store, id, "second").await;
    assert_eq!(second.skill.default.unwrap().ordinal, 1);
    assert_eq!(second.skill.latest.unwrap().ordinal, 2);
    let changed = store
        .set_default_version(&bed.tenant, id, &select("2"))
        .await
        .unwrap();
    assert_eq!(changed.default.as_ref().unwrap().ordinal, 2);
    assert!(changed.updated_at >= second.skill.updated_at);
    assert_eq!(store.skill(&bed.tenant, id).await.unwrap(), changed);
    let error = store
        .set_default_version(&bed.tenant, id, &select("9"))
        .await;
    assert_eq!(error.unwrap_err().code(), "skill-version-not-found");
}

async fn a_version_can_become_the_default_when_it_is_made(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let upload = skill("one", "second");
    let new = NewVersion {
        make_default: true,
        ..NewVersion::from_skill(&upload)
    };
    let made = store.create_version(&bed.tenant, &id, &new).await.unwrap();
    assert_eq!(made.skill.default.unwrap().ordinal, 2);
}

async fn numbers_are_not_given_again_after_a_deletion(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let second = bed.update(&store, &id, "second").await;
    let latest = VersionSelector::Latest;
    store
        .delete_version(&bed.tenant, &id, &latest, VersionDeleteRule::ANTHROPIC)
        .await
        .unwrap();
    let third = bed.update(&store, &id, "third").await;
    assert_eq!(third.version.ordinal, 3);
    assert!(third.version.number > second.version.number);
}

async fn what_is_missing_is_reported_precisely(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let code = async |skill: &str, selector: &str| {
        let found = store.version(&bed.tenant, skill, &select(selector)).await;
        found.unwrap_err().code()
    };
    assert_eq!(code("skill_none", "latest").await, "skill-not-found");
    assert_eq!(code(&id, "7").await, "skill-version-not-found");
    let latest = VersionSelector::Latest;
    store
        .delete_version(&bed.tenant, &id, &latest, VersionDeleteRule::ANTHROPIC_BETA)
        .await
        .unwrap();
    assert_eq!(code(&id, "latest").await, "skill-without-version");
}
