//! Files that a provider's own servers create and store: whose they are, and how a
//! response lists them.

use prowess_provider::{Route, Target};
use prowess_store::{Store, TenantId};
use prowess_wire::neutral::Content;
use prowess_wire::output_files;
use serde_json::{Value, json};

/// Records the files that a provider's servers create in a turn.
pub(crate) struct ProviderFileTracker<'a> {
    pub(crate) store: &'a Store,
    pub(crate) tenant: &'a TenantId,
    /// The provider of the turn, if its servers store files.
    pub(crate) provider: Option<&'a str>,
}

impl ProviderFileTracker<'_> {
    /// Records the tenant of the files that a block names, before the client receives it and
    /// can request them. A failure does not stop the response.
    pub(crate) async fn track(&self, content: &Content) {
        let ids = file_ids(content);
        let Some(provider) = self.provider.filter(|_| !ids.is_empty()) else {
            return;
        };
        let tracked = self
            .store
            .record_provider_files(self.tenant, provider, &ids);
        if let Err(error) = tracked.await {
            tracing::warn!(%error, files = ids.len(), "cannot record the tenant of a provider's files");
        }
    }
}

/// The provider of a turn, if its servers create and store files.
pub(crate) fn file_host<'a>(route: &Route, provider: &'a str) -> Option<&'a str> {
    let mut targets = route.targets().iter();
    let stores = |target: &Target| target.provider() == provider && target.has_file_storage();
    targets.any(stores).then_some(provider)
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
