//! Files that a provider's own servers create and store: whose they are, and how a
//! response lists them.

use prowess_provider::{ClientCredentials, Route, Target};
use prowess_store::{FileAccount, Store, TenantId};
use prowess_wire::neutral::Content;
use prowess_wire::output_files;
use serde_json::{Value, json};

/// Records the files that a provider's servers create in a turn.
pub(crate) struct ProviderFileTracker<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    /// The account of the turn, if its provider's servers store files.
    pub(crate) account: Option<FileAccount>,
}

impl ProviderFileTracker<'_> {
    /// Records the tenant of the files that a block names, before the client receives it and
    /// can request them. A failure does not stop the response.
    pub(crate) async fn track(&self, content: &Content) {
        let ids = file_ids(content);
        let Some(account) = self.account.as_ref().filter(|_| !ids.is_empty()) else {
            return;
        };
        let tracked = self.store.record_provider_files(self.tenant, account, &ids);
        if let Err(error) = tracked.await {
            tracing::warn!(%error, files = ids.len(), "cannot record the tenant of a provider's files");
        }
    }
}

/// The account of a turn, if its provider's servers create and store files.
pub(crate) fn file_account(
    route: &Route,
    credentials: &ClientCredentials,
    provider: &str,
) -> Option<FileAccount> {
    let mut targets = route.targets().iter();
    let stores = |target: &Target| target.provider() == provider && target.has_file_storage();
    targets.any(stores).then(|| FileAccount {
        provider: provider.to_owned(),
        client_key: route.uses_client_key(provider, credentials),
    })
}

/// The files that a result of a provider's own servers names. Only id and provider are
/// known.
pub(crate) fn file_references(content: &Content, provider: &str) -> Vec<Value> {
    let files = file_ids(content).into_iter().map(|id| {
        json!({
            "file_id": id,
            "filename": null,
            "mime_type": null,
            "size_bytes": null,
            "provider": provider,
        })
    });
    files.collect()
}

fn file_ids(content: &Content) -> Vec<&str> {
    match content {
        Content::ServerToolResult { kind, content, .. } => {
            output_files::file_ids_in_result(kind, content)
        }
        _ => Vec::new(),
    }
}
