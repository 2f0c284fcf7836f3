//! A tenant's data is not accessible to another tenant.

use bytes::Bytes;
use futures_util::stream;
use prowess_store::{
    FileFilter, KeyScope, NewFile, NewKey, NewVersion, PageRequest, SkillDeleteRule, SkillFilter,
    TenantId, VersionDeleteRule, VersionSelector,
};

use crate::testbed::{TestBed, on_both_databases, skill};

on_both_databases! {
    another_tenants_ids_are_not_found_by_any_operation,
    lists_of_another_tenant_are_empty,
    a_tenant_exists_once,
}

async fn another_tenants_ids_are_not_found_by_any_operation(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    let made = bed.create(&store, "one").await;
    let (id, version) = (&made.skill.id, VersionSelector::Id(made.version.id.clone()));
    let latest = VersionSelector::Latest;
    let upload = skill("one", "stolen");
    let new = NewVersion::from_skill(&upload);
    let page = PageRequest::default();
    let beta = VersionDeleteRule::ANTHROPIC_BETA;
    let answers = [
        store.skill(&other, id).await.map(drop),
        store.version(&other, id, &latest).await.map(drop),
        store.version(&other, id, &version).await.map(drop),
        store.version_detail(&other, id, &version).await.map(drop),
        store.list_versions(&other, id, &page).await.map(drop),
        store.resolve(&other, id, &latest).await.map(drop),
        store.resolve(&other, id, &version).await.map(drop),
        store.create_version(&other, id, &new).await.map(drop),
        store
            .set_default_version(&other, id, &latest)
            .await
            .map(drop),
        store
            .delete_version(&other, id, &version, beta)
            .await
            .map(drop),
        store
            .delete_skill(&other, id, SkillDeleteRule::Cascade)
            .await
            .map(drop),
    ];
    for (at, answer) in answers.into_iter().enumerate() {
        assert_eq!(
            answer.unwrap_err().code(),
            "skill-not-found",
            "operation {at}"
        );
    }
    let file = NewFile {
        name: "a",
        mime: "text/plain",
        purpose: "user_data",
        scope: None,
        downloadable: true,
        expires_in: None,
        limit: 100,
    };
    let content = stream::iter([Ok(Bytes::from_static(b"secret"))]);
    let file = store
        .create_file(&bed.tenant, &file, content)
        .await
        .unwrap()
        .id;
    for answer in [
        store.file(&other, &file).await.map(drop),
        store.read_file(&other, &file).await.map(drop),
        store.delete_file(&other, &file).await,
    ] {
        assert_eq!(answer.unwrap_err().code(), "file-not-found");
    }
    assert_eq!(store.files_by_id(&other, &[&file]).await.unwrap(), []);
    let new = NewKey {
        name: "k",
        scopes: &[KeyScope::Read],
        expires_in: None,
        auto: None,
    };
    let (key, _) = store.create_key(&bed.tenant, &new).await.unwrap();
    let answer = store.revoke_key(&other, &key.id).await;
    assert_eq!(answer.unwrap_err().code(), "key-not-found");
    assert_eq!(store.skill(&bed.tenant, id).await.unwrap(), made.skill);
}

async fn lists_of_another_tenant_are_empty(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "Other").await.unwrap();
    bed.create(&store, "one").await;
    let page = PageRequest::default();
    let filter = SkillFilter {
        include_empty: true,
        ..SkillFilter::default()
    };
    assert_eq!(
        store
            .list_skills(&other, &filter, &page)
            .await
            .unwrap()
            .items,
        []
    );
    assert_eq!(
        store
            .search_skills(&other, "one", &page)
            .await
            .unwrap()
            .items,
        []
    );
    let files = store
        .list_files(&other, &FileFilter::default(), &page)
        .await;
    assert_eq!(files.unwrap().items, []);
    assert_eq!(store.list_keys(&other).await.unwrap(), []);
}

async fn a_tenant_exists_once(bed: TestBed) {
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "First").await.unwrap();
    store.ensure_tenant(&other, "Second").await.unwrap();
    let tenants = store.tenants().await.unwrap();
    let names: Vec<_> = tenants
        .iter()
        .map(|t| (t.id.as_str(), t.name.as_str()))
        .collect();
    assert_eq!(names, [("default", "default"), ("other", "First")]);
}
