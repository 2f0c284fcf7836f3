//! Deletion, by the rules of each API generation.

use prowess_store::{
    PageRequest, SkillDeleteRule, SkillFilter, VersionDeleteRule, VersionSelector,
};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_skill_is_deleted_with_its_versions_when_cascading,
    a_skill_with_versions_stays_when_only_empty_ones_may_go,
    the_only_version_is_kept_by_the_anthropic_rule,
    the_only_version_leaves_an_empty_skill_by_the_beta_rule,
    the_only_version_takes_the_skill_along_by_the_openai_rule,
    the_default_version_is_kept_by_the_openai_rule,
    the_latest_of_the_others_follows_a_deleted_default,
    what_was_deleted_cannot_be_deleted_again,
    a_deletion_and_an_upload_at_once_leave_a_sound_skill,
}

const LATEST: VersionSelector = VersionSelector::Latest;

async fn a_skill_is_deleted_with_its_versions_when_cascading(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "second").await;
    let gone = store.delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade);
    assert_eq!(gone.await.unwrap().name, "one");
    assert_eq!(
        store.skill(&bed.tenant, &id).await.unwrap_err().code(),
        "skill-not-found"
    );
    let versions = store
        .list_versions(&bed.tenant, &id, &PageRequest::default())
        .await;
    assert_eq!(versions.unwrap_err().code(), "skill-not-found");
    let hits = store
        .search_skills(&bed.tenant, "one", &PageRequest::default())
        .await;
    assert_eq!(hits.unwrap().items, []);
}

async fn a_skill_with_versions_stays_when_only_empty_ones_may_go(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let refused = store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::OnlyEmpty)
        .await;
    let error = refused.unwrap_err();
    assert_eq!(error.code(), "skill-has-versions");
    assert!(
        error
            .to_string()
            .starts_with("Cannot delete skill with existing versions.")
    );
    let beta = VersionDeleteRule::ANTHROPIC_BETA;
    store
        .delete_version(&bed.tenant, &id, &LATEST, beta)
        .await
        .unwrap();
    store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::OnlyEmpty)
        .await
        .unwrap();
}

async fn the_only_version_is_kept_by_the_anthropic_rule(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let refused = store.delete_version(&bed.tenant, &id, &LATEST, VersionDeleteRule::ANTHROPIC);
    assert_eq!(refused.await.unwrap_err().code(), "skill-last-version");
    assert!(store.version(&bed.tenant, &id, &LATEST).await.is_ok());
}

async fn the_only_version_leaves_an_empty_skill_by_the_beta_rule(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let beta = VersionDeleteRule::ANTHROPIC_BETA;
    let deleted = store
        .delete_version(&bed.tenant, &id, &LATEST, beta)
        .await
        .unwrap();
    assert!(!deleted.skill_deleted);
    let skill = store.skill(&bed.tenant, &id).await.unwrap();
    assert_eq!((skill.latest, skill.default), (None, None));
    let list = async |include_empty| {
        let filter = SkillFilter {
            include_empty,
            ..SkillFilter::default()
        };
        let page = store
            .list_skills(&bed.tenant, &filter, &PageRequest::default())
            .await;
        page.unwrap().items.len()
    };
    assert_eq!((list(false).await, list(true).await), (0, 1));
    let refilled = bed.update(&store, &id, "again").await;
    assert_eq!(refilled.skill.default.unwrap().id, refilled.version.id);
    assert_eq!(list(false).await, 1);
}

async fn the_only_version_takes_the_skill_along_by_the_openai_rule(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    let deleted = store.delete_version(&bed.tenant, &id, &LATEST, VersionDeleteRule::OPENAI);
    assert!(deleted.await.unwrap().skill_deleted);
    assert!(store.skill(&bed.tenant, &id).await.is_err());
}

async fn the_default_version_is_kept_by_the_openai_rule(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "second").await;
    let openai = VersionDeleteRule::OPENAI;
    let default = VersionSelector::Default;
    let refused = store
        .delete_version(&bed.tenant, &id, &default, openai)
        .await;
    assert_eq!(refused.unwrap_err().code(), "skill-default-version");
    store
        .delete_version(&bed.tenant, &id, &LATEST, openai)
        .await
        .unwrap();
    let skill = store.skill(&bed.tenant, &id).await.unwrap();
    assert_eq!(skill.latest.unwrap().ordinal, 1);
}

async fn the_latest_of_the_others_follows_a_deleted_default(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "second").await;
    bed.update(&store, &id, "third").await;
    let first = VersionSelector::Ordinal(1);
    let rule = VersionDeleteRule::ANTHROPIC;
    store
        .delete_version(&bed.tenant, &id, &first, rule)
        .await
        .unwrap();
    let skill = store.skill(&bed.tenant, &id).await.unwrap();
    assert_eq!(skill.default.unwrap().ordinal, 3);
    assert_eq!(skill.latest.unwrap().ordinal, 3);
}

async fn what_was_deleted_cannot_be_deleted_again(bed: TestBed) {
    let store = bed.open().await;
    let id = bed.create(&store, "one").await.skill.id;
    bed.update(&store, &id, "second").await;
    let (first, rule) = (VersionSelector::Ordinal(1), VersionDeleteRule::ANTHROPIC);
    store
        .delete_version(&bed.tenant, &id, &first, rule)
        .await
        .unwrap();
    let again = store.delete_version(&bed.tenant, &id, &first, rule).await;
    assert_eq!(again.unwrap_err().code(), "skill-version-not-found");
    store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade)
        .await
        .unwrap();
    let again = store
        .delete_skill(&bed.tenant, &id, SkillDeleteRule::Cascade)
        .await;
    assert_eq!(again.unwrap_err().code(), "skill-not-found");
}

async fn a_deletion_and_an_upload_at_once_leave_a_sound_skill(bed: TestBed) {
    let (here, there) = (bed.open().await, bed.open().await);
    let id = bed.create(&here, "one").await.skill.id;
    let uploads = async {
        for round in 0..10 {
            bed.update(&here, &id, &format!("round {round}")).await;
        }
    };
    let deletions = async {
        for _ in 0..10 {
            let rule = VersionDeleteRule::ANTHROPIC_BETA;
            let _ = there.delete_version(&bed.tenant, &id, &LATEST, rule).await;
        }
    };
    futures_util::future::join(uploads, deletions).await;
    let last = bed.update(&here, &id, "last").await;
    let skill = here.skill(&bed.tenant, &id).await.unwrap();
    assert_eq!(skill.latest.unwrap().id, last.version.id);
    let all = PageRequest {
        limit: 100,
        ..PageRequest::default()
    };
    let versions = here
        .list_versions(&bed.tenant, &id, &all)
        .await
        .unwrap()
        .items;
    assert_eq!(versions[0].id, last.version.id);
    let default = skill.default.unwrap().id;
    assert!(versions.iter().any(|version| version.id == default));
}
