//! Files that a provider stores, and for which tenant.

use prowess_store::{Error, FileAccount, ResourceKind, TenantId};

use crate::testbed::{TestBed, on_both_databases};

on_both_databases! {
    a_providers_file_is_known_to_the_tenant_whose_response_named_it,
    a_providers_file_that_is_named_again_belongs_to_its_latest_provider,
    an_unknown_tenant_cannot_record_provider_files,
}

/// The operator's account at a provider, or that of a client's key.
fn account(provider: &str, client_key: bool) -> FileAccount {
    FileAccount {
        provider: provider.to_owned(),
        client_key,
    }
}

async fn a_providers_file_is_known_to_the_tenant_whose_response_named_it(bed: TestBed) {
    let anthropic = account("anthropic", false);
    let store = bed.open().await;
    let other = TenantId::new("other").unwrap();
    store.ensure_tenant(&other, "other").await.unwrap();
    let many: Vec<String> = (0..450).map(|n| format!("file_{n}")).collect();
    let mut ids: Vec<&str> = many.iter().map(String::as_str).collect();
    ids.push("file_0");
    // A vendor may send anything.
    ids.push("file_\0");
    let remembered = store.record_provider_files(&bed.tenant, &anthropic, &ids);
    remembered.await.unwrap();
    for id in ["file_0", "file_449"] {
        let known = store.find_file_account(&bed.tenant, id).await.unwrap();
        assert_eq!(known.as_ref(), Some(&anthropic), "{id}");
        assert_eq!(store.find_file_account(&other, id).await.unwrap(), None);
    }
    store.forget_provider_file(&other, "file_0").await.unwrap();
    let known = store
        .find_file_account(&bed.tenant, "file_0")
        .await
        .unwrap();
    assert!(known.is_some(), "another tenant cannot have it forgotten");
    store
        .forget_provider_file(&bed.tenant, "file_0")
        .await
        .unwrap();
    let known = store
        .find_file_account(&bed.tenant, "file_0")
        .await
        .unwrap();
    assert_eq!(known, None);
    let nothing = store.record_provider_files(&bed.tenant, &anthropic, &[]);
    nothing.await.unwrap();
}

async fn a_providers_file_that_is_named_again_belongs_to_its_latest_provider(bed: TestBed) {
    let store = bed.open().await;
    for account in [
        account("first", true),
        account("second", false),
        account("second", true),
    ] {
        let remembered = store.record_provider_files(&bed.tenant, &account, &["file_1"]);
        remembered.await.unwrap();
        let known = store.find_file_account(&bed.tenant, "file_1").await;
        assert_eq!(known.unwrap(), Some(account));
    }
}

async fn an_unknown_tenant_cannot_record_provider_files(bed: TestBed) {
    let store = bed.open().await;
    let nobody = TenantId::new("nobody").unwrap();
    let account = account("anthropic", false);
    let error = store.record_provider_files(&nobody, &account, &["file_1"]);
    let error = error.await.unwrap_err();
    let tenant = ResourceKind::Tenant;
    assert!(
        matches!(error, Error::NotFound { kind, .. } if kind == tenant),
        "{error}"
    );
}
