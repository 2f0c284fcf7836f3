//! Where commands run: at a worker of a cluster.

use super::one_worker::OneWorker;
pub(crate) use super::one_worker::left_out::is_left_out;
use prowess_sandbox::{SandboxSettings, SharedSandboxes};
use prowess_store::{Store, StoreConfig, TenantId};
use std::path::Path;
use tempfile::TempDir;

/// What commands run in, and its folder. Gone with this.
pub(crate) struct CommandPlace {
    _cluster: OneWorker,
    folder: TempDir,
}

impl CommandPlace {
    pub(crate) async fn open(
        folder: TempDir,
        settings: SandboxSettings,
        owner: &str,
    ) -> (SharedSandboxes, Self) {
        let config = StoreConfig::local(folder.path().join("store"));
        let store = Store::open(&config).await.unwrap();
        let tenant = TenantId::new(owner).unwrap();
        store.ensure_tenant(&tenant, owner).await.unwrap();
        let cluster = OneWorker::start(store, folder.path(), settings).await;
        let sandboxes = cluster.sandboxes();
        let place = Self {
            _cluster: cluster,
            folder,
        };
        (sandboxes, place)
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}
