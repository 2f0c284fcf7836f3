//! The sandboxes of Prowess.

use crate::{IMPORT, PASS, PYTHON, Timing, Way, cpu, milliseconds, packages};
use prowess_sandbox::{
    Command, CommandOutcome, ContainerSpec, Execution, Layer, PackageIndex, Policy, RuntimeSource,
    Sandbox, SandboxSettings,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const OWNER: &str = "bench";

/// Sandboxes that are opened before anything is measured.
pub(crate) struct Ours {
    cold: Sandbox,
    warm: Sandbox,
    pool: Sandbox,
    /// A container that is reused.
    container: String,
    /// The same with numpy and PIL, if they are available.
    layered: Option<(Layer, String)>,
    folder: PathBuf,
}

impl Ours {
    /// Opens them with the runtime in `root`. Without an index there is no package layer.
    pub(crate) async fn new(folder: &Path, root: &Path, index: Option<&PackageIndex>) -> Self {
        let open = async |name: &str, warm| {
            let mut settings = SandboxSettings::new(folder.join(name));
            settings.runtime = RuntimeSource::Folder(root.to_owned());
            settings.allow_reduced = true;
            settings.warm = warm;
            settings.packages = index.cloned();
            Sandbox::open(settings).await.unwrap()
        };
        let (cold, warm) = (open("cold", 0).await, open("warm", 1).await);
        let pool = open("pool", 1).await;
        let container = warm.create(OWNER, ContainerSpec::default()).await.unwrap();
        // Built twice, once for each folder; a server has one.
        let layer = match index {
            Some(_) => {
                packages::layer(&warm).await;
                packages::layer(&cold).await
            }
            None => None,
        };
        let layered = match layer {
            Some(layer) => {
                let new = with(&layer);
                Some((layer, warm.create(OWNER, new).await.unwrap()))
            }
            None => None,
        };
        Self {
            cold,
            warm,
            pool,
            container,
            layered,
            folder: folder.to_owned(),
        }
    }

    /// Where the layer is on disk.
    pub(crate) fn layer(&self) -> Option<PathBuf> {
        self.layered.as_ref()?;
        let layers = std::fs::read_dir(self.folder.join("cold/state/layers"));
        layers.unwrap().flatten().next().map(|entry| entry.path())
    }

    pub(crate) async fn one(&self, way: Way) -> Option<Timing> {
        let argv = |code: &str| Command::Argv([PYTHON, "-c", code].map(String::from).into());
        let code = || Command::Python(PASS.into());
        match way {
            Way::Cold => Some(first(&self.cold, argv(PASS), ContainerSpec::default()).await),
            Way::Container => Some(again(&self.warm, &self.container, argv(PASS)).await),
            Way::Waiting => Some(again(&self.warm, &self.container, code()).await),
            Way::Pool => {
                self.pool.warm_up(&Policy::default());
                wait_until_ready(&self.pool).await;
                Some(first(&self.pool, code(), ContainerSpec::default()).await)
            }
            Way::ColdImport => {
                let (layer, _) = self.layered.as_ref()?;
                Some(first(&self.cold, argv(IMPORT), with(layer)).await)
            }
            Way::ContainerImport => {
                let (_, container) = self.layered.as_ref()?;
                Some(again(&self.warm, container, argv(IMPORT)).await)
            }
            _ => None,
        }
    }
}

fn with(layer: &Layer) -> ContainerSpec {
    ContainerSpec {
        layer: Some(layer.clone()),
        ..ContainerSpec::default()
    }
}

/// Provisioning is not measured; wait until it has finished.
async fn wait_until_ready(sandbox: &Sandbox) {
    while sandbox.warm_count() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
}

/// The first command of a new container.
async fn first(sandbox: &Sandbox, command: Command, new: ContainerSpec) -> Timing {
    let container = sandbox.create(OWNER, new).await.unwrap();
    let taken = exec(sandbox, &container, command).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    sandbox.destroy(OWNER, &container).await.unwrap();
    taken
}

/// A command after one of the same kind, in a container whose next sandbox is provisioned.
async fn again(sandbox: &Sandbox, container: &str, command: Command) -> Timing {
    exec(sandbox, container, command.clone()).await;
    wait_until_ready(sandbox).await;
    let taken = exec(sandbox, container, command).await;
    wait_until_ready(sandbox).await;
    taken
}

async fn exec(sandbox: &Sandbox, container: &str, command: Command) -> Timing {
    let execution = Execution {
        command,
        ..Execution::default()
    };
    let (start, before) = (Instant::now(), cpu());
    let report = sandbox.exec(OWNER, container, execution).await.unwrap();
    let wall = milliseconds(start);
    // The usage of ended processes is counted when they are reaped.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let cpu = cpu() - before;
    assert_eq!(
        report.outcome,
        CommandOutcome::Exit(0),
        "{}",
        report.stderr.text
    );
    Timing { wall, cpu }
}
