//! Where commands of a test run: what is tested with the sandbox of one host is tested a second
//! time over a cluster.

use std::path::Path;

use prowess_sandbox::{Sandbox, SandboxSettings, SharedSandboxes};
use prowess_store::Store;

use super::one_worker::OneWorker;

/// Where commands run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandPlace {
    /// In the sandbox of this host.
    OneHost,
    /// At the only worker of a cluster.
    Cluster,
}

impl CommandPlace {
    /// Opens it with these settings, and the cluster that it is part of.
    pub(crate) async fn open(
        self,
        store: &Store,
        folder: &Path,
        change: impl FnOnce(&mut SandboxSettings),
    ) -> (SharedSandboxes, Option<OneWorker>) {
        let mut settings = SandboxSettings::new(folder);
        settings.allow_reduced = true;
        settings.warm = 0;
        change(&mut settings);
        match self {
            CommandPlace::OneHost => (Sandbox::open(settings).await.unwrap().into(), None),
            CommandPlace::Cluster => {
                let started = OneWorker::start(store.clone(), folder, settings).await;
                (started.sandboxes(), Some(started))
            }
        }
    }
}

/// Generates a test of each behaviour with the sandbox of one host, and one over a cluster. A
/// behaviour is a function that gets the [`CommandPlace`].
macro_rules! on_one_host_and_over_a_cluster {
    ($($behaviour:ident,)+) => {
        mod on_one_host {
            $(#[tokio::test]
            async fn $behaviour() {
                let place = $crate::containers::command_place::CommandPlace::OneHost;
                super::$behaviour(place).await;
            })+
        }
        mod over_a_cluster {
            $(#[tokio::test]
            async fn $behaviour() {
                let place = $crate::containers::command_place::CommandPlace::Cluster;
                super::$behaviour(place).await;
            })+
        }
    };
}

pub(crate) use on_one_host_and_over_a_cluster;
