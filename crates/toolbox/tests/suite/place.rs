//! Where commands run: in the sandbox of this host. `over_a_cluster` has another one.

use prowess_sandbox::{Sandbox, SandboxSettings, SharedSandboxes};
use std::path::Path;
use tempfile::TempDir;

/// What commands run in, and its folder. Gone with this.
pub(crate) struct CommandPlace {
    folder: TempDir,
}

impl CommandPlace {
    pub(crate) async fn open(
        folder: TempDir,
        settings: SandboxSettings,
        _owner: &str,
    ) -> (SharedSandboxes, Self) {
        let sandbox = Sandbox::open(settings).await.unwrap();
        (sandbox.into(), Self { folder })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// No test is left out.
pub(crate) fn is_left_out(_test: &str) -> bool {
    false
}
